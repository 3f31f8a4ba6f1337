"""A part of a book: some of its people as everybody that a curator of theirs knows.

People are numbered anew, from 0, range by range.  The book stays that of the whole: who was asked through a view has spent
it everywhere.

Checked in tests/unit/parties/federated/test_federation_views.py and tests/contract/test_among.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger, Receipt
from localdp.cohorts import Cohort, Ranges
from localdp.errors import BudgetExhausted, InvalidParameter
from localdp.framing import digest


class LedgerOfSome:
    """A part of a curator's book, in which everybody of the view is charged at once."""

    def __init__(self, whole: Ledger, ranges: Ranges) -> None:
        self._whole, self._ranges = whole, ranges
        self._people: NDArray[np.int64] = np.concatenate([np.asarray(one, np.int64) for one in ranges])

    @property
    def limit(self) -> Epsilon:
        return self._whole.limit

    def charge(self, charge: Charge) -> Receipt:
        """Take the charge from all of them, or from nobody."""
        self.require(charge)
        taken = [self._whole.charge(one) for one in self._charges(charge)]
        return Receipt(any(receipt.new for receipt in taken), taken[0].key)

    def was_heard(self, charge: Charge) -> bool:
        """Whether the caller had all of these reports before."""
        return all(self._whole.was_heard(one) for one in self._charges(charge))

    def require(self, charge: Charge) -> None:
        """Refuse what `charge` would refuse now; nothing is taken."""
        if charge.cohort != Cohort(0, len(self._people)):
            raise InvalidParameter("a curator charges everybody whose records it has")
        if int(self.spent().max()) + charge.cost.nanonats > self.limit.nanonats:
            raise BudgetExhausted(f"somebody has less than epsilon {charge.cost} left; nobody was charged")
        for one in self._charges(charge):
            self._whole.require(one)

    def _charges(self, charge: Charge) -> list[Charge]:
        # Under a name of its own: another view's charge of the same name is of other people.
        name = digest(b"some people", self._people.astype("<i8").tobytes(), charge.request)
        return [replace(charge, request=name, cohort=Cohort(one.start, one.stop)) for one in self._ranges]

    def spent(self) -> NDArray[np.int64]:
        """Nanonats spent by each person of the view, through whatever view."""
        spent: NDArray[np.int64] = self._whole.spent()[self._people]
        return spent
