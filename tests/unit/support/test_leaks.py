"""The instrument that looks for leaks in time finds known ones, and none where there is none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.leaks import compare

PEOPLE = 1_000
ROUNDS, BATCHES = 300, 5
FOUND = 0.1  # the least of the known leaks below is about 0.3
NOT_FOUND = 0.05  # of what is silent, in the median of five batches

Mask = NDArray[np.bool_]
NOBODY = [np.zeros(PEOPLE, np.bool_)]
EVERYBODY = [np.ones(PEOPLE, np.bool_)]


def assigned(mask: Mask) -> NDArray[np.int64]:
    result = np.zeros(len(mask), np.int64)
    result[mask] = 7
    return result


def copied(mask: Mask) -> NDArray[np.int64]:
    result = np.zeros(len(mask), np.int64)
    np.copyto(result, 7, where=mask)
    return result


def taken(mask: Mask) -> Mask:
    return mask[mask]


def selected(mask: Mask) -> NDArray[np.int64]:
    return np.zeros(len(mask), np.int64) + mask * 7


@pytest.mark.parametrize("leaky", [assigned, copied, taken])
def test_a_known_leak_is_found(leaky: Callable[[Mask], Any]) -> None:
    leak = compare(leaky, NOBODY, EVERYBODY, ROUNDS, BATCHES)
    assert leak.relative > FOUND, leak
    assert leak.t > 4.5, leak


def test_no_leak_is_found_in_an_arithmetic_select() -> None:
    # Not np.where: it reads one of two arrays, and where these lie takes up to a tenth of its time on some processors.
    leak = compare(selected, NOBODY, EVERYBODY, ROUNDS, BATCHES)
    assert leak.size < NOT_FOUND, leak


def test_the_order_of_the_classes_turns_the_sign() -> None:
    assert compare(assigned, EVERYBODY, NOBODY, ROUNDS, BATCHES).relative < -FOUND


def test_both_classes_go_through_the_same_buffers() -> None:
    seen = set()

    def run(*buffers: NDArray[Any]) -> None:
        seen.add(tuple((id(buffer), buffer[0].item()) for buffer in buffers))

    compare(run, [*NOBODY, np.zeros(3)], [*EVERYBODY, np.ones(3)], rounds=4)
    assert len(seen) == 2
    assert len({tuple(place for place, _ in buffers) for buffers in seen}) == 1


def test_as_many_measurements_are_made_as_are_told() -> None:
    leak = compare(selected, NOBODY, EVERYBODY, rounds=10, batches=3)
    assert leak.measurements == 60
    assert leak.mean_first > 0 and leak.mean_second > 0 and leak.error > 0


def test_classes_of_different_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="same shapes"):
        compare(selected, NOBODY, [np.ones(1, np.bool_)])
