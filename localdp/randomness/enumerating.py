"""Every coin at once: the exact output law of a procedure that draws from a `RandomSource`.

Definition.  The law of `draw` is, for each outcome, the sum over all coin sequences that lead to it of
their probabilities.  `EnumeratingSource` follows one sequence; `enumerate_law` replays `draw` through all
of them, depth first, and adds up exact fractions.  Choices of probability zero are not followed.

Claim.  The returned masses are exact and add up to 1.  This turns a claim about a randomizer (its largest
ratio is e^epsilon, its estimator is unbiased) into arithmetic: no samples, no flakes.
`draw` must be deterministic but for its source.  Procedures that may go on for ever (rejection) cannot be
enumerated.
Checked in tests/unit/randomness/test_enumerating.py.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomness.source import (
    WORD_RANGE,
    Bits,
    IntegerLaw,
    Integers,
    RandomSource,
    RawWord,
    Width,
    Words,
    require_bound,
    require_count,
)
from localdp.randomness.stream import checked_thresholds

MOST_PATHS = 2_000_000
T = TypeVar("T")


class _Choice:
    """One scalar draw on the path: which outcomes it has, which one is followed, and the mass up to it."""

    __slots__ = ("before", "total", "value", "weights")

    def __init__(self, weights: Sequence[int] | None, total: int, before: tuple[int, int]) -> None:
        self.weights, self.total, self.before = weights, total, before
        self.value = -1
        self.advance()

    def advance(self) -> bool:
        """Follow the next outcome of positive weight, if there is one."""
        self.value += 1
        if self.weights is None:  # Uniform on 0 .. total - 1.
            return self.value < self.total
        while self.value < len(self.weights) and not self.weights[self.value]:
            self.value += 1
        return self.value < len(self.weights)

    def mass(self) -> tuple[int, int]:
        """Numerator and denominator of the path's probability, this choice included."""
        weight = 1 if self.weights is None else self.weights[self.value]
        return self.before[0] * weight, self.before[1] * self.total


class EnumeratingSource:
    """A `RandomSource` that follows one path of choices, and extends it by first outcomes where it ends."""

    def __init__(self) -> None:
        self._path: list[_Choice] = []
        self._depth = 0

    def _choose(self, weights: Sequence[int] | None, total: int) -> int:
        if self._depth == len(self._path):
            before = self._path[-1].mass() if self._path else (1, 1)
            self._path.append(_Choice(weights, total, before))
        choice = self._path[self._depth]
        if choice.total != total or choice.weights != weights:
            raise InvalidParameter(
                "a procedure that draws differently on the same coins cannot be enumerated"
            )
        self._depth += 1
        return choice.value

    def mass(self) -> tuple[int, int]:
        """Numerator and denominator of the probability of the path."""
        return self._path[-1].mass() if self._path else (1, 1)

    def rewind(self) -> bool:
        """Go to the next path; False if this one was the last."""
        self._depth = 0
        while self._path and not self._path[-1].advance():
            self._path.pop()
        return bool(self._path)

    def raw(self, dtype: Width[RawWord], count: int) -> NDArray[RawWord]:
        """Uniform bytes; wider words have too many outcomes to follow, and are refused."""
        require_count(count)
        if np.dtype(dtype) != np.uint8:
            raise InvalidParameter("only single bytes are enumerated; wider words have too many outcomes")
        return np.array([self._choose(None, 256) for _ in range(count)], np.uint8)

    def bernoulli(self, threshold: int | Words, count: int) -> Bits:
        require_count(count)
        checked = checked_thresholds(threshold, count)
        thresholds = [checked] * count if isinstance(checked, int) else [int(t) for t in checked]
        return np.array([self._choose((WORD_RANGE - t, t), WORD_RANGE) for t in thresholds], np.bool_)

    def below(self, bound: int, count: int) -> Words:
        require_bound(bound)
        require_count(count)
        if bound > MOST_PATHS:
            raise InvalidParameter(f"more than {MOST_PATHS} outcomes cannot be enumerated")
        return np.array([self._choose(None, bound) for _ in range(count)], np.uint64)

    def categorical(self, law: IntegerLaw, count: int) -> Integers:
        require_count(count)
        return np.array([self._choose(law.weights, law.total) for _ in range(count)], np.int64)


def enumerate_law(draw: Callable[[RandomSource], T]) -> dict[T, Fraction]:
    """The exact law of the (hashable) outcome of `draw`, over every coin."""
    # Masses are kept as integers over their denominators: few denominators occur, and integers add fast.
    masses: defaultdict[T, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    source, paths, more = EnumeratingSource(), 0, True
    while more:
        paths += 1
        if paths > MOST_PATHS:
            raise InvalidParameter(f"the procedure has more than {MOST_PATHS} paths")
        outcome = draw(source)
        numerator, denominator = source.mass()
        masses[outcome][denominator] += numerator
        more = source.rewind()
    return {
        outcome: sum((Fraction(part, over) for over, part in parts.items()), Fraction(0))
        for outcome, parts in masses.items()
    }
