"""The mark of a ledger: it is raised before a charge returns, and a ledger below it is not opened."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import RolledBack, StorageFailed
from parties.agent.chain import FIRST_LINK
from parties.agent.ledger import SqliteLedger
from parties.agent.mark import Mark, MarkFile, mark_path
from tests.support.ledgers import CHAIN_KEY, NAT, charge, entries_in, sqlite_ledger

PEOPLE = 4
EVERYBODY = Cohort(0, PEOPLE)
LINKS = [bytes([number]) * 32 for number in range(9)]


def opened(path: Path) -> closing[SqliteLedger]:
    return closing(sqlite_ledger(path, PEOPLE, NAT * 9))


def mark_of(path: Path) -> MarkFile:
    return MarkFile(mark_path(path), CHAIN_KEY)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def file(tmp_path: Path) -> MarkFile:
    made = MarkFile(tmp_path / "a.mark", CHAIN_KEY)
    made.make(Mark(0, FIRST_LINK, 0))
    return made


def test_every_entry_raises_the_mark_with_the_total_of_all_epsilons(path: Path) -> None:
    with opened(path) as ledger:
        assert mark_of(path).read() == Mark(0, FIRST_LINK, 0)
        ledger.charge(charge(1, EVERYBODY))
        ledger.charge(charge(1, Cohort(0, 1), caller="another"))  # epsilon 0
        ledger.charge_everybody(NAT * 2, "a loss")
        ledger.charge(charge(2, Cohort(0, 1)))
        assert mark_of(path).read() == Mark(*ledger.head, 4 * NAT.nanonats)
    assert mark_path(path).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("synced", [True, False])
def test_only_a_simulated_ledger_does_not_wait_for_the_disk(
    synced: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[int] = []
    monkeypatch.setattr(os, "fdatasync", waited.append)
    with closing(SqliteLedger(path, PEOPLE, NAT * 9, chain_key=CHAIN_KEY, synced=synced)) as ledger:
        ledger.charge(charge(1, EVERYBODY))
        (level,) = ledger._file.execute("PRAGMA synchronous").fetchone()
        assert (level, bool(waited)) == ((2, True) if synced else (0, False))
        assert mark_of(path).read() == Mark(*ledger.head, NAT.nanonats)


def test_it_is_read_back_and_only_rises(file: MarkFile) -> None:
    for entries in (1, 3, 2, 3, 7):
        file.advance(Mark(entries, LINKS[entries], entries * 2**70))
    assert file.read() == Mark(7, LINKS[7], 7 * 2**70)


@pytest.mark.parametrize("entries", [1, 2, 3, 4])
def test_a_write_that_is_cut_off_leaves_the_mark_of_before(
    file: MarkFile, tmp_path: Path, entries: int
) -> None:
    for number in range(1, entries):
        file.advance(Mark(number, LINKS[number], number))
    before = (tmp_path / "a.mark").read_bytes()
    file.advance(Mark(entries, LINKS[entries], entries))
    after = (tmp_path / "a.mark").read_bytes()
    changed = [place for place, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    for cut in changed[1:-1:5]:
        (tmp_path / "a.mark").write_bytes(after[:cut] + before[cut:])
        found = file.read()
        assert found is not None and found.entries == entries - 1


@pytest.mark.parametrize("content", [b"", b"x" * 5000, bytes(9000)])
def test_what_is_no_mark_is_refused(file: MarkFile, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.mark").write_bytes(content)
    with pytest.raises(RolledBack):
        file.read()
    with pytest.raises(RolledBack):
        file.advance(Mark(1, LINKS[1], 1))


def test_a_mark_of_another_key_is_refused(file: MarkFile, tmp_path: Path) -> None:
    with pytest.raises(RolledBack):
        MarkFile(tmp_path / "a.mark", b"another key" * 3).read()


def test_a_mark_that_is_there_is_not_made_anew_unless_it_is_to_be(file: MarkFile) -> None:
    file.advance(Mark(5, LINKS[5], 5))
    file.make(Mark(0, FIRST_LINK, 0))
    assert file.read() == Mark(5, LINKS[5], 5)
    file.make(Mark(2, LINKS[2], 2), replace=True)
    assert file.read() == Mark(2, LINKS[2], 2)


def test_a_ledger_without_its_mark_is_refused_and_none_is_made(path: Path) -> None:
    with opened(path) as ledger:
        ledger.charge(charge(1, EVERYBODY))
    mark_path(path).unlink()
    for act in (lambda: opened(path), lambda: entries_in(path)):
        with pytest.raises(RolledBack, match="mark is missing"):
            act()
    assert not mark_path(path).exists()


def test_a_ledger_without_entries_needs_its_mark_as_well(path: Path, tmp_path: Path) -> None:
    """The keys and the file of an agent that was never stopped: all charges stand in the log, which was not copied."""
    with opened(path) as ledger:
        ledger._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ledger.charge(charge(1, EVERYBODY))
        (tmp_path / "copy").mkdir()
        copied = Path(shutil.copy(path, tmp_path / "copy" / path.name))
    with pytest.raises(RolledBack, match="mark is missing"):
        opened(copied)


def test_a_crash_between_mark_and_ledger_leaves_nothing_to_explain(path: Path) -> None:
    mark_of(path).make(Mark(0, FIRST_LINK, 0))
    with opened(path) as ledger:
        assert ledger.charge(charge(1, EVERYBODY))


def test_a_mark_without_its_ledger_is_refused_and_no_ledger_is_made(path: Path) -> None:
    with opened(path) as ledger:
        ledger.charge(charge(1, EVERYBODY))
    path.unlink()
    with pytest.raises(RolledBack, match="no ledger"):
        opened(path)
    assert not path.exists()


def test_an_old_copy_is_refused_and_says_what_to_do(path: Path, tmp_path: Path) -> None:
    with opened(path) as ledger:
        ledger.charge(charge(1, EVERYBODY))
    shutil.copy(path, tmp_path / "old")
    with opened(path) as ledger:
        ledger.charge(charge(2, EVERYBODY))
    shutil.copy(tmp_path / "old", path)
    with pytest.raises(RolledBack, match="localdp agent restore"):
        opened(path)


def test_a_ledger_above_its_mark_is_one_that_crashed(path: Path, tmp_path: Path) -> None:
    with opened(path) as ledger:
        ledger.charge(charge(1, EVERYBODY))
        shutil.copy(mark_path(path), tmp_path / "older")
        ledger.charge(charge(2, EVERYBODY))
    shutil.copy(tmp_path / "older", mark_path(path))
    with opened(path) as ledger:
        assert ledger.spent().tolist() == [2 * NAT.nanonats] * PEOPLE
        assert mark_of(path).read() == Mark(*ledger.head, 2 * NAT.nanonats)


def test_when_the_mark_cannot_be_written_nothing_is_answered_until_it_can(path: Path) -> None:
    with opened(path) as ledger:
        ledger.charge(charge(1, EVERYBODY))
        kept = mark_path(path).rename(path.with_name("elsewhere"))
        for _ in range(2):  # the second is a repetition of what was charged and not answered
            with pytest.raises(StorageFailed):
                ledger.charge(charge(2, EVERYBODY))
        kept.rename(mark_path(path))
        assert not ledger.charge(charge(2, EVERYBODY))
        assert mark_of(path).read() == Mark(*ledger.head, 2 * NAT.nanonats)


def test_the_mark_is_synced_before_a_charge_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda file: synced.append(os.fstat(file).st_ino))
    with opened(path) as ledger:
        ledger.charge(charge(1, EVERYBODY))
        assert synced == [mark_path(path).stat().st_ino]
        ledger.charge(charge(1, EVERYBODY))
        assert len(synced) == 1


def test_two_ledgers_on_one_file_never_lower_the_mark(path: Path) -> None:
    with opened(path) as one, opened(path) as other:
        for number in range(8):
            (one, other)[number % 2].charge(charge(number, EVERYBODY))
        one._mark.advance(Mark(3, LINKS[3], 1))
        assert mark_of(path).read() == Mark(*one.head, 8 * NAT.nanonats)
