"""Inputs of any randomizer, by what it says that it takes: some of them, narrow ones, both ends, and wrong ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.randomizers.input_kinds import BallInput, CubeInput, FingerprintInput
from localdp.randomness.source import WORD_RANGE

Values = NDArray[Any]


def some_values(randomizer: Any, count: int, seed: int = 0) -> Values:
    """Inputs of the randomizer, spread over all of them."""
    generator = np.random.default_rng(seed)
    match randomizer.takes:
        case FingerprintInput():
            return generator.integers(0, WORD_RANGE, count, np.uint64)
        case CubeInput(dimension, resolution):
            return generator.integers(0, resolution + 1, (count, dimension))
        case BallInput(dimension, resolution):
            inside = int(resolution / dimension**0.5)
            return generator.integers(-inside, inside + 1, (count, dimension))
    return generator.integers(0, randomizer.inputs, count)


def narrow_values(randomizer: Any, count: int) -> Values:
    """Inputs that an unsigned byte holds."""
    values = some_values(randomizer, count)
    return (np.abs(values) if values.dtype == np.int64 else values % np.uint64(200)).astype(np.int64)


def end_values(randomizer: Any, count: int) -> tuple[Values, Values]:
    """Everybody at one end, and everybody at the other."""
    like = some_values(randomizer, count)
    low, high = np.zeros_like(like), np.zeros_like(like)
    match randomizer.takes:
        case CubeInput(_, resolution):
            high[:] = resolution
        case BallInput(_, resolution):
            low[:, 0], high[:, 0] = -resolution, resolution
        case _:
            high[:] = randomizer.inputs - 1
    return low, high


def wrong_values(randomizer: Any) -> list[Values]:
    """Somebody at an end, and somebody just past one."""
    match randomizer.takes:
        case FingerprintInput():
            return [np.array([0, -1]), np.array([0.0, 1.0])]
        case CubeInput(dimension, resolution):
            return [_past(dimension, -1), _past(dimension, resolution + 1), np.array([0, 0])]
        case BallInput(dimension, resolution):
            return [_past(dimension, -resolution - 1), _past(dimension, resolution + 1), np.array([0, 0])]
    return [np.array([0, -1]), np.array([0, randomizer.inputs])]


def _past(dimension: int, entry: int) -> Values:
    values = np.zeros((2, dimension), np.int64)
    values[1, -1] = entry
    return values
