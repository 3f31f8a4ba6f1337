"""From records to an oracle in one call: everybody in this process, secrets from the system.

Checked in tests/unit/algorithms/test_quick_start.py.
"""

from __future__ import annotations

import os

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import DEFAULT_MODEL, ModelName, model_named
from localdp.oracles.simulated import oracle_over
from localdp.randomness.keystream import KeystreamSource

SECRET_BYTES = 32


def oracle_of_records(
    records: Records, epsilon: Epsilon | float | None, model: ModelName = DEFAULT_MODEL
) -> StatisticalQueryOracle:
    """An oracle about these records, all of one party in this process, with a budget of one epsilon for each person."""
    row = model_named(model)
    if epsilon is None and row.spends:
        raise InvalidParameter(
            f"say what each person may spend: the {model} model needs an epsilon, as in epsilon=1.0"
        )
    spent = None if epsilon is None else Epsilon.requested(epsilon)
    return oracle_over(row, records, spent, _Fresh(), _coins)


class _Fresh:
    """A new secret for whoever needs one."""

    def party(self, number: int) -> bytes:
        """Of the system's randomness."""
        return os.urandom(SECRET_BYTES)

    server = party


def _coins(purpose: str) -> KeystreamSource:
    return KeystreamSource(os.urandom(SECRET_BYTES))
