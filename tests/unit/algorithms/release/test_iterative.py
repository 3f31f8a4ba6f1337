"""Iterative constructions: right within alpha on every oracle of the stated tolerance, and with a private curator."""

from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.quick_start import oracle_of_records
from localdp.algorithms.release.curators import Mistake, SelectingCurator
from localdp.algorithms.release.distinguishers import ExponentialMechanism
from localdp.algorithms.release.iterative import IterativeConstruction, construct
from localdp.algorithms.release.synthetic import rows_of
from localdp.algorithms.release.universe import Universe, marginal_queries
from localdp.algorithms.release.updates import (
    Halving,
    MultiplicativeWeights,
    Perceptron,
    small_databases,
)
from localdp.errors import InvalidParameter, QueryRefused, SignalTooWeak
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import CountingOracle
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import Floats
from tests.unit.algorithms.release.people import bit_people, table_of

PEOPLE = bit_people(5, 4000)
UNIVERSE = Universe.of(PEOPLE.schema)
QUERIES = marginal_queries(UNIVERSE, 2)
ROWS = rows_of(QUERIES, UNIVERSE)
MASSES = (
    np.bincount(VectorQuery.parse(UNIVERSE.query(), PEOPLE.schema).evaluate(PEOPLE), minlength=32) / 4000
)
TRUTH = ROWS @ MASSES
UPDATES = [MultiplicativeWeights(), MultiplicativeWeights(tight=True), Perceptron()]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("update", UPDATES, ids=repr)
def test_all_answers_are_within_alpha_at_a_tolerance_of_a_quarter_of_it(update: Any, strategy: str) -> None:
    alpha = 0.12
    oracle = AdversarialOracle(PEOPLE, alpha / 4 * 0.999, strategy)
    made = IterativeConstruction(QUERIES, alpha=alpha, update=update).fit(oracle)
    assert np.abs(made.answers_ - TRUTH).max() <= alpha
    assert made.converged_ and 0 < made.updates_ <= update.bound(alpha / 2, ROWS)


def test_a_class_of_small_databases_answers_within_alpha() -> None:
    people = bit_people(2, 1000)
    queries = marginal_queries(Universe.of(people.schema), 2)
    made = IterativeConstruction(queries, alpha=0.6, update=Halving(small_databases(4, 8))).fit(
        ExactOracle(people)
    )
    assert np.abs(made.answers_ - table_of(people, "b0", "b1").ravel()).max() <= 0.6
    assert made.updates_ <= 7


def test_the_exact_oracle_allows_any_alpha() -> None:
    made = IterativeConstruction(QUERIES, alpha=0.002).fit(ExactOracle(PEOPLE))
    assert np.abs(made.answers_ - TRUTH).max() < 0.0015
    np.testing.assert_allclose(
        made.distribution_.marginal("b0", "b4"), table_of(PEOPLE, "b0", "b4"), atol=0.0015
    )
    records = made.synthetic(2000, SeededSource(1))
    np.testing.assert_allclose(table_of(records, "b1", "b2"), table_of(PEOPLE, "b1", "b2"), atol=0.02)


def test_batches_are_asked_once_each_in_their_rounds() -> None:
    counting = CountingOracle(ExactOracle(PEOPLE))
    made = IterativeConstruction(QUERIES, alpha=0.05, rounds=4).fit(counting)
    assert counting.counts.rounds_announced == [4]
    assert (counting.counts.rounds, counting.counts.queries) == (4, len(QUERIES))
    assert made.converged_ and np.abs(made.answers_ - TRUTH).max() <= 0.05


@pytest.mark.parametrize("trust", ["curator", "shared", "local"])
def test_it_runs_on_noisy_oracles_and_reports_what_it_cost(trust: Any) -> None:
    queries = ["b0", "b1 and b2", "b3 or b4"]
    people = bit_people(5, 50_000)
    made = IterativeConstruction(queries, alpha=0.2).fit(oracle_of_records(people, 1.0, trust))
    truth = rows_of(queries, UNIVERSE) @ MASSES
    assert (
        np.abs(made.answers_ - truth).max() <= 0.2 + 0.03
    )  # those people are another sample of the same law
    assert made.claim_.model == trust and float(made.cost_.epsilon_promised) == pytest.approx(1.0)


def test_nothing_is_asked_when_a_quarter_of_alpha_is_less_than_the_noise() -> None:
    counting = CountingOracle(oracle_of_records(PEOPLE, 1.0, "local"))
    with pytest.raises(SignalTooWeak):
        IterativeConstruction(QUERIES, alpha=0.1).fit(counting)
    assert counting.counts.rounds == 0


class PointsAnywhere:
    """A side that points at any query and says anything."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self.looks = 0

    def furthest(self, answers: Floats) -> Mistake:
        self.looks += 1
        return Mistake(int(self._generator.integers(len(answers))), float(self._generator.normal()))


@pytest.mark.parametrize("seed", range(3))
def test_no_more_updates_are_made_than_allowed_whatever_the_side_says(seed: int) -> None:
    side = PointsAnywhere(seed)
    made = construct(side, ROWS, MultiplicativeWeights(), 0.01, 50)
    assert made.updates <= 50 and side.looks <= 50
    assert made.state.min() >= 0 and made.state.sum() == pytest.approx(1)


@pytest.mark.parametrize("distinguisher", [None, ExponentialMechanism()])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_private_curator_is_within_alpha_where_the_theorem_says_so(
    delta: float, distinguisher: Any
) -> None:
    # Theorem 5.4 at n = 10**6 and epsilon = 8, at most beta = 0.05: the plan is checked before anything is drawn.
    people = bit_people(5, 1_000_000)
    cells = VectorQuery.parse(UNIVERSE.query(), people.schema).evaluate(people)
    truth = ROWS @ np.bincount(cells, minlength=32) / 1_000_000
    chosen = {"distinguisher": distinguisher} if distinguisher else {}
    made = IterativeConstruction(QUERIES, alpha=0.2, **chosen)
    made.fit_curator(SelectingCurator(people, 8.0, SeededSource(4), delta=delta))
    assert np.abs(made.answers_ - truth).max() <= 0.2
    assert made.claim_.epsilon == Epsilon.requested(8) and float(made.claim_.delta) == delta
    assert made.converged_ and made.plan_.model == "curator"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_selected_mistakes_are_corrected_until_all_answers_are_within_alpha(strategy: str) -> None:
    # A query holds 8 of the 32 cells, so that it is selected with an error of 8 tau = alpha / 16.
    oracle = AdversarialOracle(PEOPLE, 0.01 / 8, strategy)
    made = IterativeConstruction(QUERIES, alpha=0.16, selecting=True, check_signal=False).fit(oracle)
    assert np.abs(made.answers_ - TRUTH).max() <= 0.16
    assert made.converged_ and made.cost_.rounds == 2 * (made.updates_ + 1)
    assert made.plan_.tolerance() == pytest.approx(2 * 0.01)


def test_selecting_costs_a_curator_two_rounds_a_mistake_and_never_more_than_was_said() -> None:
    people = bit_people(5, 1_000_000)
    made = IterativeConstruction(QUERIES, alpha=0.2, selecting=True)
    made.fit(oracle_of_records(people, 8.0, "curator"))
    truth = [answer.value for answer in ExactOracle(people).answer(QUERIES)]
    assert np.abs(made.answers_ - truth).max() <= 0.2
    assert made.cost_.rounds == 2 * (made.updates_ + 1)
    assert made.cost_.epsilon_promised <= Epsilon.requested(8)
    assert made.plan_.rows[0].entries == len(QUERIES)


def test_nothing_is_selected_where_mistakes_would_drown() -> None:
    counting = CountingOracle(oracle_of_records(PEOPLE, 1.0, "curator"))
    with pytest.raises(SignalTooWeak):
        IterativeConstruction(QUERIES, alpha=0.05, selecting=True).fit(counting)
    assert counting.counts.rounds == 0


def test_a_curator_is_not_started_where_the_theorem_promises_nothing() -> None:
    curator = SelectingCurator(PEOPLE, 1.0, SeededSource(5))
    with pytest.raises(SignalTooWeak, match=r"needs [\d,]+ people"):
        IterativeConstruction(QUERIES, alpha=0.05).fit_curator(curator)
    assert curator.claim.epsilon == Epsilon(0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"queries": []},
        {"queries": "b0"},
        {"alpha": 0.0},
        {"alpha": 1.5},
        {"failure": 0.0},
        {"most_updates": 0},
        {"rounds": 0},
        {"rounds": 1000},
        {"columns": ["nobody"]},
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        IterativeConstruction(**{"queries": QUERIES, **parameters}).fit(ExactOracle(PEOPLE))


def test_queries_about_other_columns_are_refused() -> None:
    with pytest.raises(QueryRefused):
        IterativeConstruction(["b4"], ["b0", "b1"]).fit(ExactOracle(PEOPLE))


def test_tables_beyond_the_bound_are_refused() -> None:
    wide = bit_people(20, 10)
    with pytest.raises(InvalidParameter, match="values of queries"):
        IterativeConstruction(["b0"] * 17).fit(ExactOracle(wide))
