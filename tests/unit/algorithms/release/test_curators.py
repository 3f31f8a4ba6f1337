"""The selecting curator: its budget, its charges, and what it selects and measures."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from localdp.accounting.accountant import total_epsilon
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent
from localdp.accounting.ledger import MemoryLedger
from localdp.algorithms.release.curators import IterationBudget, SelectingCurator
from localdp.algorithms.release.distinguishers import ExponentialMechanism
from localdp.algorithms.release.synthetic import rows_of
from localdp.algorithms.release.universe import Universe, marginal_queries
from localdp.errors import BudgetExhausted, InvalidParameter, QueryRefused
from localdp.mechanisms.noisy_maximum import NoisyMaximum
from localdp.queries.scores import Furthest, Scores
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.hazmat import SeededSource
from tests.unit.algorithms.release.people import FINITE, MIXED, mixed_people

ONE = Epsilon.requested(1)
UNIVERSE = Universe.of(MIXED, FINITE)
QUERIES = marginal_queries(UNIVERSE, 2)
PEOPLE = mixed_people(3000)


@pytest.mark.parametrize("rounds", [1, 20, 5000])
def test_without_a_delta_epsilon_is_divided_equally(rounds: int) -> None:
    budget = IterationBudget(ONE, rounds)
    assert budget.each * (2 * rounds) <= ONE
    assert float(budget.each) == pytest.approx(budget.each_by_the_book, abs=1e-9)


@pytest.mark.parametrize("rounds", [20, 500, 5000])
def test_with_a_delta_the_accountant_vouches_for_more_than_the_book_does(rounds: int) -> None:
    budget = IterationBudget(ONE, rounds, Fraction(1, 10**6))
    assert total_epsilon([PrivacyEvent(budget.each, 2 * rounds)], budget.delta).epsilon <= ONE
    book = Epsilon.requested(budget.each_by_the_book)
    assert total_epsilon([PrivacyEvent(book, 2 * rounds)], budget.delta).epsilon <= ONE
    assert 2.4 < float(budget.each) / float(book) < 2.7


@pytest.mark.parametrize("rounds", [20, 500])
def test_the_exponential_mechanism_selects_at_twice_epsilon_for_the_price_of_a_measurement(
    rounds: int,
) -> None:
    delta = Fraction(1, 10**6)
    pure, bounded = IterationBudget(ONE, rounds, delta), IterationBudget(ONE, rounds, delta, True)
    assert bounded.selecting == bounded.each * 2 and pure.selecting == pure.each
    spent = [
        PrivacyEvent(bounded.selecting, rounds, bounded_range=True),
        PrivacyEvent(bounded.each, rounds),
    ]
    assert total_epsilon(spent, delta).epsilon <= ONE
    assert total_epsilon([PrivacyEvent(bounded.selecting, rounds)], delta).epsilon > ONE
    assert 1.8 < float(bounded.selecting) / float(pure.selecting) < 2
    assert float(bounded.each) > 0.9 * float(pure.each)
    without = IterationBudget(ONE, rounds, bounded_range=True)  # pure epsilons add up, whatever the range
    assert without.selecting == without.each == IterationBudget(ONE, rounds).each


def test_what_is_not_of_bounded_range_does_not_get_its_budget() -> None:
    curator = SelectingCurator(PEOPLE, 1.0, SeededSource(1), delta=1e-6)
    budget = IterationBudget(ONE, 5, curator.delta, True)
    for distinguisher in (None, ChoosesTheBest()):
        with pytest.raises(InvalidParameter, match="bounded range"):
            curator.begin(UNIVERSE, QUERIES, budget, distinguisher)
    assert curator.claim.epsilon == Epsilon(0)
    curator.begin(UNIVERSE, QUERIES, budget, ExponentialMechanism())


def test_a_construction_is_charged_whole_and_before_anything_is_drawn() -> None:
    ledger = MemoryLedger(PEOPLE.people, ONE)
    curator = SelectingCurator(PEOPLE, 0.6, SeededSource(1), ledger=ledger)
    assert curator.claim.epsilon == Epsilon(0)
    curator.begin(UNIVERSE, QUERIES, IterationBudget(curator.epsilon, 5))
    assert (ledger.spent() == Epsilon.requested(0.6).nanonats).all()
    assert curator.claim.epsilon == Epsilon.requested(0.6)
    with pytest.raises(BudgetExhausted):
        curator.begin(UNIVERSE, QUERIES, IterationBudget(curator.epsilon, 5))
    assert curator.claim.epsilon == Epsilon.requested(0.6)


def test_two_curators_on_one_ledger_are_both_charged_for_the_same_construction() -> None:
    ledger = MemoryLedger(PEOPLE.people, ONE)
    for seed in (1, 2):
        curator = SelectingCurator(PEOPLE, 0.5, SeededSource(seed), ledger=ledger)
        curator.begin(UNIVERSE, QUERIES, IterationBudget(curator.epsilon, 5))
    assert set(ledger.spent()) == {ONE.nanonats}


def test_a_budget_beyond_what_is_charged_is_refused() -> None:
    curator = SelectingCurator(PEOPLE, 0.5, SeededSource(1), delta=1e-6)
    for wrong in (
        IterationBudget(ONE, 5, curator.delta),
        IterationBudget(curator.epsilon, 5, Fraction(1, 10**5)),
    ):
        with pytest.raises(InvalidParameter, match="no more than it is charged"):
            curator.begin(UNIVERSE, QUERIES, wrong)
    assert curator.claim.epsilon == Epsilon(0)


def test_queries_that_are_none_are_refused_and_nobody_is_charged() -> None:
    curator = SelectingCurator(PEOPLE, 0.5, SeededSource(1))
    with pytest.raises(QueryRefused):
        curator.begin(UNIVERSE, ["smoker", "children"], IterationBudget(curator.epsilon, 5))
    assert curator.claim.epsilon == Epsilon(0)


def test_the_claim_has_the_delta_of_all_constructions() -> None:
    curator = SelectingCurator(
        PEOPLE, 0.5, SeededSource(1), delta=1e-6, ledger=MemoryLedger(PEOPLE.people, ONE)
    )
    for _ in range(2):
        curator.begin(UNIVERSE, QUERIES, IterationBudget(curator.epsilon, 5, curator.delta))
    assert curator.claim.delta == Fraction(2, 10**6) and curator.claim.epsilon == ONE
    assert "probability of 2e-06" in curator.claim.statement()


class ChoosesTheBest:
    """Not private: shows which scores a distinguisher is given."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def choose(self, scores: Any, sensitivity: int, epsilon: Epsilon, source: Any) -> int:
        self.seen.append((scores.copy(), sensitivity, epsilon))
        return int(np.argmax(scores))

    def error(self, candidates: int, sensitivity: int, epsilon: Epsilon, failure: float) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("queries", "resolution"), [(["smoker", "married"], 1), (["clip(children/3)", "smoker"], 65536)]
)
def test_scores_are_whole_numbers_that_one_record_moves_by_one_at_most(
    queries: list[str], resolution: int
) -> None:
    all_scores = []
    for changed in range(3):
        columns = {name: PEOPLE.column(name).copy() for name in MIXED.names}
        if changed:
            columns["smoker"][5] ^= True
            columns["children"][5] = 3 if columns["children"][5] < 1 else -1
            columns["married"][5] ^= changed == 2
        best = ChoosesTheBest()
        curator = SelectingCurator(type(PEOPLE)(MIXED, columns), 1.0, SeededSource(1))
        side = curator.begin(UNIVERSE, queries, IterationBudget(ONE, 2), best)
        side.furthest(np.array([0.3, 0.5]))
        scores, sensitivity, epsilon = best.seen[0]
        assert sensitivity == resolution and epsilon == Epsilon.requested("0.25")
        all_scores.append(scores)
    truth = np.abs([PEOPLE.column("smoker").sum() - 900, PEOPLE.column("married").sum() - 1500])
    if resolution == 1:
        assert (all_scores[0] == truth).all()
    for scores in all_scores[1:]:
        assert 0 < np.abs(scores - all_scores[0]).max() <= resolution


def test_the_measurement_has_the_noise_that_it_should() -> None:
    # 400 measurements at epsilon0 = 1/800: s.e. of the variance about 11 %; half the noise would be a factor of 4.
    truth = PEOPLE.column("smoker").sum()
    side = SelectingCurator(PEOPLE, 1.0, SeededSource(2)).begin(
        UNIVERSE, ["smoker"], IterationBudget(ONE, 400), ChoosesTheBest()
    )
    errors = [side.furthest(np.zeros(1)).value * PEOPLE.people - truth for _ in range(400)]
    ratio = np.mean(np.square(errors)) / DiscreteLaplace(Fraction(1, 800)).variance()
    assert 0.55 < ratio < 1.5
    with pytest.raises(BudgetExhausted):
        side.furthest(np.zeros(1))


def test_the_noise_of_a_measurement_is_as_wide_as_one_record_moves_the_sum() -> None:
    # 400 measurements: the variance has a relative standard error of 11 %.  Noise for a sensitivity of 1 where a record
    # moves the sum by 2**16 would have a variance 2**32 times too small.
    budget = IterationBudget(ONE, 400)
    side = SelectingCurator(PEOPLE, 1.0, SeededSource(3)).begin(UNIVERSE, ["clip(children/3)"], budget)
    values = np.array([side.furthest(np.array([0.0])).value for _ in range(400)])
    assert values.var() * (PEOPLE.people * float(budget.each)) ** 2 / 2 == pytest.approx(1, abs=0.5)


def test_a_curator_selects_by_the_noisy_maximum_unless_another_distinguisher_is_named() -> None:
    guess, budget = np.zeros(len(QUERIES)), IterationBudget(ONE, 2)

    def places(**named: Any) -> list[int]:
        curators = [SelectingCurator(PEOPLE, 1.0, SeededSource(seed)) for seed in range(40)]
        return [one.begin(UNIVERSE, QUERIES, budget, **named).furthest(guess).place for one in curators]

    sums = Scores.checked(UNIVERSE.query(), Furthest(guess, rows_of(QUERIES, UNIVERSE)), MIXED).of(PEOPLE)
    law, each = NoisyMaximum.within(budget.each, 1), budget.each
    assert places() == [law.choose(sums, SeededSource(seed)) for seed in range(40)]
    named = ExponentialMechanism()
    assert places(distinguisher=named) == [
        named.choose(sums, 1, each, SeededSource(seed)) for seed in range(40)
    ]


def test_no_rounds_and_no_epsilon_are_refused() -> None:
    for wrong in ((ONE, 0), (Epsilon(0), 3), (Epsilon(3), 3)):
        with pytest.raises(InvalidParameter):
            _ = IterationBudget(*wrong).each
    with pytest.raises(InvalidParameter):
        SelectingCurator(PEOPLE, 1.0, SeededSource(1), delta=2)
