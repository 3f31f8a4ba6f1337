"""What an oracle's rounds have cost, those of its views included.

Some views ask different people in every round, and some are about a part of the people (`among`): then not everybody has
lost the same, and what counts is who has lost most.

Checked in tests/contract/test_statistical_query_oracle.py and test_among.py, and tests/unit/oracles/test_account.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Ranges
from localdp.errors import BudgetExhausted


@dataclass(frozen=True, slots=True)
class Cost:
    """What an oracle's answers have cost so far; epsilons in nats, replace-one neighbours.

    Where a shuffler mixes, a ledger is charged for a single report, as its party cannot see the mixing: more than what is
    promised against whoever sees the mixed ones.  Elsewhere nobody is charged more than is promised.
    """

    rounds: int = 0
    queries: int = 0
    epsilon_promised: Epsilon = Epsilon(0)  # what a person has lost at most to those whom the claim names
    epsilon_charged: Epsilon = Epsilon(0)  # what the ledger of a person, or of a row, was charged at most
    bytes_moved: int = 0
    # In which share servers computed together, and what all of them said to each other.
    server_rounds: int = 0
    server_bytes: int = 0


class _Paid(NamedTuple):
    """What one person has lost, and what a ledger was charged for it."""

    promised: Epsilon = Epsilon(0)
    charged: Epsilon = Epsilon(0)


class Account:
    """What an oracle's rounds have cost; those of a view count in the oracle that it is a view of as well."""

    def __init__(
        self, parent: Account | None = None, *, once: bool = False, among: Ranges | None = None
    ) -> None:
        """`once` says that nobody is asked in two of its rounds: then nobody pays more than the dearest of them costs.

        `among` is whom a view is about, in the numbering of the parent, if not everybody.
        """
        self.cost = Cost()
        self._chances: dict[int, Fraction] = {}  # of rounds, by number, that their epsilon does not hold
        self._views: dict[Account, None] = {}  # that have some, in order
        self._parent = parent
        self._once = once
        self._among = among
        self._everybody = _Paid()
        self._some = np.zeros((2, 0), np.int64)  # nanonats on top, of each person: promised, and charged

    def book(self, queries: int, promised: Epsilon, charged: Epsilon, moved: int) -> None:
        """Count a round, here and above."""
        self._everybody = _Paid(
            self._sum(self._everybody.promised, promised), self._sum(self._everybody.charged, charged)
        )
        self._count(queries, moved)

    def _book_some(
        self, people: Ranges, queries: int, promised: Epsilon, charged: Epsilon, moved: int
    ) -> None:
        """Count a round of some of the people."""
        self._widen(people[-1].stop)
        for one in people:
            self._some[0, one.start : one.stop] += promised.nanonats
            self._some[1, one.start : one.stop] += charged.nanonats
        self._count(queries, moved)

    def require_left(self, people: Ranges, more: Epsilon, granted: Epsilon) -> None:
        """Refuse a round of some of the people after which one of them would have lost more than is granted."""
        self._widen(people[-1].stop)
        most = max(int(self._some[0, one.start : one.stop].max()) for one in people)
        if self._everybody.promised.nanonats + most + more.nanonats > granted.nanonats:
            raise BudgetExhausted(
                "somebody among these people has been in as many of the views as one round pays for"
            )

    def _widen(self, people: int) -> None:
        missing = people - self._some.shape[1]
        if missing > 0:
            self._some = np.pad(self._some, ((0, 0), (0, missing)))

    def _count(self, queries: int, moved: int) -> None:
        before = self.cost
        most = [Epsilon(int(row.max(initial=0))) for row in self._some]
        self.cost = replace(
            before,
            rounds=before.rounds + 1,
            queries=before.queries + queries,
            epsilon_promised=self._everybody.promised + most[0],
            epsilon_charged=self._everybody.charged + most[1],
            bytes_moved=before.bytes_moved + moved,
        )
        if self._parent is not None:
            # All rounds of a view are one round of the view that it is a view of, if it is one.
            since = Cost() if self._parent._once else before
            promised = _rise(since.epsilon_promised, self.cost.epsilon_promised)
            charged = _rise(since.epsilon_charged, self.cost.epsilon_charged)
            if self._among is None:
                self._parent.book(queries, promised, charged, moved)
            else:
                self._parent._book_some(self._among, queries, promised, charged, moved)

    def _sum(self, paid: Epsilon, more: Epsilon) -> Epsilon:
        return max(paid, more) if self._once else paid + more

    @property
    def delta(self) -> Fraction:
        """With which probability, at most, what is promised to somebody does not hold: of all rounds that they were in."""
        everybody = [*self._chances.values(), *(view.delta for view in self._views if view._among is None)]
        some = [(view._among, view.delta) for view in self._views if view._among is not None]
        return (max(everybody, default=Fraction(0)) if self._once else sum(everybody, Fraction(0))) + _most(
            some
        )

    def risk(self, delta: Fraction) -> None:
        """Count a chance that the promise of this round does not hold, here and above."""
        if delta:
            number = self.cost.rounds
            self._chances[number] = self._chances.get(number, Fraction(0)) + delta
            self._tell_above()

    def _tell_above(self) -> None:
        if self._parent is not None and self not in self._parent._views:
            self._parent._views[self] = None
            self._parent._tell_above()

    def carry(self, moved: int, server_rounds: int = 0, server_bytes: int = 0) -> None:
        """Count bytes of a round that is booked, and what share servers said to each other in it, here and above."""
        self.cost = replace(
            self.cost,
            bytes_moved=self.cost.bytes_moved + moved,
            server_rounds=self.cost.server_rounds + server_rounds,
            server_bytes=self.cost.server_bytes + server_bytes,
        )
        if self._parent is not None:
            self._parent.carry(moved, server_rounds, server_bytes)


def _rise(low: Epsilon, high: Epsilon) -> Epsilon:
    return Epsilon(high.nanonats - low.nanonats)


def _most(chances: Iterable[tuple[Ranges, Fraction]]) -> Fraction:
    """Of whoever is in the most of these ranges, by what they are worth."""
    changes = defaultdict[int, Fraction](Fraction)
    for people, chance in chances:
        for one in people:
            changes[one.start] += chance
            changes[one.stop] -= chance
    return max(accumulate(changes[place] for place in sorted(changes)), default=Fraction(0))
