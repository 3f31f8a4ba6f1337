from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Comparison(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPARISON_UNSPECIFIED: _ClassVar[Comparison]
    COMPARISON_EQUAL: _ClassVar[Comparison]
    COMPARISON_NOT_EQUAL: _ClassVar[Comparison]
    COMPARISON_LESS: _ClassVar[Comparison]
    COMPARISON_AT_MOST: _ClassVar[Comparison]
    COMPARISON_GREATER: _ClassVar[Comparison]
    COMPARISON_AT_LEAST: _ClassVar[Comparison]
COMPARISON_UNSPECIFIED: Comparison
COMPARISON_EQUAL: Comparison
COMPARISON_NOT_EQUAL: Comparison
COMPARISON_LESS: Comparison
COMPARISON_AT_MOST: Comparison
COMPARISON_GREATER: Comparison
COMPARISON_AT_LEAST: Comparison

class Query(_message.Message):
    __slots__ = ("root",)
    ROOT_FIELD_NUMBER: _ClassVar[int]
    root: Expression
    def __init__(self, root: _Optional[_Union[Expression, _Mapping]] = ...) -> None: ...

class Expression(_message.Message):
    __slots__ = ("column", "number", "label", "truth", "compare", "member", "all", "any", "negation", "linear", "clip", "vector")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    TRUTH_FIELD_NUMBER: _ClassVar[int]
    COMPARE_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    ANY_FIELD_NUMBER: _ClassVar[int]
    NEGATION_FIELD_NUMBER: _ClassVar[int]
    LINEAR_FIELD_NUMBER: _ClassVar[int]
    CLIP_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    column: str
    number: Rational
    label: str
    truth: bool
    compare: Compare
    member: Member
    all: Operands
    any: Operands
    negation: Expression
    linear: Linear
    clip: Expression
    vector: Operands
    def __init__(self, column: _Optional[str] = ..., number: _Optional[_Union[Rational, _Mapping]] = ..., label: _Optional[str] = ..., truth: _Optional[bool] = ..., compare: _Optional[_Union[Compare, _Mapping]] = ..., member: _Optional[_Union[Member, _Mapping]] = ..., all: _Optional[_Union[Operands, _Mapping]] = ..., any: _Optional[_Union[Operands, _Mapping]] = ..., negation: _Optional[_Union[Expression, _Mapping]] = ..., linear: _Optional[_Union[Linear, _Mapping]] = ..., clip: _Optional[_Union[Expression, _Mapping]] = ..., vector: _Optional[_Union[Operands, _Mapping]] = ...) -> None: ...

class Rational(_message.Message):
    __slots__ = ("numerator", "denominator")
    NUMERATOR_FIELD_NUMBER: _ClassVar[int]
    DENOMINATOR_FIELD_NUMBER: _ClassVar[int]
    numerator: str
    denominator: str
    def __init__(self, numerator: _Optional[str] = ..., denominator: _Optional[str] = ...) -> None: ...

class Compare(_message.Message):
    __slots__ = ("comparison", "left", "right")
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    RIGHT_FIELD_NUMBER: _ClassVar[int]
    comparison: Comparison
    left: Expression
    right: Expression
    def __init__(self, comparison: _Optional[_Union[Comparison, str]] = ..., left: _Optional[_Union[Expression, _Mapping]] = ..., right: _Optional[_Union[Expression, _Mapping]] = ...) -> None: ...

class Member(_message.Message):
    __slots__ = ("column", "labels")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    column: str
    labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, column: _Optional[str] = ..., labels: _Optional[_Iterable[str]] = ...) -> None: ...

class Operands(_message.Message):
    __slots__ = ("operands",)
    OPERANDS_FIELD_NUMBER: _ClassVar[int]
    operands: _containers.RepeatedCompositeFieldContainer[Expression]
    def __init__(self, operands: _Optional[_Iterable[_Union[Expression, _Mapping]]] = ...) -> None: ...

class Linear(_message.Message):
    __slots__ = ("constant", "terms")
    CONSTANT_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    constant: Rational
    terms: _containers.RepeatedCompositeFieldContainer[Term]
    def __init__(self, constant: _Optional[_Union[Rational, _Mapping]] = ..., terms: _Optional[_Iterable[_Union[Term, _Mapping]]] = ...) -> None: ...

class Term(_message.Message):
    __slots__ = ("coefficient", "column")
    COEFFICIENT_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    coefficient: Rational
    column: str
    def __init__(self, coefficient: _Optional[_Union[Rational, _Mapping]] = ..., column: _Optional[str] = ...) -> None: ...
