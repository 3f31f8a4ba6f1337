from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SignedHead(_message.Message):
    __slots__ = ("party", "entries", "link", "public_key", "signature")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    party: str
    entries: int
    link: bytes
    public_key: bytes
    signature: bytes
    def __init__(self, party: _Optional[str] = ..., entries: _Optional[int] = ..., link: _Optional[bytes] = ..., public_key: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class CountersignedHead(_message.Message):
    __slots__ = ("head", "witness_key", "countersignature")
    HEAD_FIELD_NUMBER: _ClassVar[int]
    WITNESS_KEY_FIELD_NUMBER: _ClassVar[int]
    COUNTERSIGNATURE_FIELD_NUMBER: _ClassVar[int]
    head: SignedHead
    witness_key: bytes
    countersignature: bytes
    def __init__(self, head: _Optional[_Union[SignedHead, _Mapping]] = ..., witness_key: _Optional[bytes] = ..., countersignature: _Optional[bytes] = ...) -> None: ...

class ChainPlace(_message.Message):
    __slots__ = ("entries", "link")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    entries: int
    link: bytes
    def __init__(self, entries: _Optional[int] = ..., link: _Optional[bytes] = ...) -> None: ...

class CountersignRequest(_message.Message):
    __slots__ = ("head", "after", "signature")
    HEAD_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    head: SignedHead
    after: ChainPlace
    signature: bytes
    def __init__(self, head: _Optional[_Union[SignedHead, _Mapping]] = ..., after: _Optional[_Union[ChainPlace, _Mapping]] = ..., signature: _Optional[bytes] = ...) -> None: ...

class CountersignResponse(_message.Message):
    __slots__ = ("countersigned",)
    COUNTERSIGNED_FIELD_NUMBER: _ClassVar[int]
    countersigned: CountersignedHead
    def __init__(self, countersigned: _Optional[_Union[CountersignedHead, _Mapping]] = ...) -> None: ...

class LatestHeadRequest(_message.Message):
    __slots__ = ("party", "nonce")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    party: str
    nonce: bytes
    def __init__(self, party: _Optional[str] = ..., nonce: _Optional[bytes] = ...) -> None: ...

class LatestHeadResponse(_message.Message):
    __slots__ = ("latest", "witness_key", "signature")
    LATEST_FIELD_NUMBER: _ClassVar[int]
    WITNESS_KEY_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    latest: CountersignedHead
    witness_key: bytes
    signature: bytes
    def __init__(self, latest: _Optional[_Union[CountersignedHead, _Mapping]] = ..., witness_key: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...
