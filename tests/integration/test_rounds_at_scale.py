"""Rounds of many: logical parties by the hundred thousand, calls by the thousand, processes by the hundred."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.domains.dealing import dealt
from localdp.errors import LocalDpError, QuorumMissed
from localdp.oracles.lr import InProcessLROracle, tally_of
from localdp.randomizers.definition import Tally
from parties.coordinator import Peer, RemoteParty
from parties.receiving import Reception
from parties.repeating import Persistence
from parties.rounds.asking import fan_out, tallied
from parties.rounds.plan import Headcount, Quorum
from parties.rounds.round import Rounds
from parties.simulation.launcher import Simulation
from tests.support.federations import BUDGET, KEYRING, parties_of, people, request
from tests.support.rounds import enrol_peers

RANDOMIZER = request().randomizer


def test_a_hundred_thousand_logical_parties_in_four_processes_answer_a_round_and_each_has_its_own_budget(
    tmp_path: Path,
) -> None:
    logical, processes = 100_000, 4
    once = RANDOMIZER.epsilon
    with (
        Simulation(dealt(people(logical), processes), budget=once, keyring=KEYRING) as running,
        closing(Rounds(tmp_path / "journal", identifiers=lambda: request(1).request_id)) as rounds,
    ):
        assert enrol_peers(rounds.roster, running.agents) == {}
        started = time.monotonic()
        half = rounds.ask("smoker", RANDOMIZER, deadline_seconds=20.0, cohort=Cohort(0, logical // 2))
        seconds = time.monotonic() - started
        rounds._identifiers = lambda: request(2).request_id
        with pytest.raises(QuorumMissed, match="2 budget_exhausted"):  # the first half has nothing left
            rounds.ask("smoker", RANDOMIZER, deadline_seconds=20.0)
        (left,) = rounds.journal.unfinished()
        rest = rounds.resume(left.round_id, deadline_seconds=20.0, quorum=Quorum.of_text("0.5"))
    assert seconds < 2.0  # 0.06 s for all of them on a machine of two cores that does other things too
    assert (half.answered, rest.answered) == (Headcount(2, 50_000), Headcount(2, 50_000))
    twin = InProcessLROracle(parties_of(people(logical), processes))
    assert half.tally.sums.tolist() == tally_of(twin, request(1), Cohort(0, 50_000)).sums.tolist()


def _burst(agents: list[Peer], calls: int) -> list[Tally | LocalDpError]:
    """One call for each person, each under an identifier of its own, all of them wanted at once."""
    with ExitStack() as stack:
        parties = [RemoteParty(peer, stack.enter_context(peer.open(None))) for peer in agents]

        def one(number: int, seconds: float) -> Tally:
            place, agent = divmod(number, len(agents))
            party, asked = parties[agent], request(number)
            begin = party.reports(asked, Cohort(place, place + 1))
            reception = Reception(begin, party.name, seconds, Persistence())
            return tallied(asked.randomizer, reception.counted(1))

        return fan_out(range(calls), one, time.monotonic() + 120.0)


@pytest.mark.parametrize("calls", [2000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_of_a_burst_of_calls_none_is_lost(calls: int) -> None:
    with Simulation(dealt(people(calls), 4), budget=BUDGET, keyring=KEYRING) as running:
        outcomes = _burst(running.agents, calls)
    assert Counter(type(outcome).__name__ for outcome in outcomes) == {"Tally": calls}


@pytest.mark.parametrize(
    ("processes", "start_seconds"), [(60, 30.0), pytest.param(500, 60.0, marks=pytest.mark.nightly)]
)
def test_a_process_for_each_party_starts_and_answers(
    tmp_path: Path, processes: int, start_seconds: float
) -> None:
    # Generous, because tests share their machine: benchmarks/service.py holds 500 processes to 15 s.
    records = people(processes * 10)
    started = time.monotonic()
    with Simulation(dealt(records, processes), budget=Epsilon.requested(2), keyring=KEYRING) as running:
        assert time.monotonic() - started < start_seconds
        ids = list(running.process_ids)
        with closing(Rounds(tmp_path / "j", identifiers=lambda: request(1).request_id)) as rounds:
            assert enrol_peers(rounds.roster, running.agents) == {}
            result = rounds.ask("smoker", RANDOMIZER, deadline_seconds=30.0)
    assert result.answered == Headcount(processes, records.people)
    twin = InProcessLROracle(parties_of(records, processes))
    assert result.tally.sums.tolist() == tally_of(twin, request(1), Cohort(0, records.people)).sums.tolist()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in ids)
