from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Randomizer(_message.Message):
    __slots__ = ("one_bit",)
    ONE_BIT_FIELD_NUMBER: _ClassVar[int]
    one_bit: OneBitRandomizer
    def __init__(self, one_bit: _Optional[_Union[OneBitRandomizer, _Mapping]] = ...) -> None: ...

class OneBitRandomizer(_message.Message):
    __slots__ = ("epsilon_nanonats", "resolution")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    resolution: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., resolution: _Optional[int] = ...) -> None: ...
