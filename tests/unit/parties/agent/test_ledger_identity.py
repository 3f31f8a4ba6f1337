"""A ledger that is no longer the file at its path charges nothing; and who has it open."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from localdp.cohorts import Cohort
from localdp.errors import StorageFailed
from parties.agent import ledger as module
from parties.agent import opening
from parties.agent.ledger import SqliteLedger
from parties.agent.same_file import Lock
from tests.support.ledgers import NAT, charge, sqlite_ledger

PEOPLE = 4
EVERYBODY = Cohort(0, PEOPLE)


def copied(path: Path) -> None:
    """Replaced by a copy of the same bytes."""
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


ACCIDENTS: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "moved": lambda path: path.rename(path.with_name("moved")),
    "replaced by a copy": copied,
    "the log deleted": lambda path: Path(f"{path}-wal").unlink(),
    "the log replaced": lambda path: copied(Path(f"{path}-wal")),
    "the index deleted": lambda path: Path(f"{path}-shm").unlink(),
    "the directory moved": lambda path: path.parent.rename(path.parent.with_name("elsewhere")),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path / "state" / "ledger"


def opened(path: Path) -> closing[SqliteLedger]:
    return closing(sqlite_ledger(path, PEOPLE, NAT * 9))


@pytest.mark.parametrize("accident", ACCIDENTS)
@pytest.mark.parametrize("charged", [False, True])
def test_nothing_is_answered_after_an_accident(path: Path, accident: str, charged: bool) -> None:
    with opened(path) as ledger:
        if charged:
            ledger.charge(charge(1, EVERYBODY))
        ACCIDENTS[accident](path)
        for number in (1, 2):
            with pytest.raises(StorageFailed, match="deleted, moved or replaced"):
                ledger.charge(charge(number, EVERYBODY))
            with pytest.raises(StorageFailed):
                ledger.require(charge(number, EVERYBODY))
        with pytest.raises(StorageFailed):
            ledger.open_epoch(b"1" * 16, b"pin")


def test_what_is_put_back_goes_on(path: Path) -> None:
    with opened(path) as ledger:
        path.rename(path.with_name("moved"))
        with pytest.raises(StorageFailed):
            ledger.charge(charge(1, EVERYBODY))
        path.with_name("moved").rename(path)
        assert ledger.charge(charge(1, EVERYBODY))


def test_an_accident_between_the_look_and_the_commit_is_charged_and_not_answered(path: Path) -> None:
    class Unlucky(SqliteLedger):
        def _require_index(self) -> None:
            path.rename(path.with_name("moved"))

    with closing(Unlucky(path, PEOPLE, NAT * 9, chain_key=bytes(32))) as ledger:
        with pytest.raises(StorageFailed, match="deleted, moved or replaced"):
            ledger.charge(charge(1, EVERYBODY))
        assert ledger.spent().tolist() == [NAT.nanonats] * PEOPLE


def test_an_accident_while_it_is_opened_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as ledger:
        ledger.charge(charge(1, EVERYBODY))
    whole: Callable[..., None] = opening.require_mark

    def unlucky(*arguments: Any) -> None:
        whole(*arguments)
        copied(path)

    monkeypatch.setattr(module, "require_mark", unlucky)
    with pytest.raises(StorageFailed, match="deleted, moved or replaced"):
        opened(path)


def test_many_charge_and_one_replaces(path: Path) -> None:
    with opened(path), opened(path), pytest.raises(StorageFailed, match="an agent runs on it"):
        Lock(path, alone=True)
    alone = Lock(path, alone=True)
    with pytest.raises(StorageFailed, match="being restored"):
        opened(path)
    alone.release()
    with opened(path):
        pass


def test_a_ledger_that_was_refused_lets_go(path: Path) -> None:
    with opened(path) as ledger:
        ledger.charge(charge(1, EVERYBODY))
    with pytest.raises(StorageFailed):
        sqlite_ledger(path, 1, NAT)
    Lock(path, alone=True).release()
