"""Checkpoints: the sums of all people at one entry, so that a start does not add up everything again.

The sums are compressed in a table of their own; their digest is an entry of the keyed chain, so sums that were changed or
are of another entry are not believed, and everything is added up from the start.  One is written when adding up what came
after the last one would take about a second (`MOST_STEPS`), and when a ledger is closed.

Checked in tests/unit/parties/agent/test_ledger_checkpoint.py and tests/fault/test_ledger_accidents.py.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.ledger import Sums
from localdp.cohorts import Cohort
from localdp.errors import StorageFailed
from localdp.framing import digest
from parties.agent.chain import Chain, Standing, entry_of
from parties.agent.entries import (
    Checkpoint,
    Decided,
    EpochEnded,
    EpochOpened,
    Loss,
    SettingsStated,
    Witnessed,
    from_bytes,
)

MOST_STEPS = 2_000_000_000  # half a nanosecond each
_STEPS_OF_AN_ENTRY = 100_000
_STEPS_OF_A_DRAW = 40  # for each person of a range that is split
_COMPRESSION = 1
_RARE = (EpochOpened.kind, EpochEnded.kind, SettingsStated.kind, Loss.kind, Witnessed.kind, Decided.kind)


def steps_of(cohort: Cohort) -> int:
    """About how much work it is to book a charge again."""
    people = cohort.stop - cohort.start
    return _STEPS_OF_AN_ENTRY + people * (1 if cohort.split is None else _STEPS_OF_A_DRAW)


@dataclass(frozen=True, slots=True)
class Saved:
    """The sums of a checkpoint, and the entry that names them."""

    number: int
    content: Checkpoint
    sums: Sums

    def standing(self, file: sqlite3.Connection, chain: Chain) -> Standing:
        """What the entries up to it say together; all their links are checked, and only what is rare is looked into."""
        standing, last = Standing(), None
        for last in chain.rows(file, 0, standing.link, self.number):
            if last[1] in _RARE:
                standing = standing.after(entry_of(last))
        if last is None or last[0] != self.number:
            raise StorageFailed("the checkpoint of the ledger is not in its chain")
        content = self.content
        return replace(standing.after(entry_of(last)), total=content.total, requests=content.requests)


def digest_of(sums: Sums) -> bytes:
    """What the chain says of the sums."""
    numbers = b"%d %d" % (sums.losses, sums.day)
    hashes = [hashlib.sha256(_little(book)).digest() for book in (sums.spent, sums.today)]
    if not sums.accounts:
        return digest(b"localdp sums v1", numbers, *hashes)
    for name, book in sorted(sums.accounts.items()):
        hashes += [name.encode(), hashlib.sha256(_little(book)).digest()]
    return digest(b"localdp sums v2", numbers, *hashes)


def _little(book: NDArray[np.int64]) -> memoryview:
    return np.ascontiguousarray(book, "<i8").data.cast("B")


def store(file: sqlite3.Connection, number: int, sums: Sums) -> None:
    """Keep the sums of a checkpoint in place of those of the last one."""
    packing = zlib.compressobj(_COMPRESSION)
    names = sorted(sums.accounts)
    packed = b"%d %d %d" % (sums.losses, sums.day, 8 * sums.spent.size)
    packed += (b" " + json.dumps(names).encode() if names else b"") + b"\n"
    for book in (sums.spent, *(sums.accounts[name] for name in names), sums.today):
        packed += packing.compress(_little(book)) if book.size else b""
    file.execute("DELETE FROM checkpoints")
    file.execute("INSERT INTO checkpoints VALUES (?, ?)", (number, packed + packing.flush()))


def last_checkpoint(file: sqlite3.Connection) -> Saved | None:
    """The last one, if its sums are those that its entry names; whether that is in the chain is still to be checked."""
    found = file.execute(
        "SELECT number, kind, body, sums FROM checkpoints JOIN entries USING (number) ORDER BY number DESC LIMIT 1"
    ).fetchone()
    if found is None:
        return None
    number, kind, body, packed = found
    content, sums = from_bytes(number, kind, body), _unpacked(packed)
    if not isinstance(content, Checkpoint) or sums is None or not is_named(content, sums):
        return None
    return Saved(number, content, sums)


def is_named(checkpoint: Checkpoint, sums: Sums) -> bool:
    """Whether the chain speaks of these sums."""
    return checkpoint.digest == digest_of(sums)


def _unpacked(packed: bytes) -> Sums | None:
    try:
        first, _, rest = packed.partition(b"\n")
        losses, day, size, *named = first.split(maxsplit=3)
        names, width = (json.loads(named[0]) if named else []), int(size)
        whole = memoryview(zlib.decompress(rest))
        ends = [width * number for number in range(len(names) + 2)]
        spent, *quotas = (np.frombuffer(whole[begin:end], "<i8") for begin, end in pairwise(ends))
        today = np.frombuffer(whole[ends[-1] :], "<i8")
        accounts = dict(zip(names, quotas, strict=True))
        return Sums(spent, int(losses), int(day), today, accounts)
    except (ValueError, TypeError, zlib.error):
        return None
