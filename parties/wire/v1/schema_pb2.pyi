from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Schema(_message.Message):
    __slots__ = ("columns",)
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedCompositeFieldContainer[SchemaColumn]
    def __init__(self, columns: _Optional[_Iterable[_Union[SchemaColumn, _Mapping]]] = ...) -> None: ...

class SchemaColumn(_message.Message):
    __slots__ = ("name", "bit", "category", "integer", "real", "rows")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BIT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    REAL_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    name: str
    bit: BitDomain
    category: CategoryDomain
    integer: IntegerDomain
    real: RealDomain
    rows: RowsDomain
    def __init__(self, name: _Optional[str] = ..., bit: _Optional[_Union[BitDomain, _Mapping]] = ..., category: _Optional[_Union[CategoryDomain, _Mapping]] = ..., integer: _Optional[_Union[IntegerDomain, _Mapping]] = ..., real: _Optional[_Union[RealDomain, _Mapping]] = ..., rows: _Optional[_Union[RowsDomain, _Mapping]] = ...) -> None: ...

class BitDomain(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CategoryDomain(_message.Message):
    __slots__ = ("labels",)
    LABELS_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, labels: _Optional[_Iterable[str]] = ...) -> None: ...

class IntegerDomain(_message.Message):
    __slots__ = ("low", "high")
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    low: int
    high: int
    def __init__(self, low: _Optional[int] = ..., high: _Optional[int] = ...) -> None: ...

class RealDomain(_message.Message):
    __slots__ = ("low", "high")
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    low: float
    high: float
    def __init__(self, low: _Optional[float] = ..., high: _Optional[float] = ...) -> None: ...

class RowsDomain(_message.Message):
    __slots__ = ("most", "of")
    MOST_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    most: int
    of: SchemaColumn
    def __init__(self, most: _Optional[int] = ..., of: _Optional[_Union[SchemaColumn, _Mapping]] = ...) -> None: ...
