"""Backups of an agent's state: of one that runs, too; and restores, which no budget gains by."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, LocalDpError, RequestExpired, RolledBack, StorageFailed
from parties.agent import backup as module
from parties.agent import lost
from parties.agent.backup import make_backup, restore
from parties.agent.ledger import SqliteLedger
from parties.agent.mark import MarkFile, mark_path
from parties.agent.secret_file import FILE_NAME, load_secrets, make_secrets, rotate_secrets
from tests.support.ledgers import NAT, charge

PEOPLE = 4
EVERYBODY = Cohort(0, PEOPLE)
NAME = "ledger.sqlite"


class Agent:
    """A state directory, and its ledger whenever it is open."""

    def __init__(self, directory: Path) -> None:
        self.state, self.copy = directory / "state", directory / "backup.zip"
        self.path = self.state / NAME
        make_secrets(self.state)

    @contextmanager
    def open(self, people: int = PEOPLE) -> Iterator[SqliteLedger]:
        key = load_secrets(self.state).chain_key
        with closing(SqliteLedger(self.path, people, NAT * 9, chain_key=key)) as ledger:
            if ledger.epoch is None:
                ledger.open_epoch(os.urandom(16), b"pin")
            yield ledger

    def charge(self, *numbers: int, stop: int = PEOPLE) -> None:
        with self.open() as ledger:
            assert ledger.epoch is not None
            for number in numbers:
                ledger.charge(charge(number, Cohort(0, stop), epoch=ledger.epoch.number))

    def spent(self) -> list[int]:
        with self.open() as ledger:
            return [int(spent) for spent in ledger.spent() // NAT.nanonats]

    def backup(self) -> None:
        make_backup(self.path, "clinic", self.copy)

    def restore(self, **options: object) -> Epsilon:
        return restore(self.path, "clinic", self.copy, **options).loss  # type: ignore[arg-type]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    made = Agent(tmp_path)
    made.charge(1, 2)
    return made


def test_a_backup_of_an_agent_that_runs_has_what_stands_in_the_log(agent: Agent) -> None:
    with agent.open() as ledger:
        ledger.charge(charge(3, EVERYBODY))
        agent.backup()
    shutil.rmtree(agent.state)
    agent.restore(loss=Epsilon(0))
    assert agent.spent() == [3] * PEOPLE


def test_it_is_for_its_owners_eyes_and_so_is_what_comes_back(agent: Agent) -> None:
    agent.backup()
    assert agent.copy.stat().st_mode & 0o077 == 0
    shutil.rmtree(agent.state)
    agent.restore(loss=Epsilon(0))
    for path in (agent.state, agent.path, agent.state / FILE_NAME, mark_path(agent.path)):
        assert path.stat().st_mode & 0o077 == 0


def test_it_leaves_nothing_else_behind(agent: Agent, tmp_path: Path) -> None:
    agent.backup()
    agent.restore()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.zip", "state"]
    assert {path.name for path in agent.state.iterdir()} == {
        NAME,
        FILE_NAME,
        mark_path(agent.path).name,
        "ledger.lock",
    }


def test_where_nothing_was_lost_nothing_is_charged(agent: Agent) -> None:
    agent.backup()
    assert agent.restore() == Epsilon(0)
    assert agent.spent() == [2] * PEOPLE


def test_an_older_backup_is_refused_unless_everybody_is_charged_what_may_be_lost(agent: Agent) -> None:
    agent.backup()
    agent.charge(3, stop=1)
    agent.charge(4, stop=2)
    for options in ({}, {"loss": Epsilon(0)}, {"loss": NAT}):
        with pytest.raises(RolledBack, match=r"up to epsilon 2,.*--charge-loss"):
            agent.restore(**options)
    assert agent.spent() == [4, 3, 2, 2]
    assert agent.restore(charge_loss=True) == NAT * 2
    assert agent.spent() == [4] * PEOPLE  # nobody had spent more


def test_a_declared_loss_may_be_more_than_what_is_known(agent: Agent) -> None:
    agent.backup()
    agent.charge(3)
    assert agent.restore(loss=NAT * 3) == NAT * 3
    assert agent.spent() == [5] * PEOPLE


def test_where_the_mark_is_lost_the_owner_has_to_declare_a_loss(agent: Agent) -> None:
    agent.backup()
    agent.charge(3)
    for lose in (lambda: mark_path(agent.path).unlink(), lambda: mark_path(agent.path).write_bytes(b"?")):
        lose()
        for options in ({}, {"charge_loss": True}):
            with pytest.raises(InvalidParameter, match="--loss EPSILON"):
                agent.restore(**options)
    assert agent.restore(loss=NAT) == NAT
    assert agent.spent() == [3] * PEOPLE


def test_the_loss_is_right_through_any_number_of_restores(agent: Agent, tmp_path: Path) -> None:
    agent.backup()
    first = Path(shutil.copy(agent.copy, tmp_path / "first.zip"))
    agent.charge(3)
    agent.backup()  # total 3
    agent.charge(4)
    restore(agent.path, "clinic", first, charge_loss=True)  # of total 2: two nats are lost
    assert agent.spent() == [4] * PEOPLE
    agent.charge(5)
    # Of total 3: requests 4 and 5 are lost.  That request 3 is not, nobody can know: the two have parted at total 2.
    assert agent.restore(charge_loss=True) == NAT * 3
    assert agent.spent() == [6] * PEOPLE


# Branches: what was restored from one backup at a declared loss does not go on from another one.


def ward(agent: Agent, person: int, number: int) -> None:
    """One nat of one person."""
    with agent.open() as ledger:
        assert ledger.epoch is not None
        ledger.charge(charge(number, Cohort(person, person + 1), epoch=ledger.epoch.number))


def branched(agent: Agent, directory: Path) -> tuple[Path, Path]:
    """Two backups; the state came back from the first one at a loss that is true, and is much less than the total since."""
    agent.backup()
    first = Path(shutil.copy(agent.copy, directory / "first.zip"))
    for person in range(PEOPLE):
        ward(agent, person, 10 + person)
    agent.backup()
    mark_path(agent.path).unlink()
    restore(agent.path, "clinic", first, loss=NAT)
    agent.charge(3, 4, 5)  # as much in total as the second backup has
    assert agent.spent() == [6] * PEOPLE
    return first, agent.copy


def test_a_backup_of_another_branch_is_charged_all_that_was_charged_since_they_parted(
    agent: Agent, tmp_path: Path
) -> None:
    _, second = branched(agent, tmp_path)
    with pytest.raises(RolledBack, match=r"up to epsilon 4,.*--charge-loss"):
        restore(agent.path, "clinic", second)
    assert restore(agent.path, "clinic", second, charge_loss=True).loss == NAT * 4
    assert agent.spent() == [7] * PEOPLE  # 6 are true


def test_a_restore_that_compares_totals_of_branches_is_caught(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost, "is_comparable", lambda *arguments: True)
    _, second = branched(agent, tmp_path)
    agent.path.unlink()
    assert restore(agent.path, "clinic", second).loss == Epsilon(0)  # three nats of everybody are forgotten


def test_the_backup_that_a_branch_began_from_may_be_restored_again(agent: Agent, tmp_path: Path) -> None:
    first, _ = branched(agent, tmp_path)
    assert restore(agent.path, "clinic", first, charge_loss=True).loss == NAT * 4
    assert agent.spent() == [6] * PEOPLE


def test_where_a_backup_does_not_have_what_the_branch_began_from_a_loss_has_to_be_declared(
    agent: Agent, tmp_path: Path
) -> None:
    first, second = branched(agent, tmp_path)
    mark_path(agent.path).unlink()
    restore(
        agent.path, "clinic", second, loss=NAT * 3
    )  # a second branch, from what the first backup does not have
    agent.charge(6)
    for options in ({}, {"charge_loss": True}):
        with pytest.raises(InvalidParameter, match=r"another backup since.*--loss EPSILON"):
            restore(agent.path, "clinic", first, **options)  # type: ignore[arg-type]
    assert restore(agent.path, "clinic", first, loss=NAT * 5).loss == NAT * 5
    assert agent.spent() == [7] * PEOPLE


def test_entries_above_the_mark_of_a_backup_are_not_set_against_what_was_answered(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A charge that was never answered, in a backup; the agent went on from a copy of before."""
    shutil.copytree(agent.state, tmp_path / "before")
    with monkeypatch.context() as patched:
        patched.setattr(MarkFile, "advance", lambda *arguments: None)
        ward(agent, 0, 3)  # it is killed before the mark
    agent.backup()
    shutil.rmtree(agent.state)
    (tmp_path / "before").rename(agent.state)
    ward(agent, 1, 4)
    assert agent.restore(charge_loss=True) == NAT
    assert agent.spent()[1] == 3


# Old copies of the whole state, which were put back and run: the mark is one of the fork.


def forked(agent: Agent, directory: Path, *numbers: int) -> None:
    """A copy of the state, then one nat and a backup, one nat more; then the copy comes back, and these are charged."""
    shutil.copytree(agent.state, directory / "copy")
    agent.charge(3)
    agent.backup()  # total 3
    agent.charge(4)
    shutil.rmtree(agent.state)
    (directory / "copy").rename(agent.state)
    agent.charge(*numbers)  # on a total of 2


@pytest.mark.parametrize("numbers", [(5,), (5, 6), (5, 6, 7)], ids=["as much", "more", "much more"])
def test_a_backup_is_not_restored_over_an_old_copy_that_was_run_unless_the_owner_declares_the_loss(
    agent: Agent, tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    forked(agent, tmp_path, *numbers)
    answered = NAT * len(numbers)
    for options in ({}, {"charge_loss": True}, {"loss": Epsilon(answered.nanonats - 1)}):
        with pytest.raises(InvalidParameter, match=rf"old copy.*--loss EPSILON.*at least {answered}\b"):
            agent.restore(**options)
    assert agent.spent() == [2 + len(numbers)] * PEOPLE
    agent.restore(loss=answered + NAT)  # and what was charged after the backup, which nobody else can know
    assert agent.spent() == [4 + len(numbers)] * PEOPLE


def test_a_restore_that_only_compares_totals_of_a_fork_is_caught(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost, "parting_of", lambda *arguments: None)
    forked(agent, tmp_path, 5, 6)
    agent.restore(charge_loss=True)
    assert agent.spent() == [4] * PEOPLE  # and 5 are true, or 6


def test_where_the_ledger_of_an_old_copy_is_lost_too_all_that_it_has_ever_charged_may_be_lost(
    agent: Agent, tmp_path: Path
) -> None:
    forked(agent, tmp_path)
    with agent.open() as ledger:
        ledger.open_epoch(b"2" * 16, b"pin")
    agent.path.unlink()
    with pytest.raises(InvalidParameter, match=r"old copy.*at least 2\b"):
        agent.restore(charge_loss=True)
    assert agent.restore(loss=NAT * 2) == NAT * 2


def test_where_it_has_charged_as_much_as_the_backup_the_owner_is_asked(
    agent: Agent, tmp_path: Path
) -> None:
    forked(agent, tmp_path, 5)
    agent.path.unlink()
    with pytest.raises(InvalidParameter, match=r"may be of an old copy.*--loss EPSILON"):
        agent.restore(charge_loss=True)
    assert agent.restore(loss=NAT * 2) == NAT * 2


def test_an_old_copy_that_was_put_back_and_not_run_does_not_stand_for_the_mark(
    agent: Agent, tmp_path: Path
) -> None:
    forked(agent, tmp_path)
    for options in ({}, {"charge_loss": True}):
        with pytest.raises(InvalidParameter, match=r"old copy.*--loss EPSILON"):
            agent.restore(**options)
    assert agent.restore(loss=NAT) == NAT  # what was charged after the backup
    assert agent.spent() == [4] * PEOPLE


def test_where_only_the_mark_is_left_and_nobody_was_charged_since_nothing_is_charged(agent: Agent) -> None:
    agent.backup()
    with agent.open() as ledger:
        ledger.open_epoch(b"2" * 16, b"pin")
    agent.path.unlink()
    assert agent.restore() == Epsilon(0)
    assert agent.spent() == [2] * PEOPLE


def test_a_loss_that_makes_no_sense_is_refused_and_the_state_stays(agent: Agent) -> None:
    agent.backup()
    with pytest.raises(InvalidParameter, match="at most 1000000"):
        agent.restore(loss=NAT * 10**6 + Epsilon(1))
    assert agent.restore() == Epsilon(0)


def test_the_epoch_that_was_open_has_ended(agent: Agent) -> None:
    agent.backup()
    agent.restore()
    key = load_secrets(agent.state).chain_key
    with closing(SqliteLedger(agent.path, PEOPLE, NAT * 9, chain_key=key)) as ledger:
        assert ledger.epoch is None
        with pytest.raises(RequestExpired):
            ledger.charge(charge(1, EVERYBODY, epoch=1))
        assert ledger.open_epoch(b"2" * 16, b"pin").number == 2


def test_whoever_came_after_the_backup_is_charged_the_loss_as_well(agent: Agent) -> None:
    agent.backup()
    with agent.open(PEOPLE + 1) as ledger:
        ledger.charge(charge(3, Cohort(PEOPLE, PEOPLE + 1)))
    agent.restore(charge_loss=True)
    with agent.open(PEOPLE + 1) as ledger:
        assert ledger.spent()[PEOPLE] == NAT.nanonats


def test_no_restore_over_an_agent_that_runs(agent: Agent) -> None:
    agent.backup()
    with agent.open() as ledger:
        with pytest.raises(StorageFailed, match="stop it first"):
            agent.restore(charge_loss=True)
        ledger.charge(charge(3, EVERYBODY))


def test_keys_that_were_rotated_since_stay(agent: Agent) -> None:
    agent.backup()
    rotate_secrets(agent.state)
    agent.restore()
    assert load_secrets(agent.state).secrets.current == "key-2"


def test_another_agents_backup_is_refused(agent: Agent, tmp_path: Path) -> None:
    agent.backup()
    (tmp_path / "other").mkdir()
    other = Agent(tmp_path / "other")
    with pytest.raises(InvalidParameter, match="keys of another agent"):
        restore(other.path, "clinic", agent.copy)
    with pytest.raises(InvalidParameter, match="another party"):
        restore(agent.path, "hospital", agent.copy)


def repacked(path: Path, change: Callable[[dict[str, bytes]], object]) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


CHANGES: dict[str, Callable[[dict[str, bytes]], object]] = {
    "no ledger": lambda parts: parts.pop(NAME),
    "no keys": lambda parts: parts.pop(FILE_NAME),
    "another version": lambda parts: parts.update({"backup.json": b'{"format": "localdp backup v9"}'}),
    "no text": lambda parts: parts.update({"backup.json": b"?"}),
    "half a ledger": lambda parts: parts.update({NAME: parts[NAME][:5000]}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_no_backup_is_refused_and_the_state_stays(agent: Agent, change: str) -> None:
    agent.backup()
    repacked(agent.copy, CHANGES[change])
    with pytest.raises(LocalDpError):
        agent.restore(charge_loss=True)
    assert agent.spent() == [2] * PEOPLE


def test_a_file_that_is_no_archive_is_refused(agent: Agent) -> None:
    for content in (b"", b"x" * 1000):
        agent.copy.write_bytes(content)
        with pytest.raises(InvalidParameter, match="not a backup"):
            agent.restore()


def test_a_ledger_below_its_mark_is_not_backed_up(agent: Agent, tmp_path: Path) -> None:
    shutil.copy(agent.path, tmp_path / "old")
    agent.charge(3)
    shutil.copy(tmp_path / "old", agent.path)
    with pytest.raises(RolledBack):
        agent.backup()
    assert not agent.copy.exists()


def test_a_ledger_whose_mark_is_lost_is_not_backed_up(agent: Agent) -> None:
    """It may be an old copy, and the owner who declares what was charged since the backup would not know."""
    mark_path(agent.path).unlink()
    with pytest.raises(StorageFailed):
        agent.backup()
    assert not agent.copy.exists()


@pytest.mark.parametrize("step", ["_keys", "_aged", "_install"])
@pytest.mark.parametrize("after", [False, True])
def test_a_restore_that_is_cut_off_leaves_a_state_that_is_whole_or_refused_and_can_be_done_again(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, step: str, after: bool
) -> None:
    agent.backup()
    agent.charge(3)
    whole = getattr(module, step)

    def cut_off(*arguments: object) -> object:
        if after:
            whole(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, step, cut_off)
        with pytest.raises(KeyboardInterrupt):
            agent.restore(charge_loss=True)
    if step == "_install" and after:
        with pytest.raises(RolledBack):
            agent.spent()
    else:
        assert agent.spent() == [3] * PEOPLE
    agent.restore(charge_loss=True)
    assert agent.spent() == [3] * PEOPLE


def test_a_backup_says_what_it_is(agent: Agent) -> None:
    agent.backup()
    with zipfile.ZipFile(agent.copy) as archive:
        about = json.loads(archive.read("backup.json"))
    assert about["format"] == "localdp backup v1" and about["party"] == "clinic" and about["entries"] == 3
