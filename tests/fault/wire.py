"""The agents of a world behind real gRPC: requests in flight together, and a network that loses them on either way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
import numpy as np

from localdp.errors import LocalDpError
from localdp.party.party import Party, Request
from localdp.randomizers.definition import Reports
from parties import codec
from parties.admission import Registry
from parties.agent.service import SERVICE_NAME, AgentService
from parties.serving import open_channel
from parties.status import error_of
from parties.wire.v1 import oracle_pb2_grpc
from tests.fault.world import Answer, Asked
from tests.support.federations import Loopback

PATIENCE_SECONDS = 30.0


class _Switch(oracle_pb2_grpc.LocalRandomizerOracleServiceServicer):
    """One address for whichever agents run at the moment; the cable runs through here."""

    def __init__(self) -> None:
        self.agents: list[AgentService] = []
        self.cut: str | None = None

    def register(self, server: Registry) -> None:
        oracle_pb2_grpc.add_LocalRandomizerOracleServiceServicer_to_server(self, server)

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        if self.cut == "request lost":
            await context.abort(grpc.StatusCode.UNAVAILABLE, "lost")
        agent = self.agents[int(dict(context.invocation_metadata())["agent"])]
        async for part in agent.Randomize(request, context):
            if self.cut == "reply lost":
                await context.abort(grpc.StatusCode.UNAVAILABLE, "lost")
            yield part


class Wire:
    """A transport for `World`, over loopback."""

    def __init__(self, threads: Loopback) -> None:
        self._threads, self._switch = threads, _Switch()
        self._channel = open_channel(threads.serve(SERVICE_NAME, self._switch))
        self._stub: Any = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(self._channel)

    def close(self) -> None:
        """Close the channel; the server belongs to the loop."""
        self._channel.close()

    def connect(self, agents: Sequence[Party]) -> None:
        for service in self._switch.agents:
            self._threads.run(service.close())
        self._switch.agents = [AgentService(agent, {}) for agent in agents]

    def send(self, asked: Sequence[Asked], cut: str | None) -> list[Answer]:
        self._switch.cut = cut
        calls = [
            self._stub.Randomize(
                codec.request_to_wire(request, cohort),
                timeout=PATIENCE_SECONDS,
                metadata=(("agent", str(agent)),),
            )
            for agent, request, cohort in asked
        ]  # all of them are on their way now
        return [_answer(request, call) for (_, request, _), call in zip(asked, calls, strict=True)]


def _answer(request: Request, call: Any) -> Reports | LocalDpError:
    try:
        parts = [request.randomizer.unpack(part.packed, part.reports) for part in call]
    except grpc.RpcError as failure:
        return error_of(failure, "the agent")
    return np.concatenate(parts) if parts else request.randomizer.unpack(b"", 0)
