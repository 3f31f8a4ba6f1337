"""A selected median is off by less than one that is read off a tree, and its interval holds as often as it says.

n = 10,000 uniform numbers, epsilon = 0.1 with a curator.  Over 60 runs a selected median is 40 people off on average and
one of the tree 119; over 12 runs the standard errors are 11 and 26.  Broken twin: the tree alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.release.quantiles import QuantileEstimate, estimated_quantile
from localdp.algorithms.release.ranges import RangeRelease
from localdp.domains import RealDomain, Records, Schema
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomness.hazmat import SeededSource

PEOPLE, EPSILON = 10_000, Epsilon.requested(0.1)
NUMBERS = np.sort(np.random.default_rng(1).uniform(0.0, 100.0, PEOPLE))
RECORDS = Records(Schema({"x": RealDomain(0.0, 100.0)}), {"x": NUMBERS})
Estimate = Callable[[StatisticalQueryOracle], QuantileEstimate]


def selected(oracle: StatisticalQueryOracle) -> QuantileEstimate:
    return estimated_quantile(oracle, "x", 0.5, check_signal=False)


def by_tree(oracle: StatisticalQueryOracle) -> QuantileEstimate:
    release = RangeRelease("x", check_signal=False).fit(oracle)
    return QuantileEstimate(release.quantile(0.5), *release.quantile_interval(0.5))


def measured(estimate: Estimate, runs: int) -> tuple[float, float, float]:
    """People between estimate and median, people in half of the interval, and how often it holds; on average."""
    found = [estimate(CuratorOracle(RECORDS, EPSILON, SeededSource(seed))) for seed in range(runs)]
    ranks = np.array([np.searchsorted(NUMBERS, (one.value, one.low, one.high)) for one in found])
    holds = (ranks[:, 1] <= PEOPLE / 2) & (ranks[:, 2] >= PEOPLE / 2)
    off, half = np.abs(ranks[:, 0] - PEOPLE / 2), (ranks[:, 2] - ranks[:, 1]) / 2
    return float(off.mean()), float(half.mean()), float(holds.mean())


def test_a_selected_median_is_nearer_than_the_tree_s() -> None:
    off, half, holds = measured(selected, 12)
    assert off < 75 and half < 320 and holds >= 0.75
    assert measured(by_tree, 12)[0] > 75


@pytest.mark.nightly
def test_over_many_runs_it_is_far_nearer_with_the_same_interval() -> None:
    # 200 runs: the standard error of a coverage of 0.95 is 1.5 %.
    off, half, holds = measured(selected, 200)
    tree_off, tree_half, _ = measured(by_tree, 200)
    assert off < 0.6 * tree_off and half < 1.1 * tree_half
    assert holds > 0.9
