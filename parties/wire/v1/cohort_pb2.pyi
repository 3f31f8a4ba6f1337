from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Cohort(_message.Message):
    __slots__ = ("start", "stop", "split")
    START_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    start: int
    stop: int
    split: Split
    def __init__(self, start: _Optional[int] = ..., stop: _Optional[int] = ..., split: _Optional[_Union[Split, _Mapping]] = ...) -> None: ...

class Split(_message.Message):
    __slots__ = ("seed", "parts", "part")
    SEED_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    seed: bytes
    parts: int
    part: int
    def __init__(self, seed: _Optional[bytes] = ..., parts: _Optional[int] = ..., part: _Optional[int] = ...) -> None: ...
