"""What packed reports cost on their way, against the same gRPC stream carrying the same bytes for nobody in particular."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc

from benchmarks.rows import Row, best_seconds, row_of
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.domains import Records
from localdp.party.party import Party, Request
from localdp.randomizers.definition import LocalRandomizer
from parties import codec
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer
from parties.rounds.asking import ask
from parties.serving import start_server
from parties.wire.v1 import oracle_pb2_grpc

TURNS = 30
_SECONDS = 60.0


class _Repeating(AgentService):
    """Draws once; every further call gets the same messages, so that only the way is measured."""

    kept: list[Any] | None = None

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        if self.kept is None:
            self.kept = [part async for part in super().Randomize(request, context)]
        for part in self.kept:
            yield part


def stream_row(
    people: Records, query: str, randomizer: LocalRandomizer, name: str, least_share: float | None = None
) -> Row:
    """Seconds to receive, check and sum up packed reports, over seconds to receive their bytes."""
    party = Party("party", people, bytes(32), MemoryLedger(people.people, Epsilon(10**12)))
    request, cohort = Request(bytes(16), query, randomizer), Cohort(0, people.people)
    with asyncio.Runner() as runner:
        server, port = runner.run(_started(_Repeating(party, {})))
        # One for all turns: connecting is not what is measured.  It belongs to the loop on which it is opened.
        channel = runner.run(_opened(Peer("party", f"127.0.0.1:{port}")))
        seconds = best_seconds(
            [
                lambda: runner.run(_tallied(channel, request, cohort)),
                lambda: runner.run(_plain(channel, request, cohort)),
            ],
            TURNS,
        )
        runner.run(channel.close())
        runner.run(server.stop(0))
    rate = people.people / seconds[0] / 1e6
    target = None if least_share is None else 1 / least_share
    return row_of(name, rate, "10^6 reports/s", "plain bytes", seconds[0] / seconds[1], target)


async def _started(agent: AgentService) -> Any:
    return await start_server("127.0.0.1", 0, [(SERVICE_NAME, agent.register)])


async def _opened(peer: Peer) -> grpc.aio.Channel:
    return peer.open_aio(None)


async def _tallied(channel: grpc.aio.Channel, request: Request, cohort: Cohort) -> None:
    await ask(channel, request, cohort, cohort.size(), asyncio.get_running_loop().time() + _SECONDS)


async def _plain(channel: grpc.aio.Channel, request: Request, cohort: Cohort) -> None:
    stub: Any = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
    moved = 0
    async for message in stub.Randomize(codec.request_to_wire(request, cohort), timeout=_SECONDS):
        moved += len(message.packed)
    assert moved * 8 >= request.randomizer.report_bits * cohort.size()
