"""Density, cropped mean and heavy hitters of a stream, pan-private at the level of users (section 12.2).

Elements of a known list appear in a stream, any number of times each.  At the end is told which share of them appeared
(the density), the mean number of appearances where more than k count as k (the cropped mean), or which share appeared k
times or more (the k-heavy hitters).  For each element there are a place, uniform among 0 .. k - 1 at the start, and a bit,
1 with a small probability q.  With every appearance the place goes on by one; where it starts over at 0, the bit is drawn
anew, 1 with probability 1 - q.

After f appearances the place is uniform still, and the bit was drawn anew with probability min(f, k) / k; given that the
place is k - 1, just if f >= k.  With k = 1 it is the density.  Hence, over N elements, with g = 1 - 2q and W the sum of
2 bit - 1 over elements whose place is k - 1,

    cropped mean = k (sum of bits - N q) / (N g),        k-heavy hitters = 1/2 + k W / (2 N g).

Claim (Definition 12.8).  Whatever an element does, its place is uniform and its bit has one of two laws that are a factor
of exp(state) apart, so one look at the state costs it `state`; and it moves what is released by 1 (sum of bits) or 2 (W),
on which there is discrete Laplace noise for `output`.  Both together cost `state + output` = epsilon, whatever came before
and after the look.  Two looks tell what came between.  With k = 1 the state can be made anew (`coins.py`), at `state` once
more; with larger k it cannot, because a place that was seen tells how far its element went on.

Over share servers each of them has a share of every element's number; all of them together, broken into at once, have the
numbers, which are the state above.  Of k > 1 the places are with whoever sees the appearances.  Locally an element keeps
its own bit: a single local report is pan-private.

**Deviation** from section 12.2: the coins and the estimate (docs/book-map.md), and heavy hitters from places: the
difference of two cropped means has an error sqrt(2k) times as large.
Checked in tests/unit/mechanisms/pan_private/test_appearances.py (exact).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import ClassVar

import numpy as np

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, InvalidRecord
from localdp.mechanisms.pan_private.coins import BitCoins, Division, best_division
from localdp.mechanisms.pan_private.keepers import Keeper, Keepers
from localdp.mechanisms.pan_private.promise import BY_USER, Intrusions, pan_private
from localdp.randomness.source import Bits, Integers, RandomSource

MOST_ELEMENTS = 1 << 24
MOST_APPEARANCES = 1 << 10  # that a cropped mean or heavy hitters tell apart


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All of a state: what an intruder sees."""

    kept: tuple[Integers, ...]  # of each who keeps numbers
    places: Integers
    bits: Bits | None  # where whoever sees the appearances has them


@dataclass(frozen=True, slots=True)
class PanPrivateAppearances:
    """What a mechanism of this module is made from."""

    elements: int
    epsilon: Epsilon  # of the state, seen once, and of the output, together
    keepers: Keepers
    source: RandomSource  # of whoever sees the appearances
    most: int = 1  # k
    division: Division | None = None  # the one with the least error, unless told

    sensitivity: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not 1 <= self.elements <= MOST_ELEMENTS or not 1 <= self.most <= MOST_APPEARANCES:
            raise InvalidParameter(
                f"a stream is of 1 to {MOST_ELEMENTS} elements, and tells apart up to {MOST_APPEARANCES} appearances"
            )
        if self.division is None:
            object.__setattr__(self, "division", best_division(self.epsilon, self._error))
        parts = self.parts
        if parts.state + parts.output > self.epsilon or not (
            parts.state.nanonats and parts.output.nanonats
        ):
            raise InvalidParameter("the state and the output have a part of epsilon each")

    @property
    def parts(self) -> Division:
        """How epsilon is divided."""
        assert self.division is not None
        return self.division

    @property
    def coins(self) -> BitCoins:
        """Of the bits at the start."""
        return BitCoins(self.parts.state)

    @property
    def root_mean_square(self) -> float:
        """Of the error, whatever comes."""
        return self._error(self.parts)

    def error_after(self, renewals: int) -> float:
        """The same of a state that was made anew so often."""
        return self._error(self.parts, renewals)

    def start(self) -> RunningAppearances:
        """A state that is told what appears."""
        return RunningAppearances(self)

    @abstractmethod
    def numbers(self, places: Integers, bits: Bits) -> Integers:
        """What is kept of each element, to be added up."""

    @abstractmethod
    def estimate(self, total: int, coins: BitCoins) -> float:
        """What the noisy sum says."""

    @abstractmethod
    def _error(self, division: Division, renewed: int = 0) -> float: ...

    def _noise(self, division: Division) -> float:
        return self.keepers.noise(self.sensitivity, division.output).variance()


class PanPrivateCroppedMean(PanPrivateAppearances):
    """The mean over all elements of how often each appeared, where more than k times count as k."""

    def __post_init__(self) -> None:
        _require_many(self.most)
        PanPrivateAppearances.__post_init__(self)

    def numbers(self, places: Integers, bits: Bits) -> Integers:
        return bits.astype(np.int64)

    def estimate(self, total: int, coins: BitCoins) -> float:
        absent = (1 - coins.gap) / 2
        return self.most * (total - self.elements * absent) / (self.elements * coins.gap)

    def _error(self, division: Division, renewed: int = 0) -> float:
        gap = BitCoins(division.state, renewed).gap
        # Of a bit that was drawn anew with probability 1/2, as it is at most, where that depends on the place.
        bit = (1 - gap**2) / 4 if self.most == 1 else 1 / 4
        return self.most * sqrt(self.elements * bit + self._noise(division)) / (self.elements * gap)


class PanPrivateDensity(PanPrivateCroppedMean):
    """The share of the elements that appeared."""

    def __post_init__(self) -> None:
        if self.most != 1:
            raise InvalidParameter("a density is about whether elements appeared: leave `most` out")
        PanPrivateAppearances.__post_init__(self)


class PanPrivateHeavyHitters(PanPrivateAppearances):
    """The share of the elements that appeared k times or more."""

    sensitivity: ClassVar[int] = 2

    def __post_init__(self) -> None:
        _require_many(self.most)
        PanPrivateAppearances.__post_init__(self)

    def numbers(self, places: Integers, bits: Bits) -> Integers:
        return np.where(places == self.most - 1, 2 * bits.astype(np.int64) - 1, 0)

    def estimate(self, total: int, coins: BitCoins) -> float:
        return 0.5 + self.most * total / (2 * self.elements * coins.gap)

    def _error(self, division: Division, renewed: int = 0) -> float:
        gap = BitCoins(division.state, renewed).gap
        signs = self.elements * (1 / self.most - (gap / self.most) ** 2)
        return self.most * sqrt(signs + self._noise(division)) / (2 * self.elements * gap)


@dataclass(slots=True)
class RunningAppearances:
    """A state: places and numbers, and nothing of what came but them."""

    mechanism: PanPrivateAppearances
    intrusions: Intrusions = field(default_factory=Intrusions)
    kept: Keeper = field(init=False, repr=False)
    places: Integers = field(init=False, repr=False)
    bits: Bits = field(init=False, repr=False)
    told: float | None = None

    def __post_init__(self) -> None:
        one = self.mechanism
        self.kept = one.keepers.start(one.elements)
        self.places = one.source.below(one.most, one.elements).astype(np.int64)
        self.bits = np.zeros(one.elements if one.most > 1 else 0, np.bool_)
        self._put(np.arange(one.elements), one.source.bernoulli(one.coins.absent, one.elements))

    @property
    def coins(self) -> BitCoins:
        """The laws of the bits as they are now."""
        return BitCoins(self.mechanism.parts.state, self.intrusions.renewed)

    @property
    def claim(self) -> PrivacyClaim:
        """Of the output and the state, seen as often as it was made."""
        parts = self.mechanism.parts
        epsilon = parts.state * (1 + self.intrusions.renewed) + parts.output
        return pan_private(self.mechanism.keepers.claim(epsilon), epsilon, BY_USER)

    @property
    def root_mean_square(self) -> float:
        """Of the error of what is told."""
        return self.mechanism.error_after(self.intrusions.renewed)

    def appear(self, elements: Sequence[int] | Integers) -> None:
        """These elements appear, one after the other; one that appears twice is named twice."""
        if self.told is not None:
            raise InvalidParameter("it was told already, and is over: begin anew")
        self.intrusions.require_unseen()
        rest = _checked(elements, self.mechanism.elements)
        while rest.size:  # those that appear once more, until nobody does
            now, counts = np.unique(rest, return_counts=True)
            self._go_on(now)
            rest = np.repeat(now, counts - 1)

    def _go_on(self, elements: Integers) -> None:
        places = (self.places[elements] + 1) % self.mechanism.most
        self.places[elements] = places
        drawn = self.mechanism.source.bernoulli(self.coins.present, len(elements))
        old = self.bits[elements] if self.bits.size else drawn
        self._put(elements, np.where(places == 0, drawn, old))

    def _put(self, elements: Integers, bits: Bits) -> None:
        if self.bits.size:
            self.bits[elements] = bits
        self.kept.put(elements, self.mechanism.numbers(self.places[elements], bits))

    def seen(self) -> Snapshot:
        """All of the state, as an intruder sees it, who is noticed."""
        self.intrusions.notice()
        return Snapshot(self.kept.seen(), self.places.copy(), self.bits.copy() if self.bits.size else None)

    def renew(self) -> None:
        """Make the state anew, so that it may be seen once more, at the price of the state: of a density."""
        if self.mechanism.most > 1:
            raise InvalidParameter("places that were seen tell how far each element goes on: begin anew")
        self.intrusions.require_to_renew()
        flips = self.mechanism.source.bernoulli(self.coins.flip, self.mechanism.elements)
        self.kept.flip(flips)
        self.intrusions.renew()

    def tell(self) -> float:
        """The estimate, once: who asks again hears the same."""
        if self.told is None:
            self.intrusions.require_promised()
            noisy = self.kept.noisy_sum(self.mechanism.sensitivity, self.mechanism.parts.output)
            self.told = self.mechanism.estimate(noisy, self.coins)
        return self.told


def _require_many(most: int) -> None:
    if most < 2:
        raise InvalidParameter(
            "`most` is how many appearances are told apart, 2 or more; for one there is the density"
        )


def _checked(elements: Sequence[int] | Integers, most: int) -> Integers:
    named = np.asarray(elements)
    if named.ndim != 1 or (named.size and named.dtype.kind not in "iu"):
        raise InvalidRecord("what appears is a list of whole numbers, those of the elements")
    if named.size and not (named.min() >= 0 and named.max() < most):
        raise InvalidRecord(f"the elements are numbered from 0 to {most - 1}")
    return named.astype(np.int64)
