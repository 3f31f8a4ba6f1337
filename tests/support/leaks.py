"""Whether the time of a call tells which of two classes of inputs it had, in the manner of dudect.

After Reparaz, Balasch and Verbauwhede, "dude, is my code constant time?" (2016): one call is measured many times with
inputs of the first class and of the second, in random order, and the two samples of times are compared.

- Both classes are put into one set of buffers before each call.  Two arrays differ in time by their addresses alone; and so
  that not even the cache tells which was the last to be read, a buffer becomes first ^ (difference & mask), by bytes.
- Measurements come in pairs, one of each class in random order, so that both samples see the same load of the machine.
- The slowest tenth of each class is cut: it is the scheduler's.
- Batches are independent.  Over several of them the median of the relative differences counts, which one bad stretch
  of a loaded machine does not move.

What it misses: a difference below about four times `Leak.error`, and what a cold cache would show.
Checked in tests/unit/support/test_leaks.py: it finds known leaks, and none where there is none.
"""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Sequence[NDArray[Any]]
Run = Callable[..., object]  # with the buffers as arguments, the same objects in every call
Times = NDArray[np.float64]
Clock = Callable[[], int]  # in nanoseconds; that of the thread does not count what other processes take

SMALL, LARGE = 400, 10_000  # rounds of a batch, for `make test` and for the nightly
KEPT = 0.9  # of the measurements of a class
KEPT_UNDER_LOAD = 0.5  # where a machine with other work must not raise a false alarm
_WARM = 20  # rounds that are not counted


@dataclass(frozen=True, slots=True)
class Leak:
    """The mean times of two classes, in nanoseconds, and what tells them apart."""

    mean_first: float
    mean_second: float
    relative: float  # (second - first) / the smaller of them: the median over the batches
    error: float  # standard error of one batch's relative difference
    t: float  # Welch's, over all measurements that were kept
    measurements: int

    @property
    def size(self) -> float:
        """The relative difference, whichever class is slower."""
        return abs(self.relative)

    def __str__(self) -> str:
        times = f"{self.mean_first / 1e3:.2f} -> {self.mean_second / 1e3:.2f} us"
        return f"{times} ({self.relative:+.2%}, t = {self.t:.1f}, {self.measurements} measurements)"


def compare(
    run: Run,
    first: Arrays,
    second: Arrays,
    rounds: int = SMALL,
    batches: int = 1,
    seed: int = 0,
    kept: float = KEPT,
    clock: Clock = time.perf_counter_ns,
) -> Leak:
    """The leak of `run(*buffers)`, with arrays of the one class or of the other in the buffers."""
    _require_alike(first, second)
    draws = np.random.default_rng(seed)
    buffers = [np.array(array, order="C") for array in first]
    timed = _timed_by(clock, run)
    choices = [_Choice(*three) for three in zip(buffers, first, second, strict=True)]
    _measured(timed, buffers, choices, draws, _WARM)
    measured = [_measured(timed, buffers, choices, draws, rounds) for _ in range(batches)]
    return _leak([(_cut(one, kept), _cut(other, kept)) for one, other in measured], 2 * rounds * batches)


def confirmed(measure: Callable[[int], Leak], rounds: int, most: float) -> Leak | None:
    """The leak, if it is larger than `most` in each of three measurements, every one twice as long as the one before.

    More rounds make a leak plainer and the load of a machine fainter, so what is silent needs one short measurement.
    """
    for times in (1, 2, 4):
        leak = measure(times * rounds)
        if leak.size <= most:
            return None
    return leak


def _require_alike(first: Arrays, second: Arrays) -> None:
    shapes = [[(array.shape, array.dtype) for array in arrays] for arrays in (first, second)]
    if shapes[0] != shapes[1]:
        raise ValueError("the two classes have arrays of the same shapes and dtypes")


class _Choice:
    """Puts one of two arrays into a buffer, and reads and writes the same bytes in the same order whichever it is."""

    def __init__(self, buffer: NDArray[Any], first: NDArray[Any], second: NDArray[Any]) -> None:
        self._buffer, self._first = _bytes_of(buffer), _bytes_of(np.array(first, order="C"))
        self._difference = self._first ^ _bytes_of(np.array(second, order="C"))
        self._masked = np.empty_like(self._difference)

    def make(self, kind: int) -> None:
        """The buffer holds the first array (0) or the second (1)."""
        np.bitwise_and(self._difference, np.uint8(255 * kind), out=self._masked)
        np.bitwise_xor(self._first, self._masked, out=self._buffer)


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)


def _measured(
    timed: Callable[..., int],
    buffers: Arrays,
    choices: Sequence[_Choice],
    draws: np.random.Generator,
    rounds: int,
) -> tuple[Times, Times]:
    """The times of each class, in pairs of random order; no garbage is collected meanwhile."""
    times = np.zeros((2, rounds))
    starts = draws.integers(2, size=rounds).tolist()
    was_on = gc.isenabled()
    gc.disable()
    try:
        for place, start in enumerate(starts):
            for kind in (start, 1 - start):
                for choice in choices:
                    choice.make(kind)
                times[kind, place] = timed(*buffers)
    finally:
        if was_on:
            gc.enable()
    return times[0], times[1]


def _timed_by(clock: Clock, run: Run) -> Callable[..., int]:
    def timed(*buffers: NDArray[Any]) -> int:
        begun = clock()
        run(*buffers)
        return clock() - begun

    return timed


def _cut(times: Times, kept: float) -> Times:
    return np.sort(times)[: max(2, int(kept * len(times)))]


def _leak(batches: list[tuple[Times, Times]], measurements: int) -> Leak:
    first, second = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    errors = [_error(one, other) / min(one.mean(), other.mean()) for one, other in batches]
    return Leak(
        mean_first=float(first.mean()),
        mean_second=float(second.mean()),
        relative=statistics.median(_relative(one, other) for one, other in batches),
        error=float(statistics.median(errors)),
        t=float((second.mean() - first.mean()) / _error(first, second)),
        measurements=measurements,
    )


def _relative(first: Times, second: Times) -> float:
    return float((second.mean() - first.mean()) / min(first.mean(), second.mean()))


def _error(first: Times, second: Times) -> float:
    """Standard error of the difference of the means; a clock of whole nanoseconds is never better than one."""
    return max(float(np.sqrt(first.var() / len(first) + second.var() / len(second))), 1e-3)
