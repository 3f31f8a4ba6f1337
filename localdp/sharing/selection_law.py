"""The noisy maximum of integer scores with one-sided geometric noise, ties to the first: its law, and what it costs.

Definition.  Score i becomes s_i + G_i with independent geometric G_i of rate epsilon / (2 sensitivity), by the digits
of `digit_coins`; the index of the largest is told, the lowest of those that tie.  Nothing else is.

Claim.  If one person moves each score by at most `sensitivity`, the index is (epsilon, delta)-private, in nats, for
replace-one neighbours and whatever the number L of scores: fix the others' noises; i wins iff G_i >= m, a neighbour
moves m by at most 2 sensitivity, and Pr[G >= m + 2 sensitivity] >= e^-epsilon Pr[G >= m].  What digits and thresholds
cut off is delta = (1 + e^epsilon) L tau. (Where all scores move the same way half of the noise would do; but a
dishonest server can put some of them on the falling side of the tent, so that is not claimed.)

A curator draws from the same coins (`select`), and servers draw them on shares (`noisy_maximum.py`): one law,
`probabilities`.
Checked by enumeration in tests/unit/sharing/test_selection_law.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomness.source import WORD_BITS, RandomSource
from localdp.sharing.digit_coins import GeometricCoins, delta_of

MOST_DIGITS = 31  # so that score and noise together stay below 2**32


@dataclass(frozen=True, slots=True)
class SelectionLaw:
    """Which of some scores is nearly the largest."""

    epsilon: Epsilon  # of one selection, per person, in nats, replace-one neighbours
    sensitivity: int  # how far one person moves any one score
    coins: GeometricCoins

    def __post_init__(self) -> None:
        if self.sensitivity < 1 or self.coins.rate != self.epsilon.exact / (2 * self.sensitivity):
            raise InvalidParameter("a selection has noise of the rate epsilon / (2 sensitivity)")
        if self.coins.digits > MOST_DIGITS:
            raise InvalidParameter(
                "so small an epsilon would need noise beyond 2**31; ask with a larger one"
            )

    @classmethod
    def of(cls, epsilon: Epsilon, sensitivity: int) -> SelectionLaw:
        """For scores of this sensitivity."""
        if sensitivity < 1:
            raise InvalidParameter("a sensitivity is a positive number")
        return cls(epsilon, sensitivity, GeometricCoins.of(epsilon.exact / (2 * sensitivity)))

    @property
    def text(self) -> str:
        """All of it that is public, for the name of a computation."""
        return (
            f"select {self.epsilon.nanonats} {self.sensitivity} {self.coins.bits} {self.coins.thresholds}"
        )

    def delta(self, scores: int) -> Fraction:
        """At least the delta of a selection among so many scores."""
        return delta_of(self.epsilon, scores, self.coins.distance)

    def select(self, scores: Sequence[int], source: RandomSource) -> int:
        """What a curator tells: the same coins, drawn in the clear."""
        if not scores:
            raise InvalidParameter("a selection is among at least one score")
        noisy = list(scores)
        for digit, threshold in enumerate(self.coins.thresholds):
            drawn = source.bernoulli(threshold << WORD_BITS - self.coins.bits, len(noisy))
            noisy = [score + (int(bit) << digit) for score, bit in zip(noisy, drawn, strict=True)]
        return noisy.index(max(noisy))

    def probabilities(self, scores: Sequence[int]) -> list[Fraction]:
        """The exact law of the index."""
        top = max(scores) - min(scores) + (1 << self.coins.digits)
        masses = self.coins.masses()
        at_most = [Fraction(0)]  # at_most[g]: Pr[G < g]
        for value in range(top):
            at_most.append(at_most[-1] + masses.get(value, 0))

        def below(bound: int) -> Fraction:
            return at_most[min(max(bound, 0), top)]

        found = []
        for place, score in enumerate(scores):
            wins = Fraction(0)
            for value, mass in masses.items():
                product = mass
                for other, rival in enumerate(scores):
                    if other != place:
                        product *= below(score + value - rival + (other > place))
                wins += product
            found.append(wins)
        return found
