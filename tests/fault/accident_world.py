"""An owner, the files of a ledger, and what an analyst has been answered over all lives of them together.

After every accident: whatever was answered is charged in the ledger that is open, so nobody has lost more than the budget;
nothing is answered on files that are gone; and a state that nothing happened to is opened.  One thing cannot be known
without a witness: that everything is an old copy, mark included.  There the story ends (`Hole`); with one it is refused.
"""

from __future__ import annotations

import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import BudgetExhausted, LocalDpError, RequestExpired, StorageFailed, Unreachable
from parties.agent import ledger as ledger_module
from parties.agent.backup import make_backup, restore
from parties.agent.ledger import SqliteLedger
from parties.agent.mark import MarkFile, mark_path
from parties.agent.opening import require_something
from parties.agent.secret_file import load_secrets, make_secrets
from tests.fault.accidents import (
    COSTS,
    PEOPLE,
    Accident,
    Ask,
    Backup,
    Copy,
    DamageSums,
    Delete,
    Jump,
    Kill,
    Part,
    Publish,
    PutBack,
    Restart,
    Restore,
    When,
)
from tests.fault.disk import Crash, Disk
from tests.support.ledgers import Clock, FaithfulWitness, charge

BUDGET = Epsilon.requested("4")
PER_DAY = Epsilon.requested("3")
REFUSALS = (BudgetExhausted, RequestExpired, StorageFailed, Unreachable)
NAME, LOG, INDEX = "ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"
MARK = mark_path(Path(NAME)).name


class Hole(Exception):
    """Everything is an old copy, and there is no witness: it cannot be known."""


class Over(Exception):
    """The state is lost, and there is no backup: the agent is at its end."""


class World:
    """One party through all its lives."""

    def __init__(self, directory: Path, witnessed: bool) -> None:
        self._directory, self._life = directory, 0
        self._clock, self._epochs = Clock(), 0
        self.witness = FaithfulWitness() if witnessed else None
        self._fault: str | None = None
        self._synced_mark = b""
        self._answered: dict[tuple[int, bytes, int], int] = {}  # request, epoch and person: nanonats
        self._backups: dict[int, NDArray[np.int64]] = {}  # slot: what each person had lost by then
        self.ledgers: list[SqliteLedger] = []
        self.answers = self.refusals = self.restores = self.refused_starts = 0
        self._whole = True  # nothing has happened to the files
        self._gone = False  # the files that are open are no longer those of the ledger
        self._reached = 0  # the total of all epsilons in the ledger that answered last
        self._old_mark = False  # the owner has put back an older mark
        make_secrets(self.state)
        SqliteLedger(self.path, PEOPLE, BUDGET, chain_key=load_secrets(self.state).chain_key).close()
        self._start()

    @property
    def state(self) -> Path:
        """The files of this life."""
        return self._directory / f"life-{self._life}"

    @property
    def path(self) -> Path:
        """The ledger."""
        return self.state / NAME

    def mark_bytes(self) -> bytes:
        """The mark as it is in its file."""
        return (self.state / MARK).read_bytes() if (self.state / MARK).exists() else b""

    def truth(self) -> NDArray[np.int64]:
        """What each person has lost by all that was ever answered."""
        lost = np.zeros(PEOPLE, np.int64)
        for (_, _, person), cost in self._answered.items():
            lost[person] += cost
        return lost

    def perform(self, accident: Accident) -> None:
        """Let it happen, and look whether the promise still holds."""
        match accident:
            case Ask():
                self._ask(accident)
            case Publish():
                self._publish()
            case Restart():
                self._restart()
            case Kill():
                self._kill(accident.power)
            case Copy():
                self._copy(accident.slot)
            case PutBack():
                self._happens(accident.when, lambda: self._put_back(accident.slot, accident.part))
            case Delete():
                self._happens(accident.when, lambda: self._delete(accident.name))
            case Backup():
                self._backup(accident.slot)
            case Restore():
                self._stop()
                self._recover(accident.slot)
            case DamageSums():
                self._stop()
                self._damage_sums()
                self._start_or_recover()
            case Jump():
                self._clock.jump(accident.days)
        self.check()

    def check(self) -> None:
        """The promise."""
        truth = self.truth()
        assert int(truth.max()) <= BUDGET.nanonats, "more was answered than the budget"
        for ledger in self.ledgers[:1]:
            with suppress(StorageFailed):
                assert (ledger.spent() >= truth).all(), "something was answered that is not charged"

    def close(self) -> None:
        """Let go of everything."""
        self._drop()

    # what an analyst does

    def _ask(self, ask: Ask) -> None:
        epoch = self.ledgers[ask.ledger].epoch if self._readable(ask.ledger) else None
        if epoch is None:
            return
        cost = COSTS[ask.request % len(COSTS)]
        asked = charge(ask.request, ask.cohort, cost, epoch=epoch.number, caller=f"analyst-{ask.ledger}")
        try:
            with self._failing(ask.fault):
                self.ledgers[ask.ledger].charge(asked)
        except REFUSALS as refusal:
            self.refusals += 1
            if self._whole and ask.fault is None and isinstance(refusal, StorageFailed):
                raise AssertionError(f"refused for nothing: {refusal}") from refusal
        except Crash:
            self._kill(power=True)
        else:
            self.answers += 1
            assert not self._gone, "an answer on a ledger that is gone"
            self._reached = self.ledgers[ask.ledger]._standing.total
            for person in ask.cohort.lanes():
                self._answered[ask.request, epoch.identifier, int(person)] = cost.nanonats

    @contextmanager
    def _failing(self, fault: str | None) -> Iterator[None]:
        """Disk, mark or witness fail in this way meanwhile."""
        self._fault = self._disk.fault = fault
        if self.witness is not None:
            self.witness.away = fault == "the witness is away"
        try:
            yield
        finally:
            self._fault = self._disk.fault = None
            if self.witness is not None:
                self.witness.away = False

    def _readable(self, number: int) -> bool:
        try:
            return self.ledgers[number].epoch is not None
        except StorageFailed:
            return False

    # what an owner does

    def _publish(self) -> None:
        self._epochs += 1
        with suppress(StorageFailed):
            self.ledgers[0].open_epoch(self._epochs.to_bytes(16, "big"), b"pin")

    def _start(self) -> None:
        require_something(self.path)  # as `party_of` does: nothing is begun anew
        key = load_secrets(self.state).chain_key
        options = {
            "limit_per_day": PER_DAY,
            "clock": self._clock,
            "party": "party",
            "witness": self.witness,
            "chain_key": key,
        }
        self._disk = Disk(self.path)
        for _ in range(2):
            opened = SqliteLedger(self.path, PEOPLE, BUDGET, **options)  # type: ignore[arg-type]
            opened._file = self._disk.attach(opened._file)
            self.ledgers.append(opened)
        if self.ledgers[0]._standing.total < self._reached and self.witness is None and self._old_mark:
            raise Hole
        self._whole, self._old_mark, self._gone = True, False, False
        if self.ledgers[0].epoch is None:
            self._publish()

    def _restart(self) -> None:
        self._stop()
        self._start_or_recover()

    def _start_or_recover(self) -> None:
        whole = self._whole
        try:
            self._start()
        except StorageFailed as refusal:
            if whole:
                raise AssertionError(
                    f"a state that nothing happened to was refused: {refusal}"
                ) from refusal
            self.refused_starts += 1
            self._drop()
            self._recover(self._newest())

    def _stop(self) -> None:
        for ledger in self.ledgers:
            ledger.close()
        self.ledgers.clear()

    def _drop(self) -> None:
        """The process is gone: nothing is saved."""
        for ledger in self.ledgers:
            ledger._files = None
            ledger.close()
        self.ledgers.clear()

    def _kill(self, power: bool) -> None:
        self._cut_off(power)
        self._start_or_recover()

    def _cut_off(self, power: bool) -> None:
        """The files as they are now are those of the next life; with the power, a mark that was not synced is of before."""
        old, mark = self.state, self._synced_mark
        self._life += 1
        self.state.mkdir(mode=0o700)
        for path in old.iterdir():
            if path.name != INDEX:
                shutil.copy2(path, self.state / path.name)
        if power and mark and (self.state / MARK).exists():
            (self.state / MARK).write_bytes(mark)
        self._drop()
        shutil.rmtree(old)

    def _happens(self, when: When, accident: Callable[[], None]) -> None:
        """To the files: under the running agent, which ends some time; or while it is stopped; or after a power cut."""
        if when == "stopped":
            self._stop()
        if when == "without power":
            self._cut_off(power=True)
        self._whole = False
        accident()
        if when != "running":
            self._start_or_recover()

    def _copy(self, slot: int) -> None:
        place = self._directory / f"copy-{slot}"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.state, place)

    def _put_back(self, slot: int, part: Part) -> None:
        place = self._directory / f"copy-{slot}"
        if not place.exists():
            return
        if part != "mark":
            self._gone = True
            for name in (NAME, LOG, INDEX):
                (self.state / name).unlink(missing_ok=True)
            self._bring(place, NAME)
            if part != "ledger without its log":
                self._bring(place, LOG)
        if part in ("mark", "ledger and mark"):
            self._bring(place, MARK)
            self._synced_mark = (place / MARK).read_bytes() if (place / MARK).exists() else b""
            self._old_mark = True

    def _bring(self, place: Path, name: str) -> None:
        """A new file, as a copy makes it."""
        (self.state / name).unlink(missing_ok=True)
        if (place / name).exists():
            shutil.copy2(place / name, self.state / name)

    def _delete(self, name: str) -> None:
        self._gone = self._gone or name != "mark"
        for one in {"ledger": (NAME, LOG, INDEX), "log": (LOG, INDEX), "mark": (MARK,)}[name]:
            (self.state / one).unlink(missing_ok=True)

    def _backup(self, slot: int) -> None:
        if self._old_mark and self._gone and self.witness is None:
            raise Hole
        with suppress(StorageFailed):
            make_backup(self.path, "party", self._directory / f"backup-{slot}", witness=self.witness)
            self._backups.pop(slot, None)  # it is the newest now
            self._backups[slot] = self.truth()

    def _newest(self) -> int:
        return next(reversed(self._backups), -1)

    def _recover(self, slot: int) -> None:
        """By the owner's newest backup, or the one that was chosen."""
        if slot not in self._backups:
            slot = self._newest()
        if slot < 0:
            raise Over
        if self._old_mark and self.witness is None:
            raise Hole
        # As an owner knows it, who kept the analyst's account: the most that anybody lost, and not the sum.
        lost = Epsilon(int((self.truth() - self._backups[slot]).max()))
        backup = self._directory / f"backup-{slot}"
        try:
            restore(self.path, "party", backup, charge_loss=True, witness=self.witness)
        except LocalDpError:  # the mark is lost as well
            restore(self.path, "party", backup, loss=lost, witness=self.witness)
        self.restores += 1
        self._synced_mark = self.mark_bytes()
        if self.witness is not None:
            self.witness = FaithfulWitness()  # whose operator agreed
        self._start()

    def _damage_sums(self) -> None:
        if not self.path.exists():
            return
        with closing(sqlite3.connect(self.path)) as file, suppress(sqlite3.Error):
            nothing = b"0 0 %d\n" % (8 * PEOPLE) + zlib.compress(bytes(16 * PEOPLE))
            file.execute("UPDATE checkpoints SET sums = ?", (nothing,))
            file.commit()

    # what the mark does

    def advance(self, whole: Callable[..., None], *arguments: Any) -> None:
        """A mark that may not be raised any more."""
        if self._fault == "before the mark":
            raise Crash
        whole(*arguments)

    def sync(self, whole: Callable[..., object], mark: MarkFile, file: int) -> None:
        """What is on the disk for sure."""
        if self._fault == "before the mark is synced":
            raise Crash
        if whole(mark, file) is not NotImplemented:
            self._synced_mark = self.mark_bytes()


def not_synced(mark: MarkFile, file: int) -> object:
    """Broken: leaves the mark to the system."""
    return NotImplemented


@contextmanager
def a_world(directory: Path, witnessed: bool) -> Iterator[World]:
    """A world with small checkpoints, whose disk may fail at the mark."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ledger_module, "MOST_STEPS", 300_000)
        patched.setattr(ledger_module, "_WORTH_A_CHECKPOINT", 150_000)
        worlds: list[World] = []
        advance, sync = MarkFile.advance, MarkFile._sync

        def advancing(mark: MarkFile, *reached: Any) -> None:
            if worlds:
                worlds[0].advance(advance, mark, *reached)
            else:
                advance(mark, *reached)

        def syncing(mark: MarkFile, file: int) -> None:
            if worlds:
                worlds[0].sync(sync, mark, file)
            else:
                sync(mark, file)

        patched.setattr(MarkFile, "advance", advancing)
        patched.setattr(MarkFile, "_sync", syncing)
        world = World(directory, witnessed)
        worlds.append(world)
        world._synced_mark = world.mark_bytes()
        try:
            yield world
        finally:
            world.close()


def run(sequence: list[Accident], directory: Path, witnessed: bool) -> World:
    """Let a schedule happen on fresh files; returns the world as it is then."""
    done: list[Accident] = []
    with a_world(directory, witnessed) as world:
        for accident in sequence:
            done.append(accident)
            try:
                world.perform(accident)
            except (Hole, Over):
                break
            except AssertionError as broken:
                raise AssertionError(f"{broken}, after {done}") from broken
    return world
