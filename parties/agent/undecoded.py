"""Requests that are still bytes: gRPC would decode them on the event loop, where a few megabytes hold everybody up.

A service registers through `Undecoding`; its handlers then get an `Undecoded`, whose length is known at once and which the
worker decodes when it is the caller's turn.

Checked in tests/unit/parties/agent/test_agent_work.py and tests/integration/test_load.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import grpc
from google.protobuf.message import DecodeError, Message

from localdp.errors import InvalidParameter
from parties.admission import Handler, Received, Registry


@dataclass(frozen=True, slots=True)
class Undecoded:
    """The bytes of a request, and what makes a message of them."""

    decode: Callable[[bytes], Message]
    data: bytes

    def ByteSize(self) -> int:  # noqa: N802
        """As of a message."""
        return len(self.data)

    def decoded(self) -> Message:
        """The message, or a refusal."""
        try:
            return self.decode(self.data)
        except DecodeError:
            raise InvalidParameter("the bytes of the request are not a message of this call") from None


def decoded(request: Received) -> Received:
    """The message itself, however it came."""
    return request.decoded() if isinstance(request, Undecoded) else request


class Undecoding:
    """A server as a service sees it while it registers: its handlers get bytes."""

    def __init__(self, server: Registry) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """The half of gRPC's registration that does not name its methods; the other one does it for both."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Handler]) -> None:
        """Register the handlers of a service, with decoders that wait."""
        kept = {
            name: handler._replace(
                request_deserializer=functools.partial(Undecoded, handler.request_deserializer)
            )
            for name, handler in handlers.items()
        }
        self._server.add_registered_method_handlers(service, kept)
