"""Files that outlive a crash: SQLite, for the owner's eyes alone, synced at every commit.

A write-ahead log (WAL), synced in full: a transaction whose COMMIT returned is on the disk, also when the machine loses
power in the next instant.  A transaction is IMMEDIATE: it holds the file from its first line on, so what it read is
still so when it writes.  Whoever opens a file translates its errors, with `failure`; the path is named where it is opened,
and not in what may be told to a caller.

Other files are whole or not there at all (`written_whole`): results and pages, keys, copies of records, backups, reports.

Checked in tests/unit/parties/test_durable.py, test_whole_files.py and report/test_report.py, and with kill -9 in
tests/fault/.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from localdp.errors import InvalidParameter, LocalDpError, StorageFailed
from parties.database import BEGIN, Database

Data: TypeAlias = dict[str, Any]  # what JSON or TOML hold, before anybody has looked at it

BUSY_SECONDS = 30.0  # how long another process's transaction is waited for
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def make_private(path: Path) -> None:
    """A new file is for its owner's eyes; SQLite gives its companion files the same mode."""
    if not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def require_private(path: Path) -> None:
    """Refuse a file with secrets that others can read."""
    if path.stat().st_mode & 0o077:
        raise InvalidParameter(f"{path} can be read by others; chmod 600 it")


def make_private_directory(directory: Path) -> None:
    """A new directory, and what of its path has to be made, for its owner alone; one that exists stays as it is."""
    for missing in reversed([path for path in (directory, *directory.parents) if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def open_synced(path: Path) -> sqlite3.Connection:
    """The file, made if it does not exist; several processes may share it, and one thread at a time the connection."""
    make_private(path)
    file = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA synchronous = FULL")
    except BaseException:
        file.close()
        raise
    return file


def sync_directory(directory: Path) -> None:
    """What was made, replaced or removed in it stays so after a power cut."""
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def failure(what: str, path: Path | None, error: Exception) -> StorageFailed:
    """Why a file failed, without what stands in it: in the system's words, or by SQLite's name for it."""
    if isinstance(error, OSError) and error.errno:
        why = os.strerror(error.errno)
    else:
        why = getattr(error, "sqlite_errorname", type(error).__name__)
    where = "" if path is None else f" {path}"
    return StorageFailed(f"{what}{where} could not be read or written ({why})")


def require_there_or_new(path: Path, new: bool, what: str, loss: str, whose: str, option: str) -> None:
    """Refuse to make a file anew that may only be mislaid, and to take one that is there for a new one."""
    if new and path.exists():
        raise InvalidParameter(f"{path} exists already; go on with it, or give another {option}")
    if not new and not path.is_file():
        raise InvalidParameter(
            f"there is no {what} at {path.absolute()}; a new one {loss}. If this {whose} is new, say --new"
        )


@contextmanager
def transaction(file: Database) -> Iterator[None]:
    """All of it or nothing; on disk when the block has ended."""
    file.execute(BEGIN)
    try:
        yield
        file.execute("COMMIT")
    except BaseException:
        if file.in_transaction:  # a full disk, for one, has ended it already
            file.execute("ROLLBACK")
        raise


@contextmanager
def storage_errors(
    what: str, path: Path | None = None, also: tuple[type[Exception], ...] = (), *, damaged: str = ""
) -> Iterator[None]:
    """Whatever goes wrong with a file, as one error of ours.

    `also`: what is raised where something else is read than was written.  `damaged`: what to do if it is.
    """
    kinds: tuple[type[Exception], ...] = (sqlite3.Error, OSError, OverflowError, *also)
    try:
        yield
    except LocalDpError:
        raise
    except kinds as error:
        told = failure(what, path, error)
        if damaged and getattr(error, "sqlite_errorname", "").startswith(_DAMAGED):
            told = StorageFailed(f"{told}: it is damaged. {damaged}")
        raise told from error


def add_column(file: sqlite3.Connection, table: str, column: str, kind: str) -> bool:
    """Add a column that an older version did not have; whether it was added now."""
    if column in {row[1] for row in file.execute(f"PRAGMA table_info({table})")}:
        return False
    file.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
    return True


@contextmanager
def written_whole(path: Path, *, synced: bool = True, part: Path | None = None) -> Iterator[BinaryIO]:
    """A file for its owner alone, which stands there when the block has ended, in the place of one that stood there before.

    Until then a reader sees the old file, and on failure nothing is left behind.  `part` is where it is written first, if
    who is killed there should leave a file that the next one finds: who gives it sees to it that one process at a time
    writes.
    """
    if part is None:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    else:
        name = str(part)
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            if synced:
                file.flush()
                os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    if synced:
        sync_directory(path.parent)


def write_atomically(
    path: Path,
    content: str | bytes,
    *,
    confidential: bool = False,
    synced: bool = False,
    part: Path | None = None,
) -> None:
    """`written_whole` of this content; others may read it unless it is confidential."""
    with written_whole(path, synced=synced, part=part) as file:
        file.write(content if isinstance(content, bytes) else content.encode())
        if not confidential:
            os.fchmod(file.fileno(), 0o666 & ~_umask())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
