"""The chain of a ledger's rows: whatever is done to one of them is noticed when the ledger is opened, but one thing."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import StorageFailed
from parties.agent.ledger import SqliteLedger
from parties.agent.register import entries_of
from tests.support.ledgers import NAT, Clock, a_ledger_of_four_charges, charge, entries_in

PEOPLE = 8
COLUMNS = {
    "number": "number + 10",
    "request": "x'00'",
    "records": "x'00'",
    "start": "start + 1",
    "stop": "stop - 1",
    "seed": "zeroblob(16)",
    "parts": "3",
    "part": "0",
    "cost_nanonats": "cost_nanonats - 1",
    "purpose": "purpose || ' '",
    "caller": "'nobody'",
    "key_name": "'key-9'",
    "charged_at": "charged_at + 1",
    "chain": "zeroblob(32)",
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
        SqliteLedger(path, PEOPLE, NAT * 10)
    with pytest.raises(StorageFailed):
        entries_of(path)


def test_the_columns_that_are_tampered_with_are_all_there_are(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        assert {row[1] for row in file.execute("PRAGMA table_info(charges)")} == set(COLUMNS)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_changed_column_of_any_row_is_noticed(path: Path, column: str, number: int) -> None:
    tamper(path, f"UPDATE charges SET {column} = {COLUMNS[column]} WHERE number = {number}")  # noqa: S608
    refused(path)


@pytest.mark.parametrize("rows", ["1", "2", "1, 2", "4", "3, 4", "1, 2, 3, 4"])
def test_deleted_rows_are_noticed_wherever_they_stood(path: Path, rows: str) -> None:
    tamper(path, f"DELETE FROM charges WHERE number IN ({rows})")  # noqa: S608
    refused(path)


@pytest.mark.parametrize("rows", ["1", "2", "4"])
def test_deleted_rows_are_noticed_when_those_after_them_are_numbered_anew(path: Path, rows: str) -> None:
    tamper(
        path,
        f"DELETE FROM charges WHERE number = {rows}",  # noqa: S608
        f"UPDATE charges SET number = number - 1 WHERE number > {rows}",  # noqa: S608
    )
    refused(path)


@pytest.mark.parametrize(("one", "other"), [(1, 2), (2, 3), (3, 4), (1, 4)])
def test_rows_in_another_order_are_noticed(path: Path, one: int, other: int) -> None:
    tamper(
        path,
        f"UPDATE charges SET number = 100 WHERE number = {one}",  # noqa: S608
        f"UPDATE charges SET number = {one} WHERE number = {other}",  # noqa: S608
        f"UPDATE charges SET number = {other} WHERE number = 100",  # noqa: S608
    )
    refused(path)


@pytest.mark.parametrize("number", [0, -1, 5, 100])
def test_an_inserted_row_is_noticed(path: Path, number: int) -> None:
    columns = ", ".join(name for name in COLUMNS if name != "number")
    tamper(
        path,
        f"INSERT INTO charges SELECT {number}, {columns} FROM charges WHERE number = 2",  # noqa: S608
    )
    refused(path)


def test_a_row_is_noticed_under_an_agent_that_runs(path: Path) -> None:
    with closing(SqliteLedger(path, PEOPLE, NAT * 10)) as ledger:
        columns = ", ".join(name for name in COLUMNS if name != "number")
        tamper(path, f"INSERT INTO charges SELECT 5, {columns} FROM charges WHERE number = 2")  # noqa: S608
        with pytest.raises(StorageFailed):
            ledger.charge(charge(9, Cohort(0, 1)))


def test_an_older_copy_put_back_is_the_one_thing_that_is_not_noticed(path: Path, tmp_path: Path) -> None:
    # It is a whole ledger.  Only somebody who keeps a later export, or the last link, can tell.
    older = tmp_path / "older"
    shutil.copy(path, older)
    with closing(SqliteLedger(path, PEOPLE, NAT * 10, clock=Clock())) as ledger:
        ledger.charge(charge(9, Cohort(0, PEOPLE)))
        later = ledger.spent()
    last = entries_in(path)[-1]
    shutil.copy(older, path)
    with closing(SqliteLedger(path, PEOPLE, NAT * 10)) as ledger:
        assert (ledger.spent() < later).all()
    assert last.chain not in [entry.chain for entry in entries_in(path)]


def test_newcomers_are_noted_under_the_key_that_their_coins_come_from(path: Path) -> None:
    assert [entry.charge.key for entry in entries_in(path)] == ["", "key-1", "key-2", "key-2"]


def test_a_ledger_is_for_its_owners_eyes(path: Path) -> None:
    assert path.stat().st_mode & 0o077 == 0


def test_a_second_caller_leaves_one_row_of_epsilon_zero_also_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    for _ in range(2):
        with closing(SqliteLedger(path, 8, NAT * 10)) as ledger:
            for caller in ("analyst", "auditor", "analyst"):
                ledger.charge(charge(1, Cohort(0, 8), caller=caller))
            ledger.charge(charge(1, Cohort(2, 5), caller="auditor"))
            assert set(ledger.spent().tolist()) == {NAT.nanonats}
    rows = [(entry.charge.caller, entry.charge.cost.nanonats) for entry in entries_in(path)]
    assert rows == [("analyst", NAT.nanonats), ("auditor", 0)]


def test_a_report_that_cannot_be_noted_under_its_second_caller_is_not_given(tmp_path: Path) -> None:
    with closing(SqliteLedger(tmp_path / "ledger", 8, NAT)) as ledger:
        ledger.charge(charge(1, Cohort(0, 8), caller="analyst"))
        ledger._file.execute("PRAGMA query_only = 1")
        with pytest.raises(StorageFailed):
            ledger.charge(charge(1, Cohort(0, 8), caller="auditor"))
