"""Shares that a server acknowledged are not sent to it again, whatever the other servers and the caller do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from localdp.cohorts import Cohort
from localdp.party.party import Party
from localdp.sharing.collection import Collection
from localdp.sharing.share_server import ShareServer
from parties.agent.answers import KeptAnswers
from parties.agent.service import AgentService
from parties.codec import collection_to_wire
from parties.coordinator import _contribution
from parties.shares.service import ShareService
from tests.support.federations import Served, collection_of, parties_of, people, served

PEOPLE = 30
EVERYBODY = Cohort(0, PEOPLE)


class Counting(ShareService):
    """An honest server: how often it was sent shares, and took them."""

    uploads = 0

    async def UploadShares(self, requests: Any, context: Any) -> Any:  # noqa: N802
        self.uploads += 1
        return await super().UploadShares(requests, context)


class Failing(Counting):
    """A server that takes what is sent, and says that it did not; in the end it gives in."""

    lies = True

    async def UploadShares(self, requests: Any, context: Any) -> Any:  # noqa: N802
        taken = await super().UploadShares(requests, context)
        if self.lies:
            await self.deny(context)
        return taken

    async def deny(self, context: Any) -> None:
        await context.abort(grpc.StatusCode.INTERNAL, "it did not work")


class Silent(Failing):
    """The same without an answer: whoever called gives up."""

    async def deny(self, context: Any) -> None:
        await asyncio.sleep(30)


@contextmanager
def between(kind: type[Failing], path: Path) -> Iterator[tuple[Served, Failing, Counting, KeptAnswers]]:
    """An agent of one party that keeps what it did, a dishonest server, and an honest one."""
    made: list[Any] = []

    def server(number: int, machine: ShareServer) -> ShareService:
        made.append((Counting if number else kind)(machine))
        return made[number]  # type: ignore[no-any-return]

    with closing(KeptAnswers(path / "answers")) as kept:

        def agent(party: Party, addresses: dict[str, str]) -> AgentService:
            return AgentService(party, addresses, kept=kept)

        with served(parties_of(people(PEOPLE), 1), wrap_server=server, wrap_agent=agent) as federation:
            yield federation, made[0], made[1], kept


def asked(federation: Served, collection: Collection, seconds: float) -> int:
    request = _contribution(collection_to_wire(collection), EVERYBODY)
    return int(federation.remote._parties[0].contribution(request).answer(seconds).counted)


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(("kind", "seconds"), [(Failing, 20.0), (Silent, 1.0)])
def test_a_server_that_acknowledged_shares_is_not_sent_them_again_when_another_did_not(
    kind: type[Failing], seconds: float, tmp_path: Path
) -> None:
    with between(kind, tmp_path) as (federation, liar, honest, kept):
        collection = collection_of(federation.parties)
        federation.shared.open(collection)
        for turn in range(1, 4):
            with pytest.raises(grpc.RpcError):
                asked(federation, collection, seconds)
            eventually(lambda: kept.is_delivered(collection.digest, EVERYBODY, "server-1"))
            assert (liar.uploads, honest.uploads) == (turn, 1)
        liar.lies = False
        assert asked(federation, collection, 20) == 0  # it had them all the time
        assert asked(federation, collection, 20) == 0
        assert (liar.uploads, honest.uploads) == (4, 1)
        assert federation.shared.agree(collection).reports == PEOPLE
