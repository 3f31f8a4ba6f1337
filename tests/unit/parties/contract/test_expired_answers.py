"""An epoch that ended, as callers of an agent see it: who gets an old answer again, how long, and what is charged anew.

`localdp contract` sees the open epoch alone (C29 to C31); this is the rest of the same promises.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger, MemoryLedger
from localdp.cohorts import Cohort
from localdp.errors import RequestExpired
from localdp.party.epoch import Epoch
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from parties import codec
from parties.agent.answers import Keeping, KeptAnswers
from parties.agent.service import AgentService
from parties.wire.v1 import oracle_pb2 as pb
from tests.support.broken_epochs import WithoutEpochs
from tests.support.callers import Context
from tests.support.federations import KEYRING, ONE, people, request

PEOPLE = 40
SOME, EVERYBODY = Cohort(0, 30), Cohort(0, PEOPLE)
KEEP_SECONDS = 100
EXPIRED = "FAILED_PRECONDITION"


@dataclass
class World:
    """An agent, its clock, and what its callers hear."""

    agent: AgentService
    party: Party
    kept: KeptAnswers | None
    now: list[float]
    heard: list[bytes] = field(default_factory=list)

    def asked(self, caller: str, asked: Request, cohort: Cohort = SOME) -> str:
        """How a request ended: which of the answers so far it brought, or its refusal."""
        try:
            answer = asyncio.run(self._answer(caller, codec.request_to_wire(asked, cohort)))
        except Refused as refused:
            return str(refused)
        if answer not in self.heard:
            self.heard.append(answer)
        return f"answer {self.heard.index(answer)}"

    def quoted(self, caller: str, asked: Request, cohort: Cohort = SOME) -> str:
        """The price of a request, or its refusal."""
        message = pb.QuoteRequest(randomize=codec.request_to_wire(asked, cohort))
        try:
            return f"{Epsilon(asyncio.run(self._quote(caller, message)))}"
        except Refused as refused:
            return str(refused)

    def spent(self) -> str:
        """What the first person and the last one have spent."""
        spent = self.party.ledger.spent()
        return f"spent {Epsilon(int(spent[0]))}, {Epsilon(int(spent[-1]))}"

    def publish(self, seed: int) -> None:
        """The owner opens the next epoch, with records that changed or not."""
        records = people(PEOPLE + seed).slice(seed, PEOPLE + seed)
        self.party.enter(self.party.epoch.next(records))
        if self.kept is not None:
            self.kept.enter(self.party.epoch)

    async def _answer(self, caller: str, message: Any) -> bytes:
        context: Any = Context(caller)
        with refusals(context):
            return b"".join([part.packed async for part in self.agent.Randomize(message, context)])

    async def _quote(self, caller: str, message: Any) -> int:
        context: Any = Context(caller)
        with refusals(context):
            return int((await self.agent.Quote(message, context)).epsilon_nanonats)


class Refused(Exception):
    """The status of a call."""


@contextmanager
def refusals(context: Context) -> Iterator[None]:
    """A call that was aborted is told by its status."""
    try:
        yield
    except grpc.aio.AbortError:
        assert context.code is not None
        raise Refused(context.code.name) from None


class HeardByAnybody(MemoryLedger):
    """Takes everybody for somebody who had the reports."""

    def was_heard(self, charge: Charge) -> bool:
        return super().was_heard(replace(charge, caller="analyst"))


class NeverDrops(KeptAnswers):
    """Keeps answers for ever."""

    def __init__(self, path: Path, keeping: Keeping, clock: Callable[[], float]) -> None:
        super().__init__(path, keeping, lambda: 0.0)


class OfAnyEpoch(KeptAnswers):
    """Takes an answer of any epoch for one of this epoch."""

    def _require_there(self, name: bytes, epoch: int) -> None:
        self._epoch_of(name)


class DropsWithTheEpoch(KeptAnswers):
    """Keeps nothing beyond the epoch."""

    def enter(self, epoch: Epoch) -> None:
        super().enter(epoch)
        for (name,) in self._file.execute("SELECT name FROM answers").fetchall():
            self._drop(name)


def world(
    directory: Path, kind: type[KeptAnswers] | None = KeptAnswers, ledger: type[Ledger] = MemoryLedger
) -> World:
    """An agent whose people can pay for two requests of one nat."""
    now = [1000.0]
    directory.mkdir(exist_ok=True)
    kept = None
    if kind is not None:
        kept = kind(directory / "answers.sqlite", Keeping(KEEP_SECONDS, 1 << 20), lambda: now[0])
    policy = Policy(aggregators=frozenset({"analyst", "auditor"}))
    book: Any = ledger
    party = Party("party-0", people(PEOPLE), KEYRING.party(0), book(PEOPLE, ONE * 2), policy)
    if kept is not None:
        party.require_kept = kept.require_there
    return World(AgentService(party, {}, kept=kept), party, kept, now)


def history(made: World, seed: int = 0) -> list[str]:
    """What is heard before an epoch ends, after it, when the time of its answers is over, and under a new identifier."""
    old, named, new = request(1), replace(request(1), epoch=1), request(2)
    told = [made.asked("analyst", old), made.asked("analyst", old), made.spent()]
    made.publish(seed)
    told += [made.asked("analyst", old), made.asked("analyst", named), made.quoted("analyst", old)]
    told += [made.asked("auditor", old), made.quoted("auditor", old)]
    told += [made.asked("analyst", old, EVERYBODY), made.quoted("analyst", old, EVERYBODY), made.spent()]
    made.now[0] += KEEP_SECONDS
    told += [made.asked("analyst", old), made.asked("analyst", named), made.quoted("analyst", old)]
    told += [made.asked("analyst", new)[:6], made.spent()]
    asyncio.run(made.agent.close())
    if made.kept is not None:
        made.kept.close()
    return told


HONEST = [
    *("answer 0", "answer 0", "spent 1, 0"),
    *("answer 0", "answer 0", "1"),  # fetched, at no charge
    *(EXPIRED, EXPIRED),  # the auditor was not answered then
    *(EXPIRED, EXPIRED, "spent 1, 0"),  # nor were the others asked
    *(EXPIRED, EXPIRED, EXPIRED),  # the time is over
    *("answer", "spent 2, 0"),
]


@pytest.mark.parametrize("seed", [0, 1, 7], ids=["same records", "others", "others still"])
def test_what_callers_see_of_an_ended_epoch_does_not_depend_on_records(tmp_path: Path, seed: int) -> None:
    assert history(world(tmp_path), seed) == HONEST


@pytest.mark.parametrize("kind", [NeverDrops, DropsWithTheEpoch, None])
def test_an_agent_that_keeps_answers_otherwise_is_noticed(
    tmp_path: Path, kind: type[KeptAnswers] | None
) -> None:
    assert history(world(tmp_path, kind)) != HONEST


@pytest.mark.parametrize("ledger", [WithoutEpochs, HeardByAnybody])
def test_a_ledger_without_epochs_or_callers_is_noticed(tmp_path: Path, ledger: type[Ledger]) -> None:
    assert history(world(tmp_path, OfAnyEpoch, ledger)) != HONEST


def test_an_epoch_that_is_not_open_yet_has_not_ended(tmp_path: Path) -> None:
    made = world(tmp_path)
    with pytest.raises(RequestExpired, match="epoch 1 is open now, and epoch 5 is not yet"):
        made.party.had(replace(request(1), epoch=5), SOME, "analyst")
    assert made.asked("analyst", replace(request(1), epoch=5)) == EXPIRED
    asyncio.run(made.agent.close())
    assert made.kept is not None
    made.kept.close()


def test_beside_a_ledger_that_was_restored_what_was_kept_of_another_epoch_is_refused_before_a_charge(
    tmp_path: Path,
) -> None:
    """The backup does not know the request; what was kept of it does."""
    for kind, heard in ((KeptAnswers, [EXPIRED, EXPIRED]), (OfAnyEpoch, ["1", "answer 0"])):
        made = world(tmp_path / kind.__name__, kind)
        made.asked("analyst", request(1))
        made.party.ledger = MemoryLedger(PEOPLE, ONE * 2)
        made.publish(3)
        assert [made.quoted("analyst", request(1)), made.asked("analyst", request(1))] == heard
        assert made.spent() == ("spent 0, 0" if kind is KeptAnswers else "spent 1, 0")
        asyncio.run(made.agent.close())
        assert made.kept is not None
        made.kept.close()
