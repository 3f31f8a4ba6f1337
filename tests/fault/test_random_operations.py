"""Random sequences of what coordinators, disks and owners of data may do to a party; the promise holds throughout.

Operations: a request, its repetition, overlapping cohorts and splits, another epsilon or query under the same identifier,
a second agent on the same ledger file, a crash before or after the commit, reopening, changed records.

After every operation: nobody has spent more than the budget; one request and person have one report; whatever was
answered has been paid for.  What is not a failure: budget that was charged for an answer which a crash swallowed.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, MemoryLedger, Receipt
from localdp.cohorts import Cohort, Split
from localdp.domains import Records
from localdp.errors import BudgetExhausted, RecordsChanged
from localdp.oracles.party import Party, Request
from localdp.oracles.policy import Policy
from localdp.randomizers.definition import Reports
from parties.agent.ledger import SqliteLedger
from tests.support.federations import KEYRING, people, request

PEOPLE = 6
BUDGET = Epsilon.requested("2.5")
OPERATIONS = 14
RECORDS = (people(PEOPLE), people(PEOPLE + 1).slice(1, PEOPLE + 1))


class Crash(Exception):
    """The process ends here, as far as the test is concerned."""


class CrashingLedger(SqliteLedger):
    """Crashes in the middle of a charge when it is told to."""

    crash: str | None = None

    def charge(self, charge: Charge) -> Receipt:
        taken = super().charge(charge)
        if self.crash == "after the commit":
            raise Crash
        return taken

    def _insert(self, charge: Charge, stamp: int) -> tuple[int, int, bytes]:
        last = super()._insert(charge, stamp)
        if self.crash == "before the commit":
            raise Crash
        return last


MakeParty = Callable[[Path, Records], Party]
Name = tuple[bytes, str, str]  # what makes two requests the same: identifier, query, randomizer


def sound(path: Path, records: Records) -> Party:
    """A party as it should be, on the ledger in that file."""
    ledger = CrashingLedger(path, PEOPLE, BUDGET)
    return Party("party-0", records, KEYRING.party(0), ledger, Policy(largest_epsilon=BUDGET))


class World:
    """Two agents of one party on one file, and all that a coordinator has ever received from them."""

    def __init__(self, path: Path, make: MakeParty) -> None:
        self._path = path
        self._make = make
        self._records = RECORDS[0]
        self._received: dict[tuple[Name, int], bool] = {}
        self._costs: dict[Name, int] = {}
        self.answers = 0
        self.refusals = 0
        self.agents = [make(path, self._records) for _ in range(2)]

    def restart(self) -> None:
        """Both agents end and are started again."""
        self.close()
        self.agents = [self._make(self._path, self._records) for _ in range(2)]

    def change_records(self, records: Records) -> None:
        """The owner of the data replaces them, and starts the agents again."""
        self._records = records
        self.restart()

    def ask(self, agent: int, asked: Request, cohort: Cohort, crash: str | None) -> None:
        """One request, perhaps with a crash in the middle of it."""
        ledger = self.agents[agent].ledger
        if isinstance(ledger, CrashingLedger):
            ledger.crash = crash
        try:
            reports = self.agents[agent].randomize(asked, cohort)
        except (BudgetExhausted, RecordsChanged):
            self.refusals += 1
        except Crash:
            self.restart()
        else:
            self._receive(asked, cohort, reports)
        if isinstance(ledger, CrashingLedger):
            ledger.crash = None

    def _receive(self, asked: Request, cohort: Cohort, reports: Reports) -> None:
        name = (asked.request_id, asked.query, asked.randomizer.canonical)
        self._costs[name] = asked.randomizer.epsilon.nanonats
        self.answers += 1
        for person, report in zip(cohort.lanes(), reports, strict=True):
            before = self._received.setdefault((name, int(person)), bool(report))
            assert before == bool(report), "two different reports for one request and person"

    def check(self) -> None:
        """The promise, on what a fresh look at the ledger says."""
        spent = self.agents[0].ledger.spent()
        assert int(spent.max()) <= BUDGET.nanonats, "more was spent than the budget"
        owed = np.zeros(PEOPLE, dtype=np.int64)
        for name, person in self._received:
            owed[person] += self._costs[name]
        assert (owed <= spent).all(), "something was answered that was not charged"

    def close(self) -> None:
        """Let go of the file."""
        for agent in self.agents:
            if isinstance(agent.ledger, SqliteLedger):
                agent.ledger.close()


def random_cohort(choice: random.Random) -> Cohort:
    """A range, or a part of one."""
    start, stop = sorted(choice.sample(range(PEOPLE + 1), 2))
    split = (
        Split(bytes([choice.randrange(2)]) * 16, 2, choice.randrange(2)) if choice.random() < 0.3 else None
    )
    return Cohort(start, stop, split)


def random_request(choice: random.Random) -> Request:
    """One of a few, so that they repeat."""
    epsilon = Epsilon.requested(choice.choice(["0.5", "1"]))
    return request(choice.randrange(3), choice.choice(["smoker", "age >= 50"]), epsilon)


def run_sequence(seed: int, path: Path, make: MakeParty = sound) -> World:
    """One sequence of operations, checked after each."""
    choice = random.Random(seed)  # noqa: S311 - it chooses operations, not coins
    world = World(path, make)
    with closed(world):
        for _ in range(OPERATIONS):
            kind = choice.random()
            if kind < 0.08:
                world.restart()
            elif kind < 0.14:
                world.change_records(choice.choice(RECORDS))
            else:
                crash = choice.choice(["before the commit", "after the commit"]) if kind > 0.85 else None
                world.ask(choice.randrange(2), random_request(choice), random_cohort(choice), crash)
            world.check()
    return world


@contextmanager
def closed(world: World) -> Iterator[None]:
    """Closes the world at the end, also when a check fails."""
    try:
        yield
    finally:
        world.close()


def run_sequences(count: int, directory: Path, make: MakeParty = sound) -> tuple[int, int]:
    """Many sequences, each on a file of its own; returns how many requests were answered and refused."""
    worlds = [run_sequence(seed, directory / f"{seed}.ledger", make) for seed in range(count)]
    return sum(world.answers for world in worlds), sum(world.refusals for world in worlds)


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A directory whose files sync at once: these crashes are of processes, and a disk would take a minute."""
    shared = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as name:
        yield Path(name)


def test_no_sequence_of_operations_breaks_the_promise(in_memory: Path) -> None:
    answers, refusals = run_sequences(200, in_memory)
    assert answers > 800  # so that the promise is not kept by refusing everything
    assert refusals > 200


@pytest.mark.nightly
def test_no_sequence_among_ten_thousand_breaks_the_promise(in_memory: Path) -> None:
    run_sequences(10_000, in_memory)


def _forgets(path: Path, records: Records) -> Party:
    whole = sound(path, records)
    assert isinstance(whole.ledger, SqliteLedger)
    whole.ledger.close()
    return Party("party-0", records, KEYRING.party(0), MemoryLedger(PEOPLE, BUDGET), whole.policy)


def _fresh_coins(path: Path, records: Records) -> Party:
    whole = sound(path, records)
    return Party("party-0", records, np.random.default_rng().bytes(32), whole.ledger, whole.policy)


class _ChargesTheFirstOnly(CrashingLedger):
    """Takes a request to be paid by everybody once anybody has paid for it."""

    def _insert(self, charge: Charge, stamp: int) -> tuple[int, int, bytes]:
        first = charge.cohort.start
        return super()._insert(replace(charge, cohort=Cohort(first, first + 1)), stamp)


def _charges_one(path: Path, records: Records) -> Party:
    ledger = _ChargesTheFirstOnly(path, PEOPLE, BUDGET)
    return Party("party-0", records, KEYRING.party(0), ledger, Policy(largest_epsilon=BUDGET))


class _IgnoresRecords(CrashingLedger):
    """Answers a repeated request from other records."""

    def charge(self, charge: Charge) -> Receipt:
        return super().charge(Charge(charge.request, b"any", charge.cohort, charge.cost, charge.purpose))


def _ignores_records(path: Path, records: Records) -> Party:
    ledger = _IgnoresRecords(path, PEOPLE, BUDGET)
    return Party("party-0", records, KEYRING.party(0), ledger, Policy(largest_epsilon=BUDGET))


@pytest.mark.parametrize(
    ("twin", "complaint"),
    [
        (_forgets, "not charged"),
        (_fresh_coins, "two different reports"),
        (_charges_one, "not charged"),
        (_ignores_records, "two different reports"),
    ],
)
def test_the_sequences_notice_a_party_that_is_broken(
    in_memory: Path, twin: MakeParty, complaint: str
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        run_sequences(200, in_memory, twin)
