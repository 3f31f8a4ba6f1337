"""The chain of a ledger's entries: whatever is done to one of them is noticed when the ledger is opened."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import StorageFailed
from tests.support.ledgers import (
    NAT,
    Clock,
    a_ledger_of_four_charges,
    charge,
    charges_in,
    entries_in,
    sqlite_ledger,
)

PEOPLE = 8
COLUMNS = {
    "number": "number + 10",
    "kind": "'loss'",
    "stamp": "stamp + 1",
    "request": "x'00'",
    "body": "CAST(replace(CAST(body AS TEXT), '000000000', '0') AS BLOB)",
    "link": "zeroblob(32)",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    a_ledger_of_four_charges(tmp_path / "ledger")
    return tmp_path / "ledger"


def tamper(path: Path, *statements: str) -> None:
    """Somebody with the file and a shell."""
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        for statement in statements:
            file.execute(statement)


def refused(path: Path) -> None:
    """It is opened neither by an agent nor for reading."""
    with pytest.raises(StorageFailed):
        sqlite_ledger(path, PEOPLE, NAT * 10)
    with pytest.raises(StorageFailed):
        entries_in(path)


def test_the_columns_that_are_tampered_with_are_all_there_are(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        assert {row[1] for row in file.execute("PRAGMA table_info(entries)")} == set(COLUMNS)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_changed_column_of_any_row_is_noticed(path: Path, column: str, number: int) -> None:
    tamper(path, f"UPDATE entries SET {column} = {COLUMNS[column]} WHERE number = {number}")  # noqa: S608
    refused(path)


@pytest.mark.parametrize("rows", ["1", "2", "1, 2", "4", "3, 4", "1, 2, 3, 4"])
def test_deleted_rows_are_noticed_wherever_they_stood(path: Path, rows: str) -> None:
    tamper(path, f"DELETE FROM entries WHERE number IN ({rows})")  # noqa: S608
    refused(path)


@pytest.mark.parametrize("rows", ["1", "2", "4"])
def test_deleted_rows_are_noticed_when_those_after_them_are_numbered_anew(path: Path, rows: str) -> None:
    tamper(
        path,
        f"DELETE FROM entries WHERE number = {rows}",  # noqa: S608
        f"UPDATE entries SET number = number - 1 WHERE number > {rows}",  # noqa: S608
    )
    refused(path)


@pytest.mark.parametrize(("one", "other"), [(1, 2), (2, 3), (3, 4), (1, 4)])
def test_rows_in_another_order_are_noticed(path: Path, one: int, other: int) -> None:
    tamper(
        path,
        f"UPDATE entries SET number = 100 WHERE number = {one}",  # noqa: S608
        f"UPDATE entries SET number = {one} WHERE number = {other}",  # noqa: S608
        f"UPDATE entries SET number = {other} WHERE number = 100",  # noqa: S608
    )
    refused(path)


@pytest.mark.parametrize("number", [5, 100])
def test_an_inserted_row_is_noticed(path: Path, number: int) -> None:
    columns = ", ".join(name for name in COLUMNS if name != "number")
    tamper(
        path,
        f"INSERT INTO entries SELECT {number}, {columns} FROM entries WHERE number = 2",  # noqa: S608
    )
    refused(path)


def test_a_row_is_noticed_under_an_agent_that_runs(path: Path) -> None:
    with closing(sqlite_ledger(path, PEOPLE, NAT * 10)) as ledger:
        columns = ", ".join(name for name in COLUMNS if name != "number")
        tamper(path, f"INSERT INTO entries SELECT 5, {columns} FROM entries WHERE number = 2")  # noqa: S608
        with pytest.raises(StorageFailed):
            ledger.charge(charge(9, Cohort(0, 1)))


def test_without_the_key_nobody_makes_an_entry_that_follows(path: Path, tmp_path: Path) -> None:
    forged = tmp_path / "forged"
    with closing(
        sqlite_ledger(forged, PEOPLE, NAT * 10, chain_key=b"another key" * 3, clock=Clock())
    ) as ledger:
        ledger.charge(charge(1, Cohort(0, PEOPLE)))
    refused(forged)
    with closing(sqlite3.connect(forged)) as file:
        kind, stamp, request, body, link = file.execute(
            "SELECT kind, stamp, request, body, link FROM entries"
        ).fetchone()
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("INSERT INTO entries VALUES (5, ?, ?, ?, ?, ?)", (kind, stamp, request, body, link))
    refused(path)


def test_an_entry_before_the_first_is_noticed_where_the_layout_was_changed(path: Path) -> None:
    tamper(
        path,
        "PRAGMA ignore_check_constraints = ON",
        "INSERT INTO entries SELECT 0, kind, stamp, request, body, link FROM entries WHERE number = 2",
    )
    refused(path)


def test_newcomers_are_noted_under_the_key_that_their_coins_come_from(path: Path) -> None:
    assert [charge.key for charge in charges_in(path)] == ["", "key-1", "key-2", "key-2"]


def test_a_ledger_is_for_its_owners_eyes(path: Path) -> None:
    assert path.stat().st_mode & 0o077 == 0


def test_a_second_caller_leaves_one_row_of_epsilon_zero_also_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    for _ in range(2):
        with closing(sqlite_ledger(path, 8, NAT * 10)) as ledger:
            for caller in ("analyst", "auditor", "analyst"):
                ledger.charge(charge(1, Cohort(0, 8), caller=caller))
            ledger.charge(charge(1, Cohort(2, 5), caller="auditor"))
            assert set(ledger.spent().tolist()) == {NAT.nanonats}
    rows = [(charge.caller, charge.cost.nanonats) for charge in charges_in(path)]
    assert rows == [("analyst", NAT.nanonats), ("auditor", 0)]


def test_a_report_that_cannot_be_noted_under_its_second_caller_is_not_given(tmp_path: Path) -> None:
    with closing(sqlite_ledger(tmp_path / "ledger", 8, NAT)) as ledger:
        ledger.charge(charge(1, Cohort(0, 8), caller="analyst"))
        ledger._file.execute("PRAGMA query_only = 1")
        with pytest.raises(StorageFailed):
            ledger.charge(charge(1, Cohort(0, 8), caller="auditor"))
