"""Simulated parties and share servers as objects of this process, with secrets that somebody keeps for them.

Records are dealt out here wherever nothing is launched: by learners at hand, by federations and by experiments.  With the
same secrets the answers are those of launched processes, bit for bit.

Checked in tests/integration/test_federation.py and tests/unit/algorithms/test_quick_start.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Ledger, MemoryLedger
from localdp.domains import Records
from localdp.party.party import Party
from localdp.party.policy import ANY_DELTA, Policy
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault


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
