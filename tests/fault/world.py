"""A party, its two agents on one ledger file, and all that a coordinator has ever received from them.

After every operation: nobody has spent more than the budget, nor more than a day's budget on any of the days that the
clock has shown; one request and person have one report; whatever was answered has been paid for and is in the file.
What is not a failure: budget that was charged for an answer which a crash, a cut or a destroyed key swallowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import (
    BudgetExhausted,
    DeadlineMissed,
    KeyRetired,
    LocalDpError,
    RequestExpired,
    StorageFailed,
    Unreachable,
)
from localdp.party.epoch import Epoch
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.party.secrets import Secrets
from localdp.randomizers.definition import Reports
from localdp.randomizers.memoised import MemoisedUnary
from parties.agent.ledger import SECONDS_PER_DAY, SqliteLedger
from tests.fault.disk import Crash, Disk
from tests.fault.operations import (
    CUTS,
    PEOPLE,
    QUESTIONS,
    TABLES,
    Ask,
    ChangeRecords,
    Jump,
    Operation,
    PowerLoss,
    Restart,
    Rotate,
    Together,
)
from tests.support.federations import KEYRING, people
from tests.support.ledgers import CHAIN_KEY, Clock, entries_in, spent_by_day

BUDGET = Epsilon.requested("3.5")
PER_DAY = Epsilon.requested("1.5")
RECORDS = tuple(people(PEOPLE + shift).slice(shift, PEOPLE + shift) for shift in range(TABLES))
REFUSALS = (BudgetExhausted, RequestExpired, KeyRetired, StorageFailed)
LOSSES = (Crash, Unreachable, DeadlineMissed)


@dataclass
class Owner:
    """What the owner of the data decides, and the machine that it is on."""

    path: Path
    by_content: bool = False
    clock: Clock = field(default_factory=Clock)
    table: int = 0
    epoch: int = 1  # that the owner has published
    secrets: Secrets = Secrets("key-1", {"key-1": KEYRING.party(0)}, bytes(32))
    rotations: int = 1

    def __post_init__(self) -> None:
        self.disk = Disk(self.path)

    def rotate(self, destroy: bool) -> None:
        """A new key in front; perhaps the only one."""
        self.rotations += 1
        name = f"key-{self.rotations}"
        kept = {} if destroy else self.secrets.keys
        self.secrets = Secrets(name, {**kept, name: KEYRING.party(self.rotations)}, bytes(32))


class DiskLedger(SqliteLedger):
    """A durable ledger on the owner's disk."""

    def __init__(self, owner: Owner) -> None:
        options = {"limit_per_day": PER_DAY, "clock": owner.clock}
        super().__init__(owner.path, PEOPLE, BUDGET, chain_key=CHAIN_KEY, **options)  # type: ignore[arg-type]
        self._file = owner.disk.attach(self._file)
        while self.epoch is None or self.epoch.number < owner.epoch:
            self.open_epoch(bytes([owner.epoch]) * 16, b"pin")


MakeParty = Callable[[Owner], Party]


def sound(owner: Owner) -> Party:
    """A party as it should be."""
    policy = Policy(largest_epsilon=BUDGET, by_content=owner.by_content)
    made = Party("party-0", RECORDS[owner.table], owner.secrets, DiskLedger(owner), policy)
    made.enter(epoch_of(owner))
    return made


def epoch_of(owner: Owner) -> Epoch:
    """What the owner has published last."""
    return Epoch(owner.epoch, bytes([owner.epoch]) * 16, RECORDS[owner.table])


Asked = tuple[int, Request, Cohort]  # of the agent of that number
Answer = Reports | LocalDpError | Crash


class Transport(Protocol):
    """How requests come to the agents."""

    def connect(self, agents: Sequence[Party]) -> None:
        """These are the agents from now on."""
        ...

    def send(self, asked: Sequence[Asked], cut: str | None) -> list[Answer]:
        """All of them at the same time, perhaps over a network that fails."""
        ...


class Direct:
    """Calls, one after the other."""

    def connect(self, agents: Sequence[Party]) -> None:
        self._agents = agents

    def send(self, asked: Sequence[Asked], cut: str | None) -> list[Answer]:
        return [self._answer(*one, cut) for one in asked]

    def _answer(self, agent: int, request: Request, cohort: Cohort, cut: str | None) -> Answer:
        if cut == "request lost":
            return Unreachable("lost")
        try:
            reports = self._agents[agent].randomize(request, cohort)
        except (LocalDpError, Crash) as error:
            return error
        return Unreachable("lost") if cut == "reply lost" else reports


class World:
    """Agents, and what became known about their records."""

    def __init__(self, owner: Owner, make: MakeParty, transport: Transport) -> None:
        self._owner, self._make, self._transport = owner, make, transport
        self._received: dict[tuple[object, int], bytes] = {}
        self._paid: dict[tuple[object, int], int] = {}  # what, and who; how much it costs
        self._days = {int(owner.clock() // SECONDS_PER_DAY)}  # that the clock has ever shown
        self.answers = 0
        self.refusals = 0
        self._agents: list[Party] = []
        self._start()

    def perform(self, operation: Operation) -> None:
        """Do it, and look whether the promise still holds."""
        match operation:
            case Ask():
                self._ask([operation], operation.fault)
            case Together():
                self._ask(list(operation.asks), None)
            case Restart():
                self._restart()
            case PowerLoss():
                self._restart(self._owner.disk.lose_power)
            case Jump():
                self._jump(operation.days)
            case Rotate():
                self._restart(lambda: self._owner.rotate(operation.destroy))
            case ChangeRecords():
                self._owner.table = operation.table
                self._owner.epoch += 1
                self._restart()
        self.check()

    def close(self) -> None:
        """Let go of the file."""
        for agent in self._agents:
            close = getattr(agent.ledger, "close", None)
            if close is not None:
                close()

    def _start(self) -> None:
        self._agents = [self._make(self._owner) for _ in range(2)]
        self._transport.connect(self._agents)

    def _restart(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self._transport.connect([])
        self.close()
        meanwhile()
        self._start()

    def _jump(self, days: float) -> None:
        self._owner.clock.jump(days)
        self._days.add(int(self._owner.clock() // SECONDS_PER_DAY))

    def _ask(self, asks: list[Ask], fault: str | None) -> None:
        disk = self._owner.disk
        disk.fault, disk.crashed = fault, False
        asked = [(ask.agent, QUESTIONS[ask.question], ask.cohort) for ask in asks]
        answers = self._transport.send(asked, fault if fault in CUTS else None)
        disk.fault = None
        for (_, request, cohort), answer in zip(asked, answers, strict=True):
            self._hear(request, cohort, answer)
        if disk.crashed:
            self._restart()

    def _hear(self, request: Request, cohort: Cohort, answer: Answer) -> None:
        if isinstance(answer, REFUSALS):
            self.refusals += 1
        elif isinstance(answer, Exception):
            assert isinstance(answer, LOSSES), f"an answer that nobody foresaw: {answer!r}"
        else:
            self._receive(request, cohort, answer)

    def _receive(self, request: Request, cohort: Cohort, reports: Reports) -> None:
        name, payment, cost = self._terms(request)
        self.answers += 1
        for person, report in zip(cohort.lanes(), reports, strict=True):
            self._paid[payment, int(person)] = cost
            before = self._received.setdefault((name, int(person)), report.tobytes())
            assert before == report.tobytes(), "two different reports for one request and person"

    def _terms(self, request: Request) -> tuple[object, object, int]:
        """What makes two reports the same, what makes two payments the same, and how much that is."""
        whole = (request.request_id, request.query, request.randomizer.canonical)
        content = (*whole[1:], self._owner.epoch)
        randomizer = request.randomizer
        if isinstance(randomizer, MemoisedUnary):
            report = content if self._owner.by_content else (*whole, self._owner.epoch)
            return report, content, randomizer.epsilon_permanent.nanonats
        name: object = content if self._owner.by_content else whole
        return name, name, randomizer.epsilon.nanonats

    def check(self) -> None:
        """The promise, on what stands in the file."""
        days = spent_by_day(entries_in(self._owner.path), PEOPLE)
        spent = sum(days.values(), np.zeros(PEOPLE, np.int64))
        assert int(spent.max()) <= BUDGET.nanonats, "more was spent than the budget"
        assert days.keys() <= self._days, "a charge was booked on a day that never was"
        for day in days.values():
            assert int(day.max()) <= PER_DAY.nanonats, "more was spent than a day's budget"
        owed = np.zeros(PEOPLE, np.int64)
        for (_, person), cost in self._paid.items():
            owed[person] += cost
        assert (owed <= spent).all(), "something was answered that was not charged"


@contextmanager
def a_world(path: Path, by_content: bool, make: MakeParty, transport: Transport) -> Iterator[World]:
    """A world that is closed at the end, also when a check fails."""
    world = World(Owner(path, by_content), make, transport)
    try:
        yield world
    finally:
        transport.connect([])
        world.close()


def run(
    sequence: Sequence[Operation],
    path: Path,
    make: MakeParty = sound,
    transport: Transport | None = None,
    by_content: bool = False,
) -> tuple[int, int]:
    """Perform a sequence on a fresh ledger; returns how many requests were answered and refused."""
    done: list[Operation] = []
    with a_world(path, by_content, make, transport or Direct()) as world:
        for operation in sequence:
            done.append(operation)
            try:
                world.perform(operation)
            except AssertionError as broken:
                raise AssertionError(f"{broken}, after {done}") from broken
        return world.answers, world.refusals
