"""The ledger in a file: it remembers, two objects share it, and when it cannot write nothing is answered.

Several processes on one file, kill -9 and a full disk: tests/fault/test_ledger_crashes.py.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort, Split
from localdp.errors import BudgetExhausted, RequestExpired, StorageFailed, UnknownIndex
from parties.agent.ledger import SqliteLedger
from tests.support.federations import party, people, request
from tests.support.ledgers import sqlite_ledger
from tests.support.processes import somebody_without_rights

PEOPLE = 8
LIMIT = Epsilon.requested(2)
COST = Epsilon.requested(1)


def charge(
    number: int, start: int = 0, stop: int = PEOPLE, epoch: int = 1, split: Split | None = None
) -> Charge:
    """A charge of one nat for request `number`."""
    cohort = Cohort(start, stop, split)
    return Charge(b"request %d" % number, b"r", cohort, COST, "a test", epoch=epoch)


def opened(path: Path, limit: Epsilon = LIMIT, count: int = PEOPLE) -> closing[SqliteLedger]:
    """The ledger in that file."""
    return closing(sqlite_ledger(path, count, limit))


def rows(path: Path) -> int:
    """How many charges the file holds."""
    with closing(sqlite3.connect(path)) as file:
        return int(file.execute("SELECT count(*) FROM entries").fetchone()[0])


def test_what_was_spent_is_there_after_reopening(tmp_path: Path) -> None:
    path, split = tmp_path / "ledger", Split(b"s" * 16, 2, 1)
    with opened(path) as ledger:
        ledger.charge(charge(1, 0, 3))
        ledger.charge(charge(2, split=split))
        before = ledger.spent()
    with opened(path) as ledger:
        assert np.array_equal(ledger.spent(), before)
        assert not ledger.charge(charge(1, 0, 3))
        assert not ledger.charge(charge(2, split=split))
        assert np.array_equal(ledger.spent(), before)
    assert before.sum() == COST.nanonats * (3 + len(Cohort(0, PEOPLE, split).lanes()))


def test_every_charge_is_synced_before_it_is_granted(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger") as ledger:
        assert ledger._file.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert ledger._file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        ledger.charge(charge(1))
        assert not ledger._file.in_transaction


def test_two_objects_on_one_file_share_one_budget(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with opened(path) as one, opened(path) as other:
        one.charge(charge(1))
        other.charge(charge(2))
        for ledger in (one, other):
            with pytest.raises(BudgetExhausted):
                ledger.charge(charge(3))
            assert not ledger.charge(charge(1))
            assert not ledger.charge(charge(2))
            assert ledger.spent().tolist() == [2 * COST.nanonats] * PEOPLE
    assert rows(path) == 2


def test_a_repeated_request_costs_nothing_and_adds_no_row(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with opened(path) as ledger:
        assert ledger.charge(charge(1))
        for start in range(PEOPLE):  # parts of those who paid, each another cohort
            assert not ledger.charge(charge(1, start, start + 1))
            assert not ledger.charge(charge(1, 0, PEOPLE, split=Split(bytes(15) + bytes([start]), 3, 0)))
        assert ledger.spent().tolist() == [COST.nanonats] * PEOPLE
    assert rows(path) == 1


def test_an_overlapping_cohort_is_charged_for_the_new_people_only(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with opened(path) as ledger:
        ledger.charge(charge(1, 0, 5))
        ledger.charge(charge(1, 3, 8))
        assert ledger.spent().tolist() == [COST.nanonats] * PEOPLE
    with opened(path) as ledger:
        assert ledger.spent().tolist() == [COST.nanonats] * PEOPLE


def test_a_charge_that_one_person_cannot_pay_is_taken_from_nobody(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with opened(path) as ledger:
        ledger.charge(charge(1, 7, 8))
        ledger.charge(charge(2, 7, 8))
        before = ledger.spent()
        with pytest.raises(BudgetExhausted):
            ledger.charge(charge(3))
        assert np.array_equal(ledger.spent(), before)
        assert ledger.charge(charge(4, 0, 7))
    assert rows(path) == 3


def test_another_epoch_is_refused_also_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with opened(path) as ledger:
        ledger.charge(charge(1, 0, 4))
    with opened(path) as ledger:
        with pytest.raises(RequestExpired):
            ledger.charge(charge(1, 0, 4, epoch=2))
        with pytest.raises(RequestExpired):
            ledger.charge(charge(1, 4, 8, epoch=2))
        assert ledger.spent().sum() == 4 * COST.nanonats


def test_a_lower_limit_counts_what_was_spent_under_the_higher(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with opened(path) as ledger:
        ledger.charge(charge(1))
        ledger.charge(charge(2))
    with opened(path, limit=COST) as ledger, pytest.raises(BudgetExhausted):
        ledger.charge(charge(3))


def test_people_the_party_does_not_hold_are_unknown(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger") as ledger, pytest.raises(UnknownIndex):
        ledger.charge(charge(1, 0, PEOPLE + 1))


def test_a_ledger_of_more_people_than_the_party_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with opened(path) as ledger:
        ledger.charge(charge(1))
    with pytest.raises(StorageFailed):
        sqlite_ledger(path, PEOPLE - 1, LIMIT)


def test_when_the_file_is_full_nothing_is_answered_and_nothing_is_spent(tmp_path: Path) -> None:
    path, answered = tmp_path / "ledger", 0
    with opened(path, limit=Epsilon(10**15)) as ledger:
        asked = party(people(PEOPLE), ledger=ledger)
        (pages,) = ledger._file.execute("PRAGMA page_count").fetchone()
        ledger._file.execute(f"PRAGMA max_page_count = {pages + 2}")
        with suppress(StorageFailed):
            for answered in range(1000):
                asked.randomize(request(answered), Cohort(0, PEOPLE))
        assert 0 < answered < 999
        with pytest.raises(StorageFailed):
            asked.randomize(request(answered), Cohort(0, PEOPLE))
        cost = request().randomizer.epsilon.nanonats
        assert ledger.spent().tolist() == [answered * cost] * PEOPLE
        ledger._file.execute("PRAGMA max_page_count = 100000")
        asked.randomize(request(answered), Cohort(0, PEOPLE))  # the refused one, once there is room
    assert rows(path) == answered + 1


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entries SET body = x''",
        "UPDATE entries SET kind = 'loss'",
        "UPDATE entries SET request = NULL",
        "DROP TABLE entries",
        "DROP TABLE entries; CREATE TABLE entries (number INTEGER PRIMARY KEY)",
        "PRAGMA application_id = 0",
        "PRAGMA user_version = 3",
    ],
)
def test_a_file_with_rows_that_are_no_entries_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "ledger"
    with opened(path) as ledger:
        ledger.charge(charge(1))
    with closing(sqlite3.connect(path)) as file:
        file.executescript(damage)
    with pytest.raises(StorageFailed):
        sqlite_ledger(path, PEOPLE, LIMIT)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b"not a database, but long enough to be looked at: " * 100)
    before = path.read_bytes()
    with pytest.raises(StorageFailed):
        sqlite_ledger(path, PEOPLE, LIMIT)
    assert path.read_bytes() == before


def test_a_file_that_is_damaged_under_an_open_ledger_grants_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with opened(path, limit=COST) as ledger:
        ledger.charge(charge(1))
        ledger._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path.write_bytes(b"\xa5" * path.stat().st_size)
        # What was booked is remembered, whether or not SQLite has to look at the file again.
        with pytest.raises((StorageFailed, BudgetExhausted)):
            ledger.charge(charge(2))
    with pytest.raises(StorageFailed):
        sqlite_ledger(path, PEOPLE, LIMIT)


def test_a_directory_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed):
        sqlite_ledger(tmp_path / "nowhere" / "ledger", PEOPLE, LIMIT)


def test_a_file_that_may_only_be_read_is_refused_and_nothing_is_answered() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory, path = Path(name), Path(name) / "ledger"
        with opened(path) as ledger:
            ledger.charge(charge(1))
        path.chmod(0o444)
        directory.chmod(0o555)
        with somebody_without_rights(), pytest.raises(StorageFailed):
            sqlite_ledger(path, PEOPLE, LIMIT).charge(charge(2))
        directory.chmod(0o755)


def test_no_message_of_the_ledger_quotes_what_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b"canary 4711 " * 500)
    with pytest.raises(StorageFailed) as caught:
        sqlite_ledger(path, PEOPLE, LIMIT)
    assert "4711" not in str(caught.value)
