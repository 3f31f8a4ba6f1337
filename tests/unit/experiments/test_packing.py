"""People for many counts: the lines, where they cross, and noise that is drawn."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.experiments.packing import DELTA, GAUSSIAN, LAPLACE, LINE, packing
from localdp.experiments.separations import Lab
from localdp.oracles.bounds import (
    gaussian_people,
    laplace_people,
    packing_people,
    pure_and_approximate_separate,
)
from localdp.randomness.keyring import Keyring

ONE = Epsilon.requested(1)


def test_pure_and_approximate_privacy_separate_at_2303_counts() -> None:
    assert pure_and_approximate_separate(ONE, DELTA) == 2303
    assert packing_people(1, 2303) > gaussian_people(ONE, DELTA, 2303)
    assert packing_people(1, 2302) <= gaussian_people(ONE, DELTA, 2302)
    assert pure_and_approximate_separate(ONE, Fraction(1, 10**9)) > 2303


@pytest.mark.parametrize(
    ("counts", "line", "laplace", "gaussian"), [(100, 69, 995, 256), (1000, 692, 14_549, 993)]
)
def test_the_lines_at_a_hundred_and_a_thousand_counts(
    counts: int, line: int, laplace: int, gaussian: int
) -> None:
    assert packing_people(1, counts) == pytest.approx(line, abs=1)
    assert gaussian_people(ONE, DELTA, counts) == pytest.approx(gaussian, abs=1)
    # With probability one half, by the exact law of the largest; on average a little more.
    median = 2 * counts * math.log(1 / (1 - 0.5 ** (1 / counts)))
    assert median == pytest.approx(laplace, abs=1)
    assert median < laplace_people(1, counts) < 1.05 * median


def test_noise_that_is_drawn_follows_the_lines() -> None:
    lab = Lab(ONE, Keyring.insecurely_seeded(1))
    told = {
        one.series: (np.mean([lab.outcome(one, trial) for trial in range(40)]), one.predicted)
        for one in packing([1000]).tried
    }
    laplace, gaussian = told[LAPLACE], told[GAUSSIAN]
    assert laplace[1] is not None and gaussian[1] is not None
    # The largest of 1,000 has a standard deviation of 0.17 of itself, the mean of 40 of 0.027; five of them.
    assert laplace[0] == pytest.approx(laplace[1](ONE), rel=0.14)
    assert 0.8 * gaussian[1](ONE) < gaussian[0] < gaussian[1](ONE)
    assert told[LINE][0] == pytest.approx(packing_people(1, 1000))
