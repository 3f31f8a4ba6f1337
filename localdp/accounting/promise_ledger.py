"""What a shuffler has promised so far about every person: the sums of epsilon and of delta over all requests.

Basic composition (Dwork and Roth, Theorem 3.16): requests that are (epsilon_1, delta_1)-, (epsilon_2, delta_2)-, ...
differentially private, each with coins of its own, are (sum epsilon_i, sum delta_i)-private together, also where what is
asked depends on earlier answers.  A `PromiseLedger` holds both sums for every person and refuses the request that would
exceed either limit.  It is the shuffler's: the parties' own ledgers count what single reports reveal, which is far more.

People are known by their party's name and by the party's own numbering, so that it does not matter who else takes part.
A request is known by the identifier under which the shuffler asks the parties; that names cohort and all, so the
same request again costs nothing, and anything else costs whole.  With it stands a digest of the reports that were mixed:
others under its name, as a party has them that lost its memory, were drawn anew, and are refused.

Claim.  No person's sums exceed the limits.  Checked for every ledger by tests/contract/test_promise_ledger.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, RequestExpired

TRILLION = 10**12
_LARGEST_SUM = 1 << 62


def trillionths_above(delta: Fraction) -> int:
    """A delta in the unit of the ledger and of the wire, rounded up: no promise is told smaller than it is."""
    return -(-delta.numerator * TRILLION // delta.denominator)


@dataclass(frozen=True, slots=True)
class Outlay:
    """What one request costs each person of some parties' cohorts."""

    request: bytes
    parts: tuple[tuple[str, Cohort], ...]  # the name of each party, and the cohort in its own numbering
    epsilon: Epsilon
    delta_trillionths: int
    reports: bytes = b""  # keyed digest of everybody's reports, in order; empty until they are gathered


class PromiseLedger(Protocol):
    """Durable or not: nobody's sums exceed the limits."""

    def require(self, outlay: Outlay) -> None:
        """Refuse what somebody could not pay; nothing is booked."""
        ...

    def charge(self, outlay: Outlay) -> None:
        """Book it, whole or not at all; the same reports again cost nothing, and others are refused."""
        ...


class PromisedSums:
    """The arithmetic of such a ledger, without its storage."""

    def __init__(self, epsilon_total: Epsilon, delta_total: Fraction) -> None:
        self._totals = f"epsilon {epsilon_total} at delta {float(delta_total):.3g}"
        limits = epsilon_total.nanonats, int(delta_total * TRILLION)
        self._limits = np.minimum(limits, _LARGEST_SUM).astype(np.int64)
        self._sums: dict[str, NDArray[np.int64]] = {}  # of each party: epsilons and deltas of its people
        self._known: dict[bytes, bytes] = {}  # of each request: which reports were mixed

    def knows(self, outlay: Outlay) -> bool:
        """Whether the request was booked before."""
        return outlay.request in self._known

    def is_booked(self, outlay: Outlay) -> bool:
        """Whether these reports were mixed before; other reports under their name are refused."""
        if self.knows(outlay) and self._known[outlay.request] != outlay.reports:
            raise RequestExpired(
                "a party does not give the reports of before under this request any more; make a new request"
            )
        return self.knows(outlay)

    def require(self, outlay: Outlay) -> None:
        """Refuse what somebody could not pay."""
        if self.knows(outlay):
            return
        left = self._limits - _cost(outlay)
        for name, cohort in outlay.parts:
            people = cohort.selection()
            for row, most in zip(self._people(name, cohort.stop), left, strict=True):
                if row[people].max(initial=0) > most:
                    raise BudgetExhausted(
                        f"somebody was asked so much that another epsilon {outlay.epsilon} would exceed what this "
                        f"shuffler promises about a person in all: {self._totals}"
                    )

    def book(self, outlay: Outlay) -> None:
        """Add it to the sums, whatever the limits are."""
        for name, cohort in outlay.parts:
            sums, people = self._people(name, cohort.stop), cohort.selection()
            for row, cost in zip(sums, _cost(outlay), strict=True):
                row[people] += cost
        self._known[outlay.request] = outlay.reports

    def spent(self, name: str, people: int) -> NDArray[np.int64]:
        """Nanonats and trillionths of delta, in two rows, of so many people of a party."""
        return self._people(name, people)[:, :people].copy()

    def _people(self, name: str, people: int) -> NDArray[np.int64]:
        known = self._sums.get(name, np.zeros((2, 0), np.int64))
        if known.shape[1] < people:
            known = np.pad(known, ((0, 0), (0, people - known.shape[1])))
            self._sums[name] = known
        return known


def _cost(outlay: Outlay) -> NDArray[np.int64]:
    return np.array([outlay.epsilon.nanonats, outlay.delta_trillionths], np.int64)


class MemoryPromiseLedger:
    """For simulations: it forgets everything when the process ends."""

    def __init__(self, epsilon_total: Epsilon, delta_total: Fraction) -> None:
        self._sums = PromisedSums(epsilon_total, delta_total)

    def require(self, outlay: Outlay) -> None:
        """Refuse what somebody could not pay."""
        self._sums.require(outlay)

    def charge(self, outlay: Outlay) -> None:
        """Book it, whole or not at all."""
        self._sums.require(outlay)
        if not self._sums.is_booked(outlay):
            self._sums.book(outlay)

    def spent(self, name: str, people: int) -> NDArray[np.int64]:
        """Nanonats and trillionths of delta, in two rows, of so many people of a party."""
        return self._sums.spent(name, people)
