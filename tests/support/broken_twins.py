"""Broken twins: randomizers with one named mistake each, that a check must notice.

Each wraps a sound randomizer and is sound in everything but its one mistake.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import Bits, IntegerLaw, Integers, RandomSource, RawWord, Width, Words


class BrokenTwin:
    """Passes everything on to the sound randomizer."""

    memoised: ClassVar[bool]
    shuffled_as: ClassVar[Any]

    def __init__(self, sound: Any) -> None:
        self.sound = sound

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sound, name)


class EpsilonDoubled(BrokenTwin):
    """Draws with another randomizer (of twice the epsilon) than the one that it claims to be."""

    def __init__(self, sound: Any, drawn: Any) -> None:
        super().__init__(sound)
        self.drawn = drawn

    def randomize(self, values: NDArray[Any], source: RandomSource) -> NDArray[Any]:
        """Reports of the wrong law."""
        reports: NDArray[Any] = self.drawn.randomize(values, source)
        return reports


class ItemKept(BrokenTwin):
    """Changes every report in a way that tells on the input: a bit that was left unrandomized, the item itself."""

    def __init__(self, sound: Any, keep: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]) -> None:
        super().__init__(sound)
        self.keep = keep

    def randomize(self, values: NDArray[Any], source: RandomSource) -> NDArray[Any]:
        """Reports with something of the values left in them."""
        return self.keep(values, self.sound.randomize(values, source))


class LastBitKept(ItemKept):
    """`ItemKept` for vectors of bits."""


class NoiseTwice(BrokenTwin):
    """Randomizes its own reports once more, as if they were inputs."""

    def randomize(self, values: NDArray[Any], source: RandomSource) -> NDArray[Any]:
        """Reports of reports."""
        reports: NDArray[Any] = self.sound.randomize(self.sound.randomize(values, source), source)
        return reports


class DebiasForgotten(BrokenTwin):
    """Gives the raw shares of the tally as its estimate, or half of it where the tally is not one of shares."""

    def estimate(self, tally: Any) -> Any:
        """The estimate without its debiasing."""
        estimate, share = self.sound.estimate(tally), tally.sums / tally.reports
        if not hasattr(estimate, "values"):
            return replace(estimate, value=share[0])
        return replace(
            estimate, values=share if share.shape == estimate.values.shape else estimate.values / 2
        )


class SeedReused(BrokenTwin):
    """Gives every person the coins of the first."""

    def randomize(self, values: NDArray[Any], source: RandomSource) -> NDArray[Any]:
        """Reports that share their coins."""
        reports: NDArray[Any] = self.sound.randomize(values, RepeatingSource(source, len(values)))
        return reports


class SeedFixed(BrokenTwin):
    """Draws from a constant seed, and ignores the source that it is given."""

    def randomize(self, values: NDArray[Any], source: RandomSource) -> NDArray[Any]:
        """Reports that are the same in every process."""
        reports: NDArray[Any] = self.sound.randomize(values, SeededSource(1))
        return reports


class RepeatingSource:
    """A source that draws for one person, and hands the same draws to all."""

    def __init__(self, source: RandomSource, people: int) -> None:
        self.source, self.people = source, max(1, people)

    def raw(self, dtype: Width[RawWord], count: int) -> NDArray[RawWord]:
        """Words of the first person, repeated."""
        return np.tile(self.source.raw(dtype, count // self.people), self.people)

    def bernoulli(self, threshold: int | Words, count: int) -> Bits:
        """Bits of the first person, repeated."""
        each = count // self.people
        first = threshold[:each] if isinstance(threshold, np.ndarray) else threshold
        return np.tile(self.source.bernoulli(first, each), self.people)

    def below(self, bound: int, count: int) -> Words:
        """Integers of the first person, repeated."""
        return np.tile(self.source.below(bound, count // self.people), self.people)

    def categorical(self, law: IntegerLaw, count: int) -> Integers:
        """Indices of the first person, repeated."""
        return np.tile(self.source.categorical(law, count // self.people), self.people)
