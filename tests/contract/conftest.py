"""One set of simulated processes for all contract tests of a run."""

from collections.abc import Iterator

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.domains.dealing import dealt
from parties.simulation.launcher import Simulation
from tests.support.people import KEYRING, PLENTY, population

PEOPLE = 3000
PARTIES = 3


@pytest.fixture(scope="module")
def simulation() -> Iterator[Simulation]:
    """Three agents and two share servers over the people of `population(PEOPLE)`."""
    with Simulation(
        dealt(population(PEOPLE), PARTIES),
        budget=PLENTY,
        keyring=KEYRING,
        largest_request=Epsilon.requested(30),
    ) as running:
        yield running
