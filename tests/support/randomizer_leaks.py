"""Every randomizer as an agent runs it, and classes of values and of coins that its time must not tell apart.

A case is a randomizer of the catalogue at a size at which its work is worth measuring; the memoised ones occur a second
time, with permanent answers.  Classes of coins are lanes: what each call of a primitive draws for many lanes is recorded,
and those with the smallest and the largest outcomes are the classes.  They are drawn again on those lanes (`answered`), or
given to the randomizer as they were recorded (`replayed`): without the keystream, what is left is more sensitive.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.memoised import Memo
from localdp.randomizers.registry import REGISTRY
from localdp.randomness.lanes import LanedSource
from localdp.randomness.source import Bits, Integers, RawWord, Width, Words
from tests.support.leaks import Arrays, Run

KEY = bytes(range(32))
EPSILON = Epsilon.requested(1)
MANY = 1000  # people
_POOL = 4  # times as many lanes as are chosen from them
_SMALLEST_POOL = 1 << 10
_WARM = 5  # runs of each class that are not counted
_MOST_CALLS = 6  # of primitives, whose coins are classes
_APART = 16  # lanes that begin at a block of the keystream

SIZES = {
    "one-bit": 1025,
    "k-ary": 4,  # kept about as often as not
    "subset-selection": 100,
    "projective-geometry": 1000,
    "symmetric-unary": 100,
    "optimized-unary": 100,
    "hadamard": 1000,
    "recursive-hadamard": 1000,
    "local-hashing": 6,
    "finite-channel": 64,
    "count-mean-sketch": 4,
    "hadamard-count-mean-sketch": 4,
    "basic-rappor": 64,
    "bloom-rappor": 64,
    "memoised-symmetric-unary": 64,
    "memoised-optimized-unary": 64,
    "memoised-hashing": 4,
    "haar-ranges": 1024,
    "hierarchical-ranges": 64,
    "hadamard-marginals": 256,
    "local-discrete-laplace": 1025,
    "piecewise": 1025,
    "hybrid": 1025,
    "square-wave": 256,
    "coordinate-sampling": 8,
    "priv-unit": 8,
}


@dataclass(frozen=True)
class Remembered:
    """A memoised randomizer as a party runs it: permanent answers on lanes that are chosen by value."""

    randomizer: Any

    def randomize(self, values: NDArray[Any], source: LanedSource) -> Any:
        """A report of each person's permanent answer."""
        memo = Memo(self.randomizer, KEY, b"a collection")
        return memo.report(np.arange(len(values)), values, source)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.randomizer, name)


def made(name: str) -> Any:
    """The randomizer of a case."""
    sound = REGISTRY[name.removeprefix("remembered-")].made(
        EPSILON, SIZES[name.removeprefix("remembered-")]
    )
    return Remembered(sound) if name.startswith("remembered-") else sound


CASES = [*REGISTRY, *(f"remembered-{name}" for name in REGISTRY if name.startswith("memoised-"))]


def answered(randomizer: Any, lanes: range | Integers, values: NDArray[Any]) -> bytes:
    """What an agent computes for a request."""
    packed: bytes = randomizer.pack(randomizer.randomize(values, LanedSource(KEY, lanes)))
    return packed


def values_of(randomizer: Any, people: int) -> dict[str, NDArray[Any]]:
    """Classes of values: all the lowest, all the highest, and all kinds of them."""
    draws = np.random.default_rng(5)
    if hasattr(randomizer, "dimension") and not hasattr(randomizer, "geometry"):
        return _vectors(randomizer, people, draws)
    top = min(randomizer.inputs, 1 << 63) - 1
    kind = np.uint64 if randomizer.inputs > 1 << 63 else np.int64
    mixed = draws.integers(0, top, people, endpoint=True)
    parts = {"lowest": np.zeros(people), "highest": np.full(people, top, np.uint64), "mixed": mixed}
    return {name: part.astype(kind) for name, part in parts.items()}


def _vectors(randomizer: Any, people: int, draws: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Both ends of the first axis, and one or the other."""
    first = np.zeros((people, randomizer.dimension), np.int64)
    first[:, 0] = randomizer.resolution
    lowest = -first if hasattr(randomizer, "near") else 0 * first
    mixed = np.where(draws.integers(0, 2, (people, 1)), first, lowest)
    return {"lowest": lowest, "highest": first, "mixed": mixed}


class Recording(LanedSource):
    """Keeps what each call drew, a row for each lane."""

    def __init__(self, key: bytes, lanes: Integers) -> None:
        super().__init__(key, lanes)
        self.drawn: list[NDArray[Any]] = []

    def _kept(self, drawn: NDArray[Any]) -> NDArray[Any]:
        self.drawn.append(drawn.reshape(len(self._lanes), -1).copy())
        return drawn

    def raw(self, dtype: Width[RawWord], count: int) -> NDArray[RawWord]:
        """As drawn."""
        return self._kept(super().raw(dtype, count))

    def bernoulli(self, threshold: int | Words, count: int) -> Bits:
        """As drawn."""
        return self._kept(super().bernoulli(threshold, count))

    def below(self, bound: int, count: int) -> Words:
        """As drawn; so are the coins of a law."""
        return self._kept(super().below(bound, count))


class Replayed(LanedSource):
    """Gives out what was recorded: the work that is left is the randomizer's own."""

    def __init__(self, people: int, drawn: Sequence[NDArray[Any]]) -> None:
        super().__init__(KEY, range(people))
        self._drawn = iter(drawn)

    def raw(self, dtype: Width[RawWord], count: int) -> NDArray[Any]:
        """The next of the recorded arrays."""
        return next(self._drawn).reshape(-1).copy()

    def bernoulli(self, threshold: int | Words, count: int) -> Bits:
        """The next of the recorded arrays."""
        return self.raw(np.uint64, count)

    def below(self, bound: int, count: int) -> Words:
        """The next of the recorded arrays."""
        return self.raw(np.uint64, count)


def replayed(randomizer: Any, values: NDArray[Any], *drawn: NDArray[Any]) -> bytes:
    """What an agent computes from these coins."""
    packed: bytes = randomizer.pack(randomizer.randomize(values, Replayed(len(values), drawn)))
    return packed


@dataclass(frozen=True)
class Coins:
    """Lanes on which one call of a primitive draws low, high, or half of each; and all that they draw."""

    low: Integers
    high: Integers
    mixed: Integers
    drawn: list[NDArray[Any]]

    @property
    def usual(self) -> Integers:
        """As many lanes, whatever they draw."""
        return np.arange(len(self.low)) * _APART

    def of(self, lanes: Integers) -> list[NDArray[Any]]:
        """All coins of these lanes."""
        return [drawn[lanes // _APART] for drawn in self.drawn]


def coins_of(randomizer: Any, people: int) -> list[Coins]:
    """For each call of a primitive, the lanes of its extreme outcomes."""
    lanes = np.arange(max(_SMALLEST_POOL, _POOL * people)) * _APART
    source = Recording(KEY, lanes)
    randomizer.randomize(values_of(randomizer, len(lanes))["lowest"], source)
    return [_coins(drawn, lanes, people, source.drawn) for drawn in source.drawn[:_MOST_CALLS]]


def _coins(drawn: NDArray[Any], lanes: Integers, people: int, all_drawn: list[NDArray[Any]]) -> Coins:
    # Equal outcomes in no order, so that low and high lanes alternate in the mixed class and no branch is foreseen; the
    # lanes of a class in order, because the order of public lanes shows.
    shuffled = np.random.default_rng(7).permutation(len(lanes))
    order = lanes[shuffled[np.argsort(drawn.sum(axis=1, dtype=np.float64)[shuffled], kind="stable")]]
    half = people // 2
    mixed = np.concatenate([order[: people - half], order[len(order) - half :]])
    return Coins(np.sort(order[:people]), np.sort(order[-people:]), np.sort(mixed), all_drawn)


def quickest(run: Run, first: Arrays, second: Arrays, rounds: int = 60) -> float:
    """The relative difference of two classes in the processor's time for the quickest third of their runs.

    Coarse, but a loaded machine does not move it: what others take is not counted, and what they disturb is cut.
    """
    draws, buffers = np.random.default_rng(0), [np.array(array) for array in first]
    times = np.zeros((2, rounds))
    for place in range(-_WARM, rounds):
        for kind in draws.permutation(2).tolist():
            for buffer, array in zip(buffers, (first, second)[kind], strict=True):
                buffer[...] = array
            begun = time.thread_time_ns()
            run(*buffers)
            times[kind, place] = time.thread_time_ns() - begun  # what is warming up is overwritten
    one, other = np.sort(times, axis=1)[:, : rounds // 3].mean(axis=1)
    return float((other - one) / min(one, other))
