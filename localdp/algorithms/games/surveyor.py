"""The sensitive surveyor (section 10.3.2; FairQuery of Ghosh and Roth 2011): privacy that is bought, person by person.

How many people have a sensitive bit? Person i has v_i for a nat of privacy: being asked at epsilon costs them epsilon
v_i.  The surveyor can spend B.  With the people in the order of v, the k with the least are asked, where k is the largest
with v_(k) / (n - k) <= B / k, at epsilon = 1 / (n - k) each, and each of them is paid min(B / k, v_(k+1) / (n - k)).
The others are not asked, cost nothing and are counted as one half.

Claims.  The estimate is epsilon-private in the bit of whoever is asked, and says nothing about the bits of the others: a
ledger charges epsilon to the former, and nothing to the latter.  Everybody who is asked is paid what it costs them or
more; nobody gains by saying another v; and no more than B is spent.  The estimate is off by at most (1/2 + ln 3) (n - k)
with probability 2/3.  What people say their privacy is worth is not private: the book's insensitive value model.  For n =
1,000 and v exponential with mean 1: B = 100 asks 966 people and is off by 0.040 with probability 2/3, at most.  Checked
in tests/unit/algorithms/games/test_surveyor.py, with ledgers, under every trust model that adds up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.oracles.definition import Answer, StatisticalQueryOracle
from localdp.queries.asked import Asked
from localdp.randomness.source import Floats

OracleAt = Callable[[Epsilon], StatisticalQueryOracle]


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Who is asked, at which epsilon, and what each of them is paid."""

    costs: Floats  # what a nat of privacy is worth to each person
    asked: NDArray[np.int64]  # by number, in increasing order
    payment: float

    @classmethod
    def bought(cls, costs: Floats, budget: float) -> Survey:
        """The survey that a budget buys."""
        said = np.asarray(costs, np.float64)
        if said.ndim != 1 or len(said) < 2 or not (np.isfinite(said) & (said >= 0)).all():
            raise InvalidParameter(
                "what privacy is worth is a number of at least 0, for two people or more"
            )
        if not (math.isfinite(budget) and budget > 0):
            raise InvalidParameter("a budget is a positive number")
        order = np.argsort(said, kind="stable")
        people, sizes = len(said), np.arange(1, len(said))
        affordable = np.flatnonzero(said[order[:-1]] / (people - sizes) <= budget / sizes)
        if not len(affordable):
            raise InvalidParameter(f"nobody can be asked for {budget:g}: everybody's privacy is worth more")
        many = int(affordable[-1]) + 1
        payment = min(budget / many, float(said[order[many]]) / (people - many))
        return cls(said, np.sort(order[:many]), payment)

    @property
    def left_out(self) -> int:
        """n - k: how many people are not asked."""
        return len(self.costs) - len(self.asked)

    @property
    def epsilon(self) -> Epsilon:
        """Of each person who is asked: 1 / (n - k), rounded down."""
        return Epsilon.requested(Fraction(1, self.left_out))

    @property
    def spent(self) -> float:
        """What all payments come to."""
        return len(self.asked) * self.payment

    @property
    def ranges(self) -> tuple[range, ...]:
        """The people who are asked, as ranges."""
        ends = np.flatnonzero(np.diff(self.asked) > 1)
        starts = [0, *(ends + 1).tolist()]
        stops = [*(ends + 1).tolist(), len(self.asked)]
        return tuple(
            range(int(self.asked[start]), int(self.asked[stop - 1]) + 1)
            for start, stop in zip(starts, stops, strict=True)
        )

    @property
    def largest_error(self) -> float:
        """What the estimate is off by at most, as a share of the people, with probability 2/3."""
        return (0.5 + math.log(3)) * self.left_out / len(self.costs)

    def answered(self, bit: Asked, oracle_at: OracleAt) -> Surveyed:
        """Ask those who are paid, of the oracle that `oracle_at` gives for their epsilon; nobody else is charged."""
        (answer,) = oracle_at(self.epsilon).among(self.ranges).answer([bit])
        return Surveyed(self, answer)


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What a survey found."""

    survey: Survey
    answer: Answer  # about those who were asked

    @property
    def share(self) -> float:
        """The share of all people who have the bit, those who were not asked counted as one half."""
        return (self.answer.count + self.survey.left_out / 2) / len(self.survey.costs)
