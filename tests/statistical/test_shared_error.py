"""The error of the shared curator, the long way: parties, share servers, agreement, release, collector.

The law is that of tests/statistical/test_shared_noise.py, which has the broken twins and the large samples; here it is held
against every way in which a collection can be run: both tiers, counts and histograms, three servers, a hundred people
and a million, objects and processes.  Chi-square at alpha = 1e-4, every bin counted, tails pooled where fewer than
five errors would be expected.  The servers' secrets are new in every run, and so is the noise.

Power by default (a few hundred errors): an epsilon that is off by half.  In the nightly run 2,000 collections of a
million people (an epsilon off by a tenth; the variance within 4.5 of its standard errors), and 300 collections by server
processes.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.oracles.collecting import ShareServers
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.keyring import Keyring
from localdp.randomness.source import Integers
from localdp.sharing.collection import Tier
from localdp.sharing.noise_plans import NoisePlan
from parties.simulation.launcher import Simulation
from tests.statistical.test_shared_noise import (
    ALL,
    CENTRAL_VARIANCE,
    EACH,
    FACTOR,
    SERVERS,
    SOME,
    exact_law,
    follows,
)
from tests.support import federations
from tests.support.people import KEYRING, ONE, PLENTY, parties_of, population, servers_of

JOINT, PROVED = NoisePlan.JOINT, NoisePlan.PROVED
FACTORS = FACTOR | {JOINT: 1.0, PROVED: FACTOR[EACH]}
PLANS = pytest.mark.parametrize("plan", FACTORS, ids=str)
TIERS = pytest.mark.parametrize("tier", ["additive", "prio3"])


def in_process(people: int, servers: int = SERVERS, parties: int = 1) -> InProcessShareServers:
    return InProcessShareServers(parties_of(population(people), parties), servers_of(servers))


def count_errors(
    servers: ShareServers, truth: int, plan: NoisePlan, tier: Tier, collections: int
) -> Integers:
    source = KEYRING.source("shared error", plan.value, tier, str(collections))
    oracle = SharedOracle(servers, ONE, source, plan=plan, tier=tier)
    return np.array([round(oracle.answer(["smoker"])[0].count) - truth for _ in range(collections)])


def law_of(plan: NoisePlan, epsilon: float = 1.0) -> NDArray[np.float64]:
    """Joint noise is what the parts of a divided one add up to, and proved noise that of each server."""
    return exact_law({JOINT: ALL, PROVED: EACH}.get(plan, plan), epsilon)


def smokers(people: int) -> int:
    return int(population(people).column("smoker").sum())


@pytest.mark.parametrize(
    ("tier", "plan"),
    [("additive", EACH), ("additive", ALL), ("additive", SOME), ("prio3", SOME), ("additive", JOINT)],
    ids=str,
)
def test_a_count_has_its_law_in_both_tiers(plan: NoisePlan, tier: Tier) -> None:
    measured, law = count_errors(in_process(100), smokers(100), plan, tier, 120), law_of(plan)
    assert follows(measured, law, bins=3)
    assert not follows(2 * measured, law, bins=3)
    assert not follows(np.zeros_like(measured), law, bins=3)


def histogram_errors(tier: Tier, plan: NoisePlan, collections: int) -> Integers:
    """Of each bin: the sensitivity is 2, so the parameter of the noise is a half."""
    people = population(60)
    query = VectorQuery.parse("region", people.schema)
    truth = np.bincount(people.column("region"), minlength=query.length)
    source = KEYRING.source("shared histogram", tier, plan.value, str(collections))
    oracle = SharedOracle(in_process(60), ONE, source, plan=plan, tier=tier)
    answers = [oracle.answer_vectors([query])[0] for _ in range(collections)]
    return np.array([np.rint(one.values * 60).astype(np.int64) - truth for one in answers])


@pytest.mark.parametrize(("tier", "plan"), [("additive", SOME), ("prio3", SOME), ("prio3", JOINT)], ids=str)
def test_every_bin_of_a_histogram_has_the_law_of_sensitivity_two(tier: Tier, plan: NoisePlan) -> None:
    measured = histogram_errors(tier, plan, 40)
    assert follows(measured.reshape(-1), law_of(plan, epsilon=0.5), bins=4)
    assert not follows(measured.reshape(-1), law_of(plan, epsilon=1.0), bins=4)
    together = np.asarray(np.corrcoef(measured.T))[np.triu_indices(measured.shape[1], 1)]
    assert np.abs(together).max() < 0.65  # 40 pairs, four standard errors: every bin has its own noise


@pytest.mark.parametrize("people", [2, 10_000])
def test_the_error_does_not_depend_on_the_number_of_people(people: int) -> None:
    measured = count_errors(in_process(people), smokers(people), EACH, "additive", 150)
    assert follows(measured, exact_law(EACH), bins=3)


def test_over_grpc_the_law_is_the_same() -> None:
    records = population(40)
    with federations.served(parties_of(records, 2)) as federation:
        cases: list[tuple[Tier, NoisePlan]] = [("additive", EACH), ("prio3", ALL), ("additive", PROVED)]
        for tier, plan in cases:
            measured = count_errors(federation.shared, smokers(40), plan, tier, 40)
            law = exact_law(EACH if plan == PROVED else plan, servers=2)
            assert follows(measured, law, bins=2)
            assert not follows(measured * 3 + 1, law, bins=2)


@pytest.mark.nightly
@PLANS
def test_two_thousand_counts_of_a_million_people(plan: NoisePlan) -> None:
    people = 1_000_000
    measured = count_errors(in_process(people), smokers(people), plan, "additive", 2000)
    assert follows(measured, law_of(plan), bins=6)
    assert measured.var() == pytest.approx(FACTORS[plan] * CENTRAL_VARIANCE, rel=0.25)


@pytest.mark.nightly
@TIERS
def test_two_thousand_bins(tier: Tier) -> None:
    for plan in FACTORS:
        measured = histogram_errors(tier, plan, 500).reshape(-1)
        assert follows(measured, law_of(plan, epsilon=0.5), bins=8)


@pytest.mark.nightly
@TIERS
@pytest.mark.parametrize("plan", [EACH, ALL], ids=str)
def test_three_hundred_collections_by_processes(plan: NoisePlan, tier: Tier) -> None:
    records, keyring = population(100), Keyring.insecurely_seeded(300)
    with Simulation([records], budget=PLENTY, servers=2, keyring=keyring) as simulation:
        measured = count_errors(simulation.shared, smokers(100), plan, tier, 300)
    assert follows(measured, exact_law(plan, servers=2), bins=4)
    assert not follows(2 * measured, exact_law(plan, servers=2), bins=4)


ROUNDS, OCTETS = 20, 27_075  # that all servers together say for one count


def joint_by_processes(collections: int) -> Integers:
    records, keyring = population(100), Keyring.insecurely_seeded(301)
    with Simulation([records], budget=PLENTY, servers=3, keyring=keyring) as simulation:
        errors = count_errors(simulation.shared, smokers(100), JOINT, "additive", collections)
        assert simulation.shared.traffic.rounds == ROUNDS * collections
        assert sum(simulation.shared.traffic.octets) == OCTETS * collections
        return errors


def test_three_processes_draw_the_noise_of_one_curator() -> None:
    measured = joint_by_processes(40)
    assert follows(measured, law_of(JOINT), bins=2)
    assert not follows(measured * 3 + 1, law_of(JOINT), bins=2)


@pytest.mark.nightly
def test_two_thousand_joint_counts_by_processes() -> None:
    measured = joint_by_processes(2000)
    assert follows(measured, law_of(JOINT), bins=6)
    assert np.abs(measured).mean() == pytest.approx(0.851, rel=0.1)  # 3.6 standard errors
