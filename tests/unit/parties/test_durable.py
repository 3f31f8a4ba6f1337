"""Files that outlive a crash: their mode, their syncing, and transactions that are whole or not there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.sharing.vault import MemoryVault
from parties.durable import BUSY_SECONDS, open_synced, transaction
from parties.rounds.storage import Storage
from parties.shares.storage import SqliteStorage
from tests.support.ledgers import sqlite_ledger

FULL = 2  # of `PRAGMA synchronous`


def _state_of(path: Path) -> sqlite3.Connection:
    file = SqliteStorage(path, "server-0", MemoryVault(bytes(32)))._file
    assert isinstance(file, sqlite3.Connection)
    return file


OPENED: dict[str, Callable[[Path], sqlite3.Connection]] = {
    "the piece itself": open_synced,
    "an agent's ledger": lambda path: sqlite_ledger(path, 3, Epsilon.requested(1))._file,
    "a coordinator's journal": lambda path: Storage(path).file,
    "a share server's state": _state_of,
}


@pytest.mark.parametrize("name", OPENED)
def test_every_durable_file_is_private_and_synced_in_full(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file.sqlite"
    with closing(OPENED[name](path)) as file:
        assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert file.execute("PRAGMA synchronous").fetchone() == (FULL,)
        assert file.isolation_level is None
        for one in tmp_path.iterdir():  # with its companions
            assert one.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", [name for name in OPENED if "share server" not in name])
def test_files_that_processes_share_are_waited_for(name: str, tmp_path: Path) -> None:
    with closing(OPENED[name](tmp_path / "file.sqlite")) as file:
        assert file.execute("PRAGMA busy_timeout").fetchone() == (1000 * BUSY_SECONDS,)


def test_a_share_servers_state_has_one_server_alone(tmp_path: Path) -> None:
    with closing(OPENED["a share server's state"](tmp_path / "state")) as file:
        assert file.execute("PRAGMA locking_mode").fetchone() == ("exclusive",)
        assert file.execute("PRAGMA busy_timeout").fetchone() == (1000,)


def test_a_transaction_that_fails_leaves_nothing_and_the_next_one_begins(tmp_path: Path) -> None:
    with closing(open_synced(tmp_path / "file.sqlite")) as file:
        file.execute("CREATE TABLE numbers (number INTEGER)")
        with suppress(ZeroDivisionError), transaction(file):
            file.execute("INSERT INTO numbers VALUES (1)")
            raise ZeroDivisionError
        assert not file.in_transaction
        with transaction(file):
            file.execute("INSERT INTO numbers VALUES (2)")
        assert file.execute("SELECT number FROM numbers").fetchall() == [(2,)]


def test_a_transaction_that_sqlite_has_ended_itself_is_not_rolled_back_twice(tmp_path: Path) -> None:
    with closing(open_synced(tmp_path / "file.sqlite")) as file:
        file.execute("CREATE TABLE numbers (number INTEGER UNIQUE ON CONFLICT ROLLBACK)")
        file.execute("INSERT INTO numbers VALUES (1)")
        with pytest.raises(sqlite3.IntegrityError), transaction(file):
            file.execute("INSERT INTO numbers VALUES (1)")
        assert not file.in_transaction


def test_a_transaction_holds_the_file_from_its_first_line_on(tmp_path: Path) -> None:
    path = tmp_path / "file.sqlite"
    with closing(open_synced(path)) as first, closing(open_synced(path)) as second:
        second.execute("PRAGMA busy_timeout = 0")
        with transaction(first), pytest.raises(sqlite3.OperationalError, match="locked"):
            second.execute("BEGIN IMMEDIATE")
