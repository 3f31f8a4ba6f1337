"""What the services cost: counts of many people in few processes, many processes, and reports against plain bytes."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.paced import paced_row
from benchmarks.rows import Row, best_seconds, row_of
from benchmarks.streams import stream_row
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort
from localdp.domains import Records
from localdp.domains.dealing import dealt
from localdp.experiments.population import made_up_people
from localdp.oracles.local import LocalOracle
from localdp.oracles.shared import SharedOracle
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.unary import OptimizedUnaryEncoding
from localdp.randomness.keystream import KeystreamSource
from parties.agent.ledger import SqliteLedger
from parties.coordinator import CALL_SECONDS
from parties.rounds.round import Rounds
from parties.simulation.launcher import Simulation

PEOPLE = 1_000_000
TURNS = 10
COUNT_SECONDS = 0.5
CHARGE_SECONDS = 1.0
LOGICAL_PARTIES = 100_000
ROUND_SECONDS = 0.2
PROCESSES = 500
START_SECONDS = 15.0
SHARE = 0.5  # of the throughput of plain bytes
PLENTY = Epsilon(10**15)
ONE = Epsilon.requested(1)


def service() -> list[Row]:
    """Counts through one agent that does not wait for its disk, and the charge behind them, which does."""
    source = KeystreamSource.from_system()
    people = made_up_people(PEOPLE, source)
    with Simulation([people], budget=PLENTY, largest_request=ONE) as running:
        local = LocalOracle(running.parties, ONE, source)
        shared = SharedOracle(running.shared, ONE, source, tier="additive")
        seconds = best_seconds([lambda: local.answer(["smoker"]), lambda: shared.answer(["smoker"])], TURNS)
    return [
        _against_clock("local count of 10^6 people over gRPC", seconds[0], COUNT_SECONDS),
        paced_row(),
        _against_clock("shared count of 10^6 people over gRPC", seconds[1], COUNT_SECONDS),
        _charge_row(),
        _logical_parties_row(),
        _processes_row(),
        *_stream_rows(people),
    ]


def _stream_rows(people: Records) -> list[Row]:
    """Reports of one bit, of 7 and 11 bits without gaps, and of 16 bytes."""
    kinds: list[tuple[str, LocalRandomizer]] = [
        ("smoker", OneBitRandomizer(ONE)),
        ("age", KaryRandomizedResponse(ONE, 121)),
        ("clip(0.01*age)", LocalDiscreteLaplace(ONE)),
        ("age", OptimizedUnaryEncoding(ONE, 121)),
    ]
    return [
        stream_row(people, query, kind, f"{kind.report_bits}-bit reports received and tallied", SHARE)
        for query, kind in kinds
    ]


def _against_clock(name: str, seconds: float, limit: float) -> Row:
    return row_of(name, seconds * 1e3, "ms", f"{limit} s", seconds / limit, 1.0)


def _logical_parties_row() -> Row:
    """A person is a logical party with a budget of its own; a round over all of them, journal and charges synced."""
    people = made_up_people(LOGICAL_PARTIES, KeystreamSource.from_system())
    with (
        TemporaryDirectory() as directory,
        Simulation(dealt(people, 4), budget=PLENTY, largest_request=ONE) as running,
        closing(Rounds(Path(directory) / "journal")) as rounds,
    ):
        rounds.enrol(running.agents)

        def ask() -> object:
            return rounds.ask("smoker", OneBitRandomizer(ONE), deadline_seconds=CALL_SECONDS)

        seconds = best_seconds([ask], TURNS)[0]
    return _against_clock("round of 10^5 logical parties in 4 processes", seconds, ROUND_SECONDS)


def _processes_row() -> Row:
    """From nothing until every one of them has said that it serves."""
    people = dealt(made_up_people(PROCESSES * 10, KeystreamSource.from_system()), PROCESSES)
    simulation = Simulation(people, budget=ONE)
    seconds = best_seconds([simulation.__enter__], 1)[0]
    simulation.__exit__(None, None, None)
    return _against_clock(f"start of {PROCESSES} agent processes", seconds, START_SECONDS)


def _charge_row() -> Row:
    with TemporaryDirectory() as directory:
        ledger = SqliteLedger(Path(directory) / "ledger", PEOPLE, PLENTY, chain_key=bytes(32))

        def charge() -> object:
            return ledger.charge(Charge(os.urandom(32), bytes(32), Cohort(0, PEOPLE), ONE, "benchmark"))

        seconds = best_seconds([charge], TURNS)[0]
        assert int(np.max(ledger.spent())) == TURNS * ONE.nanonats
        ledger.close()
    return _against_clock("durable charge of 10^6 people", seconds, CHARGE_SECONDS)
