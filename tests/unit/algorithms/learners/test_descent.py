"""Descent by directions: it finds the form, whatever the scale, and no answer within a bound makes it run away."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.algorithms.learners.descent import (
    CONDITIONED,
    ROUNDS,
    Descent,
    _shift,
    error_after,
    is_noiseless,
    part_of,
    rounds_for,
)
from localdp.algorithms.learners.scaling import Scaling
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.oracles.adversarial import AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import RecordingOracle
from tests.support.seeded import seeded_oracle

NAMES = ("x0", "x1", "x2")
WEIGHTS = np.array([0.8, -0.6, 0.2])
PEOPLE = 4000


def records(spread: float = 1.0) -> Records:
    draws = np.random.default_rng(5)
    table = np.clip(draws.normal(size=(PEOPLE, 3)) * spread, -20, 20)
    schema = Schema({**{name: RealDomain(-20.0, 20.0) for name in NAMES}, "y": BitDomain()})
    columns = {name: table[:, place] for place, name in enumerate(NAMES)}
    return Records.from_columns(schema, {**columns, "y": table @ WEIGHTS + 0.3 * spread > 0})


def right(made: Records, descent: Descent, weights: np.ndarray) -> float:
    coefficients, constant = descent.in_columns(weights)
    table = np.stack([made.column(name) for name in NAMES], axis=1)
    return float(np.mean((table @ coefficients + constant > 0) == made.column("y")))


@pytest.mark.parametrize("off", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("spread", [0.01, 1.0, 5.0])
def test_it_finds_the_form_whatever_the_scale_within_a_factor_of_two(spread: float, off: float) -> None:
    made = records(spread)
    scaling = Scaling.around(NAMES, np.zeros(3), np.full(3, off * spread * np.sqrt(3)))
    descent = Descent(scaling, "2*y - 1")
    assert right(made, descent, descent.descended(ExactOracle(made), 60)) > 0.96


@pytest.mark.parametrize("strategy", ["up", "down"])
def test_a_bounded_lie_moves_it_little_and_it_never_runs_away(strategy: str) -> None:
    made = records()
    descent = Descent(Scaling.around(NAMES, np.zeros(3), np.full(3, 1.7)), "2*y - 1")
    weights = descent.descended(AdversarialOracle(made, 0.01, strategy), 60)
    assert right(made, descent, weights) > 0.95
    far = descent.descended(AdversarialOracle(made, 1.0, strategy), 60)
    assert np.linalg.norm(far) <= 60 * 5 * 3  # every step is bounded, so their sum is


def test_through_zero_there_is_no_constant() -> None:
    descent = Descent(Scaling.around(NAMES, np.zeros(3), np.ones(3)), "2*y - 1", constant=False)
    assert len(descent.entries) == 3 and descent.in_columns(WEIGHTS)[1] == 0


def test_people_are_divided_among_fewer_rounds_where_noise_is_large() -> None:
    made = records()
    descent = Descent(Scaling.around(NAMES, np.zeros(3), np.ones(3)), "2*y - 1")
    assert rounds_for(seeded_oracle(made, 1.0, "curator"), descent) == ROUNDS[0]
    assert rounds_for(seeded_oracle(made, 0.1, "local"), descent) == ROUNDS[-1]


def test_where_second_moments_are_clear_they_are_asked_and_fewer_steps_do() -> None:
    stretched = records().column("x0") * 1e-2
    made = Records.from_columns(
        records().schema,
        {**{name: records().column(name) for name in NAMES}, "x0": stretched, "y": stretched > 0},
    )
    descent = Descent(Scaling.around(NAMES, np.zeros(3), np.full(3, 1.7)), "2*y - 1", shifts=1.0)
    curator = seeded_oracle(made, 8.0, "curator")
    told = RecordingOracle(curator.in_rounds(rounds_for(curator, descent)))
    descent.descended(told, 20)
    assert [rounds[0].query[:7] for rounds in told.transcript.rounds][:2] == ["moments", "signed("]
    assert len(told.transcript.rounds) == 20 and rounds_for(curator, descent) == CONDITIONED


def test_shifts_fill_the_interval_and_their_pairs_cancel() -> None:
    shifts = np.array([_shift(step) for step in range(200)])
    np.testing.assert_allclose(shifts[::2] + shifts[1::2], 0, atol=1e-12)
    assert np.histogram(shifts, 10, (-1, 1))[0].min() >= 15
    assert abs(shifts[::2].mean()) < 0.02  # nor does the first of a pair favour a side


def test_noise_averages_out_and_a_bound_does_not() -> None:
    made = records()
    descent = Descent(Scaling.around(NAMES, np.zeros(3), np.ones(3)), "2*y - 1")
    noisy = descent.plan(seeded_oracle(made, 1.0, "local"))
    assert error_after(noisy, 100) == pytest.approx(noisy.vector_error / 10)
    bounded = descent.plan(AdversarialOracle(made, 0.1))
    assert error_after(bounded, 100) == bounded.vector_error
    assert is_noiseless(descent.plan(ExactOracle(made))) and not is_noiseless(noisy)
    assert part_of(100, 5) == 5 and part_of(12, 5) == 1
