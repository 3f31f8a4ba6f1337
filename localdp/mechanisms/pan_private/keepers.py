"""Who keeps the numbers of a pan-private state: one keeper, or share servers, each of which has a share of every number.

A keeper has one whole number for each element, and releases their sum with noise.  Share servers have it as additive shares
(`sharing/additive.py`), which are fresh whenever a number is put: what any of them but one have together is uniform,
whatever came.  Whoever intrudes into all of them adds the shares up, so the numbers themselves must hide what came; that is
the part of `appearances.py`.

Checked in tests/unit/mechanisms/pan_private/test_appearances.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.mechanisms.adder import TrustedCurator
from localdp.randomness.source import Bits, Integers, RandomSource
from localdp.sharing import additive
from localdp.sharing import field as prime
from localdp.sharing.coalitions import promise
from localdp.sharing.field import Elements
from localdp.sharing.noise_plans import NoisePlan, ServerNoise
from localdp.sharing.summed_noise import SummedNoise


class Keeper(Protocol):
    """Keeps a whole number for each element."""

    def put(self, elements: Integers, numbers: Integers) -> None:
        """In the place of what these elements had."""
        ...

    def flip(self, which: Bits) -> None:
        """Make a 0 of a 1, and a 1 of a 0."""
        ...

    def noisy_sum(self, sensitivity: int, epsilon: Epsilon) -> int:
        """The sum of all numbers, with noise."""
        ...

    def seen(self) -> tuple[Integers, ...]:
        """All that an intruder finds, of each who keeps something."""
        ...


class Keepers(Protocol):
    """Makes keepers, and says what their noise and their promise are."""

    def start(self, elements: int) -> Keeper:
        """For so many elements, all of them 0."""
        ...

    def noise(self, sensitivity: int, epsilon: Epsilon) -> SummedNoise:
        """The law of the noise on a sum."""
        ...

    def claim(self, epsilon: Epsilon) -> PrivacyClaim:
        """What is promised about a sum."""
        ...


@dataclass(slots=True)
class _OneKeeper:
    curator: TrustedCurator
    numbers: Integers

    def put(self, elements: Integers, numbers: Integers) -> None:
        self.numbers[elements] = numbers

    def flip(self, which: Bits) -> None:
        self.numbers = np.where(which, 1 - self.numbers, self.numbers)

    def noisy_sum(self, sensitivity: int, epsilon: Epsilon) -> int:
        return int(self.curator.released(self.numbers.sum(keepdims=True), sensitivity, epsilon)[0])

    def seen(self) -> tuple[Integers, ...]:
        return (self.numbers.copy(),)


@dataclass(frozen=True, slots=True)
class OneKeeper:
    """Somebody who is trusted with the stream while it comes, and not with what they keep of it."""

    source: RandomSource

    def start(self, elements: int) -> Keeper:
        return _OneKeeper(TrustedCurator(self.source), np.zeros(elements, np.int64))

    def noise(self, sensitivity: int, epsilon: Epsilon) -> SummedNoise:
        return TrustedCurator(self.source).noise(sensitivity, epsilon)

    def claim(self, epsilon: Epsilon) -> PrivacyClaim:
        return TrustedCurator(self.source).claim(epsilon)


@dataclass(slots=True)
class _ShareKeepers:
    source: RandomSource
    held: list[Elements]
    noise: Callable[[int, Epsilon], ServerNoise]

    def put(self, elements: Integers, numbers: Integers) -> None:
        for held, share in zip(
            self.held, additive.split_signed(numbers, len(self.held), self.source), strict=True
        ):
            held[elements] = share

    def flip(self, which: Bits) -> None:
        """Each server flips what it has by the same coins; then fresh shares of what is missing hide which were flipped."""
        nothing = np.zeros(len(which), np.uint64)
        flipped = [np.where(which, prime.subtract(nothing, one), one) for one in self.held]
        fresh = additive.split(which.astype(np.int64), len(self.held), self.source)
        self.held = [
            prime.subtract(a, prime.subtract(nothing, b)) for a, b in zip(flipped, fresh, strict=True)
        ]

    def noisy_sum(self, sensitivity: int, epsilon: Epsilon) -> int:
        law = self.noise(sensitivity, epsilon)
        return additive.combine([prime.total(one) + int(law.draw(self.source, 1)[0]) for one in self.held])

    def seen(self) -> tuple[Integers, ...]:
        return tuple(one.astype(np.int64) for one in self.held)


@dataclass(frozen=True, slots=True)
class ShareKeepers:
    """Share servers, in this process: who puts a number splits it, and no server sees it."""

    source: RandomSource  # of everybody, one after the other
    servers: int = 2
    plan: NoisePlan = field(default=NoisePlan.EACH_SERVER)

    def start(self, elements: int) -> Keeper:
        nothing = np.zeros(elements, np.int64)
        return _ShareKeepers(self.source, additive.split(nothing, self.servers, self.source), self._noise)

    def noise(self, sensitivity: int, epsilon: Epsilon) -> SummedNoise:
        return self._noise(sensitivity, epsilon).total

    def claim(self, epsilon: Epsilon) -> PrivacyClaim:
        return PrivacyClaim.of_shares(epsilon, *promise(self.plan, self.servers))

    def _noise(self, sensitivity: int, epsilon: Epsilon) -> ServerNoise:
        return ServerNoise(self.plan, epsilon, sensitivity, self.servers)
