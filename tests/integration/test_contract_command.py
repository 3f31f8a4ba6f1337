"""The contract: our agents keep it, as objects, as processes and from a file; each broken agent fails its clause."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import grpc
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, Unreachable
from parties.agent.answers import KeptAnswers
from parties.agent.service import SERVICE_NAME, AgentService
from parties.contract.clause import Clause
from parties.contract.plan import Announced, plan_of
from parties.contract.run import CLAUSES, check_contract
from parties.identity import load_identity, make_authority, make_identity
from parties.serving import start_server
from parties.simulation.launcher import Simulation
from tests.support.broken_agents import BROKEN_AGENTS, BrokenAgent
from tests.support.broken_holders import BUDGET, LARGEST, PEOPLE, RECORDS, honest_party
from tests.support.broken_quiet_agents import SHORT
from tests.support.broken_services import Bare
from tests.support.federations import Loopback, loopback
from tests.support.processes import COMMAND, envelope, localdp, stage

NAMES = sorted(clause.name for clause in CLAUSES)


FIRST_NAMES = [name for name in NAMES if name <= "C25"]  # these rest on each other


def named(*names: str) -> list[Clause]:
    """The clauses of these names, in the order in which they are checked."""
    return [clause for clause in CLAUSES if clause.name in names]


def broken_by(address: str, names: Sequence[str] = FIRST_NAMES) -> dict[str, str]:
    """The clauses of these that do not hold, with their reasons."""
    found = check_contract(address, clauses=named(*names)).findings
    assert [finding.clause for finding in found] == sorted(names)
    return {finding.clause: finding.reason for finding in found if finding.verdict == "broken"}


async def bare_server(agent: Bare) -> tuple[grpc.aio.Server, str]:
    """A server without health, reflection and limits."""
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", -1), ("grpc.so_reuseport", 0)])
    agent.register(server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return server, f"127.0.0.1:{port}"


@contextmanager
def serving(threads: Loopback, agent: AgentService) -> Iterator[str]:
    """The agent's address."""
    if not isinstance(agent, Bare):
        yield threads.serve(SERVICE_NAME, agent)
        return
    server, address = threads.run(bare_server(agent))
    try:
        yield address
    finally:
        threads.run(server.stop(0))
        threads.run(agent.close())


def test_an_honest_agent_keeps_every_clause_in_good_time_and_spends_what_was_announced() -> None:
    told: list[str] = []
    party = honest_party()
    with loopback() as threads, serving(threads, AgentService(party, {})) as address:
        outcome = check_contract(address, announce=told.append)
    assert [finding.clause for finding in outcome.findings] == NAMES
    assert outcome.holds, outcome.findings
    assert told == [outcome.announcement]
    assert sum(finding.seconds for finding in outcome.findings) < 60
    plan = plan_of(Announced("party-0", RECORDS.schema, PEOPLE, BUDGET.nanonats, LARGEST.nanonats))
    spent = party.ledger.spent()
    assert set(spent[plan.crowd.selection()]) == {plan.cost_of_crowd.nanonats}
    for name in ("budget", "channel", "retry", "quote"):
        assert set(spent[plan.blocks[name].selection()]) == {BUDGET.nanonats}
    assert plan.crowd.size() + sum(block.size() for block in plan.blocks.values()) <= PEOPLE


def test_an_agent_that_keeps_answers_and_refuses_work_keeps_the_clauses_about_it(tmp_path: Path) -> None:
    kept = KeptAnswers(tmp_path / "answers.sqlite")
    agent = AgentService(honest_party(), {}, limits=SHORT, kept=kept)
    later = named(*(name for name in NAMES if name not in FIRST_NAMES))
    with closing(kept), loopback() as threads, serving(threads, agent) as address:
        outcome = check_contract(address, clauses=later)
    assert outcome.holds, outcome.findings
    seen = {finding.clause: finding.reason for finding in outcome.findings}
    assert "quantum 10.00 ms" in seen["C27"] and "500 conditions" in seen["C28"]
    assert "kept: for 86400 s" in seen["C31"]
    assert "refused, and charges nobody" in seen["C34"]
    assert "of them refused" in seen["C35"] and " 0 of them" not in seen["C35"]


@pytest.mark.parametrize("broken", BROKEN_AGENTS, ids=lambda broken: f"{broken.clause}-{broken.name}")
def test_a_broken_agent_fails_the_clause_that_it_breaks(broken: BrokenAgent) -> None:
    with loopback() as threads, serving(threads, broken.make()) as address:
        names = FIRST_NAMES if broken.clause in FIRST_NAMES else [broken.clause]
        assert broken.clause in broken_by(address, names)


def test_every_clause_is_broken_by_some_agent() -> None:
    assert sorted({broken.clause for broken in BROKEN_AGENTS}) == NAMES


def test_an_agent_whose_people_have_spent_something_is_not_taken_for_fresh() -> None:
    with loopback() as threads, serving(threads, AgentService(honest_party(), {})) as address:
        assert not broken_by(address)
        assert "C13" in broken_by(address)


@pytest.mark.parametrize(
    ("people", "budget", "largest", "smallest", "said"),
    [
        (511, "12", "2", "0.0001", "512 people"),
        (600, "0.5", "0.5", "0.0001", "budget of 1 nat"),
        (600, "30", "0.1", "0.0001", "smaller one"),
        (600, "12", "2", "0.26", "a quarter of an ordinary one"),
    ],
)
def test_an_agent_that_cannot_be_checked_is_refused_before_anything_is_spent(
    people: int, budget: str, largest: str, smallest: str, said: str
) -> None:
    amounts = (Epsilon.requested(text).nanonats for text in (budget, largest, smallest))
    with pytest.raises(InvalidParameter, match=said):
        plan_of(Announced("party-0", RECORDS.schema, people, *amounts))


def test_nobody_at_the_address_is_unreachable() -> None:
    with pytest.raises(Unreachable):
        check_contract("127.0.0.1:1")


def test_the_time_for_a_check_is_bounded() -> None:
    with loopback() as threads, serving(threads, AgentService(honest_party(), {})) as address:
        outcome = check_contract(address, seconds=0.05)
    assert {finding.verdict for finding in outcome.findings} >= {"not checked"}
    assert not outcome.holds


def test_a_simulated_process_keeps_the_contract_by_the_command(tmp_path: Path) -> None:
    with Simulation([RECORDS], budget=BUDGET, largest_request=LARGEST) as running:
        result = localdp(tmp_path, "contract", "--target", running.agents[0].address, "--json")
        told = envelope(result)
        assert told["status"] == "ok", told
        assert [clause["clause"] for clause in told["data"]["clauses"]] == NAMES
        assert "This check spends epsilon 7 of each of 1251 people" in " ".join(result.stderr.split())
        again = localdp(tmp_path, "contract", "--target", running.agents[0].address)
        assert again.returncode == 1
        assert "broken" in again.stdout and "clauses hold" in again.stdout


CONFIG = """
name = "north"
[data]
path = "people.csv"
[schema]
smoker = { kind = "bit" }
ward = { kind = "category", labels = ["A", "B", "C"] }
age = { kind = "integer", low = 0, high = 120 }
bmi = { kind = "real", low = 10, high = 60 }
[budget]
total = 6
[listen]
address = "127.0.0.1:0"
"""


def write_agent(directory: Path, extra: str = "") -> Path:
    """A configuration, and a table of made-up people."""
    rows = [f"{i % 2},{'ABC'[i % 3]},{i % 121},{10 + i % 50}" for i in range(700)]
    (directory / "people.csv").write_text("\n".join(["smoker,ward,age,bmi", *rows]) + "\n")
    config = directory / "agent.toml"
    config.write_text(CONFIG + extra)
    return config


def test_an_agent_from_a_file_keeps_the_contract(tmp_path: Path) -> None:
    config = write_agent(tmp_path)
    assert localdp(tmp_path, "agent", "init", str(config)).returncode == 0
    with stage(tmp_path) as made:
        process = made.popen(
            [str(COMMAND), "agent", "run", str(config), "--json"], stdout=subprocess.PIPE, bufsize=0
        )
        assert process.stdout is not None
        try:
            address = json.loads(process.stdout.readline())["data"]["address"]
            assert check_contract(address).holds
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            process.stdout.close()


def test_an_agent_behind_tls_keeps_the_contract(tmp_path: Path) -> None:
    make_authority(tmp_path / "authority")
    for name in ("north", "analyst"):
        make_identity(tmp_path / "authority", tmp_path / name, name)
    with loopback() as threads:
        agent = AgentService(honest_party(), {})
        services = [(SERVICE_NAME, agent.register)]
        server, port = threads.run(
            start_server("127.0.0.1", 0, services, load_identity(tmp_path / "north"))
        )
        try:
            outcome = check_contract(
                f"localhost:{port}", load_identity(tmp_path / "analyst"), clauses=named(*FIRST_NAMES, "C35")
            )
        finally:
            threads.run(server.stop(0))
            threads.run(agent.close())
    assert outcome.holds, outcome.findings
