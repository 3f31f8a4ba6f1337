"""Simulated parties and share servers as objects of this process, with secrets that somebody keeps for them.

Records are dealt out here wherever nothing is launched: by learners at hand, by federations and by experiments.  With the
same secrets the answers are those of launched processes, bit for bit.  Who has records and wants no more than an oracle
over them has it by `oracle_over`.

Checked in tests/integration/test_federation.py and tests/unit/algorithms/test_quick_start.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, Epsilon
from localdp.accounting.ledger import Ledger, MemoryLedger
from localdp.domains import Records
from localdp.domains.dealing import dealt
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.model_row import Coins, Parties, TrustModel
from localdp.oracles.models import oracle_of
from localdp.oracles.shared import InProcessShareServers
from localdp.party.party import Party
from localdp.party.policy import ANY_DELTA, Policy
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault

_LARGEST_REPORT = Epsilon.requested(LARGEST_EPSILON_NATS)
_SERVERS = 2


class RoleSecrets(Protocol):
    """Whoever plays all roles of a simulation, and has a secret for each."""

    def party(self, number: int) -> bytes:
        """The secret of a party."""
        ...

    def server(self, number: int) -> bytes:
        """The secret of a share server."""
        ...


def party_name(number: int) -> str:
    """What the simulated party of that number is called."""
    return f"party-{number}"


def server_name(number: int) -> str:
    """What the simulated share server of that number is called."""
    return f"server-{number}"


def simulated_parties(
    records: Sequence[Records],
    secrets: RoleSecrets,
    budget: Epsilon,
    largest: Epsilon | None = None,
    *,
    cheating: Collection[int] = (),
    cheater: type[Party] = Party,
    name: Callable[[int], str] = party_name,
    ledger: Callable[[int, Epsilon], Ledger] = MemoryLedger,
) -> list[Party]:
    """A party for each of these records: everybody may spend `budget` in total, and `largest`, or all of it, at a time.

    Those of the numbers in `cheating` are of another kind.
    """
    policy = Policy(largest_epsilon=largest or budget, largest_delta_flooded=ANY_DELTA)
    return [
        (cheater if number in cheating else Party)(
            name(number), part, secrets.party(number), ledger(part.people, budget), policy
        )
        for number, part in enumerate(records)
    ]


def simulated_servers(count: int, secrets: RoleSecrets) -> list[ShareServer]:
    """So many share servers."""
    return [
        ShareServer(server_name(number), MemoryVault(secrets.server(number))) for number in range(count)
    ]


def oracle_over(
    model: TrustModel,
    records: Records,
    epsilon: Epsilon | None,
    secrets: RoleSecrets,
    coins: Coins,
    *,
    parties: int = 1,
) -> StatisticalQueryOracle:
    """The oracle of a trust model over these people, dealt out to parties where everybody can pay for one round of it.

    Behind a shuffler a single report costs more than epsilon, so there the budget is 30 nats of single reports, and what
    counts against the aggregator is the oracle's claim.
    """
    if epsilon is None:  # nobody pays
        return oracle_of(model, Parties(records=records), None, coins)
    budget = _LARGEST_REPORT if model.needs_mixer else epsilon
    held = simulated_parties(dealt(records, parties), secrets, budget)
    shares = InProcessShareServers(held, simulated_servers(_SERVERS, secrets))
    return oracle_of(model, Parties(InProcessLROracle(held), shares, records=records), epsilon, coins)
