"""What was sent, kept for a while: a request that is repeated is answered from here, and not from records again.

A repetition is free, so whoever repeats could average away everything but the time that a record takes.  Hence for each
person of a request the records are looked at once in the life of an agent.  Kept are

- reports, packed as they were sent, until a time that is fixed when the first of them are drawn, whatever epoch is open;
- in place of shares and of reports from permanent answers: the inputs that these are made of, until the epoch ends;
- which shares all share servers have acknowledged: they are uploaded once, so servers that forgot them get no others.

Beyond `most_bytes` the oldest answers go first, those of the caller who asks for more before those of others.  What is
gone stays gone: the request is refused as expired, whatever the records say, and nobody is drawn again under its name.
Only a crash between a charge and its drawing leaves somebody charged and not drawn; they are drawn when they are asked for
again.

The file is a cache in the sense that losing it costs no budget.  It is for its owner alone, and what is dropped is
overwritten.  Everything here runs on the agent's worker thread.

Checked in tests/unit/parties/test_kept_answers.py.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localdp.cohorts import Asked, Cohort, Listed, Split
from localdp.errors import RequestExpired
from localdp.oracles.epoch import Epoch
from localdp.oracles.party import Draw, Shares
from localdp.randomizers.definition import LocalRandomizer, Reports, Values
from localdp.sharing.blocks import ShareBlock
from parties.durable import open_synced, storage_errors, transaction

_LAYOUT = (
    "CREATE TABLE IF NOT EXISTS answers (name BLOB PRIMARY KEY, epoch INTEGER NOT NULL, until INTEGER NOT NULL,"
    " inputs INTEGER NOT NULL, gone INTEGER NOT NULL, size INTEGER NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS pieces (name BLOB NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL, seed BLOB,"
    " parts INTEGER, part INTEGER, listed BLOB, content BLOB NOT NULL) STRICT",
    "CREATE INDEX IF NOT EXISTS pieces_by_name ON pieces (name, start)",
    "CREATE TABLE IF NOT EXISTS epochs (number INTEGER PRIMARY KEY, identifier BLOB NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS callers (name BLOB NOT NULL, caller TEXT NOT NULL, PRIMARY KEY (name, caller)) STRICT",
    # With 100,000 answers no request looks at all of them.
    "CREATE INDEX IF NOT EXISTS answers_due ON answers (until) WHERE NOT inputs AND NOT gone",
    "CREATE INDEX IF NOT EXISTS answers_by_age ON answers (until) WHERE size > 0",
    "CREATE TABLE IF NOT EXISTS delivered (name BLOB NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL, seed BLOB,"
    " parts INTEGER, part INTEGER) STRICT",
    "CREATE INDEX IF NOT EXISTS delivered_by_name ON delivered (name)",
    "CREATE TABLE IF NOT EXISTS total (size INTEGER NOT NULL) STRICT",
    "INSERT INTO total SELECT (SELECT coalesce(sum(size), 0) FROM answers) WHERE NOT EXISTS (SELECT 1 FROM total)",
    "CREATE TRIGGER IF NOT EXISTS resized AFTER UPDATE OF size ON answers"
    " BEGIN UPDATE total SET size = size + new.size - old.size; END",
    "CREATE TRIGGER IF NOT EXISTS forgotten AFTER DELETE ON answers BEGIN UPDATE total SET size = size - old.size; END",
)
_OLDEST = """
SELECT name, size FROM answers WHERE size > 0 AND name != ? ORDER BY EXISTS (
  SELECT 1 FROM callers WHERE callers.name = answers.name
  AND caller IN (SELECT caller FROM callers WHERE name = ?)
) DESC, until, rowid LIMIT 1
"""
_DUE = "SELECT name FROM answers WHERE NOT inputs AND NOT gone AND until <= ?"
_MOST_PIECES = 16  # of one request, before they are joined
_ENDED = "the epoch that this request was charged in has ended; make a new request"
_PARTLY = "some of these shares were uploaded before, with others; ask in the same parts"
_GONE = "what was sent for this request is no longer kept; make a new request"


@dataclass(frozen=True, slots=True)
class Keeping:
    """How much is kept, and how long."""

    seconds: int = 86_400
    most_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class _Codec:
    """How what is kept of some people is written, and read again."""

    write: Callable[[Values], bytes]
    read: Callable[[bytes, int], Values]


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is kept of some people."""

    people: Asked
    content: bytes


class KeptAnswers:
    """Reports and inputs by the name of their request."""

    def __init__(
        self, path: Path, keeping: Keeping | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.keeping = keeping or Keeping()
        self._clock = clock
        with storage_errors("the kept answers", path):
            self._file = open_synced(path)
            self._file.execute("PRAGMA synchronous = NORMAL")  # losing the last of it costs nothing
            self._file.execute("PRAGMA secure_delete = ON")
            for line in _LAYOUT:
                self._file.execute(line)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def reports(self, charged: Draw, randomizer: LocalRandomizer, part: Cohort, caller: str) -> bytes:
        """The packed reports of people who were charged: as they were sent, or drawn now."""
        if charged.keeps == "inputs":
            return randomizer.pack(charged.made(part, self._inputs(charged, part, caller)))
        with storage_errors("the kept answers"), transaction(self._file):
            self._begin(charged, caller)
            whole = self._whole(charged.name, part)
            return whole if whole is not None else self._completed(charged, _reports(randomizer), part)

    def shares(self, charged: Shares, part: Cohort, caller: str) -> list[ShareBlock]:
        """The shares of people who were charged, from the inputs of the first time."""
        return charged.made(part, self._inputs(charged, part, caller))

    def deliver(self, name: bytes, cohort: Cohort) -> None:
        """Every share server has acknowledged the shares of a cohort: they are not uploaded again."""
        with storage_errors("the kept answers"), transaction(self._file):
            self._file.execute("INSERT INTO delivered VALUES (?, ?, ?, ?, ?, ?)", (name, *_columns(cohort)))

    def is_delivered(self, name: bytes, cohort: Cohort) -> bool:
        """Whether these shares were uploaded; or a refusal, if some of them were, in other parts."""
        asked, known = cohort.indices(), list[NDArray[np.int64]]()
        with storage_errors("the kept answers"):
            rows = self._file.execute(
                "SELECT start, stop, seed, parts, part FROM delivered WHERE name = ? AND start < ? AND stop > ?",
                (name, cohort.stop, cohort.start),
            ).fetchall()
        for start, stop, seed, parts, number in rows:
            split = None if seed is None else Split(bytes(seed), parts, number)
            known.append(Cohort(start, stop, split).indices())
        there = np.isin(asked, np.concatenate(known)) if known else np.zeros(1, np.bool_)
        if there.any() and not there.all():
            raise RequestExpired(_PARTLY)
        return bool(there.all())

    def fetching(
        self, name: bytes, randomizer: LocalRandomizer, cohort: Cohort, epoch: int = 0
    ) -> Callable[[Cohort], bytes]:
        """Reports of an epoch that may have ended, for a caller who had them; or a refusal.

        If the request names an epoch, it has to be that one.
        """
        with storage_errors("the kept answers"), transaction(self._file):
            self._drop_old()
            found = self._file.execute("SELECT epoch FROM answers WHERE name = ?", (name,)).fetchone()
            if found is None or epoch not in (0, found[0]):
                raise RequestExpired(_ENDED)
            if self._found(name, cohort)[1].size:
                raise RequestExpired(_GONE)
        return lambda part: self._fetched(name, _reports(randomizer), part)

    def _fetched(self, name: bytes, codec: _Codec, part: Cohort) -> bytes:
        with storage_errors("the kept answers"), transaction(self._file):
            whole = self._whole(name, part)
            if whole is not None:
                return whole
            found, missing = self._assembled(name, part, codec)
            if missing.size or found is None:
                raise RequestExpired(_GONE)  # its time was over between two parts
            return codec.write(found)

    def require_there(self, name: bytes) -> None:
        """Refuse a request whose answers were kept and are gone, before anybody is charged under its name."""
        with storage_errors("the kept answers"), transaction(self._file):
            self._drop_old()
            self._require_there(name)

    def enter(self, epoch: Epoch) -> None:
        """Another epoch is open: the inputs of all others go, and what would be refused anyway.

        After a restore an epoch may have the number of one that the ledger forgot; what was kept of that one goes, too.
        """
        with storage_errors("the kept answers"), transaction(self._file):
            known = self._file.execute("SELECT identifier FROM epochs WHERE number = ?", (epoch.number,))
            row = known.fetchone()
            another = row is not None and row[0] != epoch.identifier
            gone = self._file.execute(
                "SELECT name FROM answers WHERE (epoch != ? AND (inputs OR gone)) OR (? AND epoch >= ?) OR epoch > ?",
                (epoch.number, another, epoch.number, epoch.number),
            )
            for (name,) in gone.fetchall():
                self._forget(name)
            self._file.execute("DELETE FROM epochs WHERE number >= ?", (epoch.number,))
            self._file.execute("INSERT INTO epochs VALUES (?, ?)", (epoch.number, epoch.identifier))
            self._drop_old()

    def _begin(self, charged: Draw | Shares, caller: str) -> None:
        """Know the answer by its name, until a time that is fixed now; refuse one that is gone."""
        self._drop_old()
        now = int(self._clock())
        self._file.execute(
            "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, 0, 0)",
            (charged.name, charged.epoch, now + self.keeping.seconds, charged.keeps == "inputs"),
        )
        self._file.execute("INSERT OR IGNORE INTO callers VALUES (?, ?)", (charged.name, caller))
        self._require_there(charged.name)

    def _require_there(self, name: bytes) -> None:
        found = self._file.execute("SELECT gone FROM answers WHERE name = ?", (name,)).fetchone()
        if found is not None and found[0]:
            raise RequestExpired(_GONE)

    def _inputs(self, charged: Draw | Shares, part: Cohort, caller: str) -> Values:
        """The inputs of people who were charged: as they were, or read off the records now."""
        with storage_errors("the kept answers"), transaction(self._file):
            self._begin(charged, caller)
            whole = self._whole(charged.name, part)
            if whole is not None:
                return _loaded(whole)
            found, missing = self._assembled(charged.name, part, _INPUTS)
            if missing.size:
                some = _some(part, missing)
                fresh = charged.inputs(some)
                self._keep(charged.name, some, fresh, _INPUTS)
                found = _merged(part, found, missing, fresh)
            assert found is not None
            return found

    def _completed(self, charged: Draw, codec: _Codec, part: Cohort) -> bytes:
        """Reports of which some may be kept, in other pieces; the others are drawn and kept."""
        found, missing = self._assembled(charged.name, part, codec)
        if not missing.size and found is not None:
            return codec.write(found)
        some = _some(part, missing)
        fresh = charged(some)
        packed = self._keep(charged.name, some, fresh, codec)
        return packed if found is None else codec.write(_merged(part, found, missing, fresh))

    def _whole(self, name: bytes, part: Cohort) -> bytes | None:
        """A piece of exactly these people."""
        row = self._file.execute(
            "SELECT content FROM pieces WHERE name = ? AND start = ? AND stop = ? AND seed IS ? AND parts IS ?"
            " AND part IS ? AND listed IS NULL",
            (name, *_columns(part)),
        ).fetchone()
        return None if row is None else bytes(row[0])

    def _assembled(
        self, name: bytes, part: Cohort, codec: _Codec
    ) -> tuple[Values | None, NDArray[np.int64]]:
        """What is kept of these people, in their order with gaps, and who is missing."""
        pieces, missing = self._found(name, part)
        asked, found = part.indices(), None
        for piece, lanes in pieces:
            inside = lanes[slice(*np.searchsorted(lanes, (part.start, part.stop)))]
            places = np.searchsorted(asked, inside)
            here = (places < len(asked)) & (asked[np.minimum(places, len(asked) - 1)] == inside)
            if here.any():
                content = codec.read(piece.content, len(lanes))
                if found is None:
                    found = np.zeros((len(asked), *content.shape[1:]), content.dtype)
                first = int(np.searchsorted(lanes, part.start))
                found[places[here]] = content[first : first + len(inside)][here]
        return found, missing

    def _found(
        self, name: bytes, cohort: Cohort
    ) -> tuple[list[tuple[_Piece, NDArray[np.int64]]], NDArray[np.int64]]:
        """The pieces that meet a cohort, each with its people, and who of the cohort is in none of them."""
        pieces = [(piece, piece.people.indices()) for piece in self._pieces(name, cohort)]
        known = np.zeros(cohort.stop - cohort.start, np.bool_)
        for _, lanes in pieces:
            inside = lanes[slice(*np.searchsorted(lanes, (cohort.start, cohort.stop)))]
            known[inside - cohort.start] = True
        asked = cohort.indices()
        return pieces, asked[~known[asked - cohort.start]]

    def _pieces(self, name: bytes, part: Cohort) -> Iterator[_Piece]:
        rows = self._file.execute(
            "SELECT start, stop, seed, parts, part, listed, content FROM pieces"
            " WHERE name = ? AND start < ? AND stop > ?",
            (name, part.stop, part.start),
        )
        for start, stop, seed, parts, number, listed, content in rows.fetchall():
            split = None if seed is None else Split(bytes(seed), parts, number)
            people = (
                Cohort(start, stop, split)
                if listed is None
                else Listed(np.frombuffer(listed, np.uint32).astype(np.int64))
            )
            yield _Piece(people, bytes(content))

    def _keep(self, name: bytes, people: Asked, values: Values, codec: _Codec) -> bytes:
        """Keep what was made of some people; returns it as it is written."""
        content = codec.write(values)
        self._insert(name, people, content)
        (pieces,) = self._file.execute("SELECT count(*) FROM pieces WHERE name = ?", (name,)).fetchone()
        if pieces > _MOST_PIECES:
            self._join(name, codec)
        self._make_room(name)
        return content

    def _insert(self, name: bytes, people: Asked, content: bytes) -> None:
        if isinstance(people, Cohort):
            columns, listed = _columns(people), None
        else:
            first, last = int(people.people[0]), int(people.people[-1]) + 1
            columns, listed = (first, last, None, None, None), people.people.astype(np.uint32).tobytes()
        self._file.execute(
            "INSERT INTO pieces VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (name, *columns, listed, content)
        )
        size = len(content) + len(listed or b"")
        self._file.execute("UPDATE answers SET size = size + ? WHERE name = ?", (size, name))

    def _join(self, name: bytes, codec: _Codec) -> None:
        """One piece in place of many: what a repetition has to look through does not grow with what was asked."""
        (start, stop) = self._file.execute(
            "SELECT min(start), max(stop) FROM pieces WHERE name = ?", (name,)
        ).fetchone()
        pieces = [(piece, piece.people.indices()) for piece in self._pieces(name, Cohort(start, stop))]
        lanes = np.concatenate([people for _, people in pieces])
        values = np.concatenate([codec.read(piece.content, len(people)) for piece, people in pieces])
        order = np.argsort(lanes, kind="stable")
        self._file.execute("DELETE FROM pieces WHERE name = ?", (name,))
        self._file.execute("UPDATE answers SET size = 0 WHERE name = ?", (name,))
        self._insert(name, Listed(lanes[order]), codec.write(values[order]))

    def _make_room(self, kept: bytes) -> None:
        """Drop the oldest answers until the rest fits, of the same caller first; the newest stays, whatever its size."""
        (total,) = self._file.execute("SELECT size FROM total").fetchone()
        while total > self.keeping.most_bytes:
            oldest = self._file.execute(_OLDEST, (kept, kept)).fetchone()
            if oldest is None:
                return
            self._drop(oldest[0])
            total -= oldest[1]

    def _drop_old(self) -> None:
        """Drop reports whose time is over."""
        for (name,) in self._file.execute(_DUE, (int(self._clock()),)).fetchall():
            self._drop(name)

    def _drop(self, name: bytes) -> None:
        """What was kept goes; that it is gone is remembered."""
        self._file.execute("DELETE FROM pieces WHERE name = ?", (name,))
        self._file.execute("UPDATE answers SET gone = 1, size = 0 WHERE name = ?", (name,))

    def _forget(self, name: bytes) -> None:
        for table in ("pieces", "answers", "callers", "delivered"):
            self._file.execute(f"DELETE FROM {table} WHERE name = ?", (name,))  # noqa: S608


def _columns(cohort: Cohort) -> tuple[int, int, bytes | None, int | None, int | None]:
    split = cohort.split
    some = (None, None, None) if split is None else (split.seed, split.parts, split.part)
    return (cohort.start, cohort.stop, *some)


def _some(part: Cohort, missing: NDArray[np.int64]) -> Asked:
    """The missing ones of a part; the part itself, if that is everybody."""
    return part if len(missing) == part.size() else Listed(missing)


def _merged(part: Cohort, found: Values | None, missing: NDArray[np.int64], fresh: Reports) -> Reports:
    """All of a part, in order: those that were kept, and the fresh ones in their gaps."""
    if found is None:
        return fresh
    found[np.searchsorted(part.indices(), missing)] = fresh
    return found


def _saved(values: Values) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()


def _loaded(content: bytes) -> Values:
    values: Values = np.load(io.BytesIO(content), allow_pickle=False)
    return values


_INPUTS = _Codec(_saved, lambda content, count: _loaded(content))


def _reports(randomizer: LocalRandomizer) -> _Codec:
    """Reports, packed as they are sent."""
    return _Codec(randomizer.pack, randomizer.unpack)
