"""What a handler sees of a relayed call: the part of gRPC's servicer context that the services of this system use."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NoReturn

import grpc

from parties.relay.limits import status_of


class RelayedContext:
    """Who calls, how long they wait, whether they still do; and how the call is aborted."""

    def __init__(self, caller: str | None, timeout_seconds: float | None) -> None:
        """`caller` is the name that the coordinator's certificate was checked for; None on loopback without TLS."""
        self._caller = caller
        self._deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        self._given_up = False
        self.status = b""

    def auth_context(self) -> dict[str, list[bytes]]:
        """As after a TLS handshake in the other direction."""
        return {} if self._caller is None else {"x509_common_name": [self._caller.encode()]}

    def time_remaining(self) -> float | None:
        """None without a deadline, 0.0 once it has passed."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def cancelled(self) -> bool:
        """Whether the caller has gone."""
        return self._given_up

    def give_up(self) -> None:
        """The caller has gone: what was not begun is not begun."""
        self._given_up = True

    async def abort(
        self,
        code: grpc.StatusCode,
        message: str = "",
        trailing_metadata: Iterable[tuple[str, bytes | str]] = (),
    ) -> NoReturn:
        """End the call with a status."""
        self.status = status_of(code, message, trailing_metadata)
        raise grpc.aio.AbortError(message)
