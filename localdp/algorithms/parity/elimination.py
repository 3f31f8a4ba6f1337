"""Parity with a curator: solve linear equations over a sample (Kasiviswanathan et al. 2008, section 4.2).

An example (x, y) is the equation <r, x> = y over the field of two elements.  The curator stops with probability 1/2; else
it keeps every example with probability p, solves what it kept, stops if there is no solution, and returns a uniform one
of the solutions.  Time polynomial in d, where a learner with statistical queries needs 2**d of them.

Claim.  (1 + p) / (1 - p)-private: exp(epsilon) = (1 + p) / (1 - p), replace-one neighbours.  Condition on the choice of the
other examples.  One more equation leaves half of the solutions, all or none, so the probability of a solution at most
doubles; that of stopping is at least 1/2 without it and at most 1 with it.  Hence, whatever the example is, any outcome
has a probability between (1 - p) q and (1 - p) q + 2 p q, where q is its probability without the example.

**Deviation.** The source keeps examples with p = epsilon / 4, which the same argument shows to be wasteful: here
p = tanh(epsilon / 2), the largest that the claim allows, rounded down to a multiple of 2**-64.  At epsilon = 1 that is
0.46 in place of 0.25, and so many more equations.

Checked exactly, over every coin, in tests/unit/algorithms/test_elimination.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.parts.thresholds import keep_threshold
from localdp.randomness.source import WORD_RANGE, RandomSource

MOST_FEATURES = 4096


@dataclass(frozen=True, slots=True)
class ParityElimination:
    """Learns a parity from labelled rows of bits, with epsilon for each row."""

    requested: Epsilon

    @property
    def keep(self) -> int:
        """An example is kept with probability keep / 2**64."""
        # tanh(epsilon / 2) = (e - 1) / (e + 1) = 2 e / (e + 1) - 1, where e / (e + 1) is that of randomized response.
        return 2 * keep_threshold(self.requested, 1, 1) - WORD_RANGE

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of the whole, in nats, replace-one neighbours; from the integer threshold, rounded up."""
        return Epsilon.of_ratio(Fraction(WORD_RANGE + self.keep, WORD_RANGE - self.keep))

    def learn(self, rows: NDArray[np.bool_], labels: NDArray[np.bool_], source: RandomSource) -> int | None:
        """The mask of a parity, or None when the curator stopped."""
        if rows.ndim != 2 or rows.shape[1] > MOST_FEATURES or labels.shape != (len(rows),):
            raise InvalidParameter(f"examples are rows of at most {MOST_FEATURES} bits, each with a label")
        stopped = bool(source.bernoulli(WORD_RANGE // 2, 1)[0])
        kept = source.bernoulli(self.keep, len(rows))
        free = source.bernoulli(WORD_RANGE // 2, rows.shape[1])
        if stopped:
            return None
        return _solution(_equations(rows[kept], labels[kept]), free)


def _equations(rows: NDArray[np.bool_], labels: NDArray[np.bool_]) -> list[int]:
    """Each equation as one integer: bit j for x_j, and the label on top."""
    table = np.concatenate([rows, labels[:, None]], axis=1)
    packed = np.packbits(table, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _solution(equations: list[int], free: NDArray[np.bool_]) -> int | None:
    """A solution with the unknowns that nothing determines set as given: uniform if those are."""
    top = 1 << len(free)
    pivots: dict[int, int] = {}  # lowest unknown of a reduced equation -> the equation
    for equation in equations:
        reduced = _reduced(equation, pivots)
        if reduced == top:
            return None  # 0 = 1
        if reduced:
            pivots[(reduced & -reduced).bit_length() - 1] = reduced
    mask = 0
    for unknown in range(len(free) - 1, -1, -1):
        if unknown not in pivots:
            value = int(free[unknown])
        else:  # the other unknowns of the equation come later, and are known by now
            rest = pivots[unknown] & (mask | top)
            value = rest.bit_count() & 1
        mask |= value << unknown
    return mask


def _reduced(equation: int, pivots: dict[int, int]) -> int:
    """The equation with every pivot below its own lowest unknown eliminated."""
    remaining = equation
    while remaining:
        lowest = (remaining & -remaining).bit_length() - 1
        if lowest not in pivots:
            return remaining
        remaining ^= pivots[lowest]
    return 0
