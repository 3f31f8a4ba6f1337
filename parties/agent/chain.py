"""The chain of a ledger's entries in a file: numbered without gaps, each tied to all before it by a keyed digest.

An entry's link is the HMAC-SHA256, under a key that only the party has, of the link before it and of all that the entry
says. So an entry that was changed, removed, moved or put in is noticed by whoever has the key, and cannot be made by
anybody else. What the chain alone cannot see is that it ends too early: that is what the mark (`parties.agent.mark`) is
for.

The file says what it is: SQLite's application number, and the version of the layout.

Checked in tests/unit/parties/agent/test_ledger_chain.py.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from localdp.errors import StorageFailed
from localdp.framing import framed
from parties import durable
from parties.agent.entries import (
    Content,
    Decided,
    EpochEnded,
    EpochOpened,
    LedgerEntry,
    Lineage,
    Loss,
    SettingsStated,
    Witnessed,
    cost_of,
    from_bytes,
    kind_of,
    to_bytes,
)
from parties.durable import BUSY_SECONDS

APPLICATION = 0x6C647067  # "ldpg"
VERSION = 2
FIRST_LINK = bytes(32)
# Whatever goes wrong with the ledger's file.
ledger_errors = functools.partial(
    durable.storage_errors,
    "the ledger",
    damaged="Restore a backup that is whole, by `localdp agent restore`",
)
_COLUMNS = "number, kind, stamp, request, body, link"
LAYOUT = (
    """
    CREATE TABLE entries (
      number INTEGER PRIMARY KEY CHECK (number > 0),
      kind TEXT NOT NULL,
      stamp INTEGER NOT NULL,
      request BLOB,
      body BLOB NOT NULL,
      link BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX entries_of_a_request ON entries (request) WHERE request IS NOT NULL",
    "CREATE TABLE checkpoints (number INTEGER PRIMARY KEY, sums BLOB NOT NULL) STRICT",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
Row = tuple[int, str, int, bytes | None, bytes, bytes]


@dataclass(frozen=True, slots=True)
class OpenedEpoch:
    """The epoch that is open."""

    number: int
    identifier: bytes
    records: bytes  # keyed pin of the records, for their owner
    opened_at: int  # seconds since 1970, by the clock of then
    stamp: int  # of its entry: the same, unless an earlier stamp was ahead of the clock

    @classmethod
    def by(cls, entry: LedgerEntry) -> OpenedEpoch:
        """The epoch that an entry opens."""
        found = entry.content
        assert isinstance(found, EpochOpened)
        opened_at = entry.stamp if found.clock is None else found.clock
        return cls(found.number, found.identifier, found.records, opened_at, entry.stamp)


@dataclass(frozen=True, slots=True)
class Standing:
    """What all entries up to one of them say together, but for the sums of people."""

    entries: int = 0
    stamp: int = 0
    link: bytes = FIRST_LINK
    total: int = 0  # nanonats of all charges and losses
    settings: str | None = None
    epoch: OpenedEpoch | None = None  # None: none is open
    epochs: int = 0  # the number of the last one
    requests: int = 0  # charged for the first time in the epoch that is open
    lineage: Lineage = Lineage()  # whose totals can be compared with this one
    witness: bytes | None = None  # the key of the one that it has; None: it has had none
    decisions: tuple[Decided, ...] = ()  # of the owner, in order

    def after(self, entry: LedgerEntry, new_request: bool = False) -> Standing:
        """What they say with one more."""
        then = replace(
            self,
            entries=entry.number,
            stamp=entry.stamp,
            link=entry.link,
            total=self.total + cost_of(entry.content),
            requests=self.requests + new_request,
        )
        match entry.content:
            case EpochOpened(number):
                return replace(then, epoch=OpenedEpoch.by(entry), epochs=number, requests=0)
            case EpochEnded():
                return replace(then, epoch=None, requests=0)
            case SettingsStated(text):
                return replace(then, settings=text)
            case Loss(lineage=Lineage() as begun):
                return replace(then, lineage=begun)
            case Witnessed(key):
                return replace(then, witness=key)
            case Decided() as decided:
                return replace(then, decisions=(*self.decisions, decided))
        return then


class Chain:
    """Reads and writes entries under the party's key; without it, entries can be read and are not checked."""

    def __init__(self, key: bytes | None) -> None:
        self._key = key

    def write(
        self, file: sqlite3.Connection, standing: Standing, content: Content, stamp: int
    ) -> LedgerEntry:
        """The next entry, written within a transaction."""
        number, request = standing.entries + 1, getattr(content, "request", None)
        row: Row = (number, kind_of(content), stamp, request, to_bytes(content), b"")
        link = self._link(standing.link, row)
        file.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", (*row[:5], link))  # noqa: S608
        return LedgerEntry(number, stamp, content, link)

    def read(
        self, file: sqlite3.Connection, after: int = 0, link: bytes = FIRST_LINK
    ) -> Iterator[LedgerEntry]:
        """The entries after a number, each checked against the one before it."""
        for row in self.rows(file, after, link):
            yield entry_of(row)

    def rows(self, file: sqlite3.Connection, after: int, link: bytes, last: int = 1 << 62) -> Iterator[Row]:
        """The same up to a number, as they are written: checked, and not looked into."""
        found: Iterator[Row] = file.execute(
            f"SELECT {_COLUMNS} FROM entries WHERE number > ? AND number <= ? ORDER BY number",  # noqa: S608
            (after, last),
        )
        for number, row in enumerate(found, after + 1):
            if row[0] != number or not self._follows(link, row):
                raise _broken(row[0])
            link = row[5]
            yield row

    def of_request(self, file: sqlite3.Connection, request: bytes, last: int) -> Iterator[LedgerEntry]:
        """The charges of one request up to a number, checked against the links beside them."""
        found = file.execute(
            f"SELECT {_COLUMNS} FROM entries WHERE request = ? AND number <= ? ORDER BY number",  # noqa: S608
            (request, last),
        )
        for row in found:
            if not self._follows(link_at(file, row[0] - 1), row):
                raise _broken(row[0])
            yield entry_of(row)

    def _follows(self, before: bytes | None, row: Row) -> bool:
        if self._key is None:
            return True
        return before is not None and hmac.compare_digest(row[5], self._link(before, row))

    def _link(self, before: bytes, row: Row) -> bytes:
        assert self._key is not None
        number, kind, stamp, request, body, _ = row
        fields = (
            b"localdp ledger v2",
            before,
            b"%d %d" % (number, stamp),
            kind.encode(),
            request or b"",
            body,
        )
        return hmac.digest(self._key, framed(fields), hashlib.sha256)


def _broken(number: int) -> StorageFailed:
    """What is said of an entry whose link is another one; the first is the one that tells whose keys they are."""
    why = (
        "the ledger was not made with the keys beside it: secrets.json is not this ledger's, or the ledger was changed"
        if number == 1
        else f"entry {number} of the ledger does not follow from the one before it"
    )
    return StorageFailed(f"{why}. Put the ledger's own newest files back, or run `localdp agent restore`")


def entry_of(row: Row) -> LedgerEntry:
    """What a row says."""
    number, kind, stamp, request, body, link = row
    content = from_bytes(number, kind, body)
    if getattr(content, "request", None) != request:
        raise StorageFailed(f"entry {number} of the ledger is filed under another request than its own")
    return LedgerEntry(number, stamp, content, link)


def link_at(file: sqlite3.Connection, number: int) -> bytes | None:
    """The link of an entry; None if there is no such entry."""
    if number == 0:
        return FIRST_LINK
    found = file.execute("SELECT link FROM entries WHERE number = ?", (number,)).fetchone()
    return None if found is None else bytes(found[0])


def version_of(file: sqlite3.Connection) -> int:
    """The version of the layout; 0 where there is none yet.  What is no ledger, or a newer one, is refused."""
    (application,) = file.execute("PRAGMA application_id").fetchone()
    (version,) = file.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if application == APPLICATION and version > VERSION:
        raise StorageFailed(
            f"the ledger was written by a newer version of localdp (layout {version}, here {VERSION}); install that one"
        )
    if application == APPLICATION and "entries" in tables:
        return VERSION
    if application or version or "entries" in tables:
        raise StorageFailed("the file is not a ledger of an agent")
    return 1 if "charges" in tables else 0


def require_whole(file: sqlite3.Connection) -> None:
    """Refuse entries before the first."""
    (first,) = file.execute("SELECT min(number) FROM entries").fetchone()
    if first not in (None, 1):
        raise StorageFailed("the entries of the ledger are not numbered from 1")


def open_read_only(path: Path) -> sqlite3.Connection:
    """A database to look at; it is neither made nor changed."""
    file = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        file.execute("SELECT count(*) FROM sqlite_master")
    except BaseException:
        file.close()
        raise
    return file
