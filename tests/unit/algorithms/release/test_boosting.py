"""Boosting for queries: rounds, costs, what a draw tells, and answers that are as good as is promised."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from localdp.accounting.accountant import total_epsilon
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent
from localdp.algorithms.release.boosting import (
    BoostingPlan,
    Fit,
    boosted,
    least_squares,
    linear_program,
    multiplicative_weights,
)
from localdp.algorithms.release.distinguishers import ExponentialMechanism
from localdp.errors import InvalidParameter
from localdp.experiments.boosting_queries import cells_of_tables, made_up_words
from localdp.randomness.hazmat import SeededSource

ONE, DELTA = Epsilon.requested(1), Fraction(1, 10**6)
ROWS = cells_of_tables()
PEOPLE = 1_000_000


def plan(samples: int) -> BoostingPlan:
    return BoostingPlan(len(ROWS), samples, ONE, DELTA)


def histogram(people: int = PEOPLE) -> np.ndarray:
    return np.bincount(made_up_words(people, SeededSource(1)), minlength=256)


@pytest.mark.parametrize(("samples", "book"), [(50, 6_624), (200, 13_249)])
def test_a_plan_has_the_rounds_and_the_width_that_hold(samples: int, book: int) -> None:
    made = plan(samples)
    assert len(ROWS) == 448 and made.rounds == 21
    assert 0.75 * book < made.wide <= book  # by epsilon**2 / 8 of every draw alone it is `book`
    assert made.near == math.ceil(math.log(2 * samples) / float(made.answering))


def test_all_draws_and_answers_together_cost_what_was_asked_for() -> None:
    made = plan(50)
    draws = [PrivacyEvent(made.drawing(i), 50, bounded_range=True) for i in range(1, made.rounds)]
    answers = [PrivacyEvent(made.answering, 50 * made.rounds)]
    for events in (draws, answers):
        assert total_epsilon(events, DELTA / 2).epsilon <= Epsilon.requested("0.500001")
    # Charged as the pure mechanisms that they are, the draws would cost more: the tighter account is needed.
    pure = [PrivacyEvent(event.epsilon, event.count) for event in draws]
    assert total_epsilon(pure, DELTA / 2).epsilon > Epsilon.requested("0.9")


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_draw_costs_what_the_rounds_before_it_can_have_moved(rounds: int) -> None:
    """Every way in which one person moves what three queries were off so far: each by 1 in a round, up or down."""
    cost = Epsilon.requested("0.2")
    worst, exponential = Fraction(1), ExponentialMechanism()
    for moved in product(range(-rounds, rounds + 1), repeat=3):
        before = np.array([5, 9, 7])
        first, second = (exponential.law(one, rounds, cost) for one in (before, before + np.array(moved)))
        ratios = [
            Fraction(a * second.total, b * first.total)
            for a, b in zip(first.weights, second.weights, strict=True)
        ]
        worst = max(worst, *ratios, *(1 / one for one in ratios))
    assert 0.5 * 0.2 < math.log(worst) <= 0.2


@pytest.mark.parametrize(
    ("samples", "most"), [pytest.param(200, 0.00115, marks=pytest.mark.nightly), (400, 0.0008)]
)
def test_answers_are_as_good_as_is_promised_and_far_better(samples: int, most: float) -> None:
    """One release each; 0.0007 to 0.0009 at 200 samples and 0.0006 at 400 are usual."""
    counts = histogram()
    found = boosted(plan(samples), counts, ROWS, SeededSource(2))
    errors = np.abs(found.answers - ROWS @ counts / PEOPLE)
    assert errors.max() <= most < found.plan.promised(PEOPLE) / 10
    assert found.masses.min() >= 5 / 6  # of every distribution, as Definition 6.1 with eta = 1/3 asks for
    assert len(found.synopses) == 21
    assert "curator" in found.claim.statement()


@pytest.mark.parametrize("fit", [least_squares, linear_program, multiplicative_weights])
def test_a_fit_is_a_distribution_that_answers_what_it_was_told(fit: Fit) -> None:
    counts = histogram(10_000)
    chosen = np.arange(0, 448, 3)
    masses = fit(ROWS[chosen].astype(float), (ROWS[chosen] @ counts).astype(float), 10_000)
    assert masses.min() >= 0 and masses.sum() == pytest.approx(1)
    assert np.abs(ROWS[chosen] @ (masses - counts / 10_000)).max() < 0.005


def test_medians_are_right_where_most_synopses_are() -> None:
    """A base generator that is wrong about everything in one round of three is mended."""
    counts, calls = histogram(), list[int]()

    def sometimes_wrong(rows: np.ndarray, answers: np.ndarray, people: int) -> np.ndarray:
        calls.append(1)
        return np.eye(256)[0] if len(calls) % 3 == 0 else least_squares(rows, answers, people)

    found = boosted(plan(400), counts, ROWS, SeededSource(2), sometimes_wrong)
    assert np.abs(found.answers - ROWS @ counts / PEOPLE).max() < 0.002
    assert found.masses.min() < 0.7


def test_the_same_coins_give_the_same_answers() -> None:
    counts = histogram(10_000)
    one, other = (boosted(plan(20), counts, ROWS, SeededSource(3)).answers for _ in range(2))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("changed", [{"queries": 1}, {"samples": 0}, {"eta": 0.5}, {"delta": Fraction(0)}])
def test_what_is_no_plan_is_refused(changed: dict[str, object]) -> None:
    said = {"queries": 448, "samples": 50, "epsilon": ONE, "delta": DELTA, **changed}
    with pytest.raises(InvalidParameter):
        BoostingPlan(**said)  # type: ignore[arg-type]


def test_rows_of_other_queries_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="zeros and ones"):
        boosted(plan(20), histogram(1000), ROWS[:3], SeededSource(1))
