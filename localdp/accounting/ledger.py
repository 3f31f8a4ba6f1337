"""Budgets that are kept by the party: Definition 12.3 as a ledger.

An algorithm is epsilon-local when, for every person i, the epsilons of its calls LR(i, R_1), ..., LR(i, R_k) add
up to at most epsilon.  A `Ledger` holds that sum for every person of one party and refuses the call that would
exceed the limit; nothing that an aggregator says can change it.

A charge names its request by the digest of its canonical bytes.  The same request charged again, for people who
paid already, costs nothing: the party will give the same report (its coins are a function of its key and of the
request).  If the records changed in between, the second report would reveal the change, so the charge is refused.

A report that goes to a second caller says nothing new about anybody, so nobody pays for it; but whom a person's reports
went to is the person's to know.  So the repetition is taken as a charge of epsilon 0 under that caller's name, once for
each caller and person: further repetitions leave no trace, or they would fill the ledger for free.

Where several parties are asked together, each is first asked whether it would answer, so that nobody pays for a round that
another party refuses: `require` raises what `charge` would raise at that moment, by the same code, and books nothing.

Checked for every implementation by tests/contract/test_ledger.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.coverage import Coverage
from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, KeyRetired, RecordsChanged, StorageFailed, UnknownIndex

LARGEST_LIMIT_NANONATS = 1 << 62

Debtors = slice | NDArray[np.int64]  # what to index an array of people with


@dataclass(frozen=True, slots=True)
class Charge:
    """One request's cost for each person of a cohort."""

    request: bytes  # digest of the request's canonical bytes
    records: bytes  # fingerprint of the records that it is answered from
    cohort: Cohort
    cost: Epsilon  # privacy loss of one report, per person of the cohort, replace-one neighbours
    purpose: str  # the query and the randomizer in words, for the owner of the data
    caller: str = ""  # who asked, by the name in the certificate; empty on loopback
    key: str = ""  # which of the party's keys the coins are derived from
    kept: frozenset[str] | None = field(
        default=None, compare=False
    )  # the keys that it still has; None: all


@dataclass(frozen=True, slots=True)
class Receipt:
    """That a charge was taken: now, or earlier for the same request and people."""

    new: bool
    key: str  # the key of the first charge of the request: its coins are derived from that one for ever

    def __bool__(self) -> bool:
        return self.new


class Ledger(Protocol):
    """Durable or not, the promise is the same: the sum per person never exceeds the limit."""

    @property
    def limit(self) -> Epsilon:
        """What each person may spend in total."""
        ...

    def charge(self, charge: Charge) -> Receipt:
        """Take the charge, whole or not at all; not new when it was taken before and costs nothing now."""
        ...

    def require(self, charge: Charge) -> None:
        """Refuse what `charge` would refuse now; nothing is taken, noted or written."""
        ...

    def spent(self) -> NDArray[np.int64]:
        """Nanonats spent by each person."""
        ...


@dataclass(slots=True)
class _Taken:
    """What is known of a request that was charged."""

    key: str  # of the first charge
    records: set[bytes] = field(default_factory=set)
    paid: Coverage = field(default_factory=Coverage)
    heard: dict[str, Coverage] = field(default_factory=dict)  # by each caller, at whoever's charge

    def require_repeatable(self, charge: Charge) -> None:
        """Refuse what could not be answered with the report of before."""
        if charge.kept is not None and self.key not in charge.kept:
            raise KeyRetired(
                "the key that this request was first answered with is gone; make a new request"
            )
        if self.records != {charge.records}:
            raise RecordsChanged(
                "the records changed since this request was first charged; make a new request"
            )

    def was_heard(self, charge: Charge) -> bool:
        """Whether the caller had all of these reports before."""
        heard = self.heard.get(charge.caller)
        return heard is not None and heard.covers(charge.cohort)

    def add(self, charge: Charge, people: int) -> None:
        """The cohort has paid, and the caller has its reports."""
        self.records.add(charge.records)
        self.paid.add(charge.cohort, people)
        self.heard.setdefault(charge.caller, Coverage()).add(charge.cohort, people)


class Accounts:
    """The arithmetic of a ledger, without its storage: what was spent, and by which requests."""

    def __init__(
        self,
        people: int,
        limit: Epsilon,
        owners: NDArray[np.int64] | None = None,
        limit_per_day: Epsilon | None = None,
    ) -> None:
        """`owners` says who pays for each index, where one person stands behind several."""
        self.people = people if owners is None else len(owners)
        self.limit = Epsilon(min(limit.nanonats, LARGEST_LIMIT_NANONATS))
        self._owners = owners
        self._spent = np.zeros(people, dtype=np.int64)
        self._taken: dict[bytes, _Taken] = {}
        self._limit_per_day = limit_per_day
        self._day = 0
        self._spent_today = np.zeros(people if limit_per_day else 0, dtype=np.int64)

    def key_of(self, charge: Charge) -> str:
        """The key that the request was first charged with, or the charge's own if it is the first."""
        earlier = self._taken.get(charge.request)
        return earlier.key if earlier else charge.key

    def spent(self) -> NDArray[np.int64]:
        """Nanonats spent by each person."""
        return self._spent.copy()

    def debtors(self, charge: Charge, day: int = 0) -> Debtors | None:
        """Who would have to pay on that day, perhaps nobody; None when there is nothing to note either.

        Raises when the charge is refused.  Nothing changes here: a day only begins with a charge that is taken.
        """
        if charge.cohort.stop > self.people:
            raise UnknownIndex(
                f"the cohort ends at {charge.cohort.stop}, but the party holds {self.people} people"
            )
        earlier = self._taken.get(charge.request)
        if earlier is not None:
            earlier.require_repeatable(charge)
        debtors = self._not_yet_charged(charge)
        if is_nobody(debtors):
            return None if earlier is None or earlier.was_heard(charge) else debtors
        self._refuse_beyond_limit(debtors, charge.cost, day)
        return debtors

    def take(self, charge: Charge, debtors: Debtors, day: int = 0) -> None:
        """Book a charge that `debtors` allowed; a day that is not later than the last changes nothing."""
        if day > self._day:
            self._day = day
            self._spent_today[:] = 0
        rows = None if self._owners is None else self._rows_of(debtors)
        for book in self._books(day):
            if rows is None:
                book[debtors] += charge.cost.nanonats
            else:
                np.add(book, rows * charge.cost.nanonats, out=book)
        self._taken.setdefault(charge.request, _Taken(charge.key)).add(charge, self.people)

    def rebook(self, charge: Charge, day: int = 0) -> None:
        """Book a charge that was taken in an earlier run; it counts whatever the limit is now."""
        if charge.cohort.stop > self.people:
            raise StorageFailed(f"the ledger has charges for more people than the party's {self.people}")
        self.take(charge, self._not_yet_charged(charge), day)

    def _not_yet_charged(self, charge: Charge) -> Debtors:
        earlier = self._taken.get(charge.request)
        return charge.cohort.selection() if earlier is None else earlier.paid.missing(charge.cohort)

    def _rows_of(self, debtors: Debtors) -> NDArray[np.int64]:
        """How many of these indices each person stands behind."""
        assert self._owners is not None
        return np.bincount(self._owners[debtors], minlength=len(self._spent)).astype(np.int64)

    def _books(self, day: int) -> list[NDArray[np.int64]]:
        """What was spent in all, and on that day."""
        if not self._limit_per_day:
            return [self._spent]
        return [self._spent, self._spent_today if day <= self._day else np.zeros_like(self._spent_today)]

    def _refuse_beyond_limit(self, debtors: Debtors, cost: Epsilon, day: int) -> None:
        limits = [(self.limit, "the budget"), (self._limit_per_day, "the day's budget")]
        for spent, (limit, which) in zip(self._books(day), limits, strict=False):
            assert limit is not None
            short, of = self._short(spent, debtors, limit.nanonats, cost.nanonats)
            if short:
                raise BudgetExhausted(
                    f"epsilon {cost} is more than what is left of {which} of {limit} for {short} of {of} people"
                )

    def _short(self, spent: NDArray[np.int64], debtors: Debtors, limit: int, cost: int) -> tuple[int, int]:
        """How many people cannot pay, of how many."""
        if self._owners is not None:
            rows = self._rows_of(debtors)
            asked_of = rows > 0  # somebody else may have spent more than a limit that was lowered
            short = asked_of & (rows > (limit - spent) // max(1, cost))
            return int(np.count_nonzero(short)), int(np.count_nonzero(asked_of))
        asked = spent[debtors]
        if asked.size == 0 or int(asked.max()) + cost <= limit:
            return 0, asked.size
        return int(np.count_nonzero(asked > limit - cost)), asked.size


def is_nobody(debtors: Debtors) -> bool:
    """Whether there is nobody to pay."""
    return debtors.start == debtors.stop if isinstance(debtors, slice) else debtors.size == 0


def as_noted(charge: Charge, debtors: Debtors) -> Charge:
    """The charge as it is taken: where nobody pays, its epsilon is 0."""
    return replace(charge, cost=Epsilon(0)) if is_nobody(debtors) else charge


class MemoryLedger:
    """A ledger for simulations: it forgets everything when the process ends."""

    def __init__(self, people: int, limit: Epsilon, owners: NDArray[np.int64] | None = None) -> None:
        self._accounts = Accounts(people, limit, owners)

    @property
    def limit(self) -> Epsilon:
        """What each person may spend in total."""
        return self._accounts.limit

    def charge(self, charge: Charge) -> Receipt:
        """Take the charge, whole or not at all."""
        charge, debtors = self._examined(charge)
        if debtors is None:
            return Receipt(False, charge.key)
        self._accounts.take(as_noted(charge, debtors), debtors)
        return Receipt(not is_nobody(debtors), charge.key)

    def require(self, charge: Charge) -> None:
        """Refuse what `charge` would refuse now; nothing changes."""
        self._examined(charge)

    def spent(self) -> NDArray[np.int64]:
        """Nanonats spent by each person."""
        return self._accounts.spent()

    def _examined(self, charge: Charge) -> tuple[Charge, Debtors | None]:
        """The charge under its request's own key, and who would have to pay; raises where it is refused."""
        charge = replace(charge, key=self._accounts.key_of(charge))
        return charge, self._accounts.debtors(charge)
