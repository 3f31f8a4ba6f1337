"""The ledgers of launched parties, read off their files: the launcher owns the directory that they are in.

They are opened for reading only, and every row is checked against the one before it.  What was read stays read: a ledger
only grows.

Checked in tests/integration/test_federation.py.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Accounts
from parties.agent.ledger import FIRST_LINK, open_for_reading, read_entries, storage_errors


class Book(Protocol):
    """Whatever knows what people have spent."""

    def spent(self) -> NDArray[np.int64]:
        """Nanonats spent by each person."""
        ...


class LedgerFile:
    """The ledger of a party that is another process."""

    def __init__(self, path: Path, people: int, limit: Epsilon) -> None:
        self._path = path
        self._accounts = Accounts(people, limit)
        self._last = 0, FIRST_LINK

    def spent(self) -> NDArray[np.int64]:
        """Nanonats spent by each person, up to now."""
        with storage_errors(), closing(open_for_reading(self._path)) as file:
            for entry in read_entries(file, *self._last):
                self._accounts.rebook(entry.charge)
                self._last = entry.number, entry.chain
        return self._accounts.spent()
