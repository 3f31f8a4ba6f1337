"""A pan-private state in a file: taken up, changed and put back whole, by one process at a time.

What is written is the state and nothing of what came: no older state beside it, no journal, no key, no time.  It replaces
the file, synced, before anything is told: the file that a link points to, and not the link.  What a process leaves that is
killed as it writes has one fixed name, and whoever takes up the state next removes it before anything else.  What a file
system keeps of files that were replaced is not in our hands: on an encrypted disk it is as good as gone.
Checked in tests/integration/test_pan_private_command.py.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localdp.errors import InvalidParameter
from localdp.mechanisms.pan_private.saved import Running, restored, saved
from localdp.randomness.keystream import KeystreamSource
from parties.durable import require_private, storage_errors, write_atomically


def begin_state(path: Path, running: Running) -> None:
    """Write a state that begins; one that is there is not written over."""
    path = path.resolve()
    with _locked(path):
        if path.exists():
            raise InvalidParameter(f"{path} exists already; go on with it, or begin in another file")
        _write(path, running)


@contextmanager
def state_of(path: Path) -> Iterator[Running]:
    """The state, to be changed in the block; what came of it is on disk when the block has ended, and not if it failed."""
    path = path.resolve()
    if not path.is_file():
        raise InvalidParameter(f"{path}: there is no such state; `localdp pan-private begin` makes one")
    with _locked(path):
        require_private(path)
        _require_one_name(path)
        running = _read(path)
        yield running
        _write(path, running)


def _read(path: Path) -> Running:
    with storage_errors("the state", path):
        text = path.read_text()
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InvalidParameter(f"{path}: this is not a state") from error
    if not isinstance(data, dict):
        raise InvalidParameter(f"{path}: this is not a state")
    return restored(data, KeystreamSource.from_system())


def _write(path: Path, running: Running) -> None:
    with storage_errors("the state", path):
        write_atomically(path, json.dumps(saved(running)), confidential=True, synced=True, part=_part(path))


def _part(path: Path) -> Path:
    """Where it is written first."""
    return path.with_name(f".{path.name}.part")


def _require_one_name(path: Path) -> None:
    """A file that has a second name would stay under that one, as an older state."""
    if path.stat().st_nlink > 1:
        raise InvalidParameter(
            f"{path} has another name (a hard link), under which an older state would stay: remove that"
        )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with storage_errors("the state", path):
        lock = os.open(path.with_name(f".{path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with storage_errors("the state", path):  # of somebody who was killed while writing
            _part(path).unlink(missing_ok=True)
        yield
    finally:
        os.close(lock)
