"""Agents as real processes, asked over gRPC: the same bits as in process, and budgets that outlive the process."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.domains.dealing import dealt
from localdp.errors import (
    BudgetExhausted,
    InvalidParameter,
    PolicyRefused,
    QueryRefused,
    UnknownIndex,
    Unreachable,
)
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle, LROracle, tally_of
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.party.party import Request
from localdp.sharing.noise_plans import PLANS, NoisePlan
from parties.coordinator import Peer, RemoteParties
from parties.simulation.launcher import Simulation
from parties.simulation.roles import AgentRole, role_to_line, save_records
from tests.support.federations import (
    BUDGET,
    KEYRING,
    ONE,
    parties_of,
    people,
    request,
    share_servers_of,
)
from tests.support.processes import module, read_line, stage, wait_until

PEOPLE = 1000
PARTIES = 3
GRID = 1 << 16


@pytest.fixture(scope="module")
def simulation() -> Iterator[Simulation]:
    """Three agents and two share servers, as processes."""
    with Simulation(dealt(people(PEOPLE), PARTIES), budget=BUDGET, keyring=KEYRING) as running:
        yield running


@pytest.fixture
def twin() -> InProcessLROracle:
    """The same parties as objects."""
    return InProcessLROracle(parties_of(people(PEOPLE), PARTIES))


def bits(oracle: LROracle, asked: Request, cohort: Cohort) -> NDArray[np.bool_]:
    """All reports in order."""
    return np.concatenate(list(oracle.reports(asked, cohort)))


REQUESTS = [
    request(100),
    request(101, 'age >= 65 and region in {"north", "west"}', Epsilon.requested("0.25")),
    request(102, "clip(0.02*bmi - 0.1)", ONE, GRID),
    request(103, "clip(0.01*age + 0.3*smoker)", Epsilon.requested("0.5"), 1 << 20),
]
COHORTS = [
    Cohort(0, PEOPLE),
    Cohort(300, 700),
    Cohort(0, PEOPLE, Split(b"public coins 16b", 5, 3)),
    Cohort(17, 18),
]


@pytest.mark.parametrize("asked", REQUESTS, ids=lambda asked: asked.query)
@pytest.mark.parametrize("cohort", COHORTS, ids=["everybody", "a range", "a part of a split", "one person"])
def test_reports_over_grpc_are_those_in_process_bit_for_bit(
    simulation: Simulation, twin: InProcessLROracle, asked: Request, cohort: Cohort
) -> None:
    here, there = bits(twin, asked, cohort), bits(simulation.parties, asked, cohort)
    assert np.array_equal(here, there)


def test_a_round_of_many_queries_is_answered_the_same_over_grpc_and_in_process(
    simulation: Simulation, twin: InProcessLROracle
) -> None:
    queries = ["smoker", "age < 30", "clip(0.02*bmi)"]
    answers = [
        LocalOracle(oracle, ONE, KEYRING.source("round")).answer(queries)
        for oracle in (twin, simulation.parties)
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("query", ["smoker", "clip(0.01*age)"])
def test_the_shared_curator_answers_the_same_over_grpc_and_in_process(
    simulation: Simulation, twin: InProcessLROracle, plan: NoisePlan, query: str
) -> None:
    here = InProcessShareServers(twin.parties, share_servers_of(2))
    answers = [
        SharedOracle(servers, ONE, KEYRING.source("shared", plan.value), plan=plan, tier="additive").answer(
            [query]
        )
        for servers in (here, simulation.shared)
    ]
    assert answers[0] == answers[1]
    assert answers[0][0].reports == PEOPLE


def test_part_of_the_people_is_shared_the_same_over_grpc_and_in_process(
    simulation: Simulation, twin: InProcessLROracle
) -> None:
    cohort = Cohort(200, 900)
    here = InProcessShareServers(twin.parties, share_servers_of(2))
    answers = [
        SharedOracle(servers, ONE, KEYRING.source("part"), cohort=cohort).answer(["smoker"])
        for servers in (here, simulation.shared)
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("asked", "cohort", "error"),
    [
        (request(200, "smokr"), Cohort(0, 1), QueryRefused),
        (request(201, "age"), Cohort(0, 1), QueryRefused),
        (request(202, "clip(0.01*age)"), Cohort(0, 1), InvalidParameter),
        (request(203, epsilon=Epsilon.requested(21)), Cohort(0, 1), PolicyRefused),
        (request(204), Cohort(0, PEOPLE + 1), UnknownIndex),
    ],
    ids=["no such column", "not a condition", "not a bit", "too large an epsilon", "nobody there"],
)
def test_a_refusal_arrives_typed(
    simulation: Simulation, asked: Request, cohort: Cohort, error: type[Exception]
) -> None:
    with pytest.raises(error):
        bits(simulation.parties, asked, cohort)


def test_every_agent_is_a_process_of_its_own_and_ends_with_the_simulation() -> None:
    with Simulation(dealt(people(4), 2), budget=ONE, keyring=KEYRING) as running:
        ids = list(running.process_ids)
        assert len(set(ids)) == 4
        assert os.getpid() not in ids
        assert all(Path(f"/proc/{pid}").exists() for pid in ids)
    assert not any(Path(f"/proc/{pid}").exists() for pid in ids)


def test_the_budget_is_the_agents_and_the_coordinator_cannot_talk_it_out_of_it() -> None:
    budget = request().randomizer.epsilon * 2
    with Simulation(dealt(people(10), 2), budget=budget, keyring=KEYRING) as running:
        for number in range(2):
            bits(running.parties, request(number), Cohort(0, 10))
        with pytest.raises(BudgetExhausted):
            bits(running.parties, request(2), Cohort(0, 10))
        with closing(RemoteParties(running.agents)) as another, pytest.raises(BudgetExhausted):
            bits(another, request(3), Cohort(0, 1))
        assert np.array_equal(
            bits(running.parties, request(0), Cohort(0, 10)),
            bits(running.parties, request(0), Cohort(0, 10)),
        )


def test_the_budget_outlives_the_agents_process(tmp_path: Path) -> None:
    save_records(people(50), tmp_path / "records.npz")
    cost = request().randomizer.epsilon
    role = AgentRole(
        "party-0",
        KEYRING.party(0).hex(),
        str(tmp_path / "records.npz"),
        str(tmp_path / "ledger"),
        cost.nanonats,
        cost.nanonats,
        {},
    )
    seen = []
    with stage(tmp_path) as made:
        for other in (request(2), request(3)):
            with module(made, "tests.fault.agent_process", "sound", "live", role_to_line(role)) as process:
                address = f"127.0.0.1:{int(read_line(process))}"
                with closing(RemoteParties([Peer("party-0", address)], 20)) as remote:
                    seen.append(bits(remote, request(1), Cohort(0, 50)).tolist())
                    with pytest.raises(BudgetExhausted):
                        bits(remote, other, Cohort(0, 50))
    assert seen[0] == seen[1]


def test_a_million_people_are_counted_at_once_after_loading() -> None:
    million = 10**6
    records = people(million)
    with Simulation(dealt(records, 2), budget=BUDGET, keyring=KEYRING) as running:
        started = time.monotonic()
        tally = tally_of(running.parties, request(1), Cohort(0, million))
        seconds = time.monotonic() - started
        coins = KEYRING.source("million")
        shared = SharedOracle(running.shared, ONE, coins, tier="additive").answer(["smoker"])[0]
    assert seconds < 2.0  # 0.03 s on an idle core
    twin = tally_of(InProcessLROracle(parties_of(records, 2)), request(1), Cohort(0, million))
    assert tally.reports == twin.reports == million
    assert tally.sums.tolist() == twin.sums.tolist()
    assert shared.reports == million
    truth = int(np.count_nonzero(records.column("smoker")))
    assert (
        abs(shared.count - truth) < 60
    )  # two discrete Laplace noises of epsilon 1: beyond it with e^-30 or so


def test_a_dead_nursery_takes_its_children_along_and_the_launcher_cleans_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Simulation(dealt(people(4), 2), budget=ONE, keyring=KEYRING) as running:
        assert [name.startswith("localdp-") for name in os.listdir(tmp_path)] == [True]
        ids = list(running.process_ids)
        running._nursery._process.kill()
        wait_until(
            lambda: not any(_runs(pid) for pid in ids),
            "agents and servers have noticed that the nursery is gone",
        )
    assert os.listdir(tmp_path) == []


def test_a_terminated_nursery_ends_its_children_removes_the_directory_and_complains_of_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Simulation(dealt(people(4), 2), budget=ONE, keyring=KEYRING) as running:
        running._nursery._process.terminate()
        assert running._nursery._process.wait(10) == 0
        assert not any(_runs(pid) for pid in running.process_ids)
        assert os.listdir(tmp_path) == []
    assert capfd.readouterr().err == ""


def _runs(pid: int) -> bool:
    """Whether the process is there and no zombie: an orphan's remains wait for whoever inherits it."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"


def test_a_role_that_cannot_start_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("parties.simulation.launcher.save_records", lambda records, path: None)
    with pytest.raises(Unreachable, match=r"party-0 could not start \(FileNotFoundError\)"):
        Simulation(dealt(people(2), 1), budget=ONE, keyring=KEYRING).__enter__()
    assert os.listdir(tmp_path) == []


def test_a_party_that_is_listed_twice_is_refused_rather_than_counted_twice(simulation: Simulation) -> None:
    agent = simulation.agents[0]
    with pytest.raises(InvalidParameter, match="named twice"):
        RemoteParties([agent, *simulation.agents[1:], agent])
