from parties.wire.v1 import cohort_pb2 as _cohort_pb2
from parties.wire.v1 import collection_pb2 as _collection_pb2
from parties.wire.v1 import flooding_pb2 as _flooding_pb2
from parties.wire.v1 import randomizer_pb2 as _randomizer_pb2
from parties.wire.v1 import schema_pb2 as _schema_pb2
from parties.wire.v1 import share_server_pb2 as _share_server_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("name", "people", "schema", "budget_nanonats", "largest_request_nanonats", "share_servers", "by_row", "by_content", "epoch", "keep_seconds", "quantum_nanoseconds", "smallest_request_nanonats", "samples")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PEOPLE_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    BUDGET_NANONATS_FIELD_NUMBER: _ClassVar[int]
    LARGEST_REQUEST_NANONATS_FIELD_NUMBER: _ClassVar[int]
    SHARE_SERVERS_FIELD_NUMBER: _ClassVar[int]
    BY_ROW_FIELD_NUMBER: _ClassVar[int]
    BY_CONTENT_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    KEEP_SECONDS_FIELD_NUMBER: _ClassVar[int]
    QUANTUM_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    SMALLEST_REQUEST_NANONATS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    name: str
    people: int
    schema: _schema_pb2.Schema
    budget_nanonats: int
    largest_request_nanonats: int
    share_servers: _containers.RepeatedScalarFieldContainer[str]
    by_row: bool
    by_content: bool
    epoch: int
    keep_seconds: int
    quantum_nanoseconds: int
    smallest_request_nanonats: int
    samples: bool
    def __init__(self, name: _Optional[str] = ..., people: _Optional[int] = ..., schema: _Optional[_Union[_schema_pb2.Schema, _Mapping]] = ..., budget_nanonats: _Optional[int] = ..., largest_request_nanonats: _Optional[int] = ..., share_servers: _Optional[_Iterable[str]] = ..., by_row: bool = ..., by_content: bool = ..., epoch: _Optional[int] = ..., keep_seconds: _Optional[int] = ..., quantum_nanoseconds: _Optional[int] = ..., smallest_request_nanonats: _Optional[int] = ..., samples: bool = ...) -> None: ...

class RandomizeRequest(_message.Message):
    __slots__ = ("request_id", "randomizer", "cohort", "mixed", "epoch", "query")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RANDOMIZER_FIELD_NUMBER: _ClassVar[int]
    COHORT_FIELD_NUMBER: _ClassVar[int]
    MIXED_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    request_id: bytes
    randomizer: _randomizer_pb2.Randomizer
    cohort: _cohort_pb2.Cohort
    mixed: bool
    epoch: int
    query: str
    def __init__(self, request_id: _Optional[bytes] = ..., randomizer: _Optional[_Union[_randomizer_pb2.Randomizer, _Mapping]] = ..., cohort: _Optional[_Union[_cohort_pb2.Cohort, _Mapping]] = ..., mixed: bool = ..., epoch: _Optional[int] = ..., query: _Optional[str] = ...) -> None: ...

class RandomizeResponse(_message.Message):
    __slots__ = ("reports", "packed")
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    PACKED_FIELD_NUMBER: _ClassVar[int]
    reports: int
    packed: bytes
    def __init__(self, reports: _Optional[int] = ..., packed: _Optional[bytes] = ...) -> None: ...

class ContributeRequest(_message.Message):
    __slots__ = ("collection", "cohort")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    COHORT_FIELD_NUMBER: _ClassVar[int]
    collection: _collection_pb2.Collection
    cohort: _cohort_pb2.Cohort
    def __init__(self, collection: _Optional[_Union[_collection_pb2.Collection, _Mapping]] = ..., cohort: _Optional[_Union[_cohort_pb2.Cohort, _Mapping]] = ...) -> None: ...

class ContributeSealedRequest(_message.Message):
    __slots__ = ("collection", "cohort")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    COHORT_FIELD_NUMBER: _ClassVar[int]
    collection: _collection_pb2.Collection
    cohort: _cohort_pb2.Cohort
    def __init__(self, collection: _Optional[_Union[_collection_pb2.Collection, _Mapping]] = ..., cohort: _Optional[_Union[_cohort_pb2.Cohort, _Mapping]] = ...) -> None: ...

class ContributeSealedResponse(_message.Message):
    __slots__ = ("server", "upload")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_FIELD_NUMBER: _ClassVar[int]
    server: int
    upload: _share_server_pb2.UploadSealedRequest
    def __init__(self, server: _Optional[int] = ..., upload: _Optional[_Union[_share_server_pb2.UploadSealedRequest, _Mapping]] = ...) -> None: ...

class QuoteRequest(_message.Message):
    __slots__ = ("randomize", "contribute", "contribute_sealed", "flood")
    RANDOMIZE_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTE_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTE_SEALED_FIELD_NUMBER: _ClassVar[int]
    FLOOD_FIELD_NUMBER: _ClassVar[int]
    randomize: RandomizeRequest
    contribute: ContributeRequest
    contribute_sealed: ContributeSealedRequest
    flood: _flooding_pb2.FloodRequest
    def __init__(self, randomize: _Optional[_Union[RandomizeRequest, _Mapping]] = ..., contribute: _Optional[_Union[ContributeRequest, _Mapping]] = ..., contribute_sealed: _Optional[_Union[ContributeSealedRequest, _Mapping]] = ..., flood: _Optional[_Union[_flooding_pb2.FloodRequest, _Mapping]] = ...) -> None: ...

class QuoteResponse(_message.Message):
    __slots__ = ("epsilon_nanonats", "work_nanoseconds", "answer_nanoseconds")
    EPSILON_NANONATS_FIELD_NUMBER: _ClassVar[int]
    WORK_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    epsilon_nanonats: int
    work_nanoseconds: int
    answer_nanoseconds: int
    def __init__(self, epsilon_nanonats: _Optional[int] = ..., work_nanoseconds: _Optional[int] = ..., answer_nanoseconds: _Optional[int] = ...) -> None: ...

class BudgetsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BudgetsResponse(_message.Message):
    __slots__ = ("steps",)
    STEPS_FIELD_NUMBER: _ClassVar[int]
    steps: _containers.RepeatedCompositeFieldContainer[BudgetStep]
    def __init__(self, steps: _Optional[_Iterable[_Union[BudgetStep, _Mapping]]] = ...) -> None: ...

class BudgetStep(_message.Message):
    __slots__ = ("at_least_nanonats", "people")
    AT_LEAST_NANONATS_FIELD_NUMBER: _ClassVar[int]
    PEOPLE_FIELD_NUMBER: _ClassVar[int]
    at_least_nanonats: int
    people: int
    def __init__(self, at_least_nanonats: _Optional[int] = ..., people: _Optional[int] = ...) -> None: ...

class ContributeResponse(_message.Message):
    __slots__ = ("counted",)
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    counted: int
    def __init__(self, counted: _Optional[int] = ...) -> None: ...
