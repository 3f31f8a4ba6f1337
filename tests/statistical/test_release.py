"""Errors of released marginals, ranges and constructions, against the numbers of the reference (C7, B5, B6).

Seeds are fixed, so every run is the same.  Each test states n, R repetitions and the relative standard error (s.e.) of what
it measures; bands are at least 4 s.e. wide on the side of the claim, and each has a broken twin that falls outside.
Longer versions run at night.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.release import marginals
from localdp.algorithms.release.curators import SelectingCurator
from localdp.algorithms.release.distinguishers import ExponentialMechanism
from localdp.algorithms.release.iterative import IterativeConstruction
from localdp.algorithms.release.marginals import MarginalRelease, Way
from localdp.algorithms.release.ranges import RangeRelease
from localdp.algorithms.release.universe import Universe, marginal_queries
from localdp.algorithms.release.updates import MeasuredWeights
from localdp.domains import IntegerDomain, Records, Schema
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.randomness.hazmat import SeededSource
from tests.support.people import KEYRING, ONE, party_of
from tests.support.randomizer_checks import assert_caught
from tests.unit.algorithms.release.people import bit_people, table_of

PEOPLE, BITS, ORDER = 100_000, 10, 3
RECORDS = bit_people(BITS, PEOPLE, seed=3)
TRIPLES = list(combinations(RECORDS.schema.names, ORDER))
TRUTH = np.concatenate([table_of(RECORDS, *names).ravel() for names in TRIPLES])
Floats = NDArray[np.float64]
Make = Callable[[Records, int], StatisticalQueryOracle]


def local(records: Records, seed: int, epsilon: Epsilon = ONE) -> StatisticalQueryOracle:
    reports = InProcessLROracle([party_of(records)])
    return LocalOracle(reports, epsilon, KEYRING.source("local release", str(seed)))


def curator(records: Records, seed: int) -> StatisticalQueryOracle:
    return CuratorOracle(records, ONE, KEYRING.source("curator release", str(seed)))


def local_at_two(records: Records, seed: int) -> StatisticalQueryOracle:
    """A broken twin: half of the noise that was promised."""
    return local(records, seed, Epsilon.requested(2))


def cells_of(made: Any) -> Floats:
    """All cells of all marginals over three attributes, of a release or of a distribution."""
    tables = [made.marginal(*names) for names in TRIPLES]
    return np.concatenate([np.asarray(getattr(table, "values", table)).ravel() for table in tables])


def released(make: Make, seed: int) -> MarginalRelease:
    return MarginalRelease(order=ORDER).fit(make(RECORDS, seed))


def check_raw_marginals(make: Make, repetitions: int) -> None:
    """The reference has 0.0242 and accepts 0.0263; normal errors of the stated size have 0.0239 on average.

    One run has an s.e. of 10 % in the mean and of 20 % in the mean square: all cells are made of 175 parities.
    """
    releases = [released(make, seed) for seed in range(repetitions)]
    errors = np.array([cells_of(release) - TRUTH for release in releases])
    stated = releases[0].marginal(*TRIPLES[0]).standard_errors[0, 0, 0]
    assert 0.0221 < np.abs(errors).mean() < 0.0257
    assert 0.85 < (errors**2).mean() / 0.0299192**2 < 1.15
    assert stated == pytest.approx(0.0299192, rel=1e-3)


def check_fits(repetitions: int) -> None:
    """The reference has 0.0202 with exponentiated gradients and 0.0233 with multiplicative weights, from few runs.

    One run has an s.e. of 12 %.  Over 40 runs the means are 0.0176, 0.0195 and 0.0224: the bounds, 1.1 times the reference
    for the ways that it has and the reference's best for the other, are 4 s.e. above these at R = 12.
    """
    releases = [released(local, seed) for seed in range(repetitions)]
    means = {
        way: np.mean([np.abs(cells_of(release.distribution(way)) - TRUTH).mean() for release in releases])
        for way in get_args(Way)
    }
    assert 0.0151 < means["entropy"] < 0.0202
    assert means["entropy"] < means["least-squares"] < 1.1 * 0.0202
    assert means["multiplicative-weights"] < 1.1 * 0.0233


def test_local_marginals_have_the_error_of_the_reference() -> None:
    check_raw_marginals(local, 30)  # s.e. 1.8 % and 3.6 %
    assert_caught(lambda make: check_raw_marginals(make, 30), local_at_two)


def test_distributions_that_fit_local_marginals_are_better_than_the_raw_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_fits(12)  # s.e. 3.5 %
    monkeypatch.setattr(
        marginals, "_PULL", 1000.0
    )  # a broken twin: independence is believed, not the answers
    assert_caught(check_fits, 2)


@pytest.mark.nightly
def test_local_marginals_over_many_repetitions() -> None:
    check_raw_marginals(local, 100)
    check_fits(60)


def test_a_curator_s_marginals_are_better_than_direct_noise_on_the_cells() -> None:
    # The reference has cells of standard deviation 0.0016 by noise on each table.  One run has an s.e. of 39 % in the
    # mean square, because the noise of one parity is in many cells; R = 60: 5 %.
    releases = [released(curator, seed) for seed in range(60)]
    square = np.mean([(cells_of(release) - TRUTH) ** 2 for release in releases])
    stated = releases[0].marginal(*TRIPLES[0]).standard_errors[0, 0, 0]
    assert square**0.5 < 0.00135
    assert 0.8 < square / stated**2 < 1.2


def bell(inputs: int) -> Records:
    """Values around the middle, a quarter of them on one input."""
    drawn = np.random.default_rng(7).normal(0.5, 0.15, PEOPLE) * inputs
    values = np.clip(drawn, 0, inputs - 1).astype(np.int64)
    values[: PEOPLE // 4] = inputs // 3
    return Records(Schema({"x": IntegerDomain(0, inputs - 1)}), {"x": values})


def range_errors(make: Make, inputs: int, repetitions: int) -> tuple[float, float, list[float]]:
    """n times the mean squared error of random ranges, n times what was stated, and rank errors of medians."""
    records = bell(inputs)
    ordered = np.sort(records.column("x"))
    prefix = np.searchsorted(ordered, np.arange(inputs + 1)) / PEOPLE
    ends = np.random.default_rng(8).integers(0, inputs + 1, (2, 2000))
    low, high = ends.min(axis=0), ends.max(axis=0)
    errors, stated, ranks = [], [], []
    for seed in range(repetitions):
        release = RangeRelease("x", bins=inputs).fit(make(records, seed))
        found = release.ranges(low, high)
        errors.append(float(np.mean((found.values - prefix[high] + prefix[low]) ** 2)) * PEOPLE)
        stated.append(float(np.mean(found.standard_errors**2)) * PEOPLE)
        place = int(release.quantile(0.5))
        ranks.append(max(prefix[place] - 0.5, 0.5 - prefix[place + 1], 0.0))
    return float(np.mean(errors)), float(np.mean(stated)), ranks


def check_ranges(make: Make) -> None:
    """D = 256, n = 1e5: one run has an s.e. of 23 %, R = 6 of 10 %; 42 is stated."""
    measured, stated, _ = range_errors(make, 256, 6)
    assert 0.6 < measured / stated < 1.4
    assert 25 < measured < 59


def test_local_ranges_have_the_stated_error() -> None:
    check_ranges(local)
    assert_caught(check_ranges, local_at_two)


def test_local_ranges_over_a_thousand_inputs_have_the_error_of_the_reference() -> None:
    # D = 1024, n = 1e5: one run has an s.e. of 12 %, R = 2 of 8 %; 67.6 for Haar in the reference, 65 stated.  A prefix has
    # a standard error of 0.018 here: the bound on the rank of a median is 4.5 of them.
    measured, stated, ranks = range_errors(local, 1024, 2)
    assert 44 < measured < 89 and 60 < stated < 85
    assert max(ranks) < 0.08


@pytest.mark.nightly
def test_local_ranges_over_a_thousand_inputs_over_many_repetitions() -> None:
    # R = 40: s.e. 2 %; the reference accepts 60 to 85, and has a median rank error of 0.011.
    measured, stated, ranks = range_errors(local, 1024, 40)
    assert 60 < measured < 85 and 0.9 < measured / stated < 1.1
    assert np.mean(ranks) < 0.015


def check_constructions(distinguisher: Any, repetitions: int, epsilon: float = 1.0) -> None:
    """MWEM with T = 20: the reference has 0.0113 on average and 0.042 at most over all cells.

    Over 12 runs: 0.0061 and 0.024, with an s.e. of one run of 5 % and 9 %.
    """
    queries = marginal_queries(Universe.of(RECORDS.schema), ORDER)
    release = IterativeConstruction(
        queries,
        alpha=0.02,
        update=MeasuredWeights(),
        distinguisher=distinguisher,
        most_updates=20,
        check_signal=False,
    )
    means, worst = [], []
    for seed in range(repetitions):
        release.fit_curator(SelectingCurator(RECORDS, epsilon, SeededSource(seed)))
        off = np.abs(release.answers_ - TRUTH)
        means.append(off.mean())
        worst.append(off.max())
    assert np.mean(means) < 0.0075
    assert np.mean(worst) < 0.033


@pytest.mark.parametrize("distinguisher", [None, ExponentialMechanism()])
def test_twenty_measurements_of_a_curator_have_the_error_of_the_reference(distinguisher: Any) -> None:
    check_constructions(distinguisher, 2)


class ChoosesAnything:
    """A broken twin: a distinguisher that does not look."""

    def choose(self, scores: Any, sensitivity: int, epsilon: Epsilon, source: Any) -> int:
        return int(source.below(len(scores), 1)[0])

    def error(self, candidates: int, sensitivity: int, epsilon: Epsilon, failure: float) -> float:
        return 0.0


def test_a_distinguisher_that_does_not_look_is_caught() -> None:
    assert_caught(lambda twin: check_constructions(twin, 1), ChoosesAnything())


@pytest.mark.nightly
def test_twenty_measurements_over_many_repetitions() -> None:
    check_constructions(None, 20)
