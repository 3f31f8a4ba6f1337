"""A million people behind one agent process: what a count over gRPC costs, against moving the same bytes plainly."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.rows import Row, best_seconds, row_of
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort
from localdp.experiments.population import made_up_people
from localdp.oracles.local import LocalOracle
from localdp.oracles.shared import SharedOracle
from localdp.randomness.keystream import KeystreamSource
from parties.agent.ledger import SqliteLedger
from parties.simulation.launcher import Simulation

PEOPLE = 1_000_000
TURNS = 10
COUNT_SECONDS = 0.5
CHARGE_SECONDS = 1.0
PLENTY = Epsilon(10**15)
ONE = Epsilon.requested(1)


def service() -> list[Row]:
    """Counts through one agent, and the charge behind them."""
    source = KeystreamSource.from_system()
    people = made_up_people(PEOPLE, source)
    with Simulation([people], budget=PLENTY, largest_request=ONE) as running:
        local = LocalOracle(running.parties, ONE, source)
        shared = SharedOracle(running.shared, ONE, source)
        seconds = best_seconds([lambda: local.answer(["smoker"]), lambda: shared.answer(["smoker"])], TURNS)
    return [
        _against_clock("local count of 10^6 people over gRPC", seconds[0], COUNT_SECONDS),
        _against_clock("shared count of 10^6 people over gRPC", seconds[1], COUNT_SECONDS),
        _charge_row(),
    ]


def _against_clock(name: str, seconds: float, limit: float) -> Row:
    return row_of(name, seconds * 1e3, "ms", f"{limit} s", seconds / limit, 1.0)


def _charge_row() -> Row:
    with TemporaryDirectory() as directory:
        ledger = SqliteLedger(Path(directory) / "ledger", PEOPLE, PLENTY)

        def charge() -> object:
            return ledger.charge(Charge(os.urandom(32), bytes(32), Cohort(0, PEOPLE), ONE, "benchmark"))

        seconds = best_seconds([charge], TURNS)[0]
        assert int(np.max(ledger.spent())) == TURNS * ONE.nanonats
        ledger.close()
    return _against_clock("durable charge of 10^6 people", seconds, CHARGE_SECONDS)
