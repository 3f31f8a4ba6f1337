"""The machine: a disk that keeps what is written, SQLite, a clock, enough open files.

A ledger needs SQLite with STRICT tables (3.37) and a write-ahead log, which some network disks do not carry.
Checked in tests/unit/parties/doctor/test_machine.py and tests/integration/test_doctor.py.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import sqlite3
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from parties.doctor.finding import Finding, fails, note, ok

LEAST_SQLITE = (3, 37)
LEAST_FREE_BYTES = 100 << 20
RELEASED = datetime(2025, 1, 1, tzinfo=UTC)  # no clock of a machine that runs this shows an earlier time
LAST = datetime(2100, 1, 1, tzinfo=UTC)
FILES_EACH = 2  # a launcher's channel to a simulated party, and one more while it starts
SPARE_FILES = 256
MOST_PARTIES = 2000  # of `localdp parties up`
_ELSEWHERE = "keep the state on a disk of this machine"


def state_directory(directory: Path) -> Finding:
    """Where `localdp agent init` would put keys and ledger."""
    return _writable("state directory", directory, "change to a directory that you may write to")


def temporary_directory() -> Finding:
    """Where simulated parties keep their records and ledgers."""
    try:
        place = Path(tempfile.gettempdir())
    except FileNotFoundError:
        return fails(
            "temporary directory", "there is none", "set TMPDIR to a directory that you may write to"
        )
    return _writable("temporary directory", place, "set TMPDIR to a directory that you may write to")


def _writable(check: str, directory: Path, fix: str) -> Finding:
    try:
        with tempfile.NamedTemporaryFile(dir=directory, prefix=".localdp-doctor-") as file:
            file.write(b"localdp")
            file.flush()
            os.fsync(file.fileno())
        free = shutil.disk_usage(directory).free
    except OSError as error:
        return fails(check, f"{directory}: {os.strerror(error.errno or 0)}", fix)
    if free < LEAST_FREE_BYTES:
        return note(
            check, f"{directory} has {free >> 20} MiB left", "make room: a ledger grows with every charge"
        )
    return ok(check, f"{directory} can be written, {free >> 30} GiB free")


def sqlite(directory: Path, version: tuple[int, ...] = sqlite3.sqlite_version_info) -> Finding:
    """The library that keeps ledgers, journals and the state of share servers."""
    told = ".".join(str(part) for part in version)
    if version < LEAST_SQLITE:
        return fails("sqlite", f"{told} is older than 3.37", "install a Python with a newer SQLite")
    try:
        mode = _journal_mode(directory)
    except (OSError, sqlite3.Error) as error:
        return fails("sqlite", f"{told} cannot write a file here ({type(error).__name__})", _ELSEWHERE)
    if mode != "wal":
        return fails("sqlite", f"{told} has no write-ahead log here", _ELSEWHERE)
    return ok("sqlite", f"{told} with a write-ahead log")


def _journal_mode(directory: Path) -> str:
    with (
        tempfile.TemporaryDirectory(dir=directory, prefix=".localdp-doctor-") as made,
        contextlib.closing(sqlite3.connect(Path(made) / "ledger.sqlite")) as file,
    ):
        mode = file.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        file.execute("PRAGMA synchronous = FULL")
        file.execute("CREATE TABLE charges (nanonats INTEGER NOT NULL) STRICT")
        return str(mode)


def clock(now: datetime | None = None) -> Finding:
    """Certificates and the budget of a day need a clock that is about right, and that runs."""
    now, started = now or datetime.now(UTC), (time.time(), time.monotonic())
    if not RELEASED <= now <= LAST:
        return fails("clock", f"it shows {now:%Y-%m-%d}", "set the clock: certificates would not be valid")
    time.sleep(0.02)
    drift = (time.time() - started[0]) - (time.monotonic() - started[1])
    if abs(drift) > 0.5:
        return note("clock", f"it jumped by {drift:+.1f} s just now", "let one service alone set the clock")
    return ok("clock", f"{now:%Y-%m-%d %H:%M} UTC")


def open_files(limits: tuple[int, int] | None = None) -> Finding:
    """Each simulated party is a few open files of the process that launches it."""
    soft, hard = limits or resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_EACH * MOST_PARTIES + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return ok("open files", f"enough for {MOST_PARTIES:,} parties")
    enough = max(0, (soft - SPARE_FILES) // FILES_EACH)
    at_most = (
        "" if hard == resource.RLIM_INFINITY or hard >= wanted else f" (an administrator: over {hard})"
    )
    return note("open files", f"{soft} are enough for {enough:,} parties", f"ulimit -n {wanted}{at_most}")
