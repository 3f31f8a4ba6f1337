from parties.wire.v1 import cohort_pb2 as _cohort_pb2
from parties.wire.v1 import flooding_pb2 as _flooding_pb2
from parties.wire.v1 import oracle_pb2 as _oracle_pb2
from parties.wire.v1 import schema_pb2 as _schema_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DescribeShufflerRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeShufflerResponse(_message.Message):
    __slots__ = ("name", "people", "schema", "epsilon_nanonats", "delta_trillionths", "colluding_parties", "hiding_people", "requests", "minimum_cohort", "second_key", "samples")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PEOPLE_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    DELTA_TRILLIONTHS_FIELD_NUMBER: _ClassVar[int]
    COLLUDING_PARTIES_FIELD_NUMBER: _ClassVar[int]
    HIDING_PEOPLE_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_COHORT_FIELD_NUMBER: _ClassVar[int]
    SECOND_KEY_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    name: str
    people: int
    schema: _schema_pb2.Schema
    epsilon_nanonats: int
    delta_trillionths: int
    colluding_parties: int
    hiding_people: int
    requests: int
    minimum_cohort: int
    second_key: bytes
    samples: bool
    def __init__(self, name: _Optional[str] = ..., people: _Optional[int] = ..., schema: _Optional[_Union[_schema_pb2.Schema, _Mapping]] = ..., epsilon_nanonats: _Optional[int] = ..., delta_trillionths: _Optional[int] = ..., colluding_parties: _Optional[int] = ..., hiding_people: _Optional[int] = ..., requests: _Optional[int] = ..., minimum_cohort: _Optional[int] = ..., second_key: _Optional[bytes] = ..., samples: bool = ...) -> None: ...

class ShuffleRequest(_message.Message):
    __slots__ = ("request",)
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    request: _oracle_pb2.RandomizeRequest
    def __init__(self, request: _Optional[_Union[_oracle_pb2.RandomizeRequest, _Mapping]] = ...) -> None: ...

class ShuffleResponse(_message.Message):
    __slots__ = ("reports", "packed")
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    PACKED_FIELD_NUMBER: _ClassVar[int]
    reports: int
    packed: bytes
    def __init__(self, reports: _Optional[int] = ..., packed: _Optional[bytes] = ...) -> None: ...

class ShuffleFloodedRequest(_message.Message):
    __slots__ = ("question", "cohorts")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    COHORTS_FIELD_NUMBER: _ClassVar[int]
    question: _flooding_pb2.FloodedQuestion
    cohorts: _containers.RepeatedCompositeFieldContainer[_cohort_pb2.Cohort]
    def __init__(self, question: _Optional[_Union[_flooding_pb2.FloodedQuestion, _Mapping]] = ..., cohorts: _Optional[_Iterable[_Union[_cohort_pb2.Cohort, _Mapping]]] = ...) -> None: ...

class ShuffleFloodedResponse(_message.Message):
    __slots__ = ("reports", "packed", "people", "roster", "messages")
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    PACKED_FIELD_NUMBER: _ClassVar[int]
    PEOPLE_FIELD_NUMBER: _ClassVar[int]
    ROSTER_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    reports: int
    packed: bytes
    people: int
    roster: bytes
    messages: int
    def __init__(self, reports: _Optional[int] = ..., packed: _Optional[bytes] = ..., people: _Optional[int] = ..., roster: _Optional[bytes] = ..., messages: _Optional[int] = ...) -> None: ...
