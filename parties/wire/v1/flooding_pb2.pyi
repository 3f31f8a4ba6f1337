from parties.wire.v1 import cohort_pb2 as _cohort_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FloodedQuestion(_message.Message):
    __slots__ = ("round_id", "query", "steps", "epsilon_nanonats", "delta_trillionths", "sums", "rate_billionths", "pairs", "people", "honest", "key", "second_key")
    ROUND_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    DELTA_TRILLIONTHS_FIELD_NUMBER: _ClassVar[int]
    SUMS_FIELD_NUMBER: _ClassVar[int]
    RATE_BILLIONTHS_FIELD_NUMBER: _ClassVar[int]
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    PEOPLE_FIELD_NUMBER: _ClassVar[int]
    HONEST_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    SECOND_KEY_FIELD_NUMBER: _ClassVar[int]
    round_id: bytes
    query: str
    steps: int
    epsilon_nanonats: int
    delta_trillionths: int
    sums: FloodedSums
    rate_billionths: int
    pairs: int
    people: int
    honest: int
    key: bytes
    second_key: bytes
    def __init__(self, round_id: _Optional[bytes] = ..., query: _Optional[str] = ..., steps: _Optional[int] = ..., epsilon_nanonats: _Optional[int] = ..., delta_trillionths: _Optional[int] = ..., sums: _Optional[_Union[FloodedSums, _Mapping]] = ..., rate_billionths: _Optional[int] = ..., pairs: _Optional[int] = ..., people: _Optional[int] = ..., honest: _Optional[int] = ..., key: _Optional[bytes] = ..., second_key: _Optional[bytes] = ...) -> None: ...

class FloodedSums(_message.Message):
    __slots__ = ("entries", "largest", "rising", "falling", "messages")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    LARGEST_FIELD_NUMBER: _ClassVar[int]
    RISING_FIELD_NUMBER: _ClassVar[int]
    FALLING_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    entries: int
    largest: int
    rising: int
    falling: int
    messages: int
    def __init__(self, entries: _Optional[int] = ..., largest: _Optional[int] = ..., rising: _Optional[int] = ..., falling: _Optional[int] = ..., messages: _Optional[int] = ...) -> None: ...

class FloodedPart(_message.Message):
    __slots__ = ("name", "start", "stop")
    NAME_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    name: str
    start: int
    stop: int
    def __init__(self, name: _Optional[str] = ..., start: _Optional[int] = ..., stop: _Optional[int] = ...) -> None: ...

class FloodedRound(_message.Message):
    __slots__ = ("question", "parts")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    question: FloodedQuestion
    parts: _containers.RepeatedCompositeFieldContainer[FloodedPart]
    def __init__(self, question: _Optional[_Union[FloodedQuestion, _Mapping]] = ..., parts: _Optional[_Iterable[_Union[FloodedPart, _Mapping]]] = ...) -> None: ...

class FloodRequest(_message.Message):
    __slots__ = ("round", "cohort")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    COHORT_FIELD_NUMBER: _ClassVar[int]
    round: FloodedRound
    cohort: _cohort_pb2.Cohort
    def __init__(self, round: _Optional[_Union[FloodedRound, _Mapping]] = ..., cohort: _Optional[_Union[_cohort_pb2.Cohort, _Mapping]] = ...) -> None: ...

class FloodResponse(_message.Message):
    __slots__ = ("reports", "packed")
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    PACKED_FIELD_NUMBER: _ClassVar[int]
    reports: int
    packed: bytes
    def __init__(self, reports: _Optional[int] = ..., packed: _Optional[bytes] = ...) -> None: ...
