"""LDP-SGD as a baseline: with answers without noise it finds least squares and the margin, and spends one epsilon."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.quick_start import oracle_of_records
from localdp.experiments.datasets import synthetic
from localdp.experiments.ldp_sgd import ROUNDS, SgdLinear, SgdLogistic
from localdp.oracles.exact import ExactOracle
from localdp.randomness.hazmat import SeededSource


def test_without_noise_it_is_least_squares() -> None:
    records = synthetic("gaussian-line", 4000, SeededSource(1))
    found = SgdLinear().fit(ExactOracle(records))
    assert found._scored(records) > 0.9
    assert found.cost_.rounds == ROUNDS


def test_without_noise_it_is_the_margin() -> None:
    records = synthetic("gaussian-halfspace", 4000, SeededSource(1))
    assert SgdLogistic().fit(ExactOracle(records))._scored(records) > 0.98


def test_everybody_spends_one_epsilon_over_all_steps() -> None:
    records = synthetic("gaussian-line", 4000, SeededSource(1), 2)
    found = SgdLinear().fit(oracle_of_records(records, 1.0, "local"))
    assert found.cost_.epsilon_promised == Epsilon.requested(1.0)
    assert np.isfinite(found.coef_).all()


@pytest.mark.parametrize("kind", [SgdLinear, SgdLogistic])
def test_it_is_a_learner_of_experiment_files(kind: type) -> None:
    from localdp.experiments.catalogue import learner_named

    assert learner_named(f"localdp.experiments.ldp_sgd:{kind.__name__}") is kind
