"""Budgets that are kept by the party: Definition 12.3 as a ledger.

An algorithm is epsilon-local when, for every person i, the epsilons of its calls LR(i, R_1), ..., LR(i, R_k) add up to at
most epsilon.  A `Ledger` holds that sum for every person of one party and refuses the call that would exceed the limit;
nothing that an aggregator says can change it.

A charge names its request by the digest of its canonical bytes.  The same request charged again, for people who paid
already, costs nothing: the party will give the same report (its coins are a function of its key and of the request).  A
request is of the epoch in which it was first charged; in a later one it is refused, whether or not a record changed in
between: so the refusal says nothing about records.

A report that goes to a second caller says nothing new about anybody, so nobody pays for it; but whom a person's reports
went to is the person's to know.  So the repetition is taken as a charge of epsilon 0 under that caller's name, once for
each caller and person: further repetitions leave no trace, or they would fill the ledger for free.

What is remembered of one request is bounded: it is charged at most `MOST_CHARGES` times, for at most `MOST_SPLITS`
different splits of people, and refused beyond that by name.

Where several parties are asked together, each is first asked whether it would answer, so that nobody pays for a round
that another party refuses: `require` raises what `charge` would raise at that moment, by the same code, and books
nothing.

Checked for every implementation by tests/contract/test_ledger.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.coverage import MOST_SPLITS, Coverage
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.quotas import Quotas
from localdp.cohorts import Cohort
from localdp.errors import (
    BudgetExhausted,
    KeyRetired,
    PolicyRefused,
    RequestExpired,
    StorageFailed,
    UnknownIndex,
)

LARGEST_LIMIT_NANONATS = 1 << 62
MOST_CHARGES = 1 << 14  # of one request, each for other people or another caller
_TAKEN_BYTES = 1000  # about what a request takes in memory, beside what it covers

Debtors = slice | NDArray[np.int64]  # what to index an array of people with


@dataclass(frozen=True, slots=True)
class Charge:
    """One request's cost for each person of a cohort."""

    request: bytes  # digest of the request's canonical bytes
    records: bytes  # keyed fingerprint of the records that it is answered from, for their owner
    cohort: Cohort
    cost: Epsilon  # privacy loss of one report, per person of the cohort, replace-one neighbours
    purpose: str  # the query and the randomizer in words, for the owner of the data
    caller: str = ""  # who asked, by the name in the certificate; empty on loopback
    key: str = ""  # which of the party's keys the coins are derived from
    # The keys that it still has; None: all.
    kept: frozenset[str] | None = field(default=None, compare=False)
    epoch: int = 1  # the party's, in which the request is answered


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

    def was_heard(self, charge: Charge) -> bool:
        """Whether the caller had all of these reports before, in whatever epoch."""
        ...

    def spent(self) -> NDArray[np.int64]:
        """Nanonats spent by each person."""
        ...


@dataclass(slots=True)
class Taken:
    """What is known of a request that was charged."""

    key: str  # of the first charge
    epoch: int  # of the first charge
    paid: Coverage = field(default_factory=Coverage)
    heard: dict[str, Coverage] = field(default_factory=dict)  # by each caller, at whoever's charge
    charges: int = 0

    def require_repeatable(self, charge: Charge) -> None:
        """Refuse what could not be answered with the report of before."""
        if self.epoch != charge.epoch:
            raise RequestExpired("the epoch that this request was charged in has ended; make a new request")
        if charge.kept is not None and self.key not in charge.kept:
            raise KeyRetired(
                "the key that this request was first answered with is gone; make a new request"
            )

    def require_room(self, charge: Charge) -> None:
        """Refuse what would make this request remember more than a request may."""
        if self.charges >= MOST_CHARGES:
            raise PolicyRefused(f"one request is charged at most {MOST_CHARGES} times; make a new request")
        new = charge.cohort.split is not None and not self.paid.has(charge.cohort)
        if new and self.paid.splits >= MOST_SPLITS:
            raise PolicyRefused(
                f"one request has at most {MOST_SPLITS} different splits of people; make a new request"
            )

    def was_heard(self, charge: Charge) -> bool:
        """Whether the caller had all of these reports before."""
        heard = self.heard.get(charge.caller)
        return heard is not None and heard.covers(charge.cohort)

    def add(self, charge: Charge) -> None:
        """The cohort has paid, and the caller has its reports."""
        self.charges += 1
        self.paid.add(charge.cohort)
        self.heard.setdefault(charge.caller, Coverage()).add(charge.cohort)

    def nbytes(self) -> int:
        """How much memory it takes at most until something is added."""
        return _TAKEN_BYTES + sum(one.nbytes() + _TAKEN_BYTES for one in (self.paid, *self.heard.values()))


class Requests(Protocol):
    """The requests that were charged, all of them, wherever they are kept."""

    def get(self, request: bytes, /) -> Taken | None:
        """What is known of a request; None if it was never charged."""
        ...

    def __setitem__(self, request: bytes, taken: Taken, /) -> None:
        """It was charged, for the first time or once more."""
        ...


@dataclass(frozen=True, slots=True)
class Sums:
    """What everybody has spent, at one moment."""

    spent: NDArray[np.int64]  # nanonats, by person
    losses: int  # the part of it that was charged to everybody, also to whoever comes later
    day: int
    today: NDArray[np.int64]  # what was spent on that day; empty where no day has a budget
    accounts: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)  # what was spent of each quota

    def serve(self, *, by_day: bool, accounts: tuple[str, ...]) -> bool:
        """Whether they are all that is needed to go on: with a day's sums, and those of exactly these accounts."""
        return bool(self.today.size or not by_day) and set(self.accounts) == set(accounts)


class Accounts:
    """The arithmetic of a ledger, without its storage: what was spent, and by which requests."""

    def __init__(
        self,
        people: int,
        limit: Epsilon,
        limit_per_day: Epsilon | None = None,
        requests: Requests | None = None,
        quotas: Quotas | None = None,
    ) -> None:
        """`requests` is where the requests are kept; in memory, if it is not given."""
        self._quotas = quotas
        self.people = people
        self.limit = Epsilon(min(limit.nanonats, LARGEST_LIMIT_NANONATS))
        self._requests: Requests = {} if requests is None else requests
        self._limit_per_day = limit_per_day
        self.restore(Sums(np.zeros(0, np.int64), 0, 0, np.zeros(0, np.int64)))

    def sums(self) -> Sums:
        """What everybody has spent; the arrays are the accounts' own."""
        return Sums(self._spent, self._losses, self._day, self._spent_today, self._by_account)

    def restore(self, sums: Sums) -> None:
        """Begin from these sums; whoever came later has only lost what everybody has."""
        self._losses, self._day = sums.losses, sums.day
        self._spent = np.array(sums.spent)
        self._spent_today = np.array(sums.today[: None if self._limit_per_day else 0])
        nothing = np.zeros(0, np.int64)
        accounts = () if self._quotas is None else self._quotas.accounts
        self._by_account = {name: np.array(sums.accounts.get(name, nothing)) for name in accounts}
        self._make_room(self.people)

    def speak_for(self, people: int) -> None:
        """There are so many people from now on, newcomers at the end; whoever was charged has to be among them."""
        if (self._spent[people:] != self._losses).any():
            raise StorageFailed(f"the ledger has charges for more people than the party's {people}")
        self.people = people
        self._make_room(people)

    def _make_room(self, people: int) -> None:
        """Sums of so many people at least."""
        more = people - self._spent.size
        if more > 0:
            self._spent = np.append(self._spent, np.full(more, self._losses, np.int64))
        if self._limit_per_day:
            self._spent_today = _as_long(self._spent_today, self._spent.size)
        for name, book in self._by_account.items():
            self._by_account[name] = _as_long(book, self._spent.size)

    def key_of(self, charge: Charge) -> str:
        """The key that the request was first charged with, or the charge's own if it is the first."""
        earlier = self._requests.get(charge.request)
        return earlier.key if earlier else charge.key

    def was_heard(self, charge: Charge) -> bool:
        """Whether the caller had all of these reports before, in whatever epoch."""
        earlier = self._requests.get(charge.request)
        return earlier is not None and earlier.was_heard(charge)

    def knows(self, request: bytes) -> bool:
        """Whether the request was charged before."""
        return self._requests.get(request) is not None

    def spent(self) -> NDArray[np.int64]:
        return self._spent[: self.people].copy()

    def debtors(self, charge: Charge, day: int = 0) -> Debtors | None:
        """Who would have to pay on that day, perhaps nobody; None when there is nothing to note either.

        Raises when the charge is refused.  Nothing changes here: a day only begins with a charge that is taken.
        """
        if charge.cohort.stop > self.people:
            raise UnknownIndex(
                f"the cohort ends at {charge.cohort.stop}, but the party holds {self.people} people"
            )
        earlier = self._requests.get(charge.request)
        if earlier is not None:
            earlier.require_repeatable(charge)
        debtors = self._not_yet_charged(charge)
        if is_nobody(debtors):
            if earlier is None or earlier.was_heard(charge):
                return None
        else:
            self._refuse_beyond_quota(debtors, charge)
            self._refuse_beyond_limit(debtors, charge.cost, day)
        if earlier is not None:
            earlier.require_room(charge)
        return debtors

    def take(self, charge: Charge, debtors: Debtors, day: int = 0) -> None:
        """Book a charge that `debtors` allowed; a day that is not later than the last changes nothing."""
        self._begin(day)
        for book in self._books(day):
            book[debtors] += charge.cost.nanonats
        if self._quotas is not None:
            self._by_account[self._quotas.account(charge.caller)][debtors] += charge.cost.nanonats
        taken = self._requests.get(charge.request) or Taken(charge.key, charge.epoch)
        taken.add(charge)
        self._requests[charge.request] = taken

    def rebook(self, charge: Charge, day: int = 0) -> None:
        """Book a charge that was taken in an earlier run, or by another process, which may know of newcomers.

        It counts whatever the limit is now.
        """
        self._make_room(charge.cohort.stop)
        self.take(charge, self._not_yet_charged(charge), day)

    def charge_everybody(self, cost: Epsilon, day: int = 0) -> None:
        """Book a loss: everybody has spent so much more, whatever the limit is, and so has whoever comes later."""
        self._begin(day)
        self._losses += cost.nanonats
        for book in self._books(day):
            np.add(book, cost.nanonats, out=book)

    def _begin(self, day: int) -> None:
        if day > self._day:
            self._day = day
            self._spent_today[:] = 0

    def _not_yet_charged(self, charge: Charge) -> Debtors:
        earlier = self._requests.get(charge.request)
        return charge.cohort.selection() if earlier is None else earlier.paid.missing(charge.cohort)

    def _books(self, day: int) -> list[NDArray[np.int64]]:
        """What was spent in all, and on that day."""
        if not self._limit_per_day:
            return [self._spent]
        return [self._spent, self._spent_today if day <= self._day else np.zeros_like(self._spent_today)]

    def _refuse_beyond_quota(self, debtors: Debtors, charge: Charge) -> None:
        if self._quotas is None:
            return
        account = self._quotas.account(charge.caller)
        limit = self._quotas.limit(account)
        short, of = _short(self._by_account[account][debtors], limit.nanonats - charge.cost.nanonats)
        if short:
            whose = "of this analyst" if account else "of all analysts without one of their own"
            raise BudgetExhausted(
                f"epsilon {charge.cost} is more than what is left of the quota {whose}, {limit}, for {short} of {of} people"
                f" (quotas.{account or 'others'})"
            )

    def _refuse_beyond_limit(self, debtors: Debtors, cost: Epsilon, day: int) -> None:
        limits = [
            (self.limit, "the budget", "total"),
            (self._limit_per_day, "the day's budget", "per_day"),
        ]
        for spent, (limit, which, key) in zip(self._books(day), limits, strict=False):
            assert limit is not None
            short, of = _short(spent[debtors], limit.nanonats - cost.nanonats)
            if short:
                raise BudgetExhausted(
                    f"epsilon {cost} is more than what is left of {which} of {limit} for {short} of {of} people"
                    f" (budget.{key})"
                )


def _as_long(book: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The sums of so many people, of whom the last have spent nothing."""
    more = size - book.size
    return np.append(book, np.zeros(more, np.int64)) if more > 0 else book


def _short(spent: NDArray[np.int64], most: int) -> tuple[int, int]:
    """How many people have spent more than `most`, of how many."""
    if spent.size == 0 or int(spent.max()) <= most:
        return 0, spent.size
    return int(np.count_nonzero(spent > most)), spent.size


def is_nobody(debtors: Debtors) -> bool:
    """Whether there is nobody to pay."""
    return debtors.start == debtors.stop if isinstance(debtors, slice) else debtors.size == 0


def as_noted(charge: Charge, debtors: Debtors) -> Charge:
    """The charge as it is taken: where nobody pays, its epsilon is 0."""
    return replace(charge, cost=Epsilon(0)) if is_nobody(debtors) else charge


class MemoryLedger:
    """A ledger for simulations: it forgets everything when the process ends."""

    def __init__(self, people: int, limit: Epsilon, quotas: Quotas | None = None) -> None:
        self._accounts = Accounts(people, limit, quotas=quotas)

    @property
    def limit(self) -> Epsilon:
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
        return self._accounts.spent()

    def was_heard(self, charge: Charge) -> bool:
        return self._accounts.was_heard(charge)

    def _examined(self, charge: Charge) -> tuple[Charge, Debtors | None]:
        """The charge under its request's own key, and who would have to pay; raises where it is refused."""
        charge = replace(charge, key=self._accounts.key_of(charge))
        return charge, self._accounts.debtors(charge)
