"""Whether the ledger that is open is still the one that the next start will find.

A file that was deleted, moved or replaced can still be written by whoever has it open, and what is written is lost.  So
the files are known by device and number when they are opened, and compared at every charge; SQLite's log and its index,
too, for charges stand in the log first.  A lock beside them says that somebody has the ledger open: a restore waits for
nobody, it refuses.

Checked in tests/unit/parties/agent/test_ledger_identity.py and tests/fault/test_ledger_accidents.py.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from localdp.errors import StorageFailed
from parties.durable import failure

LOCK_SUFFIX = ".lock"
Identity = tuple[int, int]  # device and number
COMPANIONS = ("-wal", "-shm")  # SQLite's, beside the file


class OpenFiles:
    """The files of an open ledger, as they were when it was opened."""

    def __init__(self, path: Path, before: Identity | None = None) -> None:
        """`before` is what the file was before it was opened, if it was there."""
        self._paths = [str(path), *(f"{path}{suffix}" for suffix in COMPANIONS)]
        self._known = self._seen()
        if before is not None:
            self._known[0] = before
            self.require_same()

    def require_same(self) -> None:
        """Refuse to go on when a file is not the one that is open."""
        if self._seen() != self._known:
            raise StorageFailed(
                "the ledger was deleted, moved or replaced while it was open; nothing more is answered. "
                "Stop the agent and put the file back, or restore a backup"
            )

    def _seen(self) -> list[Identity | None]:
        return [identity_of(path) for path in self._paths]


def identity_of(path: Path | str) -> Identity | None:
    """Device and number of a file; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Lock:
    """Held by whoever has the ledger open: many who charge, or one who replaces it.  It ends with the process."""

    def __init__(self, ledger: Path, *, alone: bool = False) -> None:
        path = ledger.with_suffix(LOCK_SUFFIX)
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            who = "an agent runs on it; stop it first" if alone else "it is being restored"
            raise StorageFailed(f"{ledger} cannot be opened: {who}") from None
        except OSError as error:
            raise failure("the lock of the ledger", path, error) from error

    def release(self) -> None:
        """Let go."""
        os.close(self._file)
