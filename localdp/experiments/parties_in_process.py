"""People who are dealt out to parties of this process, asked under any trust model, with coins of one source.

Checked in tests/unit/experiments/test_attack_runs.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Records
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import model_named
from localdp.oracles.simulated import oracle_over
from localdp.randomness.source import RandomSource, uniform_bytes

PARTIES = 2


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
    row, secrets = model_named(model), _Secrets(source)
    return oracle_over(row, records, epsilon, secrets, lambda _: source, parties=PARTIES)
