"""Small populations and parties for tests."""

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Ledger, MemoryLedger
from localdp.domains import Records
from localdp.domains.dealing import dealt
from localdp.experiments.population import made_up_people
from localdp.party.party import Party
from localdp.party.policy import ANY_DELTA, Policy
from localdp.randomness.keyring import Keyring
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault

KEYRING = Keyring.insecurely_seeded(2026)
ONE = Epsilon.requested(1)
PLENTY = Epsilon(10**15)


def population(people: int) -> Records:
    """The same made-up people every time."""
    return made_up_people(people, KEYRING.source("test people", str(people)))


def party_of(
    records: Records, *, number: int = 0, budget: Epsilon = PLENTY, ledger: Ledger | None = None
) -> Party:
    """One party with its secret from the tests' keyring."""
    ledger = ledger or MemoryLedger(records.people, budget)
    policy = Policy(largest_epsilon=Epsilon.requested(30), largest_delta_flooded=ANY_DELTA)
    return Party(f"party-{number}", records, KEYRING.party(number), ledger, policy)


def parties_of(records: Records, count: int, budget: Epsilon = PLENTY) -> list[Party]:
    """The people dealt out to several parties."""
    return [
        party_of(part, number=number, budget=budget) for number, part in enumerate(dealt(records, count))
    ]


def servers_of(count: int) -> list[ShareServer]:
    """Share servers with their secrets from the tests' keyring."""
    return [ShareServer(f"server-{number}", MemoryVault(KEYRING.server(number))) for number in range(count)]
