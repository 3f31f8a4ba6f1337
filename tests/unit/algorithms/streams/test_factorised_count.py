"""A running count by factorised Gaussian noise: its error, what it beats, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.streams.continual_count import ContinualCount
from localdp.algorithms.streams.factorised_count import FactorisedCount
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, LocalDpError, SignalTooWeak
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.exact import ExactOracle
from tests.support.people import KEYRING, ONE

PEOPLE, STEPS = 4096, 256
SCHEMA = Schema({"ill": BitDomain(), "x": RealDomain(0.0, 1.0)})
GENERATOR = np.random.default_rng(2)
RECORDS = Records(SCHEMA, {"ill": GENERATOR.random(PEOPLE) < 0.3, "x": GENERATOR.random(PEOPLE)})


def curator(purpose: str, epsilon: Epsilon = ONE) -> CuratorOracle:
    return CuratorOracle(RECORDS, epsilon, KEYRING.source("factorised", purpose))


def test_exact_counts_are_those_of_any_stream() -> None:
    for arrivals in (None, [PEOPLE // 2] * 100 + [PEOPLE] * (STEPS - 100)):
        found = FactorisedCount("ill", STEPS, arrivals=arrivals).fit(ExactOracle(RECORDS))
        other = ContinualCount("ill", STEPS, arrivals=arrivals, layout="steps").fit(ExactOracle(RECORDS))
        assert found.counts_.tolist() == other.counts_.tolist()


def test_the_error_is_what_the_plan_says() -> None:
    """40 runs of 256 steps, whose errors go together: a ratio of 1 is off by 0.2 at most, about four deviations."""
    truth = FactorisedCount("ill", STEPS).fit(ExactOracle(RECORDS)).counts_
    runs = [FactorisedCount("ill", STEPS).fit(curator(str(run))) for run in range(40)]
    squares = np.mean([(one.counts_ - truth) ** 2 for one in runs])
    planned = np.mean(runs[0].standard_errors_ ** 2)
    assert squares / planned == pytest.approx(1.0, abs=0.4)
    assert runs[0].plan_.rows[0].standard_error * PEOPLE == pytest.approx(np.sqrt(planned))
    assert (float(runs[0].claim_.delta), runs[0].cost_.epsilon_promised) == (1e-6, ONE)


def test_with_many_steps_it_is_better_than_a_tree_without_a_delta() -> None:
    many = Records(SCHEMA, {"ill": np.ones(1 << 14, np.bool_), "x": np.zeros(1 << 14)})
    oracle = CuratorOracle(many, ONE, KEYRING.source("many"))
    factorised = FactorisedCount("ill", 1 << 14).fit(oracle)
    rms = float(np.sqrt(np.mean(factorised.standard_errors_**2)))
    assert rms < 0.45 * 56.1  # that of the tree (docs/streams.md)


def test_what_cannot_be_counted_is_refused_and_nobody_pays() -> None:
    oracle = curator("refused", Epsilon.requested("0.001"))
    with pytest.raises(SignalTooWeak):
        FactorisedCount("ill", STEPS).fit(oracle)
    for wrong in (
        FactorisedCount("clip(x)"),
        FactorisedCount("ill", 8, arrivals=[1]),
        FactorisedCount("ill", delta=0.0),
    ):
        with pytest.raises((InvalidParameter, LocalDpError)):
            wrong.set_params(check_signal=False).fit(oracle)
    assert oracle.cost.rounds == 0
