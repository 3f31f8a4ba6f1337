"""What an analyst sees of flooded sums, enumerated: the law of the numbers of messages, person by person.

Nothing of the accounting is used: each person's law of (messages +1, messages -1) is made of the laws of their noise, and
those of all people are convolved, by multiplying their Fourier transforms.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.stats import nbinom, poisson

from localdp.randomness.source import Floats

REACH = 96  # numbers of messages; beyond them lies less than 1e-16 for the laws that are asked for
Database = tuple[int, ...]


@dataclass(frozen=True)
class FloodedViews:
    """People whose values are 0 .. largest, and the noise that each of them draws."""

    people: int
    largest: int
    rate: float
    pairs: float
    pairs_of: Callable[[int], float] = lambda value: (
        1.0
    )  # how much of a part of the flood somebody with a value draws
    shares: float = 1.0  # how many parts of geometric noise a person draws

    def law(self, database: Database) -> Floats:
        """The law of the numbers of +1 and of -1."""
        transforms = np.prod([self._transforms[value] for value in database], axis=0)
        law: Floats = np.maximum(np.fft.irfft2(transforms, (REACH, REACH)), 0.0)
        return law

    @cached_property
    def laws(self) -> dict[Database, Floats]:
        """Of every database, up to the order of people, of which the view has nothing."""
        values = range(self.largest + 1)
        return {one: self.law(one) for one in combinations_with_replacement(values, self.people)}

    def neighbours(self) -> Iterator[tuple[Database, Database]]:
        """Every database, and every one in which one person has another value."""
        for one in self.laws:
            for value in Counter(one):
                for other in range(self.largest + 1):
                    if other != value:
                        rest = list(one)
                        rest.remove(value)
                        yield one, tuple(sorted([*rest, other]))

    def deltas(self, epsilons: Floats) -> Floats:
        """The largest hockey-stick divergence over all databases and neighbours, at each epsilon."""
        growth = np.exp(epsilons)[:, None]
        worst = np.zeros(len(epsilons))
        for one, other in self.neighbours():
            above, below = self.laws[one].ravel(), self.laws[other].ravel()
            some = above > 0
            worst = np.maximum(worst, np.maximum(above[some] - growth * below[some], 0.0).sum(axis=1))
        return worst

    @cached_property
    def _transforms(self) -> list[NDArray[np.complex128]]:
        return [np.fft.rfft2(self._person(value)) for value in range(self.largest + 1)]

    def _person(self, value: int) -> Floats:
        counts = np.arange(REACH)
        part = nbinom.pmf(counts, self.shares / self.people, -np.expm1(-self.rate))
        flood = poisson.pmf(counts, self.pairs * self.pairs_of(value) / self.people)
        geometric, law = np.outer(part, part), np.zeros((REACH, REACH))
        for pairs in np.flatnonzero(flood > 1e-18):
            plus, minus = value + int(pairs), int(pairs)
            law[plus:, minus:] += flood[pairs] * geometric[: REACH - plus, : REACH - minus]
        return law
