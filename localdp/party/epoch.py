"""An epoch: what a party answers from, from one publication of its owner to the next.

Records do not change within an epoch.  A new one opens because its owner or a calendar says so, and never because a record
changed; every request is of one epoch.  So whether a request is refused as belonging to an earlier epoch is a public fact.

The identifier keys the coins of everything that is drawn in the epoch.  Nothing permanent outlives it: draws of two epochs
share no coin, hence what they cost adds up (Theorem 3.16), also for answers that a party gives for good.

Checked in tests/unit/party/test_epoch.py and tests/fault/test_changing_records.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from localdp.cohorts import Asked, Cohort
from localdp.domains import Ownership, Records
from localdp.errors import InvalidParameter
from localdp.framing import digest
from localdp.queries.blocks import PeopleInBlocks
from localdp.randomness.keys import derive_key
from localdp.randomness.lanes import LanedSource

IDENTIFIER_BYTES = 16


@dataclass(frozen=True, slots=True)
class Epoch:
    """The records of one epoch, and whose they are where one person has several."""

    number: int  # from 1 on; public
    identifier: bytes = field(repr=False)  # different for every epoch of every party
    records: Records
    ownership: Ownership | None = None

    def __post_init__(self) -> None:
        if self.number < 1 or len(self.identifier) != IDENTIFIER_BYTES:
            raise InvalidParameter(
                f"epochs are numbered from 1, with identifiers of {IDENTIFIER_BYTES} bytes"
            )
        if self.ownership is not None and len(self.ownership.owners) != self.records.people:
            raise InvalidParameter("every row has an owner")

    @classmethod
    def first(cls, records: Records, ownership: Ownership | None = None) -> Epoch:
        """The first epoch of a party in one process, which never has another one of this number."""
        return cls(1, bytes(IDENTIFIER_BYTES), records, ownership)

    def next(self, records: Records, ownership: Ownership | None = None) -> Epoch:
        """The epoch after this one, in the same process."""
        made = digest(b"localdp epoch", self.identifier, b"%d" % (self.number + 1))
        return Epoch(self.number + 1, made[:IDENTIFIER_BYTES], records, ownership)

    @property
    def people(self) -> int:
        """How many people can be asked: one for each index of a cohort (or row, where each row answers)."""
        return self.records.people if self.ownership is None else self.ownership.indices

    @property
    def by_row(self) -> bool:
        """Whether every row answers by itself, and one person may own several."""
        return self.ownership is not None and self.ownership.rows == "each"

    @property
    def samples(self) -> bool:
        """Whether a request looks at one row of each person, however many somebody has."""
        return self.ownership is not None and self.ownership.rows == "sample"

    def pinned(self, key: bytes) -> bytes:
        """What pins the records, for their owner: it changes with any value and owner, and says nothing without the key."""
        whose = () if self.ownership is None else (self.ownership.fingerprint,)
        return derive_key(key, b"records", self.records.fingerprint(), *whose)

    def key(self, secret: bytes, use: bytes, *names: bytes) -> bytes:
        """The key of the coins for one use, in this epoch alone."""
        return derive_key(secret, use, self.identifier, *names)

    def rows_of(self, people: Asked, name: bytes, secret: bytes, columns: frozenset[str]) -> Records:
        """The rows that answer for these people, in these columns; of several, one that depends on the name alone."""
        selection = people.selection()
        if self.ownership is not None and self.samples:
            coins = LanedSource(self.key(secret, b"rows", name), people.lanes())
            words = coins.raw(np.uint64, people.size())
            return self.records.take(self.ownership.sampled(selection, words), columns)
        if isinstance(selection, slice):
            return self.records.slice(selection.start, selection.stop)
        return self.records.take(selection, columns)

    def in_blocks(
        self, blocks: PeopleInBlocks, number: int, name: bytes, secret: bytes
    ) -> Callable[[Asked], Records]:
        """The rows of so many blocks of all people, which are computed once, when they are first looked at."""

        @cache
        def table() -> Records:
            rows = self.rows_of(Cohort(0, self.people), name, secret, blocks.columns)
            return blocks.records(rows, number)

        return lambda part: table().take(part.indices())
