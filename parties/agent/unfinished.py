"""The mark of a state directory that is being made: it is there before anything else, and goes when all is there.

So a directory that lacks something is one of two things.  With the mark, its making was cut off: no agent has run on it,
nobody was charged, and making it again completes it.  Without the mark something was lost, and is never replaced: an empty
ledger would forget what was spent.

Checked by killing the making at every line of it in tests/fault/test_init_crashes.py.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localdp.errors import InvalidParameter
from parties.durable import make_private_directory, sync_directory

MARK = "init.unfinished"


def is_unfinished(directory: Path) -> bool:
    """Whether the making of a state directory was begun, and not completed."""
    return (directory / MARK).exists()


def require_finished(directory: Path) -> None:
    """Refuse to run on half a state."""
    if is_unfinished(directory):
        raise InvalidParameter(f"the making of {directory} was cut off; run `localdp agent init` again")


@contextmanager
def making(directory: Path) -> Iterator[None]:
    """Keep the mark until the block has ended well; only one process makes a directory at a time."""
    make_private_directory(directory)
    handle = os.open(directory / MARK, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        _lock(handle, directory)
        sync_directory(directory)  # what is made from now on must not outlive the mark in a power cut
        yield
        sync_directory(directory)
        (directory / MARK).unlink()
        sync_directory(directory)
    finally:
        os.close(handle)


def _lock(handle: int, directory: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InvalidParameter(f"another process is making {directory}") from None
