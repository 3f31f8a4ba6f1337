"""Agents and share servers that are away for a while: each call fails so often, at once or half way, then works."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any

import grpc

from localdp.party.party import Party
from localdp.sharing.share_server import ShareServer
from parties.agent.service import AgentService
from parties.shares.service import ShareService


class Absences:
    """Which calls fail, how often, and how often each was made."""

    def __init__(self, failures: int, *methods: str) -> None:
        self.made: Counter[str] = Counter()
        self._failures = failures
        self._methods = methods

    async def begin(self, method: str, context: Any) -> None:
        """Count the call, and fail it while the peer is away."""
        if self.is_away(method):
            await context.abort(grpc.StatusCode.UNAVAILABLE, "away")

    def is_away(self, method: str) -> bool:
        """Count the call, and say whether it is to fail."""
        self.made[method] += 1
        return method in self._methods and self.made[method] <= self._failures


class FlakyAgent(AgentService):
    """An agent that is away for the first calls of some methods; a stream breaks off after so many messages."""

    def __init__(
        self,
        party: Party,
        absences: Absences,
        messages: int = 0,
        share_servers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(party, share_servers or {})
        self._absences = absences
        self._messages = messages

    async def Describe(self, request: Any, context: Any) -> Any:  # noqa: N802
        await self._absences.begin("Describe", context)
        return await super().Describe(request, context)

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        away, sent = self._absences.is_away("Randomize"), 0
        async for part in super().Randomize(request, context):
            if away and sent == self._messages:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "away")
            yield part
            sent += 1

    async def Contribute(self, request: Any, context: Any) -> Any:  # noqa: N802
        await self._absences.begin("Contribute", context)
        return await super().Contribute(request, context)


class FlakyShareServer(ShareService):
    """A share server that has done what it was told, and is away before it can say so."""

    def __init__(self, server: ShareServer, absences: Absences) -> None:
        super().__init__(server)
        self._absences = absences

    async def OpenCollection(self, request: Any, context: Any) -> Any:  # noqa: N802
        return await self._cut_off("OpenCollection", request, context)

    async def GetHolding(self, request: Any, context: Any) -> Any:  # noqa: N802
        return await self._cut_off("GetHolding", request, context)

    async def Release(self, request: Any, context: Any) -> Any:  # noqa: N802
        return await self._cut_off("Release", request, context)

    async def _cut_off(self, method: str, request: Any, context: Any) -> Any:
        answer = await getattr(super(), method)(request, context)
        await self._absences.begin(method, context)
        return answer
