"""What every statistical-query oracle promises about categories, vectors and parities, plans and views."""

from collections.abc import Sequence

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import BudgetExhausted, InvalidParameter, QueryRefused
from localdp.oracles.adversarial import AdversarialOracle
from localdp.oracles.definition import StatisticalQueryOracle, VectorAnswer
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.recording import CountingOracle, RecordingOracle
from localdp.oracles.shared import SharedOracle
from localdp.oracles.shuffled import ShuffledOracle, Shuffler
from localdp.queries.vector_query import VectorQuery
from localdp.sharing.noise_plans import NoisePlan
from parties.simulation.launcher import Simulation
from tests.contract.conftest import PARTIES, PEOPLE
from tests.contract.test_statistical_query_oracle import IN_PROCESS, Make, exact, local, shared
from tests.support.people import KEYRING, ONE, parties_of, population

VECTORS = [
    "region",
    "cells(region, smoker)",
    "which(age < 30, age < 60)",
    "vector(smoker, clip(bmi/60), age >= 65)",
    "ball(0.01*age, 0.02*bmi)",
    "signed(smoker, sphere(0.02*age - 1, 0.05*bmi - 1))",
    "moments(ball(0.01*age, 0.02*bmi), smoker)",
    "gradient(logistic, [0.5, -0.25], ball(0.01*age, 0.02*bmi), smoker)",
    "at(nearest(ball(0.01*age, 0.02*bmi), [0.3, 0.4], [0.6, 0.5]), ball(0.5, 0.01*age))",
    "parities(2, smoker, age >= 65, bmi > 25)",
    "parities(2, age >= 65, bmi > 25; smoker)",
]


def adversarial(epsilon: Epsilon, purpose: str) -> StatisticalQueryOracle:
    return AdversarialOracle(population(PEOPLE), 0.02)


def recording(epsilon: Epsilon, purpose: str) -> StatisticalQueryOracle:
    return RecordingOracle(local(epsilon, purpose))


def counting(epsilon: Epsilon, purpose: str) -> StatisticalQueryOracle:
    return CountingOracle(local(epsilon, purpose))


def shuffled(epsilon: Epsilon, purpose: str) -> StatisticalQueryOracle:
    lr = InProcessLROracle(parties_of(population(PEOPLE), PARTIES))
    return ShuffledOracle(
        Shuffler(lr, KEYRING.source("shuffler", purpose)), epsilon, KEYRING.source("shuffled", purpose)
    )


ALL: dict[str, Make] = {
    **IN_PROCESS,
    "shuffled": shuffled,
    "adversarial": adversarial,
    "recording": recording,
    "counting": counting,
}


@pytest.fixture(params=[*ALL, "local over grpc", "shared over grpc"])
def make(request: pytest.FixtureRequest, simulation: Simulation) -> Make:
    if request.param == "local over grpc":
        return lambda epsilon, purpose: LocalOracle(
            simulation.parties, epsilon, KEYRING.source("local", purpose)
        )
    if request.param == "shared over grpc":
        return lambda epsilon, purpose: SharedOracle(
            simulation.shared, epsilon, KEYRING.source("shared", "each-server", purpose), tier="additive"
        )
    return ALL[request.param]


def truths() -> list[VectorAnswer]:
    return exact(ONE, "").answer_vectors(VECTORS)


def same(here: Sequence[VectorAnswer], there: Sequence[VectorAnswer]) -> bool:
    return all(
        np.array_equal(a.values, b.values) and np.array_equal(a.variance_empirical, b.variance_empirical)
        for a, b in zip(here, there, strict=True)
    )


def test_vectors_come_in_order_and_lie_within_six_standard_errors(make: Make) -> None:
    answers = make(ONE, "vectors").answer_vectors(VECTORS)
    for answer, truth in zip(answers, truths(), strict=True):
        assert answer.query == truth.query
        assert answer.values.shape == truth.values.shape == answer.standard_errors.shape
        assert (np.abs(answer.values - truth.values) <= 6 * answer.standard_errors + 1e-9).all()
        assert answer.people == PEOPLE


def test_a_plan_asks_nobody_and_has_a_row_for_every_query(make: Make) -> None:
    oracle = make(ONE, "plan")
    plan = oracle.plan(VECTORS)
    assert oracle.cost.rounds == 0
    assert [row.query for row in plan.rows] == [truth.query for truth in truths()]
    assert [row.entries for row in plan.rows] == [len(truth.values) for truth in truths()]
    assert oracle.plan(["smoker", "age > 40"]).people == PEOPLE
    assert str(plan)


def test_a_view_of_three_rounds_costs_what_one_round_costs(make: Make) -> None:
    oracle = make(ONE, "view")
    view = oracle.in_rounds(3)
    for _ in range(3):
        view.answer_vectors(["region", "ball(0.01*age)"])
    assert view.cost.rounds == 3
    assert ONE.nanonats - 3 <= view.cost.epsilon_promised.nanonats <= ONE.nanonats or (
        view.claim.epsilon is None
    )
    with pytest.raises(BudgetExhausted):
        view.answer(["smoker"])


@pytest.mark.parametrize("rounds", [0, -1, 10**9])
def test_a_view_has_a_sensible_number_of_rounds(make: Make, rounds: int) -> None:
    with pytest.raises(InvalidParameter):
        make(ONE, "rounds").in_rounds(rounds)


@pytest.mark.parametrize("queries", [[], ["bmi"], ["regon"], ["region", "ball(region)"], ["region"] * 5000])
def test_a_round_with_a_bad_vector_asks_nothing(make: Make, queries: list[str]) -> None:
    oracle = make(ONE, "bad")
    with pytest.raises(QueryRefused):
        oracle.answer_vectors(queries)
    assert oracle.cost.rounds == 0


def test_a_checked_query_is_as_good_as_its_text(make: Make) -> None:
    query = VectorQuery.parse("cells(region, smoker)", population(PEOPLE).schema)
    assert make(ONE, "checked").answer_vectors([query])[0].query == query.text


def test_the_same_coins_give_the_same_vectors_in_process_and_over_grpc(simulation: Simulation) -> None:
    pairs: list[tuple[StatisticalQueryOracle, StatisticalQueryOracle]] = [
        (local(ONE, "twins"), LocalOracle(simulation.parties, ONE, KEYRING.source("local", "twins"))),
    ]
    for plan in (NoisePlan.EACH_SERVER, NoisePlan.DIVIDED):
        source = KEYRING.source("shared", plan.value, "twins")
        remote = SharedOracle(simulation.shared, ONE, source, plan=plan, tier="additive")
        pairs.append((shared(plan)(ONE, "twins"), remote))
    for here, there in pairs:
        assert same(here.answer_vectors(VECTORS), there.answer_vectors(VECTORS))
        assert same(
            here.in_rounds(2).answer_vectors(VECTORS[:3]), there.in_rounds(2).answer_vectors(VECTORS[:3])
        )
        assert here.cost == there.cost
