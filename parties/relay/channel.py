"""A `grpc.Channel` to a party that dialled in: generated stubs work over it as over a channel that was dialled.

It names a party, not a stream: after the party has come back, the same channel reaches it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn

import grpc
from google.protobuf.message import Message

from parties.relay.attachment import RelayDesk, RelayedCall
from parties.relay.limits import RelayedFailure

Serialize = Callable[[Message], bytes]
Deserialize = Callable[[bytes], Message]


class RelayChannel(grpc.Channel):
    """Calls with one request, to one party."""

    def __init__(self, desk: RelayDesk, party: str) -> None:
        self._desk = desk
        self._party = party

    def call(self, method: str, request: bytes, timeout_seconds: float | None) -> RelayedCall:
        """Make a call of serialized messages."""
        made = RelayedCall(self._desk, self._party, method, request, timeout_seconds)
        self._desk.begin(made)
        return made

    def unary_unary(  # type: ignore[override]
        self, method: str, request_serializer: Serialize, response_deserializer: Deserialize, **_: object
    ) -> _UnaryMethod:
        """One message for one."""
        return _UnaryMethod(self, method, request_serializer, response_deserializer)

    def unary_stream(  # type: ignore[override]
        self, method: str, request_serializer: Serialize, response_deserializer: Deserialize, **_: object
    ) -> _StreamMethod:
        """Many messages for one."""
        return _StreamMethod(self, method, request_serializer, response_deserializer)

    def stream_unary(self, *_: object, **__: object) -> NoReturn:
        """Not relayed: no agent has such a method."""
        raise NotImplementedError

    def stream_stream(self, *_: object, **__: object) -> NoReturn:
        """Not relayed: no agent has such a method."""
        raise NotImplementedError

    def subscribe(self, callback: object, try_to_connect: bool | None = False) -> NoReturn:
        """A relayed channel has no connection of its own to tell about."""
        raise NotImplementedError

    def unsubscribe(self, callback: object) -> NoReturn:
        """See `subscribe`."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing to close: the stream belongs to the party."""

    def __enter__(self) -> RelayChannel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Method:
    """A method of one party's service."""

    def __init__(
        self, channel: RelayChannel, name: str, serialize: Serialize, deserialize: Deserialize
    ) -> None:
        self._channel = channel
        self._name = name
        self._serialize = serialize
        self._deserialize = deserialize

    def _call(self, request: Message, timeout: float | None) -> RelayedAnswer:
        call = self._channel.call(self._name, self._serialize(request), timeout)
        return RelayedAnswer(call, self._deserialize)


class _StreamMethod(_Method):
    def __call__(self, request: Message, timeout: float | None = None) -> RelayedAnswer:
        return self._call(request, timeout)


class _UnaryMethod(_Method):
    def __call__(self, request: Message, timeout: float | None = None) -> Message:
        return self._call(request, timeout).result()

    def future(self, request: Message, timeout: float | None = None) -> RelayedAnswer:
        return self._call(request, timeout)


class RelayedAnswer:
    """The answer to a call: an iterator over its messages, or the future of its only one."""

    def __init__(self, call: RelayedCall, deserialize: Deserialize) -> None:
        self._call = call
        self._deserialize = deserialize

    def __iter__(self) -> Iterator[Message]:
        return self

    def __next__(self) -> Message:
        message = next(self._call)
        try:
            return self._deserialize(message)
        except Exception as error:
            self.cancel()
            raise RelayedFailure.locally(grpc.StatusCode.INTERNAL, "the answer is no message") from error

    def result(self) -> Message:
        """Wait for the one message that there is."""
        answer = next(self, None)
        if answer is None or next(self, None) is not None:
            self.cancel()
            raise RelayedFailure.locally(grpc.StatusCode.INTERNAL, "the answer is not one message")
        return answer

    def cancel(self) -> None:
        """Stop waiting."""
        self._call.cancel()
