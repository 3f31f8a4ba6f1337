"""A ledger and its witness: every head is countersigned after the one before it, and a second copy of the ledger stops.

The ledger names, with each new head, the head that it last had countersigned; the witness accepts it only if that is the
one on record (`parties.witness.heads`).  If it refuses, it is asked what it knows.  A head that is in the ledger's own
chain was signed by another process on the same file, and the ledger goes on from there.  A head that is not in it was
signed by another copy of this agent, or by a newer state than this one: from then on nothing is charged.

The witness's key is written into the ledger with the first head that it signs.  A witness with another key is refused,
unless the owner names it: one that was begun anew would know nothing of old copies.

Checked in tests/unit/parties/agent/test_ledger_witness.py.
"""

from __future__ import annotations

import sqlite3

from localdp.errors import RolledBack
from parties.agent.opening import require_pinned, require_witnessed
from parties.witness.heads import Head, Witness

_TRIES = 8  # each refusal but the last is another process on this file that was faster


class Countersigning:
    """What a ledger that is open knows of its witness."""

    def __init__(self, witness: Witness, party: str) -> None:
        self._witness, self._party = witness, party
        self._last: Head | None = None  # that was countersigned, and is in the chain
        self._forked: str | None = None
        self._pinned: bytes | None = None

    @property
    def key(self) -> bytes | None:
        """What the witness signs with, as far as is known."""
        return self._witness.key

    def begin(self, file: sqlite3.Connection, pinned: bytes | None) -> None:
        """Ask what the witness knows, and refuse a ledger in which it is not; `pinned` is the ledger's witness's key."""
        self._pinned = pinned
        self._last = self._known(file)

    def require_one_copy(self) -> None:
        """Refuse to go on with a ledger that is not the one that its witness knows."""
        if self._forked is not None:
            raise RolledBack(self._forked)

    def settle(self, file: sqlite3.Connection, entries: int, link: bytes) -> None:
        """Return when the witness knows this head, or a later one of this chain."""
        self.require_one_copy()
        head = Head(self._party, entries, link)
        for tries in range(_TRIES):
            try:
                self._witness.countersign(head, self._last)
                self._last = head
                return
            except RolledBack:
                if tries == _TRIES - 1:
                    raise
            self._last = self._known(file)
            if self._last is not None and self._last.entries >= entries:
                return

    def _known(self, file: sqlite3.Connection) -> Head | None:
        known = self._witness.latest()
        require_pinned(self._pinned, self._witness)
        try:
            require_witnessed(file, known, self._party)
        except RolledBack as fork:
            self._forked = str(fork)
            raise
        return known
