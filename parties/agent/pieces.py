"""What is kept of people under a name: pieces of bounded size, so that few people are few pieces to read and to write.

The people of a name are cut into chunks of as many as fit into `CHUNK_BYTES`, as arrays, and of at most `CHUNK_PEOPLE`;
each chunk has one piece, with whoever was kept so far.  To keep more people is to write the pieces of their chunks again,
and to read people is to read those of theirs, however much is kept beside.  A chunk follows from the size of a person's
row, and so from what was asked, and never from a value.

Versions before wrote pieces of any size.  They are read as they are; `widest`, in `answers`, says how far back one that
meets somebody may begin.

Checked in tests/unit/parties/agent/test_kept_answers.py.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localdp.cohorts import LARGEST_INDEX, Asked, Cohort, Split
from localdp.party.cost import CHUNK_BYTES, CHUNK_PEOPLE
from localdp.randomizers.definition import Values
from parties.durable import add_column

_LAYOUT = (
    "CREATE TABLE IF NOT EXISTS pieces (name BLOB NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL, seed BLOB,"
    " parts INTEGER, part INTEGER, listed BLOB, content BLOB NOT NULL) STRICT",
    "CREATE INDEX IF NOT EXISTS pieces_by_name ON pieces (name, start)",
)
_ADDED = (
    ("pieces", "mask", "BLOB"),
    ("answers", "widest", f"INTEGER NOT NULL DEFAULT {LARGEST_INDEX}"),
)
_PIECES = "SELECT start, stop, seed, parts, part, listed, mask, content FROM pieces WHERE name = ?"
_MEETING = f"{_PIECES} AND start > ? AND start < ? AND stop > ?"
_INSIDE = "AND start >= ? AND start < ? AND stop <= ?"
_INSERT = "INSERT INTO pieces (name, start, stop, listed, mask, content) VALUES (?, ?, ?, ?, ?, ?)"
_ROW_BYTES = 64  # about what a piece takes beside what is in it

Lanes = range | NDArray[np.int64]  # people, in order
_Some = slice | NDArray[np.int64]  # what to index an array of people with
_Row = tuple[int, int, bytes | None, int | None, int | None, bytes | None, bytes | None, bytes]


@dataclass(frozen=True, slots=True)
class Codec:
    """How what is kept of some people is written, and read again."""

    write: Callable[[Values], bytes]
    read: Callable[[bytes, int], Values]


def lay_out(file: sqlite3.Connection) -> None:
    """Make the table, or bring it to this version; `answers` is there already."""
    for line in _LAYOUT:
        file.execute(line)
    for table, column, kind in _ADDED:
        add_column(file, table, column, kind)


class Pieces:
    """The pieces in a file; whoever calls has begun a transaction."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file

    def found(self, name: bytes, part: Cohort, codec: Codec) -> tuple[Values | None, NDArray[np.bool_]]:
        """What is kept of a part's people, in their order with gaps, and of whom it is; None if it is nobody."""
        asked = part.lanes()
        known, found = np.zeros(len(asked), np.bool_), None
        for row in self._meeting(name, part):
            lanes = _people(row)
            there, here = _in_both(asked, lanes)
            if known[there].size:
                values = codec.read(row[-1], len(lanes))[here]
                if found is None:
                    found = np.zeros((len(asked), *values.shape[1:]), values.dtype)
                found[there] = values
                known[there] = True
        return found, known

    def put(self, name: bytes, people: Asked, values: Values, codec: Codec) -> int:
        """Keep what was made of some people; returns how many bytes more that are."""
        lanes, size, grown = people.lanes(), _chunk_people(values), 0
        for low, inside in _chunks(lanes, size):
            grown += self._put(name, (low, low + size), lanes[inside], values[inside], codec)
        self._file.execute("UPDATE answers SET widest = max(widest, ?) WHERE name = ?", (size, name))
        return grown

    def remove(self, name: bytes, most_bytes: float) -> int:
        """Remove some of what is kept under a name; about so many bytes, or all that there was if fewer were removed."""
        removed = 0
        while removed < most_bytes:
            some = "SELECT rowid, length(content) FROM pieces WHERE name = ? LIMIT 1"
            found = self._file.execute(some, (name,)).fetchone()
            if found is None:
                break
            self._file.execute("DELETE FROM pieces WHERE rowid = ?", (found[0],))
            removed += found[1] + _ROW_BYTES
        return removed

    def _put(self, name: bytes, chunk: tuple[int, int], lanes: Lanes, values: Values, codec: Codec) -> int:
        """Write the piece of a chunk again, with more people in it; returns by how many bytes it grew."""
        place = (name, *chunk, chunk[1])
        grown = 0
        for row in self._file.execute(f"{_PIECES} {_INSIDE}", place).fetchall():
            others = _people(row)
            lanes, values = _merged(lanes, values, others, codec.read(row[-1], len(others)))
            grown -= _size(row)
        if grown:
            self._file.execute(f"DELETE FROM pieces WHERE name = ? {_INSIDE}", place)  # noqa: S608
        written = (*_columns(lanes), codec.write(values))
        self._file.execute(_INSERT, (name, *written))
        return grown + _size(written)

    def _meeting(self, name: bytes, part: Cohort) -> Iterator[_Row]:
        """The pieces that may have some of a part's people."""
        found = self._file.execute("SELECT widest FROM answers WHERE name = ?", (name,)).fetchone()
        rows: Iterator[_Row] = self._file.execute(
            _MEETING, (name, part.start - (found[0] if found else 0), part.stop, part.start)
        )
        return rows


def _chunk_people(values: Values) -> int:
    """How many people a chunk has: a power of two."""
    fit = CHUNK_BYTES // max(1, values[:1].nbytes)
    return min(CHUNK_PEOPLE, 1 << max(0, fit.bit_length() - 1))


def _chunks(lanes: Lanes, size: int) -> Iterator[tuple[int, slice]]:
    """Where the chunks of some people begin, and which of these people are in each."""
    if not len(lanes):
        return
    first, last = int(lanes[0]), int(lanes[-1])
    if isinstance(lanes, range):
        for low in range(first // size * size, last + 1, size):
            yield low, slice(max(0, low - first), low - first + size)
        return
    cuts = [0, *(np.flatnonzero(np.diff(lanes // size)) + 1), len(lanes)]
    for start, stop in itertools.pairwise(cuts):
        yield int(lanes[start]) // size * size, slice(start, stop)


def _in_both(some: Lanes, others: Lanes) -> tuple[_Some, _Some]:
    """Who is in both, as places in each of them."""
    if isinstance(others, range):
        if isinstance(some, range):
            low = max(some.start, others.start)
            high = max(low, min(some.stop, others.stop))
            return slice(low - some.start, high - some.start), slice(
                low - others.start, high - others.start
            )
        here, there = _in_both(others, some)
        return there, here
    if isinstance(some, range):
        first, last = np.searchsorted(others, (some.start, some.stop))
        return others[first:last] - some.start, slice(first, last)
    first, last = np.searchsorted(some, (others[0], others[-1] + 1))
    _, there, here = np.intersect1d(some[first:last], others, assume_unique=True, return_indices=True)
    return there + first, here


def _merged(lanes: Lanes, values: Values, others: Lanes, before: Values) -> tuple[Lanes, Values]:
    """Two groups of people as one, in order."""
    both = np.concatenate([_indices(lanes), _indices(others)])
    order = np.argsort(both, kind="stable")
    every = np.concatenate([values.astype(before.dtype, copy=False), before])
    return both[order], every[order]


def _indices(lanes: Lanes) -> NDArray[np.int64]:
    """As an array; of a range without going through Python's integers."""
    return np.arange(lanes.start, lanes.stop) if isinstance(lanes, range) else lanes


def _columns(lanes: Lanes) -> tuple[int, int, bytes | None, bytes | None]:
    """Who is in a piece: a range, or else the shorter one of a list and a mask."""
    start, stop = int(lanes[0]), int(lanes[-1]) + 1
    listed, mask = None, None
    if stop - start > len(lanes):
        there = _indices(lanes)
        if 32 * len(there) < stop - start:
            listed = there.astype(np.uint32).tobytes()
        else:
            chosen = np.zeros(stop - start, np.bool_)
            chosen[there - start] = True
            mask = np.packbits(chosen).tobytes()
    return start, stop, listed, mask


def _people(row: _Row) -> Lanes:
    """The people of a piece."""
    start, stop, seed, parts, number, listed, mask, _ = row
    if listed is not None:
        return np.frombuffer(listed, np.uint32).astype(np.int64)
    if mask is not None:
        chosen = np.unpackbits(np.frombuffer(mask, np.uint8), count=stop - start)
        return np.flatnonzero(chosen) + start
    if seed is None:
        return range(start, stop)
    assert parts is not None and number is not None
    return Cohort(start, stop, Split(seed, parts, number)).lanes()


def _size(row: tuple[object, ...]) -> int:
    """Of what is in a piece: who, and what is kept of them."""
    return sum(len(part) for part in row[-3:] if isinstance(part, bytes))
