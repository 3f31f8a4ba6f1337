"""The journal of rounds that coordinators of running parties keep for whoever watches them.

`localdp parties up` makes the file and names it in its state file (`events`); every coordinator that connects through that
file appends the notes of its rounds, one JSON object a line.  What is in it was released already: `parties.view.rounds`.

A writer appends only to a file that begins like a journal, belongs to the same user and is for that user's eyes alone, so a
state file from somebody else cannot make it write anywhere else.  A line is one write to a file opened for appending:
lines of several writers never mix.  It begins with a line break, so a line that was cut off costs only itself.  Beyond
`LARGEST_BYTES` nothing is written any more.  A coordinator that cannot write carries on: a journal is a courtesy.
A reader drops whatever is not a note.

Checked in tests/unit/parties/view/test_view_journal.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from parties.federated.events import Event, Events
from parties.view.rounds import Note, note_of, note_of_event

LARGEST_BYTES = 4 << 20
LONGEST_LINE = 16 << 10
_READ_BYTES = 1 << 20  # at a time
_HEADER = b'{"localdp": "rounds", "schema_version": 1}\n'
_NAME_BYTES = 6


def make_journal(path: Path) -> None:
    """A new journal, for this user's eyes."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, _HEADER)
    finally:
        os.close(file)


def append(path: Path, note: Note) -> None:
    """Write one note, or nothing at all."""
    with contextlib.suppress(OSError, ValueError):
        line = b"\n" + json.dumps(note.to_data(), allow_nan=False).encode() + b"\n"
        # Not blocking: what is no file at all might be a pipe that nobody reads.
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if len(line) <= LONGEST_LINE and _is_journal(file, len(line)):
                os.write(file, line)
        finally:
            os.close(file)


def _is_journal(file: int, more: int) -> bool:
    """Whether it is a journal of this user with room for some more bytes."""
    about = os.fstat(file)
    private = stat.S_ISREG(about.st_mode) and not about.st_mode & 0o077 and about.st_uid == os.geteuid()
    room = about.st_size + more <= LARGEST_BYTES
    return private and room and os.pread(file, len(_HEADER), 0) == _HEADER


class JournalReader:
    """The notes of a journal as they come."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0  # bytes, up to the end of the last whole line

    def notes(self) -> Iterator[Note]:
        """What has come since the last call; nothing, whatever is wrong with the file."""
        try:
            data = _read(self._path, self._read)
        except OSError:
            return
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) == _READ_BYTES:
            whole = len(data)  # a line without end: nobody waits for it
        self._read += whole
        for line in data[:whole].splitlines():
            note = _note(line)
            if note is not None:
                yield note


def _read(path: Path, start: int) -> bytes:
    """Some bytes of a regular file; nothing of anything else, and nobody waits for it."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.pread(file, _READ_BYTES, start) if stat.S_ISREG(os.fstat(file).st_mode) else b""
    finally:
        os.close(file)


def _note(line: bytes) -> Note | None:
    if not line or len(line) > LONGEST_LINE:
        return None
    try:
        return note_of(json.loads(line))
    except (ValueError, RecursionError):
        return None


def _new_name() -> str:
    return os.urandom(_NAME_BYTES).hex()


class NamedRounds:
    """The events of one federation as notes: each round gets a name when it starts."""

    def __init__(self, parties: int, tell: Callable[[Note], None]) -> None:
        self._parties, self._tell = parties, tell
        self._name = _new_name()

    def __call__(self, event: Event) -> None:
        """An event has happened."""
        if event.kind == "round started":
            self._name = _new_name()
        note = note_of_event(event, self._name, self._parties)
        if note is not None:
            self._tell(note)


def journal_rounds(events: Events, path: Path | None, parties: int) -> Callable[[], None]:
    """Append the rounds of a federation of so many parties to a journal from now on; what is returned ends that."""
    if path is None:
        return lambda: None
    return events.subscribe(NamedRounds(parties, lambda note: append(path, note)))
