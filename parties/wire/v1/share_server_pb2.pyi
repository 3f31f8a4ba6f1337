from parties.wire.v1 import cohort_pb2 as _cohort_pb2
from parties.wire.v1 import collection_pb2 as _collection_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OpenCollectionRequest(_message.Message):
    __slots__ = ("collection",)
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    collection: _collection_pb2.Collection
    def __init__(self, collection: _Optional[_Union[_collection_pb2.Collection, _Mapping]] = ...) -> None: ...

class OpenCollectionResponse(_message.Message):
    __slots__ = ("digest",)
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    digest: bytes
    def __init__(self, digest: _Optional[bytes] = ...) -> None: ...

class UploadSharesRequest(_message.Message):
    __slots__ = ("collection", "party", "cohort", "shares")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    PARTY_FIELD_NUMBER: _ClassVar[int]
    COHORT_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    party: str
    cohort: _cohort_pb2.Cohort
    shares: bytes
    def __init__(self, collection: _Optional[bytes] = ..., party: _Optional[str] = ..., cohort: _Optional[_Union[_cohort_pb2.Cohort, _Mapping]] = ..., shares: _Optional[bytes] = ...) -> None: ...

class UploadSharesResponse(_message.Message):
    __slots__ = ("counted",)
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    counted: int
    def __init__(self, counted: _Optional[int] = ...) -> None: ...

class GetHoldingRequest(_message.Message):
    __slots__ = ("collection",)
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    def __init__(self, collection: _Optional[bytes] = ...) -> None: ...

class GetHoldingResponse(_message.Message):
    __slots__ = ("reports", "accepted")
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    reports: int
    accepted: bytes
    def __init__(self, reports: _Optional[int] = ..., accepted: _Optional[bytes] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ("collection", "accepted")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    accepted: bytes
    def __init__(self, collection: _Optional[bytes] = ..., accepted: _Optional[bytes] = ...) -> None: ...

class ReleaseResponse(_message.Message):
    __slots__ = ("noisy_sum",)
    NOISY_SUM_FIELD_NUMBER: _ClassVar[int]
    noisy_sum: int
    def __init__(self, noisy_sum: _Optional[int] = ...) -> None: ...
