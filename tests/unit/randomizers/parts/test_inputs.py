"""Counting values: as numpy counts them one by one, whatever their type and however many they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomizers.parts import inputs
from localdp.randomizers.parts.inputs import input_counts


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint64, np.int64, np.bool_])
@pytest.mark.parametrize("count", [0, 1, 2, 999, 1000])
def test_pairs_of_values_are_counted_as_values(
    kind: type, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_MANY", 2)
    different = 2 if kind is np.bool_ else 121
    values: NDArray[Any] = np.random.default_rng(count).integers(0, different, count).astype(kind)
    expected = [int(np.count_nonzero(values == value)) for value in range(different)]
    assert input_counts(values, different).tolist() == expected
    assert input_counts(values[::-2], different).sum() == -(-count // 2)  # not in one piece


@pytest.mark.parametrize(
    "wrong", [np.array([121], np.uint8), np.array([-1]), np.array([0.5]), np.zeros((1, 1))]
)
def test_what_is_no_value_is_not_counted(wrong: NDArray[Any]) -> None:
    with pytest.raises(InvalidParameter):
        input_counts(wrong, 121)
