"""What was sent, kept for a while: a request that is repeated is answered from here, and not from records again.

A repetition is free, so whoever repeats could average away everything but the time that a record takes.  Hence for each
person of a request the records are looked at once in the life of an agent.  Kept are

- reports, packed as they were sent, until a time that is fixed when the first of them are drawn, whatever epoch is open;
- in place of shares and of reports from permanent answers: the inputs that these are made of, until the epoch ends;
- which shares each share server has acknowledged: it is not sent them again, also if it forgot them.

Beyond `most_bytes` the oldest answers go first, those of the caller who asks for more before those of others.  What is
gone stays gone: the request is refused as expired, whatever the records say, and nobody is drawn again under its name.
Only a crash between a charge and its drawing leaves somebody charged and not drawn; they are drawn when they are asked for
again.

The file is a cache in the sense that losing it costs no budget.  It is for its owner alone, and what is dropped is
overwritten: some of it whenever something is kept, at least as much as that, and all of it when an agent starts.  So no
step takes long, however much is kept and goes at once (`parties.agent.pieces`).  Everything here runs on the agent's
worker thread.

Checked in tests/unit/parties/agent/test_kept_answers.py.
"""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localdp.cohorts import Asked, Cohort, Listed, Split
from localdp.errors import RequestExpired
from localdp.party.epoch import Epoch
from localdp.party.flooded_party import Flooding
from localdp.party.party import Draw, Shares
from localdp.randomizers.definition import LocalRandomizer, Values
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.flooded_batch import FloodedBatch
from parties.agent.pieces import Codec, Pieces, lay_out
from parties.durable import add_column, open_synced, storage_errors, transaction

_LAYOUT = (
    "CREATE TABLE IF NOT EXISTS answers (name BLOB PRIMARY KEY, epoch INTEGER NOT NULL, until INTEGER NOT NULL,"
    " inputs INTEGER NOT NULL, gone INTEGER NOT NULL, size INTEGER NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS epochs (number INTEGER PRIMARY KEY, identifier BLOB NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS callers (name BLOB NOT NULL, caller TEXT NOT NULL, PRIMARY KEY (name, caller)) STRICT",
    # With 100,000 answers no request looks at all of them.
    "CREATE INDEX IF NOT EXISTS answers_due ON answers (until) WHERE NOT inputs AND NOT gone",
    "CREATE INDEX IF NOT EXISTS answers_by_age ON answers (until) WHERE size > 0",
    "CREATE TABLE IF NOT EXISTS delivered (name BLOB NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL, seed BLOB,"
    " parts INTEGER, part INTEGER) STRICT",
    "CREATE INDEX IF NOT EXISTS delivered_by_name ON delivered (name)",
    # Names whose pieces have to be overwritten yet.
    "CREATE TABLE IF NOT EXISTS dropped (name BLOB PRIMARY KEY) STRICT, WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS total (size INTEGER NOT NULL) STRICT",
    "INSERT INTO total SELECT (SELECT coalesce(sum(size), 0) FROM answers) WHERE NOT EXISTS (SELECT 1 FROM total)",
    "CREATE TRIGGER IF NOT EXISTS resized AFTER UPDATE OF size ON answers"
    " BEGIN UPDATE total SET size = size + new.size - old.size; END",
    "CREATE TRIGGER IF NOT EXISTS forgotten AFTER DELETE ON answers BEGIN UPDATE total SET size = size - old.size; END",
)
_UPGRADE = (
    "DELETE FROM callers WHERE name IN (SELECT name FROM answers WHERE gone)",
    "UPDATE callers SET until = coalesce((SELECT until FROM answers WHERE answers.name = callers.name), 0)",
)
_DUE = "SELECT name FROM answers WHERE NOT inputs AND NOT gone AND until <= ? LIMIT 64"
_OLDEST_OF_CALLER = """
SELECT name, size FROM callers JOIN answers USING (name) WHERE caller = ? AND name != ? AND size > 0
ORDER BY callers.until LIMIT 1
"""
_OLDEST = "SELECT name, size FROM answers WHERE size > 0 AND name != ? ORDER BY until, rowid LIMIT 1"
_ENDED = 2  # in `gone`, where 1 says that it is refused: that it was there is forgotten as soon as it is overwritten
_END = "UPDATE answers SET gone = gone + 2, size = 0 WHERE epoch != ? AND (inputs OR gone) AND gone < 2"
_DROP_ENDED = "INSERT OR IGNORE INTO dropped SELECT name FROM answers WHERE gone >= 2"
_FOUND = "SELECT epoch, gone & 1 OR (NOT inputs AND until <= ?) FROM answers WHERE name = ?"
_DELIVER = (
    "INSERT INTO delivered (name, start, stop, seed, parts, part, server) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_DELIVERED = """
SELECT start, stop, seed, parts, part FROM delivered
WHERE name = ? AND start < ? AND stop > ? AND (server IS NULL OR server = ?)
"""
_CLEARED_BYTES = 1 << 15  # that are overwritten of what was dropped, at the least, beside something else
_NAME_BYTES = 1 << 12  # as many as take as long as a name
_EPOCH_ENDED = "the epoch that this request was charged in has ended; make a new request"
_PARTLY = "some of these shares were uploaded before, with others; ask in the same parts"
_GONE = "what was sent for this request is no longer kept; make a new request"


@dataclass(frozen=True, slots=True)
class Keeping:
    """How much is kept, and how long."""

    seconds: int = 86_400
    most_bytes: int = 1 << 30


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
            self._pieces = Pieces(self._file)
            with transaction(self._file):
                self._lay_out()
                self._clear(math.inf)

    def _lay_out(self) -> None:
        """Make the tables, or bring them to this version."""
        for line in _LAYOUT:
            self._file.execute(line)
        lay_out(self._file)
        # Without one: an older version heard of all servers.
        add_column(self._file, "delivered", "server", "TEXT")
        if add_column(self._file, "callers", "until", "INTEGER NOT NULL DEFAULT 0"):
            for line in _UPGRADE:
                self._file.execute(line)
        self._file.execute("CREATE INDEX IF NOT EXISTS callers_by_age ON callers (caller, until)")

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def reports(self, charged: Draw, randomizer: LocalRandomizer, part: Cohort, caller: str) -> bytes:
        """The packed reports of people who were charged: as they were sent, or drawn now."""
        if charged.keeps == "inputs":
            return randomizer.pack(
                charged.made(part, self._kept(charged, charged.inputs, part, _INPUTS, caller))
            )
        codec = _reports(randomizer)
        return codec.write(self._kept(charged, charged, part, codec, caller))

    def shares(self, charged: Shares, part: Cohort, caller: str) -> list[ShareBlock]:
        """The shares of people who were charged, from the inputs of the first time."""
        return charged.made(part, self._kept(charged, charged.inputs, part, _INPUTS, caller))

    def flooded(self, charged: Flooding, cohort: Cohort, caller: str) -> FloodedBatch:
        """The messages of a part of a flooded round, from the inputs of the first time."""
        return charged.made(cohort, self._kept(charged, charged.inputs, cohort, _INPUTS, caller))

    def deliver(self, name: bytes, cohort: Cohort, servers: Sequence[str]) -> None:
        """These share servers have acknowledged the shares of a cohort: they are not sent to them again."""
        rows = [(name, *_columns(cohort), server) for server in servers]
        with storage_errors("the kept answers"), transaction(self._file):
            self._file.executemany(_DELIVER, rows)

    def is_delivered(self, name: bytes, cohort: Cohort, server: str) -> bool:
        """Whether a server acknowledged these shares; or a refusal, if it did some of them, in other parts."""
        with storage_errors("the kept answers"):
            rows = self._file.execute(_DELIVERED, (name, cohort.stop, cohort.start, server)).fetchall()
        known = np.zeros(cohort.stop - cohort.start, np.bool_)
        for start, stop, seed, parts, number in rows:
            split = None if seed is None else Split(bytes(seed), parts, number)
            lanes = Cohort(start, stop, split).indices()
            known[lanes[slice(*np.searchsorted(lanes, (cohort.start, cohort.stop)))] - cohort.start] = True
        there = known[cohort.indices() - cohort.start]
        if there.any() and not there.all():
            raise RequestExpired(_PARTLY)
        return bool(rows) and bool(there.all())

    def fetching(
        self, name: bytes, randomizer: LocalRandomizer, epoch: int = 0
    ) -> Callable[[Cohort], bytes]:
        """Reports of an epoch that may have ended, for a caller who had them; or a refusal.

        If the request names an epoch, it has to be that one.
        """
        with storage_errors("the kept answers"), transaction(self._file):
            self._drop_old()
            found = self._epoch_of(name)
            if found is None or epoch not in (0, found):
                raise RequestExpired(_EPOCH_ENDED)
        return lambda part: self._fetched(name, _reports(randomizer), part)

    def _fetched(self, name: bytes, codec: Codec, part: Cohort) -> bytes:
        with storage_errors("the kept answers"), transaction(self._file):
            self._epoch_of(name)
            found, known = self._pieces.found(name, part, codec)
            if not known.all():
                raise RequestExpired(_GONE)  # they were charged, and nobody waited for their reports
            return b"" if found is None else codec.write(found)

    def standing(self, name: bytes) -> tuple[int, int]:
        """The epoch of an answer, and until when it is kept, in seconds since 1970: both were fixed when it was begun."""
        with storage_errors("the kept answers"):
            found = self._file.execute(
                "SELECT epoch, until FROM answers WHERE name = ?", (name,)
            ).fetchone()
        if found is None:
            raise RequestExpired(_GONE)
        return int(found[0]), int(found[1])

    def require_there(self, name: bytes, epoch: int) -> None:
        """Refuse a request whose answers are gone or of another epoch, before anybody is charged under its name."""
        with storage_errors("the kept answers"), transaction(self._file):
            self._drop_old()
            self._require_there(name, epoch)

    def enter(self, epoch: Epoch) -> None:
        """Another epoch is open: the inputs of all others go, and what would be refused anyway.

        After a restore an epoch may have the number of one that the ledger forgot; what was kept of that one goes at once.
        """
        with storage_errors("the kept answers"), transaction(self._file):
            self._forget_unknown(epoch)
            self._file.execute(_END, (epoch.number,))
            self._file.execute(_DROP_ENDED)
            self._drop_old()
            self._clear(_CLEARED_BYTES)

    def _forget_unknown(self, epoch: Epoch) -> None:
        """Forget epochs that the ledger does not know, and know this one."""
        known = self._file.execute(
            "SELECT identifier FROM epochs WHERE number = ?", (epoch.number,)
        ).fetchone()
        first = epoch.number + (known is None or known[0] == epoch.identifier)
        for (name,) in self._file.execute("SELECT name FROM answers WHERE epoch >= ?", (first,)).fetchall():
            self._pieces.remove(name, math.inf)
            self._forget(name)
        self._file.execute("DELETE FROM epochs WHERE number >= ?", (epoch.number,))
        self._file.execute("INSERT INTO epochs VALUES (?, ?)", (epoch.number, epoch.identifier))

    def _begin(self, charged: Draw | Shares | Flooding, caller: str) -> None:
        """Know the answer by its name, until a time that is fixed now; refuse one that is gone."""
        self._drop_old()
        until = int(self._clock()) + self.keeping.seconds
        self._file.execute(
            "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, 0, 0, 0)",
            (charged.name, charged.epoch, until, charged.keeps == "inputs"),
        )
        self._require_there(charged.name, charged.epoch)
        self._file.execute("INSERT OR IGNORE INTO callers VALUES (?, ?, ?)", (charged.name, caller, until))

    def _require_there(self, name: bytes, epoch: int) -> None:
        if self._epoch_of(name) not in (None, epoch):
            raise RequestExpired(_EPOCH_ENDED)

    def _epoch_of(self, name: bytes) -> int | None:
        """The epoch of an answer, None if there is none; refuses one that is gone, or whose time is over."""
        found = self._file.execute(_FOUND, (int(self._clock()), name)).fetchone()
        if found is not None and found[1]:
            raise RequestExpired(_GONE)
        return None if found is None else int(found[0])

    def _kept(
        self,
        charged: Draw | Shares | Flooding,
        made: Callable[[Asked], Values],
        part: Cohort,
        codec: Codec,
        caller: str,
    ) -> Values:
        """What is kept of a part's people; of those of whom nothing is, it is made now.

        It is made while the file is free for other processes.  Of whom one of them kept something meanwhile, that counts.
        """
        made_of: tuple[Asked, Values] | None = None
        while True:
            with storage_errors("the kept answers"), transaction(self._file):
                self._begin(charged, caller)
                found, known = self._pieces.found(charged.name, part, codec)
                if found is not None and known.all():
                    return found
                if made_of is not None and _are(made_of[0], part, known, found is None):
                    self._keep(charged.name, *made_of, codec, caller)
                    break
            some = part if found is None else Listed(part.indices()[~known])
            made_of = some, made(some)
        if found is None:
            return made_of[1]
        found[~known] = made_of[1]
        return found

    def _keep(self, name: bytes, people: Asked, values: Values, codec: Codec, caller: str) -> None:
        """Keep what was made of some people, and make room for it."""
        grown = self._pieces.put(name, people, values, codec)
        self._file.execute("UPDATE answers SET size = size + ? WHERE name = ?", (grown, name))
        self._make_room(name, caller)
        self._clear(max(grown, _CLEARED_BYTES))

    def _make_room(self, kept: bytes, caller: str) -> None:
        """Drop the oldest answers until the rest fits, of the same caller first; the newest stays, whatever its size."""
        (total,) = self._file.execute("SELECT size FROM total").fetchone()
        while total > self.keeping.most_bytes:
            own = self._file.execute(_OLDEST_OF_CALLER, (caller, kept)).fetchone()
            oldest = own or self._file.execute(_OLDEST, (kept,)).fetchone()
            if oldest is None:
                return
            self._drop(oldest[0])
            total -= oldest[1]

    def _drop_old(self) -> None:
        """Drop reports whose time is over, a few at a time."""
        for (name,) in self._file.execute(_DUE, (int(self._clock()),)).fetchall():
            self._drop(name)

    def _drop(self, name: bytes) -> None:
        """What was kept goes; that it is gone is remembered."""
        self._file.execute("UPDATE answers SET gone = gone | 1, size = 0 WHERE name = ?", (name,))
        self._file.execute("DELETE FROM callers WHERE name = ?", (name,))
        self._file.execute("INSERT OR IGNORE INTO dropped VALUES (?)", (name,))

    def _clear(self, most_bytes: float) -> None:
        """Overwrite some of what was dropped."""
        while most_bytes > 0:
            found = self._file.execute("SELECT name FROM dropped LIMIT 1").fetchone()
            if found is None:
                return
            (name,) = found
            most_bytes -= self._pieces.remove(name, most_bytes) + _NAME_BYTES
            if most_bytes > 0:
                self._file.execute("DELETE FROM dropped WHERE name = ?", (name,))
                (gone,) = self._file.execute("SELECT gone FROM answers WHERE name = ?", (name,)).fetchone()
                if gone >= _ENDED:
                    self._forget(name)

    def _forget(self, name: bytes) -> None:
        for table in ("answers", "callers", "delivered", "dropped"):
            self._file.execute(f"DELETE FROM {table} WHERE name = ?", (name,))  # noqa: S608


def _are(people: Asked, part: Cohort, known: NDArray[np.bool_], none: bool) -> bool:
    """Whether these are the people of a part of whom nothing is known; `none`: that is all of them."""
    if people.size() != np.count_nonzero(~known):
        return False
    return none or np.array_equal(people.indices(), part.indices()[~known])


def _columns(cohort: Cohort) -> tuple[int, int, bytes | None, int | None, int | None]:
    split = cohort.split
    some = (None, None, None) if split is None else (split.seed, split.parts, split.part)
    return (cohort.start, cohort.stop, *some)


def _saved(values: Values) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()


def _loaded(content: bytes) -> Values:
    values: Values = np.load(io.BytesIO(content), allow_pickle=False)
    return values


_INPUTS = Codec(_saved, lambda content, count: _loaded(content))


def _reports(randomizer: LocalRandomizer) -> Codec:
    """Reports, packed as they are sent."""
    return Codec(randomizer.pack, randomizer.unpack)
