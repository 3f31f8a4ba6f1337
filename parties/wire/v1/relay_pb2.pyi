from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AttachRequest(_message.Message):
    __slots__ = ("hello", "part", "end", "leaving")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    LEAVING_FIELD_NUMBER: _ClassVar[int]
    hello: RelayHello
    part: RelayPart
    end: RelayEnd
    leaving: RelayLeaving
    def __init__(self, hello: _Optional[_Union[RelayHello, _Mapping]] = ..., part: _Optional[_Union[RelayPart, _Mapping]] = ..., end: _Optional[_Union[RelayEnd, _Mapping]] = ..., leaving: _Optional[_Union[RelayLeaving, _Mapping]] = ...) -> None: ...

class AttachResponse(_message.Message):
    __slots__ = ("accepted", "call", "cancel", "credit")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    accepted: RelayAccepted
    call: RelayCall
    cancel: RelayCancel
    credit: RelayCredit
    def __init__(self, accepted: _Optional[_Union[RelayAccepted, _Mapping]] = ..., call: _Optional[_Union[RelayCall, _Mapping]] = ..., cancel: _Optional[_Union[RelayCancel, _Mapping]] = ..., credit: _Optional[_Union[RelayCredit, _Mapping]] = ...) -> None: ...

class RelayHello(_message.Message):
    __slots__ = ("party",)
    PARTY_FIELD_NUMBER: _ClassVar[int]
    party: str
    def __init__(self, party: _Optional[str] = ...) -> None: ...

class RelayAccepted(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RelayCall(_message.Message):
    __slots__ = ("call_id", "method", "request", "timeout_milliseconds", "credit")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MILLISECONDS_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    method: str
    request: bytes
    timeout_milliseconds: int
    credit: int
    def __init__(self, call_id: _Optional[int] = ..., method: _Optional[str] = ..., request: _Optional[bytes] = ..., timeout_milliseconds: _Optional[int] = ..., credit: _Optional[int] = ...) -> None: ...

class RelayCancel(_message.Message):
    __slots__ = ("call_id",)
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    def __init__(self, call_id: _Optional[int] = ...) -> None: ...

class RelayCredit(_message.Message):
    __slots__ = ("call_id", "parts")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    parts: int
    def __init__(self, call_id: _Optional[int] = ..., parts: _Optional[int] = ...) -> None: ...

class RelayPart(_message.Message):
    __slots__ = ("call_id", "response")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    response: bytes
    def __init__(self, call_id: _Optional[int] = ..., response: _Optional[bytes] = ...) -> None: ...

class RelayEnd(_message.Message):
    __slots__ = ("call_id", "status")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    status: bytes
    def __init__(self, call_id: _Optional[int] = ..., status: _Optional[bytes] = ...) -> None: ...

class RelayLeaving(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
