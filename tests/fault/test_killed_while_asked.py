"""kill -9 in the middle of a stream, and a new agent on the same port while the coordinator waits to ask again.

The coordinator hears one whole answer, the report is the one that there is, and it was charged once.  The same check runs
against broken agents, and must fail on each of those.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import MalformedReport
from localdp.party.party import Request
from parties.coordinator import Peer, RemoteParties
from parties.repeating import Patience
from parties.rounds.round import Rounds
from parties.simulation.roles import AgentRole, role_to_line, save_records
from tests.support.federations import KEYRING, party, people, request
from tests.support.ledgers import charges_in
from tests.support.processes import PATIENCE_SECONDS, Stage, module, read_line, stage, wait_until
from tests.support.rounds import enrol_peers, nobody

PEOPLE = 60
EVERYBODY = Cohort(0, PEOPLE)
ASKED = request(1)
COST = ASKED.randomizer.epsilon
STUBBORN = Patience(100, 0.2, 0.4)  # a Python process takes a second or more to come back


@contextmanager
def agent_that_comes_back(made: Stage, role: AgentRole, variant: str) -> Iterator[Peer]:
    """An agent that dies half way through its first stream, and then a live one on its port, and on its ledger."""
    address = nobody()
    port = address.rpartition(":")[2]
    with ExitStack() as stack:
        arguments = ["tests.fault.agent_process", variant, "half-way", role_to_line(role), port]
        first = stack.enter_context(module(made, *arguments))
        assert int(read_line(first)) == int(port)

        def come_back() -> None:
            wait_until(lambda: first.poll() == -9, "the agent has killed itself")
            arguments[2] = "live"
            read_line(stack.enter_context(module(made, *arguments)))

        successor = threading.Thread(target=come_back)
        successor.start()
        try:
            yield Peer(role.name, address)
        finally:
            first.kill()  # or the other thread would wait for a death that a failed test does not bring
            successor.join(PATIENCE_SECONDS)


def role_in(directory: Path) -> AgentRole:
    records, ledger = directory / "records.npz", directory / "ledger"
    save_records(people(PEOPLE), records)
    limit = (COST * 2).nanonats
    return AgentRole("party-0", KEYRING.party(0).hex(), str(records), str(ledger), limit, limit, {})


def require_one_charge(role: AgentRole) -> None:
    charges = charges_in(Path(role.ledger), role.chain_key)
    assert [(charge.cohort, charge.cost) for charge in charges] == [(EVERYBODY, COST)]


def check_reports(variant: str, directory: Path, asked: Request = ASKED) -> None:
    """Ask an agent that is killed half way and comes back."""
    role = role_in(directory)
    with (
        stage(directory) as made,
        agent_that_comes_back(made, role, variant) as peer,
        closing(RemoteParties([peer], PATIENCE_SECONDS, patience=STUBBORN)) as remote,
    ):
        heard = [bool(bit) for part in remote.reports(asked, EVERYBODY) for bit in part]
        assert remote.repeated >= 1 and remote.bytes_moved == -(-PEOPLE // 8)
    assert heard == [bool(bit) for bit in party(people(PEOPLE)).randomize(asked, EVERYBODY)]
    require_one_charge(role)


def test_reports_of_an_agent_that_was_killed_half_way_and_came_back_are_whole_and_charged_once(
    tmp_path: Path,
) -> None:
    check_reports("sound", tmp_path)


def test_an_agent_that_comes_back_with_other_coins_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(MalformedReport, match="other reports"):
        check_reports("fresh-coins", tmp_path)


def test_a_round_over_an_agent_that_was_killed_half_way_and_came_back_is_complete(tmp_path: Path) -> None:
    role, steps = role_in(tmp_path), list[str]()
    journal = tmp_path / "journal"
    with (
        stage(tmp_path) as made,
        agent_that_comes_back(made, role, "sound") as peer,
        closing(Rounds(journal, step=steps.append, patience=STUBBORN)) as rounds,
    ):
        assert enrol_peers(rounds.roster, [peer]) == {}
        result = rounds.ask("smoker", ASKED.randomizer, deadline_seconds=PATIENCE_SECONDS)
    assert result.complete and steps.count("asking") == 2 and "again" in steps
    require_one_charge(role)
