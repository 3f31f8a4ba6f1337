"""Callers of a service without a network: who they are, and how their calls were aborted."""

from __future__ import annotations

from typing import Any

import grpc


class Context:
    """A caller of this name, and how its call was aborted."""

    def __init__(self, caller: str, seconds: float | None = None) -> None:
        self._caller, self._seconds = caller, seconds
        self.code: grpc.StatusCode | None = None
        self.text = ""

    def auth_context(self) -> dict[str, list[bytes]]:
        return {"x509_common_name": [self._caller.encode()]}

    def time_remaining(self) -> float | None:
        return self._seconds

    def cancelled(self) -> bool:
        return False

    async def abort(self, code: grpc.StatusCode, text: str, trailing_metadata: Any = ()) -> None:
        self.code, self.text = code, text
        raise grpc.aio.AbortError
