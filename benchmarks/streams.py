"""What packed reports cost on their way, against the same gRPC stream carrying the same bytes for nobody in particular."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from threading import Thread
from typing import Any

from benchmarks.rows import Row, best_seconds, row_of
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.domains import Records
from localdp.party.party import Party, Request
from localdp.randomizers.definition import LocalRandomizer
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer, RemoteParty
from parties.receiving import Reception
from parties.repeating import Begin, Persistence
from parties.rounds.asking import tallied
from parties.serving import start_server

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
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    server, port = asyncio.run_coroutine_threadsafe(_started(_Repeating(party, {})), loop).result()
    peer = Peer("party", f"127.0.0.1:{port}")
    with peer.open(None) as channel:  # one for all turns: connecting is not what is measured
        asked = RemoteParty(peer, channel).reports(request, cohort)
        seconds = best_seconds(
            [lambda: _tallied(asked, request, cohort), lambda: _plain(asked, request, cohort)], TURNS
        )
    asyncio.run_coroutine_threadsafe(server.stop(0), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    rate = people.people / seconds[0] / 1e6
    target = None if least_share is None else 1 / least_share
    return row_of(name, rate, "10^6 reports/s", "plain bytes", seconds[0] / seconds[1], target)


async def _started(agent: AgentService) -> Any:
    return await start_server("127.0.0.1", 0, [(SERVICE_NAME, agent.register)])


def _tallied(asked: Begin, request: Request, cohort: Cohort) -> None:
    reception = Reception(asked, "the party", _SECONDS, Persistence())
    tallied(request.randomizer, reception.counted(cohort.size()))


def _plain(asked: Begin, request: Request, cohort: Cohort) -> None:
    moved = sum(len(message.packed) for message in asked(_SECONDS))
    assert moved * 8 >= request.randomizer.report_bits * cohort.size()
