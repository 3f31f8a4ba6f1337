"""The transform of real numbers, against its definition."""

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.estimation.sign_transform import sign_transform
from localdp.randomizers.parts.walsh import walsh_hadamard


@pytest.mark.parametrize("bits", [0, 1, 2, 3, 8, 9])
def test_the_transform_is_the_matrix_of_signs(bits: int) -> None:
    values, words = np.random.default_rng(bits).normal(size=1 << bits), np.arange(1 << bits)
    signs = 1.0 - 2.0 * (np.bitwise_count(words[:, None] & words) & 1)
    np.testing.assert_allclose(sign_transform(values), signs @ values, atol=1e-12)


def test_twice_is_as_many_times_the_same_and_whole_numbers_agree_with_the_exact_transform() -> None:
    values = np.random.default_rng(1).integers(-50, 50, 1 << 13)
    once = sign_transform(values.astype(float))
    assert (once == walsh_hadamard(values)).all()
    assert (sign_transform(once) == len(values) * values).all()


def test_the_argument_is_left_alone_and_other_lengths_are_refused() -> None:
    values = np.arange(4.0)
    sign_transform(values)
    assert values.tolist() == [0, 1, 2, 3]
    for wrong in (np.zeros(3), np.zeros(0), np.zeros((2, 2))):
        with pytest.raises(InvalidParameter):
            sign_transform(wrong)
