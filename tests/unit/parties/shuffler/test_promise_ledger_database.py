"""The shuffler's ledger in PostgreSQL: who else writes to it, a connection that breaks, and which damage is noticed."""

from __future__ import annotations

import threading
from contextlib import closing
from fractions import Fraction

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.promise_ledger import Outlay
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, InvalidParameter, StorageFailed
from parties.postgres import PostgresDatabase
from parties.shuffler.ledger import PostgresPromiseLedger
from tests.support.postgres import new_database

TOTALS = Epsilon(20), Fraction(1, 10**6)


def outlay(number: int, people: int = 4) -> Outlay:
    parts = (("north", Cohort(0, people)), ("south", Cohort(2, 9)))
    return Outlay(b"request %d" % number, parts, Epsilon(10), 3)


@pytest.fixture
def address() -> str:
    made = new_database()
    PostgresPromiseLedger(made, *TOTALS, new=True).close()
    return made


def said(address: str, *statements: str) -> None:
    with closing(PostgresDatabase(address, "a test")) as database:
        for statement in statements:
            database.execute(statement)


def break_connection(ledger: PostgresPromiseLedger, address: str) -> None:
    number = ledger._file.execute("SELECT pg_backend_pid()").fetchone()[0]
    with closing(PostgresDatabase(address, "a test")) as other:
        other.execute("SELECT pg_terminate_backend(?)", (number,))


def test_what_was_promised_is_there_again_and_a_new_ledger_is_asked_for(address: str) -> None:
    with closing(PostgresPromiseLedger(address, *TOTALS)) as ledger:
        ledger.charge(outlay(0))
    with closing(PostgresPromiseLedger(address, *TOTALS)) as ledger:
        assert ledger.spent("north", 5).tolist() == [[10, 10, 10, 10, 0], [3, 3, 3, 3, 0]]
    with pytest.raises(InvalidParameter, match="has a ledger already"):
        PostgresPromiseLedger(address, *TOTALS, new=True)
    with pytest.raises(InvalidParameter, match="would forget what was promised"):
        PostgresPromiseLedger(new_database(), *TOTALS)


def test_of_many_shufflers_at_once_exactly_two_have_what_is_left_for_two(address: str) -> None:
    begun, granted = threading.Barrier(6), list[int]()

    def charge(number: int) -> None:
        with closing(PostgresPromiseLedger(address, *TOTALS)) as ledger:
            begun.wait()
            try:
                ledger.charge(outlay(number))
            except BudgetExhausted:
                return
            granted.append(number)

    threads = [threading.Thread(target=charge, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 2
    with closing(PostgresPromiseLedger(address, *TOTALS)) as ledger:
        assert ledger.spent("north", 4).tolist() == [[20] * 4, [6] * 4]


def test_after_a_broken_connection_nothing_is_forgotten_or_paid_twice(address: str) -> None:
    with closing(PostgresPromiseLedger(address, *TOTALS)) as ledger:
        ledger.charge(outlay(0))
        break_connection(ledger, address)
        with pytest.raises(StorageFailed):
            ledger.charge(outlay(1))
        ledger.charge(outlay(1))
        ledger.charge(outlay(1))
        assert ledger.spent("north", 1).tolist() == [[20], [6]]
        with pytest.raises(BudgetExhausted):
            ledger.require(outlay(2))


def test_a_database_that_comes_back_as_an_older_copy_is_refused_again_and_again(address: str) -> None:
    with closing(PostgresPromiseLedger(address, *TOTALS)) as ledger:
        ledger.charge(outlay(0))
        said(address, "DELETE FROM promised", "UPDATE last_promised SET number = 0")
        break_connection(ledger, address)
        with pytest.raises(StorageFailed):
            ledger.require(outlay(1))
        for ask in (ledger.require, ledger.charge, ledger.require):
            with pytest.raises(StorageFailed, match="older copy"):
                ask(outlay(1))


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM promised",
        "DELETE FROM promised WHERE number = 1",
        "DELETE FROM promised WHERE number = 4",
        "UPDATE promised SET stop = -1 WHERE number = 3",
        "DELETE FROM last_promised",
    ],
)
def test_a_ledger_from_which_something_is_missing_is_not_opened(address: str, damage: str) -> None:
    with closing(PostgresPromiseLedger(address, *TOTALS)) as ledger:
        ledger.charge(outlay(0))
        ledger.charge(outlay(1))
    said(address, damage)
    with pytest.raises(StorageFailed):
        PostgresPromiseLedger(address, *TOTALS)
