"""From records to an oracle in one call: everybody in this process, secrets from the system.

Checked in tests/unit/algorithms/test_quick_start.py.
"""

from __future__ import annotations

import os

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, Epsilon
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.models import DEFAULT_MODEL, ModelName, Parties, TrustModel, model_named, oracle_of
from localdp.oracles.shared import InProcessShareServers
from localdp.oracles.simulated import simulated_parties, simulated_servers
from localdp.randomness.keystream import KeystreamSource

SECRET_BYTES = 32
LARGEST_REPORT = Epsilon.requested(LARGEST_EPSILON_NATS)
_SERVERS = 2


def oracle_of_records(
    records: Records, epsilon: Epsilon | float | None, model: ModelName = DEFAULT_MODEL
) -> StatisticalQueryOracle:
    """An oracle about these records, in this process, with a budget of one epsilon for each person.

    Behind a shuffler a single report costs more than epsilon, so there the budget is 30 nats of single reports, and what
    counts against the aggregator is the oracle's claim.
    """
    row = model_named(model)
    if epsilon is None and row.spends:
        raise InvalidParameter(
            f"say what each person may spend: the {model} model needs an epsilon, as in epsilon=1.0"
        )
    spent = None if epsilon is None else Epsilon.requested(epsilon)
    return oracle_of(model, _at_hand(records, row, spent), spent, _coins)


def _at_hand(records: Records, model: TrustModel, epsilon: Epsilon | None) -> Parties:
    """Everybody as one party, where the model asks any."""
    if epsilon is None or not model.needs_agents:
        return Parties(records=records)
    budget = LARGEST_REPORT if model.needs_mixer else epsilon
    parties = simulated_parties([records], _Fresh(), budget, name=lambda number: "everybody")
    shares = InProcessShareServers(parties, simulated_servers(_SERVERS, _Fresh()))
    return Parties(InProcessLROracle(parties), shares, records=records)


class _Fresh:
    """A new secret for whoever needs one."""

    def party(self, number: int) -> bytes:
        """Of the system's randomness."""
        return os.urandom(SECRET_BYTES)

    server = party


def _coins(purpose: str) -> KeystreamSource:
    return KeystreamSource(os.urandom(SECRET_BYTES))
