"""What people of a federation have spent: the books of this process, and those of launched parties, read off their files.

Verbs may be called from several threads, so a book of this process checks and charges in one step.  Files are of a
directory that the launcher owns.  They are opened for reading only.  Their links are keyed, and so are theirs to check;
what is looked at here is that no entry is missing.  What was read stays read: a ledger only grows.

Checked in tests/integration/test_federation.py and tests/unit/parties/federated/test_federated_ledgers.py.
"""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Accounts, Charge, MemoryLedger, Receipt
from parties.agent.chain import Chain, ledger_errors, open_read_only
from parties.agent.entries import Loss


class Book(Protocol):
    """Whatever knows what people have spent."""

    def spent(self) -> NDArray[np.int64]:
        """Nanonats spent by each person."""
        ...


class LockedLedger(MemoryLedger):
    """A ledger in memory that several threads charge: between the check and the charge nobody else is let in."""

    def __init__(self, people: int, limit: Epsilon) -> None:
        super().__init__(people, limit)
        self._one_at_a_time = threading.Lock()

    def charge(self, charge: Charge) -> Receipt:
        """Take the charge, whole or not at all."""
        with self._one_at_a_time:
            return super().charge(charge)


class LedgerFile:
    """The ledger of a party that is another process."""

    def __init__(self, path: Path, people: int, limit: Epsilon) -> None:
        self.path = path
        self._accounts = Accounts(people, limit)
        self._last = 0
        self._charges = 0

    def spent(self) -> NDArray[np.int64]:
        """Nanonats spent by each person, up to now."""
        with ledger_errors(), closing(open_read_only(self.path)) as file:
            for entry in Chain(None).read(file, self._last):
                if isinstance(entry.content, Charge):
                    self._accounts.rebook(entry.content)
                    self._charges += 1
                elif isinstance(entry.content, Loss):
                    self._accounts.charge_everybody(entry.content.cost)
                self._last = entry.number
        return self._accounts.spent()
