"""The coins of a pan-private bit, and how epsilon is divided between what is kept and what is released.

A bit is 1 with probability q = F / 2^64 while its element is absent and with 1 - q once it has appeared, so that it loses
log((1 - q) / q) <= epsilon (`flip_threshold`).  **Deviation** from section 12.2, where coins of 1/2 and 1/2 + epsilon lose
-log(1 - 2 epsilon).

Made anew, every bit is flipped with probability q once more, and an appearance from then on has the law that an appearance
from before has now: the gap g between the two probabilities of a 1 becomes g (1 - 2q).  Against the state before it, the
state after that loses epsilon again: a bit that was kept has odds of at most (1 - q) / q, and one that was drawn for an
appearance lies between the two.
Checked in tests/unit/mechanisms/pan_private/test_appearances.py (exact).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.one_bit import flip_threshold
from localdp.randomness.source import WORD_RANGE

MOST_RENEWALS = 8
_SHARES = range(1, 100)  # of epsilon, in hundredths, for what is released


@dataclass(frozen=True, slots=True)
class BitCoins:
    """The laws of a bit whose element is absent, and of one that has appeared."""

    epsilon: Epsilon  # what one look at the bit may cost, in nats
    renewed: int = 0  # how often it was made anew

    def __post_init__(self) -> None:
        if not 0 <= self.renewed <= MOST_RENEWALS:
            raise InvalidParameter(f"a state is made anew at most {MOST_RENEWALS} times")

    @property
    def flip(self) -> int:
        """F, of a bit that is made anew."""
        return flip_threshold(self.epsilon)

    @property
    def absent(self) -> int:
        """With which probability the bit of an absent element is 1, over 2^64, rounded down."""
        once, chance = self.flip, self.flip
        for _ in range(self.renewed):
            chance = (chance * (WORD_RANGE - once) + (WORD_RANGE - chance) * once) // WORD_RANGE
        return chance

    @property
    def present(self) -> int:
        """The same of one that has appeared."""
        return WORD_RANGE - self.absent

    @property
    def gap(self) -> float:
        """Between the two."""
        return 1 - 2 * self.absent / WORD_RANGE


@dataclass(frozen=True, slots=True)
class Division:
    """What the state may cost, and what the output may."""

    state: Epsilon
    output: Epsilon


def best_division(epsilon: Epsilon, error: Callable[[Division], float]) -> Division:
    """The division of epsilon with the least error."""
    if Epsilon.requested(epsilon).nanonats < 100:
        raise InvalidParameter("an epsilon that is divided is at least 1e-7")
    outputs = [Epsilon(epsilon.nanonats * share // 100) for share in _SHARES]
    return min((Division(Epsilon(epsilon.nanonats - one.nanonats), one) for one in outputs), key=error)
