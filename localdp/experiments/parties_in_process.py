"""People who are dealt out to parties of this process, asked under any trust model, with coins of one source.

Checked in tests/unit/experiments/test_attack_runs.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, Epsilon
from localdp.domains import Records
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.models import Parties, model_named, oracle_of
from localdp.oracles.shared import InProcessShareServers
from localdp.oracles.simulated import simulated_parties, simulated_servers
from localdp.randomness.source import RandomSource, uniform_bytes

PARTIES, SERVERS = 2, 2


@dataclass(frozen=True, slots=True)
class _Secrets:
    """New secrets for every role."""

    source: RandomSource

    def party(self, number: int) -> bytes:
        """Of the source's coins."""
        return uniform_bytes(self.source, 32)

    server = party


def asked_in_process(
    model: str, records: Records, epsilon: Epsilon, source: RandomSource
) -> StatisticalQueryOracle:
    """The oracle of a trust model over these people, in parties of nearly equal size that afford one round of it."""
    secrets = _Secrets(source)
    row = model_named(model)
    budget = Epsilon.requested(LARGEST_EPSILON_NATS) if row.needs_mixer else epsilon
    edges = np.linspace(0, records.people, PARTIES + 1).astype(int)
    parts = [records.slice(int(low), int(high)) for low, high in pairwise(edges)]
    parties = simulated_parties(parts, secrets, budget)
    shares = InProcessShareServers(parties, simulated_servers(SERVERS, secrets))
    return oracle_of(
        model, Parties(InProcessLROracle(parties), shares, records=records), epsilon, lambda _: source
    )
