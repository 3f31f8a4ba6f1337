"""VCG made private (section 10.3.1; Huang and Kannan 2012): an outcome, and payments that make every lie pointless.

n players say what each outcome is worth to them, between 0 and 1.  The outcome is drawn with probability proportional to
exp(epsilon sum_i u_i(o) / 2), which is epsilon-private. (The book prints exp(epsilon F / 2n) for a mean F; it is
exp(epsilon n F / 2).) That law maximises E sum_i u_i + (2 / epsilon) H among all laws, H being its entropy, so with
payments

    pay_i = (2 / epsilon) ln sum_o exp(epsilon sum_{j != i} u_j(o) / 2) - E sum_{j != i} u_j - (2 / epsilon) H

player i has, after paying, what all have together plus entropy, less what does not depend on what i says: the truth is
best.

Claim.  Nobody gains by a lie, up to 2**-30: the law is drawn from integer weights, which are the exponentials to within
2**-16 of epsilon.  Payments are between 0 and 1.  Worth less than the best in sum by at most 2 ln |O| / epsilon on
average.  Payments are functions of what others said: they are not private by themselves, and each is told to its player.
Checked in tests/unit/algorithms/games/test_payments.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.release.distinguishers import ExponentialMechanism
from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats, IntegerLaw, Integers, RandomSource

SCALE = 1 << 16  # utilities are whole numbers of 1 / SCALE


@dataclass(frozen=True, eq=False)
class PaidChoice:
    """What players said, in units of 1 / SCALE: a row for each player, a column for each outcome."""

    said: Integers
    epsilon: Epsilon

    def __post_init__(self) -> None:
        if self.said.ndim != 2 or min(self.said.shape) < 2:
            raise InvalidParameter("there are at least two players and two outcomes")
        if int(self.said.min()) < 0 or int(self.said.max()) > SCALE:
            raise InvalidParameter("what an outcome is worth is from 0 to 1")

    @classmethod
    def of(cls, worth: Floats, epsilon: Epsilon) -> PaidChoice:
        """Of numbers between 0 and 1."""
        return cls(np.rint(np.asarray(worth, np.float64) * SCALE).astype(np.int64), epsilon)

    @cached_property
    def law(self) -> IntegerLaw:
        """The law of the outcome."""
        return ExponentialMechanism().law(self.said.sum(axis=0), SCALE, self.epsilon)

    @cached_property
    def probabilities(self) -> Floats:
        """The same, as numbers."""
        return np.array(self.law.weights, np.float64) / self.law.total

    @property
    def entropy(self) -> float:
        """H of the law, in nats."""
        positive = self.probabilities[self.probabilities > 0]
        return -float(positive @ np.log(positive))

    @property
    def payments(self) -> Floats:
        """What each player pays."""
        rate = float(self.epsilon) / 2
        others = (self.said.sum(axis=0) - self.said) / SCALE
        most = others.max(axis=1)
        without = most + np.log(np.exp(rate * (others - most[:, None])).sum(axis=1)) / rate
        with_all = others @ self.probabilities + self.entropy / rate
        paid: Floats = without - with_all
        return paid

    def drawn(self, source: RandomSource) -> int:
        """The outcome."""
        return int(source.categorical(self.law, 1)[0])

    def utilities(self, worth: Floats) -> Floats:
        """What players have on average after paying, if this is what outcomes are worth to them in truth."""
        had: Floats = worth @ self.probabilities - self.payments
        return had

    @property
    def largest_miss(self) -> float:
        """How much less than the best the sum of what the outcome is worth is on average, at most."""
        return 2 * math.log(self.said.shape[1]) / float(self.epsilon)
