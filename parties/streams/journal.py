"""The journal of a stream: its terms, each step before anybody is asked for it, and each interval before it is told.

    step: who came -> how share servers are bound -> what was released -> and only then it is told

Claim.  Wherever the process ends, what was told stays as it was, bit for bit, and a step that broke off is gone on with
under the same identifiers: a party that was charged for it replays its answer, and share servers release the same numbers.
The file holds nothing that was not said to the analyst: who came when, public identifiers, and released sums.
Noise is never drawn from what stands here.
Checked by killing the process at every step in tests/fault/test_stream_kill_nine.py.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from localdp.algorithms.streams.running_count import SummedInterval
from localdp.errors import InvalidParameter, StorageFailed
from localdp.randomness.keys import derive_key
from localdp.sharing.binding import Binding
from parties import durable
from parties.durable import open_synced, transaction
from parties.streams.terms import StreamTerms

storage_errors = functools.partial(durable.storage_errors, "the journal of the stream")

_LAYOUT = """
CREATE TABLE IF NOT EXISTS stream (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  terms TEXT NOT NULL,
  identifiers BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS steps (
  step INTEGER PRIMARY KEY,
  came TEXT NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0,
  sums BLOB,
  variances BLOB,
  people INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS given_up (
  step INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  came TEXT NOT NULL,
  PRIMARY KEY (step, attempt)
) STRICT;
CREATE TABLE IF NOT EXISTS bindings (
  collection BLOB PRIMARY KEY,
  binding TEXT NOT NULL
) STRICT;
"""
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class StreamStep:
    """A step that began, and what came of it."""

    step: int
    came: tuple[int, ...]  # how many people of each party had come by its end
    attempt: int  # how often it was given up and asked anew
    released: SummedInterval | None
    given_up: tuple[tuple[int, ...], ...] = ()  # who had come, in the attempts before

    @property
    def asked(self) -> tuple[tuple[int, ...], ...]:
        """Who had come by its end, for each time that it was asked; journals did not always say it of what was given up."""
        return (*self.given_up, *[self.came] * (self.attempt - len(self.given_up)), self.came)


class StreamJournal:
    """The open file.  Several processes may go on with one stream: they ask the same, and the first one writes it down."""

    def __init__(self, path: Path) -> None:
        with storage_errors(path):
            durable.make_private_directory(path.absolute().parent)
            self._file = open_synced(path)
            self._file.executescript(_LAYOUT)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def terms(self) -> StreamTerms | None:
        """What the stream is about; None if there is none yet."""
        row = self._one("SELECT terms FROM stream")
        return None if row is None else StreamTerms.of_text(row[0])

    def begin(self, terms: StreamTerms) -> None:
        """Write the terms of a new stream; those of an old one must be the same."""
        with storage_errors(), transaction(self._file):
            self._file.execute(
                "INSERT OR IGNORE INTO stream VALUES (1, ?, ?)", (terms.to_text(), os.urandom(_KEY_BYTES))
            )
        written = self.terms()
        assert written is not None
        written.require(terms)

    def identifiers(self, step: int, attempt: int, people: Sequence[range]) -> bytes:
        """What the public identifiers of a step are made from: the same ones whenever it is gone on with.

        They follow from whom it asks as well: in an older copy a step may be begun anew, with other people, and what was
        released about some is never told about others.
        """
        row = self._one("SELECT identifiers FROM stream")
        assert row is not None
        asked = " ".join(f"{one.start}-{one.stop}" for one in people)
        return derive_key(row[0], b"stream step", f"{step} {attempt} {asked}".encode())

    def steps(self) -> list[StreamStep]:
        """All that began, in order."""
        with storage_errors():
            rows = self._file.execute(
                "SELECT step, came, attempt, sums, variances, people FROM steps ORDER BY step"
            ).fetchall()
            given_up = self._file.execute(
                "SELECT step, came FROM given_up ORDER BY step, attempt"
            ).fetchall()
        earlier: dict[int, list[str]] = {}
        for step, came in given_up:
            earlier.setdefault(step, []).append(came)
        return [_step(row, earlier.get(row[0], ())) for row in rows]

    def begin_step(self, step: int, came: Sequence[int]) -> StreamStep:
        """Write down who came, before anybody is asked; a step that began stays as it is."""
        with storage_errors(), transaction(self._file):
            self._file.execute(
                "INSERT OR IGNORE INTO steps (step, came) VALUES (?, ?)", (step, json.dumps(list(came)))
            )
        return self.steps()[step - 1]

    def give_up(self, step: int, attempt: int, came: Sequence[int]) -> None:
        """Have a step that broke off asked anew, under other identifiers: of these people."""
        still, anew = (step, attempt), (json.dumps(list(came)), step, attempt)
        with storage_errors(), transaction(self._file):
            self._file.execute(
                "INSERT OR IGNORE INTO given_up SELECT step, attempt, came FROM steps "
                "WHERE step = ? AND attempt = ? AND sums IS NULL",
                still,
            )
            self._file.execute(
                "UPDATE steps SET attempt = attempt + 1, came = ? WHERE step = ? AND attempt = ? AND sums IS NULL",
                anew,
            )

    def release(self, step: int, attempt: int, interval: SummedInterval) -> SummedInterval:
        """Write down what was released, before it is told; what another process wrote first is what counts."""
        written = (interval.sums.tobytes(), interval.variances.tobytes(), interval.people, step, attempt)
        with storage_errors(), transaction(self._file):
            self._file.execute(
                "UPDATE steps SET sums = ?, variances = ?, people = ? WHERE step = ? AND attempt = ? AND sums IS NULL",
                written,
            )
        told = self.steps()[step - 1].released
        if told is None:
            raise InvalidParameter(
                f"step {step} was begun anew by another process while it was asked: go on with it as that one says"
            )
        return told

    def bound(self, collection: bytes) -> Binding | None:
        """How a collection was bound to its servers, if it was."""
        row = self._one("SELECT binding FROM bindings WHERE collection = ?", collection)
        if row is None:
            return None
        keys, witnesses, commitment, ends = json.loads(row[0])
        return Binding(_bytes(keys), _bytes(witnesses), bytes.fromhex(commitment), ends)

    def bind(self, collection: bytes, binding: Binding) -> Binding:
        """Write down how it is bound, before it is opened."""
        keys, witnesses = ([one.hex() for one in part] for part in (binding.keys, binding.witnesses))
        said = json.dumps([keys, witnesses, binding.commitment.hex(), binding.ends])
        with storage_errors(), transaction(self._file):
            self._file.execute("INSERT OR IGNORE INTO bindings VALUES (?, ?)", (collection, said))
        written = self.bound(collection)
        assert written is not None
        return written

    def _one(self, statement: str, *values: bytes) -> tuple[Any, ...] | None:
        with storage_errors():
            row: tuple[Any, ...] | None = self._file.execute(statement, values).fetchone()
        return row


def journal_there(path: Path) -> StreamJournal:
    """The journal of a stream that began."""
    if not path.is_file():
        raise InvalidParameter(f"{path}: there is no such journal; `localdp stream begin` begins one")
    return StreamJournal(path)


def _step(
    row: tuple[int, str, int, bytes | None, bytes | None, int | None], earlier: Sequence[str]
) -> StreamStep:
    step, came, attempt, sums, variances, people = row
    try:
        released = None
        if sums is not None and variances is not None and people is not None:
            released = SummedInterval(np.frombuffer(sums), np.frombuffer(variances), people)
        return StreamStep(step, _ends(came), attempt, released, tuple(map(_ends, earlier)))
    except (ValueError, TypeError) as error:
        raise StorageFailed(f"step {step} of the journal cannot be read") from error


def _ends(came: str) -> tuple[int, ...]:
    return tuple(int(one) for one in json.loads(came))


def _bytes(hexadecimal: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(bytes.fromhex(one) for one in hexadecimal)
