"""The high-water mark of a ledger: how far its chain has come, in a small file beside the keys.

A ledger that ends too early is a whole ledger: a copy without its write-ahead log, or of last week.  The mark tells them
apart. It is written after each commit and synced before anything is answered.  So after a crash the ledger is at the mark
or above it, and a ledger below it has lost charges that were answered.

The mark also has the total of all epsilons ever charged, and the lineage in which that total can be compared with another
one: `parties.agent.lost` says what a restore makes of them.

Two slots are written in turn, each with a keyed digest, far enough apart for no write to tear both.

Checked in tests/unit/parties/agent/test_ledger_mark.py and tests/fault/test_ledger_accidents.py.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from localdp.errors import RolledBack
from localdp.randomness.keys import derive_key
from parties.agent.entries import Lineage
from parties.durable import failure, sync_directory

SUFFIX = ".mark"
_NAME = b"localdp mark v2\0"
_MAC_BYTES = 32
_PLACE_BYTES, _LINEAGE_BYTES = 8 + 16 + 32, 16  # entries, total and link; an identifier
_BODY_BYTES = len(_NAME) + 2 * _PLACE_BYTES + _LINEAGE_BYTES
_SLOTS = (0, 4096)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a chain has come."""

    entries: int
    link: bytes  # of the last of them
    total: int  # nanonats of all charges and losses
    lineage: Lineage = Lineage()


def mark_path(ledger: Path) -> Path:
    """Where the mark of a ledger is."""
    return ledger.with_suffix(SUFFIX)


class MarkFile:
    """The mark in its file; each call opens it, so that it is always the file at that place."""

    def __init__(self, path: Path, key: bytes, *, synced: bool = True) -> None:
        self._path, self._key, self.synced = path, derive_key(key, b"ledger mark"), synced

    def read(self) -> Mark | None:
        """The mark; None if there is no file.  A file without a mark of this key is refused."""
        with _errors():
            if not self._path.exists():
                return None
            with _opened(self._path, os.O_RDONLY) as file:
                return max(self._slots(file).values(), key=lambda mark: mark.entries)

    def make(self, mark: Mark, *, replace: bool = False) -> None:
        """A file with this mark; one that is there stays, unless it is to be replaced."""
        with _errors():
            file, part = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")  # mode 600
            try:
                for slot in _SLOTS:
                    self._write(file, slot, mark)
                os.fsync(file)
                if replace:
                    os.replace(part, self._path)
                else:
                    with suppress(FileExistsError):  # another process was faster
                        os.link(part, self._path)
            finally:
                os.close(file)
                Path(part).unlink(missing_ok=True)
            sync_directory(self._path.parent)

    def advance(self, mark: Mark, known: int = 0) -> None:
        """Raise the mark, durably, from `known` entries or more; one that another process has raised further stays."""
        with _errors(), _opened(self._path, os.O_RDWR) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            slots = self._slots(file)
            reached = max(one.entries for one in slots.values())
            if reached < known:
                raise RolledBack(
                    "the ledger's mark was replaced by an older one. Do not start the agent again before its newest "
                    "files are back; or stop it and run `localdp agent restore`"
                )
            if reached >= mark.entries:
                return
            self._write(
                file, min(_SLOTS, key=lambda slot: slots[slot].entries if slot in slots else -1), mark
            )
            self._sync(file)

    def _sync(self, file: int) -> None:
        if self.synced:
            os.fdatasync(file)

    def _slots(self, file: int) -> dict[int, Mark]:
        read = {slot: self._mark_of(os.pread(file, _BODY_BYTES + _MAC_BYTES, slot)) for slot in _SLOTS}
        marks = {slot: mark for slot, mark in read.items() if mark is not None}
        if not marks:
            raise RolledBack(
                "the ledger's mark was not made with the keys beside it: secrets.json is not this ledger's, or the mark is "
                "damaged. Put the ledger's own files back, or run `localdp agent restore`"
            )
        return marks

    def _mark_of(self, written: bytes) -> Mark | None:
        body, mac = written[:_BODY_BYTES], written[_BODY_BYTES:]
        if not body.startswith(_NAME) or not hmac.compare_digest(mac, self._mac(body)):
            return None
        rest = body[len(_NAME) :]
        here, rest = _place_of(rest), rest[_PLACE_BYTES:]
        return Mark(*here, Lineage(rest[:_LINEAGE_BYTES], *_place_of(rest[_LINEAGE_BYTES:])))

    def _write(self, file: int, slot: int, mark: Mark) -> None:
        begun = mark.lineage
        body = _NAME + _place(mark) + begun.identifier + _place(begun)
        if os.pwrite(file, body + self._mac(body), slot) != len(body) + _MAC_BYTES:
            raise OSError("a short write")

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, hashlib.sha256)


def _place(place: Mark | Lineage) -> bytes:
    return place.entries.to_bytes(8, "big") + place.total.to_bytes(16, "big") + place.link


def _place_of(written: bytes) -> tuple[int, bytes, int]:
    """Entries, link and total."""
    entries, total = int.from_bytes(written[:8], "big"), int.from_bytes(written[8:24], "big")
    return entries, written[24:_PLACE_BYTES], total


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    file = os.open(path, flags)
    try:
        yield file
    finally:
        os.close(file)


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise failure("the ledger's mark", None, error) from error
