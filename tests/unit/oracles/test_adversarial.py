"""The adversarial oracle stays within its tolerance, and uses it."""

import numpy as np
import pytest

from localdp.errors import BudgetExhausted, InvalidParameter
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from tests.support.people import population

PEOPLE = population(500)
QUERIES = ["smoker", "age >= 65", "clip(bmi/60)"]
VECTORS = [
    "region",
    "vector(smoker, clip(bmi/60))",
    "ball(0.01*age, 0.01*bmi)",
    "parities(2, smoker, age > 40)",
]


@pytest.mark.parametrize("strategy", [*STRATEGIES, lambda truth, tolerance: truth * 0 + 7.0])
def test_no_answer_is_further_off_than_the_tolerance_and_some_are_that_far(strategy: str) -> None:
    told = AdversarialOracle(PEOPLE, 0.05, strategy)
    truth = ExactOracle(PEOPLE)
    off = [a.value - b.value for a, b in zip(told.answer(QUERIES), truth.answer(QUERIES), strict=True)]
    for ours, true in zip(told.answer_vectors(VECTORS), truth.answer_vectors(VECTORS), strict=True):
        off.extend((ours.values - true.values).tolist())
    assert np.abs(off).max() <= 0.05 + 1e-12
    assert np.abs(off).max() >= 0.02


def test_a_tolerance_of_zero_is_the_truth() -> None:
    told, truth = AdversarialOracle(PEOPLE, 0.0).answer(QUERIES), ExactOracle(PEOPLE).answer(QUERIES)
    assert [answer.value for answer in told] == [answer.value for answer in truth]


def test_small_signals_vanish_when_answers_are_moved_towards_zero() -> None:
    rare = AdversarialOracle(PEOPLE, 0.2, "towards").answer(["age >= 65 and smoker and bmi > 30"])[0]
    assert rare.value == 0.0


def test_the_plan_is_the_tolerance_whatever_the_failure() -> None:
    plan = AdversarialOracle(PEOPLE, 0.05).plan(QUERIES)
    assert plan.tolerance(0.5) == plan.tolerance(1e-9) == 0.05


def test_a_view_has_as_many_rounds_as_it_announced() -> None:
    view = AdversarialOracle(PEOPLE, 0.05).in_rounds(2)
    view.answer(QUERIES)
    view.answer(QUERIES)
    with pytest.raises(BudgetExhausted):
        view.answer(QUERIES)


@pytest.mark.parametrize(("tolerance", "strategy"), [(-0.1, "round"), (1.5, "round"), (0.1, "sideways")])
def test_nonsense_is_refused(tolerance: float, strategy: str) -> None:
    with pytest.raises(InvalidParameter):
        AdversarialOracle(PEOPLE, tolerance, strategy)
