"""A tenth of the parties away, as processes that are gone: answered where that was allowed for, and refused where not."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.domains.dealing import dealt
from localdp.errors import Unreachable
from localdp.oracles.flooded import FloodedOracle
from localdp.oracles.shuffler import Promise
from parties.coordinator import RemoteParties
from parties.simulation.launcher import Simulation
from tests.support.people import KEYRING, ONE, population

PEOPLE = population(200)
PROMISE = Promise(ONE, Fraction(1, 1000), requests=10, minimum_cohort=50)


@pytest.fixture(scope="module")
def short() -> Iterator[Simulation]:
    """Ten agents with a shuffler, of whom one was killed."""
    parts = dealt(PEOPLE, 10)
    with Simulation(parts, budget=Epsilon.requested(3), keyring=KEYRING, shuffler=PROMISE) as simulation:
        server_processes = len(simulation.share_servers)
        os.kill(simulation.process_ids[server_processes + 3], signal.SIGKILL)
        yield simulation


def oracle(simulation: Simulation, honest: Fraction) -> FloodedOracle:
    assert simulation.mixer is not None
    source, delta = KEYRING.source("away", str(honest)), Fraction(1, 1000)
    return FloodedOracle(simulation.mixer, ONE, source, delta=delta, extra=Fraction(1, 100), honest=honest)


def test_nothing_is_released_from_fewer_than_have_to_be_honest_and_nobody_pays(short: Simulation) -> None:
    with pytest.raises(Unreachable, match="too few people"):
        oracle(short, Fraction(1)).answer(["smoker"])
    with closing(RemoteParties([short.agents[0]])) as one:
        left = max(step.at_least for step in one.budgets()[0] or () if step.people)
    assert left == Epsilon.requested(3)  # all of the budget


def test_a_tenth_may_be_away_where_that_is_allowed_for(short: Simulation) -> None:
    answer = oracle(short, Fraction(9, 10)).answer(["smoker"])[0]
    assert answer.reports == 180
    there = [part for number, part in enumerate(dealt(PEOPLE, 10)) if number != 3]
    truth = sum(int(part.column("smoker").sum()) for part in there)
    assert abs(answer.count - truth) <= 6 * answer.count_error
