"""The shuffler's ledger in a file: what outlives the process, who else writes to it, and which damage is noticed."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.promise_ledger import Outlay
from localdp.cohorts import Cohort, Split
from localdp.errors import BudgetExhausted, InvalidParameter, RequestExpired, StorageFailed
from parties.shuffler.ledger import SqlitePromiseLedger

PARTS = (("north", Cohort(0, 4)), ("south", Cohort(2, 9, Split(bytes(range(16)), 3, 1))))


def opened(path: Path, nanonats: int = 20) -> SqlitePromiseLedger:
    file = path / "promised"
    return SqlitePromiseLedger(file, Epsilon(nanonats), Fraction(1, 10**6), new=not file.exists())


def outlay(number: int) -> Outlay:
    return Outlay(b"request %d" % number, PARTS, Epsilon(10), 3)


def test_what_was_promised_outlives_the_process(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as ledger:
        ledger.charge(outlay(0))
        before = ledger.spent("north", 5), ledger.spent("south", 9)
    with closing(opened(tmp_path)) as ledger:
        assert (ledger.spent("north", 5) == before[0]).all()
        assert (ledger.spent("south", 9) == before[1]).all()
        ledger.charge(outlay(0))
        ledger.charge(outlay(1))
        with pytest.raises(BudgetExhausted):
            ledger.charge(outlay(2))


def test_which_reports_were_mixed_outlives_the_process(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as ledger:
        ledger.charge(replace(outlay(0), reports=b"these"))
    with closing(opened(tmp_path)) as ledger:
        ledger.charge(replace(outlay(0), reports=b"these"))
        with pytest.raises(RequestExpired):
            ledger.charge(replace(outlay(0), reports=b"those"))


def test_a_file_that_does_not_say_which_reports_were_mixed_keeps_what_was_promised(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as ledger:
        ledger.charge(replace(outlay(0), reports=b"these"))
    with closing(sqlite3.connect(tmp_path / "promised")) as file:
        file.execute("ALTER TABLE promised DROP COLUMN reports")  # as the version before made it
    for number in (1, 2):
        with closing(opened(tmp_path, 30)) as ledger:
            ledger.charge(replace(outlay(number), reports=b"others"))
            assert ledger.spent("north", 1).tolist() == [[10 + 10 * number], [3 + 3 * number]]
            with pytest.raises(RequestExpired):
                ledger.charge(replace(outlay(0), reports=b"these"))


def test_a_total_that_was_lowered_counts_what_was_spent_before(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as ledger:
        ledger.charge(outlay(0))
        ledger.charge(outlay(1))
    with closing(opened(tmp_path, 15)) as ledger, pytest.raises(BudgetExhausted):
        ledger.require(outlay(2))


def test_two_shufflers_on_one_file_cannot_both_spend_the_last(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as one, closing(opened(tmp_path)) as other:
        one.charge(outlay(0))
        other.charge(outlay(1))
        for ledger in (one, other):
            with pytest.raises(BudgetExhausted):
                ledger.charge(outlay(2))
            assert ledger.spent("north", 4).tolist() == [[20] * 4, [6] * 4]


def test_the_file_is_for_the_owner_alone(tmp_path: Path) -> None:
    with closing(opened(tmp_path)):
        assert stat.S_IMODE((tmp_path / "promised").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM promised",
        "DELETE FROM promised WHERE number = 1",
        "DELETE FROM promised WHERE number = 4",
        "UPDATE promised SET stop = -1 WHERE number = 3",
        "UPDATE promised SET parts = 0 WHERE number = 2",
        "DROP TABLE promised; CREATE TABLE promised (number INTEGER)",
    ],
)
def test_a_file_from_which_something_is_missing_is_not_opened(tmp_path: Path, damage: str) -> None:
    with closing(opened(tmp_path)) as ledger:
        ledger.charge(outlay(0))
        ledger.charge(outlay(1))
    with closing(sqlite3.connect(tmp_path / "promised")) as file:
        file.executescript(damage)
    with pytest.raises(StorageFailed):
        opened(tmp_path)


def test_what_cannot_be_written_is_not_promised(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as ledger:
        ledger._file.execute("PRAGMA query_only = ON")
        with pytest.raises(StorageFailed):
            ledger.charge(outlay(0))
        assert not ledger.spent("north", 4).any()


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "promised").write_bytes(b"something else, and long enough to be looked at" * 20)
    with pytest.raises(StorageFailed):
        opened(tmp_path)


def test_a_file_that_is_gone_or_emptied_is_not_replaced(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as ledger:
        ledger.charge(outlay(0))
    file, totals = tmp_path / "promised", (Epsilon(20), Fraction(1, 10**6))
    with pytest.raises(InvalidParameter, match="exists already"):
        SqlitePromiseLedger(file, *totals, new=True)
    file.write_bytes(b"")
    with pytest.raises(StorageFailed):
        SqlitePromiseLedger(file, *totals)
    file.unlink()
    with pytest.raises(InvalidParameter, match="would forget what was promised"):
        SqlitePromiseLedger(file, *totals)
    assert not file.exists()
