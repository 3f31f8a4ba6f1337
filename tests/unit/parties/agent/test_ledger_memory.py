"""However many requests there were, a ledger keeps little of them in memory, and a start does not add them all up again."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Taken
from localdp.cohorts import Cohort, Split
from parties.agent.ledger import SqliteLedger
from parties.agent.remembered import Remembered
from tests.support.large_ledgers import make, measure
from tests.support.ledgers import NAT, charge, sqlite_ledger

PEOPLE = 40


class Shelf:
    """Charges by request, and how often they were looked for."""

    def __init__(self) -> None:
        self.charges: dict[bytes, list[Charge]] = {}
        self.loads = 0

    def __call__(self, request: bytes) -> list[Charge]:
        self.loads += 1
        return self.charges.get(request, [])


def test_what_is_dropped_is_read_again_and_is_the_same() -> None:
    shelf = Shelf()
    shelf.charges = {b"%d" % number: [charge(number, Cohort(0, number + 1))] for number in range(50)}
    remembered = Remembered(shelf, most_bytes=20_000)
    for _ in range(2):
        for number in range(30):
            taken = remembered.get(b"%d" % number)
            assert taken is not None
            assert taken.paid.missing(Cohort(0, PEOPLE)).tolist() == list(range(number + 1, PEOPLE))
    assert shelf.loads == 60
    assert remembered._bytes <= 20_000 and len(remembered._kept) < 10


def test_what_is_kept_is_not_read_again() -> None:
    shelf = Shelf()
    remembered = Remembered(shelf, most_bytes=1 << 20)
    assert remembered.get(b"new") is None and remembered.get(b"new") is None
    assert shelf.loads == 1
    taken = Taken("", 1)
    remembered[b"new"] = taken
    assert remembered.get(b"new") is taken
    assert shelf.loads == 1


def test_bytes_follow_what_is_added() -> None:
    remembered = Remembered(Shelf(), most_bytes=1 << 30)
    taken = Taken("", 1)
    remembered[b"a"] = taken
    small = remembered._bytes
    taken.add(charge(1, Cohort(7_999_990, 8_000_000, Split(bytes(16), 2, 0))))
    remembered[b"a"] = taken
    assert remembered._bytes > small + 2 * 1_000_000  # a bit for each person, twice


@pytest.mark.parametrize("remembered", [1, 1 << 20])
def test_a_ledger_that_remembers_nothing_charges_as_one_that_remembers_everything(
    tmp_path: Path, remembered: int
) -> None:
    with closing(sqlite_ledger(tmp_path / "ledger", PEOPLE, NAT, remembered_bytes=remembered)) as ledger:
        for turn in range(3):
            for number in range(8):
                split = Split(bytes([turn % 2]) * 16, 2, number % 2)
                ledger.charge(charge(number, Cohort(0, PEOPLE, split), Epsilon(10**8)))
        spent = ledger.spent()
    assert int(spent.max()) == 8 * 10**8 and len(set(spent.tolist())) > 1
    with closing(sqlite_ledger(tmp_path / "ledger", PEOPLE, NAT)) as ledger:
        assert ledger.spent().tolist() == spent.tolist()


def test_a_start_and_its_memory_are_measured_on_a_real_file(tmp_path: Path) -> None:
    make(tmp_path / "ledger", 1000, 300)
    figures = measure(tmp_path / "ledger", 1000, 300)
    assert figures["start_seconds"] < 5


@pytest.mark.nightly
def test_a_hundred_thousand_split_requests_of_a_million_people_start_in_seconds(tmp_path: Path) -> None:
    make(tmp_path / "ledger", 1_000_000, 100_000)
    figures = json.loads(
        subprocess.run(
            [sys.executable, "-m", "tests.support.large_ledgers", tmp_path / "ledger", "1000000", "100000"],
            cwd=Path(__file__).parents[4],
            capture_output=True,
            check=True,
        ).stdout
    )
    assert figures["start_seconds"] < 10, figures
    assert figures["all_megabytes"] < 200, figures


class _AddsUp(SqliteLedger):
    """Broken: does not begin from a checkpoint."""

    def _resume(self) -> None:
        self._catch_up()


@pytest.mark.nightly
def test_without_checkpoints_a_start_takes_as_long_as_all_charges(tmp_path: Path) -> None:
    booked: list[int] = []

    class Counting(SqliteLedger):
        def _book(self, *arguments: object) -> None:
            booked.append(1)
            super()._book(*arguments)  # type: ignore[arg-type]

    class Slow(Counting, _AddsUp):
        pass

    make(tmp_path / "ledger", 1_000_000, 60)
    for kind, least, most in ((Counting, 40, 50), (Slow, 61, 62)):
        booked.clear()
        with closing(kind(tmp_path / "ledger", 1_000_000, Epsilon(1 << 60), chain_key=bytes(32))):
            assert least <= len(booked) <= most
