"""A calendar whose epoch cannot be opened now: the agent goes on with the one that is open, and tries again.

The witness is away, or another process is about to publish.  Whatever it is, nothing of the table that was read is left
behind: newcomers get their numbers with the epoch that they come in, and not before.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import StorageFailed, Unreachable
from parties.agent.config import AgentConfig, load_config
from parties.agent.epochs import opened_epoch, publishing
from parties.agent.ledger import SqliteLedger
from parties.agent.people import Numbers
from parties.agent.run import open_epochs
from parties.agent.state import LEDGER_NAME, AgentState, init_storage, is_overdue, prepare_both, publish
from tests.support.agents import write_agent
from tests.support.federations import request
from tests.support.ledgers import FaithfulWitness, Ticking

EVERYBODY = Cohort(0, 40)
TROUBLES = ["the witness is away", "another process publishes"]


@dataclass
class World:
    """An agent with a calendar, its clock and its witness, and whoever else holds the lock."""

    config: AgentConfig
    clock: Ticking
    witness: FaithfulWitness
    lock: ExitStack
    tries: list[float]  # when an epoch could not be opened

    def begin(self, trouble: str) -> None:
        """From now on no epoch can be opened."""
        if trouble == TROUBLES[0]:
            self.witness.away = True
        else:
            self.lock.enter_context(publishing(self.config.storage))

    def end(self) -> None:
        """It can be again."""
        self.witness.away = False
        self.lock.close()

    @property
    def number(self) -> int:
        """Of the epoch that is open."""
        opened = opened_epoch(self.config.storage / LEDGER_NAME)
        assert opened is not None
        return opened.number

    @property
    def numbered(self) -> int:
        """People who have numbers."""
        with closing(sqlite3.connect(self.config.storage / LEDGER_NAME)) as file:
            return int(file.execute("SELECT count(*) FROM people").fetchone()[0])


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A newcomer has come since the epoch opened, and the calendar passes."""
    clock, witness, tries = Ticking(), FaithfulWitness(), list[float]()
    monkeypatch.setitem(SqliteLedger.__init__.__kwdefaults__ or {}, "clock", clock)
    for room in ("state", "run"):
        monkeypatch.setattr(f"parties.agent.{room}.time", clock)
    monkeypatch.setattr("parties.agent.state.witness_of", lambda config, secrets: witness)
    monkeypatch.setattr("parties.agent.run.log_failure", lambda *_: tries.append(clock.now))
    monkeypatch.setattr("parties.agent.run._FORESEEN_SECONDS", 0)
    monkeypatch.setattr("parties.agent.run._AGAIN_SECONDS", 0.001)
    monkeypatch.setattr("parties.agent.run._LONGEST_SLEEP", 0.001)
    more = '\n[epochs]\nopen = "daily 03:00"\n'
    config = load_config(write_agent(tmp_path, data='person = "patient"', more=more))
    init_storage(config)
    with ExitStack() as lock:
        yield World(config, clock, witness, lock, tries)


def newcomer(config: AgentConfig) -> None:
    with config.data.open("a") as table:
        table.write("p40,True,50\r\n")


async def until(reached: Callable[[], bool], work: asyncio.Task[None]) -> None:
    """Let the calendar run until something is so, or until it ends."""
    async with asyncio.timeout(20):
        while not reached() and not work.done():
            await asyncio.sleep(0)


def calendar_of(world: World, stop: asyncio.Event) -> Coroutine[None, None, None]:
    """The calendar of an agent that reads its table itself."""
    assert world.config.calendar is not None
    return open_epochs(world.config, world.config.calendar, stop, lambda coming: None, prepare_both)


async def a_day_passes(world: World, trouble: str, serve: Callable[[], None]) -> None:
    """The calendar's hour comes while there is trouble, and again after it; `serve` is called meanwhile."""
    stop = asyncio.Event()
    calendar = asyncio.create_task(calendar_of(world, stop))
    await asyncio.sleep(0)  # it has looked at the clock
    world.begin(trouble)
    world.clock.jump(1)
    await until(lambda: len(world.tries) >= 3, calendar)
    serve()
    world.end()
    await until(lambda: world.number == 2, calendar)
    stop.set()
    await asyncio.wait_for(calendar, 20)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_while_an_epoch_cannot_be_opened_the_old_one_is_served_and_then_it_opens(
    world: World, trouble: str
) -> None:
    newcomer(world.config)
    with closing(AgentState(world.config)) as state:
        before = state.party.randomize(request(1), EVERYBODY)

        def serve() -> None:
            state.refresh()
            assert (state.party.randomize(request(1), EVERYBODY) == before).all()
            if trouble == TROUBLES[1]:
                state.party.randomize(request(2), EVERYBODY)
            assert (state.party.epoch.number, state.party.people, world.numbered) == (1, 40, 40)
            assert len(list(world.config.storage.glob("epoch-*"))) == 1

        asyncio.run(a_day_passes(world, trouble, serve))
        state.refresh()
        assert (state.party.epoch.number, state.party.people, world.numbered) == (2, 41, 41)


def ends(config: AgentConfig, error: Exception) -> None:
    raise error


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_calendar_that_ends_with_the_first_trouble_is_noticed(
    world: World, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parties.agent.run.log_failure", ends)
    with pytest.raises(Exception, match=r"witness cannot be reached|publication of this agent"):
        asyncio.run(a_day_passes(world, trouble, lambda: None))
    assert not world.tries and world.number == 1


class NumbersAtOnce(Numbers):
    """Broken, as it was: people have numbers as soon as a table was read."""

    def __call__(self, identifiers: list[str]) -> NDArray[np.int64]:  # type: ignore[override]
        numbers = super().__call__(identifiers)
        with closing(sqlite3.connect(self._ledger)) as file, file:
            self.write(file)
        return numbers


@pytest.mark.parametrize(("kind", "left"), [(Numbers, 40), (NumbersAtOnce, 41)])
def test_a_table_that_was_read_and_not_published_leaves_nobody_behind(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: type[Numbers], left: int
) -> None:
    newcomer(world.config)
    monkeypatch.setattr("parties.agent.table.Numbers", kind)
    world.witness.away = True
    with pytest.raises(Unreachable):
        publish(world.config)
    assert (world.number, world.numbered) == (1, left)


@pytest.mark.parametrize("published", [True, False], ids=["and has published", "and gave up"])
def test_an_agent_that_starts_while_another_process_publishes_waits_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch, published: bool
) -> None:
    world.clock.jump(1)
    world.begin(TROUBLES[1])
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            world.end()
            if published:
                publish(world.config)

    monkeypatch.setattr(world.clock, "sleep", wait)
    with closing(AgentState(world.config)) as state:
        assert state.party.epoch.number == 2  # one epoch, whoever opened it
    assert waits == [1, 1, 1]


# A clock that was ahead once, for a day of a dead battery: stamps of the ledger never fall behind it again.

YEAR = 365


def set_back(world: World) -> None:
    """The clock is right again."""
    world.clock.jump(-YEAR)


def is_due(world: World, days: int) -> bool:
    """Whether the calendar would open an epoch so many days from now."""
    opened = opened_epoch(world.config.storage / LEDGER_NAME)
    return is_overdue(world.config, opened, world.clock.now + days * 86_400)


def test_an_entry_from_a_clock_that_was_ahead_does_not_stop_the_calendar(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.clock.jump(YEAR)
    with closing(AgentState(lower_budget(world.config))):  # notes its rules, with a stamp of next year
        pass
    set_back(world)
    with caplog.at_level("WARNING", "localdp"):
        publish(world.config)
    assert [record.message for record in caplog.records] == ["clock_was_ahead"]
    assert [is_due(world, days) for days in (0, 1, 30, YEAR + 1)] == [False, True, True, True]


def test_an_epoch_that_was_opened_by_a_clock_that_was_ahead_is_followed_by_one_of_today(
    world: World,
) -> None:
    world.clock.jump(YEAR)
    publish(world.config)
    set_back(world)
    assert is_due(world, 0)
    publish(world.config)
    assert [is_due(world, days) for days in (0, 1, 30)] == [False, True, True]


def test_a_calendar_that_waits_by_a_clock_that_was_ahead_notices_when_it_is_set_right(world: World) -> None:
    async def days() -> None:
        stop = asyncio.Event()
        calendar = asyncio.create_task(calendar_of(world, stop))
        for number, jump in enumerate((YEAR, -YEAR, 1), 2):
            world.clock.jump(jump)
            await until(lambda number=number: world.number == number, calendar)  # type: ignore[misc]
            for _ in range(500):  # and no further one
                await asyncio.sleep(0)
            assert world.number == number
        stop.set()
        await asyncio.wait_for(calendar, 20)

    asyncio.run(days())


# Two agents on one ledger, whose owner's rules differ.


class TakesAnyRules(AgentState):
    """Broken, as it was: whatever another agent noted, this one goes on by its own."""

    def refresh(self) -> None:
        self._settings = self._ledger.settings or ""
        super().refresh()


def outcome(config: AgentConfig, other: AgentConfig, kind: type[AgentState]) -> str:
    """What becomes of an agent once another one has started on its ledger."""
    with closing(kind(config)) as state:
        state.refresh()
        with closing(AgentState(other)):
            pass
        spent = state.party.ledger.spent()
        try:
            state.refresh()
        except StorageFailed as refused:
            assert (state.party.ledger.spent() == spent).all()
            return str(refused)
        return "served"


def lower_budget(config: AgentConfig) -> AgentConfig:
    return replace(config, budget=Epsilon.requested(1))


def lower_largest(config: AgentConfig) -> AgentConfig:
    return replace(config, policy=replace(config.policy, largest_epsilon=Epsilon.requested(1)))


@pytest.mark.parametrize("lower", [lower_budget, lower_largest])
def test_an_agent_whose_rules_another_one_has_changed_serves_nobody(
    world: World, lower: Callable[[AgentConfig], AgentConfig]
) -> None:
    config, other = world.config, lower(world.config)
    assert "rules were changed by another agent on this ledger; start" in outcome(config, other, AgentState)
    assert outcome(config, config, AgentState) == "served"
    assert outcome(config, other, TakesAnyRules) == "served"
