"""A disk in the test's hand: it fails at a chosen step of a charge, and forgets what was not synced when power is lost.

There is no way to take back what the operating system has cached, so the loss of power is played: the disk keeps a copy of
the database as of the last moment at which SQLite had synced it, and puts that copy back.  By SQLite's documentation that
moment is each commit when `synchronous` is FULL, and none of them when it is OFF or, with a write-ahead log, NORMAL.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

_FULL = 2


class Crash(Exception):
    """The process ends here, as far as the test is concerned."""


class Disk:
    """What is on it for sure, and how it will fail next."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fault: str | None = None
        self.crashed = False
        self._synced = b""

    def attach(self, file: sqlite3.Connection) -> Any:
        """The connection, through this disk."""
        if not self._synced:
            self._synced = (
                file.serialize()
            )  # the empty ledger of `localdp agent init`, long since on the disk
        return _File(file, self)

    def sync(self, file: sqlite3.Connection) -> None:
        """A commit has returned."""
        if file.execute("PRAGMA synchronous").fetchone() == (_FULL,):
            self._synced = file.serialize()

    def lose_power(self) -> None:
        """Nobody has the file open; what was not synced is gone."""
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        self.path.write_bytes(self._synced)

    def fail(self, point: str) -> None:
        """Fail if it is to fail there."""
        if self.fault != point:
            return
        if "disk full" in point or "error" in point:
            raise sqlite3.OperationalError("database or disk is full")
        self.crashed = True
        raise Crash


class _File:
    """A connection whose statements may fail."""

    def __init__(self, file: sqlite3.Connection, disk: Disk) -> None:
        self._file, self._disk = file, disk

    def execute(self, statement: str, *parameters: Any) -> sqlite3.Cursor:
        if statement.startswith("INSERT"):
            self._disk.fail("before the row")
            self._disk.fail("disk full at the row")
        if statement == "COMMIT":
            self._disk.fail("before the commit")
            self._disk.fail("disk full at the commit")
        done = self._file.execute(statement, *parameters)
        if statement == "COMMIT":
            self._disk.sync(self._file)
            self._disk.fail("after the commit")
            self._disk.fail("an error after the commit")
        return done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
