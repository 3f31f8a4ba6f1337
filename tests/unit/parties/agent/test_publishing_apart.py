"""A calendar's publication cannot be watched: what depends on records is done elsewhere, or at times that are public."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from localdp.cohorts import Cohort
from localdp.errors import StorageFailed, Unreachable
from parties.agent import epochs, run, state
from parties.agent.apart import apart, prepared_apart
from parties.agent.config import AgentConfig, load_config
from parties.agent.epochs import Prepared, opened_epoch
from parties.agent.ledger import SqliteLedger
from parties.agent.run import entering, open_epochs
from parties.agent.state import (
    LEDGER_NAME,
    AgentState,
    init_storage,
    open_prepared,
    prepare,
    prepare_both,
    publish,
)
from parties.witness.heads import Head
from tests.support.agents import write_agent
from tests.support.federations import request
from tests.support.ledgers import FaithfulWitness, Ticking

DAILY = '\n[epochs]\nopen = "daily 03:00"\n'
BY_PLACE = "fixed_order = true"
EVERYBODY = Cohort(0, 40)
Preparing = Callable[[AgentConfig], list[Prepared]]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Ticking:
    made = Ticking()
    monkeypatch.setitem(SqliteLedger.__init__.__kwdefaults__ or {}, "clock", made)
    for room in ("state", "run"):
        monkeypatch.setattr(f"parties.agent.{room}.time", made)
    return made


@pytest.fixture
def config(tmp_path: Path, clock: Ticking) -> AgentConfig:
    """An agent whose people are known by their places, and were charged."""
    made = load_config(write_agent(tmp_path, data=BY_PLACE, more=DAILY))
    init_storage(made)
    with closing(AgentState(made)) as agent:
        agent.party.randomize(request(1), EVERYBODY)
    return made


def number(config: AgentConfig) -> int:
    opened = opened_epoch(config.storage / LEDGER_NAME)
    assert opened is not None
    return opened.number


def copies(config: AgentConfig) -> list[Path]:
    return list(config.storage.glob("epoch-*"))


@dataclass
class Watched:
    """What a publication does, in order, and what the clock shows of a minute then."""

    config: AgentConfig
    clock: Ticking
    patch: pytest.MonkeyPatch
    steps: list[tuple[str, float]]

    def watch(self, room: object, name: str, step: str) -> None:
        """Note the step whenever this is done."""
        done: Callable[..., Any] = getattr(room, name)

        def noted(*arguments: Any, **named: Any) -> Any:
            self.note(step)
            return done(*arguments, **named)

        self.patch.setattr(room, name, noted)

    def note(self, step: str) -> None:
        """This is done now."""
        self.steps.append((step, self.clock.now % 60))

    def count(self, step: str) -> int:
        """How often this was done."""
        return [done for done, _ in self.steps].count(step)

    def a_day_passes(self, preparing: Preparing = prepare_both, waits: int = 3) -> None:
        """What is done at the calendar's hour, until an epoch is open or the agent is stopped in its last wait."""
        self.clock.jump(1)
        asyncio.run(self._published(preparing, waits))

    async def _published(self, preparing: Preparing, waits: int) -> None:
        stop = asyncio.Event()

        async def pause(stop: asyncio.Event, seconds: float) -> None:
            self.note("waits")
            if self.count("waits") == waits:
                stop.set()
            else:
                self.clock.sleep(seconds)

        def foresee(coming: Prepared) -> None:
            self.note("loads what will be opened")

        self.patch.setattr(run, "_pause", pause)
        assert self.config.calendar is not None
        await open_epochs(self.config, self.config.calendar, stop, foresee, preparing)


AT_PUBLIC_TIMES = [("loads what will be opened", 50), ("waits", 50), ("opens", 0), ("waits", 0)]


@pytest.fixture
def watched(config: AgentConfig, clock: Ticking) -> Iterator[Watched]:
    with pytest.MonkeyPatch.context() as patch:
        made = Watched(config, clock, patch, [])
        made.watch(state, "loaded_table", "reads the table")
        made.watch(state, "load_epoch", "loads the records of before")
        made.watch(epochs, "save_epoch", "copies")
        made.watch(state, "open_ledger", "opens")
        yield made


def one_row_fewer(table: Path) -> None:
    table.write_text(table.read_text().rsplit("p39", 1)[0])


def outside_of_its_domain(table: Path) -> None:
    table.write_text(table.read_text().replace("p3,True", "p3,perhaps"))


HARMS: dict[str, Callable[[Path], object]] = {
    "none": lambda table: None,
    "a cell outside of its domain": outside_of_its_domain,
    "a row fewer": one_row_fewer,
    "no table": Path.unlink,
}


@pytest.mark.parametrize("harm", HARMS)
def test_whatever_the_table_has_in_it_an_epoch_opens_at_the_first_full_minute(
    watched: Watched, harm: str
) -> None:
    HARMS[harm](watched.config.data)
    watched.a_day_passes()
    assert watched.count("reads the table") == 1
    assert watched.count("loads the records of before") == 2  # to tell what changed, and to go on with them
    assert watched.steps[-4:] == AT_PUBLIC_TIMES  # and nothing else that takes as long as there are records
    assert number(watched.config) == 2
    assert len(copies(watched.config)) == 1


@pytest.mark.parametrize("seconds", [2, 31])
def test_however_long_a_table_takes_its_copy_is_loaded_and_opened_at_the_same_times(
    watched: Watched, seconds: int
) -> None:
    def slow(config: AgentConfig) -> list[Prepared]:
        watched.clock.sleep(seconds)
        return prepare_both(config)

    watched.a_day_passes(slow)
    assert watched.steps[-5:] == [("waits", seconds), *AT_PUBLIC_TIMES]


def test_a_disk_that_is_too_full_for_another_table_is_not_seen_either(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, full = epochs._write, [True]

    def fails_once(*arguments: Any) -> None:
        if full and full.pop():
            raise OSError(28, "No space left on device")
        written(*arguments)

    monkeypatch.setattr(epochs, "_write", fails_once)
    watched.a_day_passes()
    assert watched.steps[-4:] == AT_PUBLIC_TIMES
    assert number(watched.config) == 2


def test_a_calendar_that_prepares_the_table_alone_is_a_minute_late(watched: Watched) -> None:
    one_row_fewer(watched.config.data)
    watched.a_day_passes(lambda config: [prepare(config)])
    assert watched.steps[-4:] == AT_PUBLIC_TIMES and number(watched.config) == 1


@pytest.mark.parametrize("waits", [1, 2])
def test_an_agent_that_is_stopped_before_the_minute_opens_nothing_and_begins_anew(
    watched: Watched, waits: int
) -> None:
    watched.a_day_passes(waits=waits)
    assert number(watched.config) == 1 and len(copies(watched.config)) == 3
    with closing(AgentState(watched.config)) as agent:
        assert agent.party.epoch.number == 2
    assert len(copies(watched.config)) == 1


def test_whoever_is_charged_first_in_that_minute_does_not_delay_the_epoch(
    tmp_path: Path, clock: Ticking
) -> None:
    config = load_config(write_agent(tmp_path, more=DAILY))  # by place, and nobody vouches for the order
    init_storage(config)
    with closing(AgentState(config)) as agent:
        ways = prepare_both(config)
        agent.party.randomize(request(1), EVERYBODY)
    assert open_prepared(config, ways).number == 2


class AwayAtTheEnd(FaithfulWitness):
    """Is there when the ledger is opened, and away when the epoch is."""

    def countersign(self, head: Head, after: Head | None) -> None:
        if self.calls:
            self.away = True
        super().countersign(head, after)


def test_an_epoch_that_is_in_the_ledger_keeps_its_copy_whatever_failed_then(
    config: AgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(state, "witness_of", lambda *_: AwayAtTheEnd())
        with pytest.raises(Unreachable):
            publish(config)
    with closing(AgentState(config)) as agent:
        assert agent.party.epoch.number == 2


# What a running agent does when the epoch is open.


def test_an_epoch_that_was_foreseen_is_not_loaded_by_whoever_answers(
    config: AgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object) -> None:
        raise StorageFailed("loaded while somebody waits")

    with closing(AgentState(config)) as agent:
        ways = prepare_both(config)
        agent.foresee(ways[0])
        with monkeypatch.context() as patch:
            patch.setattr(state, "load_epoch", late)
            opened = open_prepared(config, ways)
            agent.refresh()
            assert agent.party.epoch.number == opened.number == 2
            agent.party.randomize(request(2), EVERYBODY)
        publish(config)
        with monkeypatch.context() as patch:
            patch.setattr(state, "load_epoch", late)
            with pytest.raises(StorageFailed, match="somebody waits"):
                agent.refresh()  # of this one it knew nothing
        agent.refresh()
        assert agent.party.epoch.number == 3


@pytest.mark.parametrize(("padded", "told"), [(True, {0.5}), (False, {0.12, 0.31})])
def test_entering_an_epoch_takes_the_same_however_much_there_is_in_it(
    config: AgentConfig, clock: Ticking, monkeypatch: pytest.MonkeyPatch, padded: bool, told: set[float]
) -> None:
    seconds, loaded = [0.12, 0.31], epochs.load_epoch

    def slow(*arguments: Any) -> Any:
        clock.sleep(seconds.pop())
        return loaded(*arguments)

    monkeypatch.setattr(clock, "monotonic", clock.time, raising=False)
    took: set[float] = set()
    with closing(AgentState(config)) as agent:
        refresh = entering(agent) if padded else agent.refresh
        refresh()
        for _ in range(2):
            publish(config)
            with monkeypatch.context() as patch:
                patch.setattr(state, "load_epoch", slow)
                began = clock.now
                refresh()
                took.add(round(clock.now - began, 6))
    assert took == told


# In a process of its own.


def where(config: AgentConfig) -> tuple[int, int]:
    return os.getpid(), os.nice(0)


def killed(config: AgentConfig) -> None:
    os.kill(os.getpid(), 9)


def test_a_table_is_read_by_another_process_of_the_lowest_priority(config: AgentConfig) -> None:
    process, niceness = apart(where, config)
    assert process != os.getpid() and niceness == 19


@pytest.mark.nightly
def test_a_process_that_dies_of_the_table_is_followed_by_one_for_the_records_of_before(
    config: AgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StorageFailed, match="memory"):
        apart(killed, config)
    monkeypatch.setattr("parties.agent.apart.prepare_both", killed)
    (way,) = prepared_apart(config)
    assert way.numbers is None and open_prepared(config, [way]).number == 2


def a_row_more(table: Path) -> None:
    table.write_text(f"{table.read_text()}p40,True,50\n")


@pytest.mark.parametrize(("harm", "people"), [(a_row_more, 41), (one_row_fewer, 40)])
def test_a_running_agent_does_not_read_its_table_itself_and_its_operator_is_told(
    watched: Watched, capfd: pytest.CaptureFixture[str], harm: Callable[[Path], None], people: int
) -> None:
    harm(watched.config.data)
    watched.a_day_passes(prepared_apart)
    assert {step for step, _ in watched.steps} == {"waits", "loads what will be opened", "opens"}
    assert capfd.readouterr().err.count('"event": "publish_failed"') == (people == 40)
    with closing(AgentState(watched.config)) as agent:
        assert (agent.party.epoch.number, agent.party.people) == (2, people)
