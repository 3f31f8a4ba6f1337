from parties.wire.v1 import cohort_pb2 as _cohort_pb2
from parties.wire.v1 import collection_pb2 as _collection_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DescribeServerRequest(_message.Message):
    __slots__ = ("collection_id",)
    COLLECTION_ID_FIELD_NUMBER: _ClassVar[int]
    collection_id: bytes
    def __init__(self, collection_id: _Optional[bytes] = ...) -> None: ...

class DescribeServerResponse(_message.Message):
    __slots__ = ("name", "sealing_key", "witness_key", "commitment")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SEALING_KEY_FIELD_NUMBER: _ClassVar[int]
    WITNESS_KEY_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    name: str
    sealing_key: bytes
    witness_key: bytes
    commitment: bytes
    def __init__(self, name: _Optional[str] = ..., sealing_key: _Optional[bytes] = ..., witness_key: _Optional[bytes] = ..., commitment: _Optional[bytes] = ...) -> None: ...

class OpenCollectionRequest(_message.Message):
    __slots__ = ("collection",)
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    collection: _collection_pb2.Collection
    def __init__(self, collection: _Optional[_Union[_collection_pb2.Collection, _Mapping]] = ...) -> None: ...

class OpenCollectionResponse(_message.Message):
    __slots__ = ("digest", "sealed")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    digest: bytes
    sealed: bool
    def __init__(self, digest: _Optional[bytes] = ..., sealed: bool = ...) -> None: ...

class UploadSharesRequest(_message.Message):
    __slots__ = ("collection", "party", "cohort", "shares", "public_shares")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    PARTY_FIELD_NUMBER: _ClassVar[int]
    COHORT_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_SHARES_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    party: str
    cohort: _cohort_pb2.Cohort
    shares: bytes
    public_shares: bytes
    def __init__(self, collection: _Optional[bytes] = ..., party: _Optional[str] = ..., cohort: _Optional[_Union[_cohort_pb2.Cohort, _Mapping]] = ..., shares: _Optional[bytes] = ..., public_shares: _Optional[bytes] = ...) -> None: ...

class UploadSharesResponse(_message.Message):
    __slots__ = ("counted",)
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    counted: int
    def __init__(self, counted: _Optional[int] = ...) -> None: ...

class UploadSealedRequest(_message.Message):
    __slots__ = ("collection", "party", "cohort", "sealed")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    PARTY_FIELD_NUMBER: _ClassVar[int]
    COHORT_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    party: str
    cohort: _cohort_pb2.Cohort
    sealed: bytes
    def __init__(self, collection: _Optional[bytes] = ..., party: _Optional[str] = ..., cohort: _Optional[_Union[_cohort_pb2.Cohort, _Mapping]] = ..., sealed: _Optional[bytes] = ...) -> None: ...

class UploadSealedResponse(_message.Message):
    __slots__ = ("counted",)
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    counted: int
    def __init__(self, counted: _Optional[int] = ...) -> None: ...

class AgreeOnReportsRequest(_message.Message):
    __slots__ = ("collection", "addresses")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    addresses: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, collection: _Optional[bytes] = ..., addresses: _Optional[_Iterable[str]] = ...) -> None: ...

class AgreeOnReportsResponse(_message.Message):
    __slots__ = ("complete", "holding")
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    HOLDING_FIELD_NUMBER: _ClassVar[int]
    complete: bool
    holding: GetHoldingResponse
    def __init__(self, complete: bool = ..., holding: _Optional[_Union[GetHoldingResponse, _Mapping]] = ...) -> None: ...

class CheckReportsRequest(_message.Message):
    __slots__ = ("collection", "verify_key", "positions")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    VERIFY_KEY_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    verify_key: bytes
    positions: bytes
    def __init__(self, collection: _Optional[bytes] = ..., verify_key: _Optional[bytes] = ..., positions: _Optional[bytes] = ...) -> None: ...

class CheckReportsResponse(_message.Message):
    __slots__ = ("held", "verifiers")
    HELD_FIELD_NUMBER: _ClassVar[int]
    VERIFIERS_FIELD_NUMBER: _ClassVar[int]
    held: bytes
    verifiers: bytes
    def __init__(self, held: _Optional[bytes] = ..., verifiers: _Optional[bytes] = ...) -> None: ...

class VoteOnReportsRequest(_message.Message):
    __slots__ = ("collection", "positions", "messages", "holds", "verifiers")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    VERIFIERS_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    positions: bytes
    messages: bytes
    holds: bytes
    verifiers: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, collection: _Optional[bytes] = ..., positions: _Optional[bytes] = ..., messages: _Optional[bytes] = ..., holds: _Optional[bytes] = ..., verifiers: _Optional[_Iterable[bytes]] = ...) -> None: ...

class VoteOnReportsResponse(_message.Message):
    __slots__ = ("accepted",)
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    accepted: bytes
    def __init__(self, accepted: _Optional[bytes] = ...) -> None: ...

class CommitJobRequest(_message.Message):
    __slots__ = ("collection", "number", "positions", "accepted")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    number: int
    positions: bytes
    accepted: bytes
    def __init__(self, collection: _Optional[bytes] = ..., number: _Optional[int] = ..., positions: _Optional[bytes] = ..., accepted: _Optional[bytes] = ...) -> None: ...

class CommitJobResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SealReportsRequest(_message.Message):
    __slots__ = ("collection", "expected", "openings")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    OPENINGS_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    expected: GetHoldingResponse
    openings: _containers.RepeatedCompositeFieldContainer[GetOpeningResponse]
    def __init__(self, collection: _Optional[bytes] = ..., expected: _Optional[_Union[GetHoldingResponse, _Mapping]] = ..., openings: _Optional[_Iterable[_Union[GetOpeningResponse, _Mapping]]] = ...) -> None: ...

class SealReportsResponse(_message.Message):
    __slots__ = ("holding",)
    HOLDING_FIELD_NUMBER: _ClassVar[int]
    holding: GetHoldingResponse
    def __init__(self, holding: _Optional[_Union[GetHoldingResponse, _Mapping]] = ...) -> None: ...

class GetOpeningRequest(_message.Message):
    __slots__ = ("collection",)
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    def __init__(self, collection: _Optional[bytes] = ...) -> None: ...

class GetOpeningResponse(_message.Message):
    __slots__ = ("secret", "signature")
    SECRET_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    secret: bytes
    signature: bytes
    def __init__(self, secret: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class GetHoldingRequest(_message.Message):
    __slots__ = ("collection",)
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    def __init__(self, collection: _Optional[bytes] = ...) -> None: ...

class GetHoldingResponse(_message.Message):
    __slots__ = ("reports", "accepted", "jobs", "sealed", "signature", "attempt", "round")
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    reports: int
    accepted: bytes
    jobs: int
    sealed: bool
    signature: bytes
    attempt: bytes
    round: int
    def __init__(self, reports: _Optional[int] = ..., accepted: _Optional[bytes] = ..., jobs: _Optional[int] = ..., sealed: bool = ..., signature: _Optional[bytes] = ..., attempt: _Optional[bytes] = ..., round: _Optional[int] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ("collection", "accepted", "signatures", "addresses")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    SIGNATURES_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    accepted: bytes
    signatures: _containers.RepeatedScalarFieldContainer[bytes]
    addresses: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, collection: _Optional[bytes] = ..., accepted: _Optional[bytes] = ..., signatures: _Optional[_Iterable[bytes]] = ..., addresses: _Optional[_Iterable[str]] = ...) -> None: ...

class ProveNoiseRequest(_message.Message):
    __slots__ = ("collection", "accepted", "signatures", "step", "messages")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    SIGNATURES_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    accepted: bytes
    signatures: _containers.RepeatedScalarFieldContainer[bytes]
    step: int
    messages: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, collection: _Optional[bytes] = ..., accepted: _Optional[bytes] = ..., signatures: _Optional[_Iterable[bytes]] = ..., step: _Optional[int] = ..., messages: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ProveNoiseResponse(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: bytes
    def __init__(self, message: _Optional[bytes] = ...) -> None: ...

class ReleaseResponse(_message.Message):
    __slots__ = ("noisy_sum", "noisy_sums", "attempt", "rounds", "octets")
    NOISY_SUM_FIELD_NUMBER: _ClassVar[int]
    NOISY_SUMS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    OCTETS_FIELD_NUMBER: _ClassVar[int]
    noisy_sum: int
    noisy_sums: bytes
    attempt: bytes
    rounds: int
    octets: int
    def __init__(self, noisy_sum: _Optional[int] = ..., noisy_sums: _Optional[bytes] = ..., attempt: _Optional[bytes] = ..., rounds: _Optional[int] = ..., octets: _Optional[int] = ...) -> None: ...

class ComputeRequest(_message.Message):
    __slots__ = ("collection", "server", "round", "payload", "more")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    server: int
    round: int
    payload: bytes
    more: bool
    def __init__(self, collection: _Optional[bytes] = ..., server: _Optional[int] = ..., round: _Optional[int] = ..., payload: _Optional[bytes] = ..., more: bool = ...) -> None: ...

class ComputeResponse(_message.Message):
    __slots__ = ("round", "payload", "more")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    round: int
    payload: bytes
    more: bool
    def __init__(self, round: _Optional[int] = ..., payload: _Optional[bytes] = ..., more: bool = ...) -> None: ...
