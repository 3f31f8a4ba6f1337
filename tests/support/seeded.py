"""Oracles of records at hand whose coins follow from a seed: what a test learns is the same every time.

`oracle_of_records` draws from the system, as it must, so a bound on what was learned would fail now and then by chance.
A seed of the danger room takes its place here, and nothing else: parties, budgets and rounds are the same.
Checked in tests/unit/algorithms/test_quick_start.py.
"""

from __future__ import annotations

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Records
from localdp.experiments.parties_in_process import asked_in_process
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName
from localdp.randomness.hazmat import SeededSource


def seeded_oracle(
    records: Records, epsilon: float, model: ModelName, seed: int = 0
) -> StatisticalQueryOracle:
    """An oracle about these records, with a budget of one epsilon for each person, and the coins of a seed."""
    return asked_in_process(model, records, Epsilon.requested(epsilon), SeededSource(seed))
