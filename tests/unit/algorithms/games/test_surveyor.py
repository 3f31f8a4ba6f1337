"""The sensitive surveyor: what a budget buys, that no other price gains, and that ledgers are charged what is paid for."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.algorithms.games.surveyor import Survey
from localdp.domains import BitDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.party.party import Party
from localdp.randomness.hazmat import SeededSource
from tests.support.people import servers_of

PEOPLE = 1000


def bought(seed: int, budget: float) -> Survey:
    return Survey.bought(np.random.default_rng(seed).exponential(size=PEOPLE), budget)


@pytest.mark.parametrize(("budget", "many", "error"), [(10, 844, 0.177), (100, 966, 0.040)])
def test_a_budget_buys_so_many_people_and_this_accuracy(budget: float, many: int, error: float) -> None:
    """Two thirds of 20,000 errors are below 0.173 and 0.037: prices of 100 crowds, fair bits, noise by its law."""
    errors, asked = [], []
    for seed in range(100):
        survey, source = bought(seed, budget), np.random.default_rng(seed)
        left_out = source.binomial(survey.left_out, 0.5, 200) - survey.left_out / 2
        errors += np.abs(source.laplace(0, 1 / float(survey.epsilon), 200) - left_out).tolist()
        asked.append(len(survey.asked))
        assert survey.largest_error >= np.quantile(errors[-200:], 0.6) / PEOPLE
    assert np.mean(asked) == pytest.approx(many, rel=0.02)
    assert 0.85 * error <= np.quantile(errors, 2 / 3) / PEOPLE <= 1.1 * error


@pytest.mark.parametrize("budget", [3, 10, 100])
def test_everybody_is_paid_enough_and_no_more_is_spent_than_there_is(budget: float) -> None:
    for seed in range(20):
        survey = bought(seed, budget)
        assert survey.spent <= budget * (1 + 1e-12)
        assert (survey.costs[survey.asked] * float(survey.epsilon) <= survey.payment * (1 + 1e-9)).all()
        assert [place for one in survey.ranges for place in one] == survey.asked.tolist()
        assert all(one.stop < other.start for one, other in pairwise(survey.ranges))


def gain(costs: np.ndarray, person: int, said: float, budget: float) -> float:
    """What a person has after being paid, with privacy at its true price."""
    told = costs.copy()
    told[person] = said
    survey = Survey.bought(told, budget)
    return survey.payment - costs[person] / survey.left_out if person in survey.asked else 0.0


def test_nobody_gains_by_another_price() -> None:
    for seed in range(60):
        source = np.random.default_rng(seed)
        costs = source.exponential(size=8)
        honest = [gain(costs, person, costs[person], 2) for person in range(8)]
        for person in range(8):
            for said in [0.0, 99.0, *(costs * 0.999), *(costs * 1.001)]:
                assert gain(costs, person, float(said), 2) <= honest[person] + 1e-12


def books(model: str, survey: Survey) -> np.ndarray:
    """What each person's ledger says after the survey, of two parties, in nanonats."""
    schema, half = Schema({"ill": BitDomain()}), PEOPLE // 2
    bits = np.arange(PEOPLE) % 2 == 0
    parties = [
        Party(
            f"party-{number}",
            Records(schema, {"ill": bits[start : start + half]}),
            bytes([number]) * 32,
            ledger,
        )
        for number, start, ledger in (
            (number, number * half, MemoryLedger(half, Epsilon.requested(1))) for number in range(2)
        )
    ]

    def oracle_at(epsilon: Epsilon) -> StatisticalQueryOracle:
        if model == "local":
            return LocalOracle(InProcessLROracle(parties), epsilon, SeededSource(1))
        servers = InProcessShareServers(parties, servers_of(2))
        return SharedOracle(servers, epsilon, SeededSource(1), tier="additive")

    found = survey.answered("ill", oracle_at)
    assert found.answer.people == len(survey.asked)
    assert abs(found.share - 0.5) < (0.2 if model == "shared" else 2)
    return np.concatenate([party.ledger.spent() for party in parties])


@pytest.mark.parametrize("model", ["local", "shared"])
def test_every_ledger_is_charged_what_was_paid_for_and_no_other(model: str) -> None:
    survey = bought(3, 100)
    spent = books(model, survey)
    asked = np.isin(np.arange(PEOPLE), survey.asked)
    assert not spent[~asked].any() and 30 < (~asked).sum() < 40
    assert (spent[asked] > 0.999 * survey.epsilon.nanonats).all()
    assert (spent[asked] <= survey.epsilon.nanonats).all()


@pytest.mark.parametrize(
    ("costs", "budget"),
    [([1.0], 1), ([1.0, -1.0], 1), ([1.0, math.nan], 1), ([1.0, 2.0], 0), ([9.0, 9.0], 0.001)],
)
def test_what_is_no_survey_is_refused(costs: list[float], budget: float) -> None:
    with pytest.raises(InvalidParameter):
        Survey.bought(np.array(costs), budget)
