"""The largest errors of counters, beside the least that any counter has."""

from __future__ import annotations

import math

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.experiments.counters import EACH, GAUSSIAN, LINE, PAN, TREE, TWO, counters
from localdp.experiments.separations import Lab
from localdp.oracles.bounds import counter_error
from localdp.randomness.keyring import Keyring


@pytest.mark.parametrize(("steps", "least"), [(1024, 2.5), (64, 1.5), (1 << 20, 6.0)])
def test_the_line_is_that_of_theorem_12_6(steps: int, least: float) -> None:
    assert counter_error(1, steps) == least
    events = int(2 * least)
    # A counter that is closer with probability 2/3 would tell steps // events streams apart, and one without events.
    assert 2 / 3 + steps // events * 2 / 3 * math.exp(-events) > 1
    assert 2 / 3 + steps // (events + 1) * 2 / 3 * math.exp(-events - 1) <= 1
    assert steps < 1024 or least == pytest.approx(math.log2(steps) / 4, rel=0.2)


def test_more_privacy_has_a_larger_least_error_and_nothing_is_asked_of_no_steps() -> None:
    assert counter_error(0.5, 1024) > counter_error(1, 1024)
    assert counter_error(10, 2) == 0.0
    with pytest.raises(InvalidParameter):
        counter_error(1, 0)


def test_all_counters_are_above_the_line_and_in_the_order_of_their_errors() -> None:
    lab = Lab(Epsilon.requested(1), Keyring.insecurely_seeded(1))
    told = {
        one.series: np.mean([lab.outcome(one, trial) for trial in range(20)])
        for one in counters([256]).tried
    }
    assert told[LINE] < min(told[name] for name in (TREE, TWO, EACH, PAN, GAUSSIAN))
    assert told[TREE] < told[PAN] < told[TWO] * 1.5
    assert told[GAUSSIAN] < told[TREE] * 1.2
