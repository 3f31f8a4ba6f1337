"""The selecting curator: its budget, its charges, and what it selects and measures."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from localdp.accounting.accountant import total_epsilon
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent
from localdp.accounting.ledger import MemoryLedger
from localdp.algorithms.release.curators import IterationBudget, PrivateSide, SelectingCurator
from localdp.algorithms.release.distinguishers import ExponentialMechanism, NoisyMax
from localdp.algorithms.release.synthetic import rows_of
from localdp.algorithms.release.universe import Universe, marginal_queries
from localdp.errors import BudgetExhausted, InvalidParameter
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.hazmat import SeededSource
from tests.unit.algorithms.release.people import FINITE, MIXED, mixed_people

ONE = Epsilon.requested(1)
UNIVERSE = Universe.of(MIXED, FINITE)
ROWS = rows_of(marginal_queries(UNIVERSE, 2), UNIVERSE)
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


def test_a_construction_is_charged_whole_and_before_anything_is_drawn() -> None:
    ledger = MemoryLedger(PEOPLE.people, ONE)
    curator = SelectingCurator(PEOPLE, 0.6, SeededSource(1), ledger=ledger)
    assert curator.claim.epsilon == Epsilon(0)
    curator.begin(UNIVERSE, ROWS, ExponentialMechanism(), IterationBudget(curator.epsilon, 5))
    assert (ledger.spent() == Epsilon.requested(0.6).nanonats).all()
    assert curator.claim.epsilon == Epsilon.requested(0.6)
    with pytest.raises(BudgetExhausted):
        curator.begin(UNIVERSE, ROWS, ExponentialMechanism(), IterationBudget(curator.epsilon, 5))
    assert curator.claim.epsilon == Epsilon.requested(0.6)


def test_two_curators_on_one_ledger_are_both_charged_for_the_same_construction() -> None:
    ledger = MemoryLedger(PEOPLE.people, ONE)
    for seed in (1, 2):
        curator = SelectingCurator(PEOPLE, 0.5, SeededSource(seed), ledger=ledger)
        curator.begin(UNIVERSE, ROWS, ExponentialMechanism(), IterationBudget(curator.epsilon, 5))
    assert set(ledger.spent()) == {ONE.nanonats}


def test_a_budget_beyond_what_is_charged_is_refused() -> None:
    curator = SelectingCurator(PEOPLE, 0.5, SeededSource(1), delta=1e-6)
    for wrong in (
        IterationBudget(ONE, 5, curator.delta),
        IterationBudget(curator.epsilon, 5, Fraction(1, 10**5)),
    ):
        with pytest.raises(InvalidParameter, match="no more than it is charged"):
            curator.begin(UNIVERSE, ROWS, ExponentialMechanism(), wrong)
    assert curator.claim.epsilon == Epsilon(0)


@pytest.mark.parametrize("wrong", [2.0, -0.5, float("nan")])
def test_queries_that_move_by_more_than_one_are_refused(wrong: float) -> None:
    rows = ROWS.copy()
    rows[0, 0] = wrong
    curator = SelectingCurator(PEOPLE, 0.5, SeededSource(1))
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        curator.begin(UNIVERSE, rows, ExponentialMechanism(), IterationBudget(curator.epsilon, 5))


def test_the_claim_has_the_delta_of_all_constructions() -> None:
    curator = SelectingCurator(
        PEOPLE, 0.5, SeededSource(1), delta=1e-6, ledger=MemoryLedger(PEOPLE.people, ONE)
    )
    for _ in range(2):
        curator.begin(UNIVERSE, ROWS, NoisyMax(), IterationBudget(curator.epsilon, 5, curator.delta))
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
    rows = rows_of(queries, UNIVERSE)
    all_scores = []
    for changed in range(3):
        columns = {name: PEOPLE.column(name).copy() for name in MIXED.names}
        if changed:
            columns["smoker"][5] ^= True
            columns["children"][5] = 3 if columns["children"][5] < 1 else -1
            columns["married"][5] ^= changed == 2
        best = ChoosesTheBest()
        curator = SelectingCurator(type(PEOPLE)(MIXED, columns), 1.0, SeededSource(1))
        side = curator.begin(UNIVERSE, rows, best, IterationBudget(ONE, 2))
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
    truth, rows = PEOPLE.column("smoker").sum(), rows_of(["smoker"], UNIVERSE)
    side = SelectingCurator(PEOPLE, 1.0, SeededSource(2)).begin(
        UNIVERSE, rows, ChoosesTheBest(), IterationBudget(ONE, 400)
    )
    errors = [side.furthest(np.zeros(1)).value * PEOPLE.people - truth for _ in range(400)]
    ratio = np.mean(np.square(errors)) / DiscreteLaplace(Fraction(1, 800)).variance()
    assert 0.55 < ratio < 1.5
    with pytest.raises(BudgetExhausted):
        side.furthest(np.zeros(1))


@pytest.mark.parametrize("resolution", [1, 1 << 16])
def test_the_noise_of_a_measurement_is_as_wide_as_one_record_moves_the_sum(resolution: int) -> None:
    # 2,000 measurements: the variance has a relative standard error of 5 %.  Noise for a sensitivity of 1 where a record
    # moves the sum by 2**16 would have a variance 2**32 times too small.
    budget = IterationBudget(Epsilon.requested(1), 2000)
    each = float(budget.each)
    sums = np.array([500 * resolution], np.int64)
    side = PrivateSide(sums, resolution, 1000, NoisyMax(), budget, SeededSource(3))
    values = np.array([side.furthest(np.array([0.0])).value for _ in range(2000)])
    assert values.var() * (1000 * each) ** 2 / 2 == pytest.approx(1, abs=0.25)


def test_no_rounds_and_no_epsilon_are_refused() -> None:
    for wrong in ((ONE, 0), (Epsilon(0), 3), (Epsilon(3), 3)):
        with pytest.raises(InvalidParameter):
            _ = IterationBudget(*wrong).each
    with pytest.raises(InvalidParameter):
        SelectingCurator(PEOPLE, 1.0, SeededSource(1), delta=2)
