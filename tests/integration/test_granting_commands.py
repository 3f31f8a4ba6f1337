"""The commands of an analyst, of two parties of which one refuses: an exit code, its name, and nobody has paid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.domains.dealing import dealt
from localdp.party.party import Party
from localdp.party.policy import Policy
from parties.addresses import State, write_state
from parties.agent.service import SERVICE_NAME, AgentService
from parties.command.main import app
from parties.coordinator import Peer
from parties.shares.service import SERVICE_NAME as SHARE_SERVICE
from parties.shares.service import ShareService
from tests.support.federations import KEYRING, ONE, loopback, people, share_servers_of

PEOPLE = 200
ASKED = {
    "local": ("ask", "smoker", "--model", "local"),
    "shared": ("ask", "smoker", "--model", "shared"),
    "histogram": ("histogram", "region"),
}


def two_parties(budget: Epsilon, policy: Policy) -> list[Party]:
    """Anna with a budget and a policy, and Bert who has plenty."""
    first, second = dealt(people(PEOPLE), 2)
    return [
        Party("anna", first, KEYRING.party(0), MemoryLedger(first.people, budget), policy),
        Party(
            "bert",
            second,
            KEYRING.party(1),
            MemoryLedger(second.people, ONE * 10),
            Policy(largest_epsilon=ONE * 10),
        ),
    ]


@contextmanager
def running(path: Path, parties: list[Party], servers: int = 2) -> Iterator[None]:
    """The parties behind agents, with a file that says where they are."""
    with loopback() as threads:
        addresses = {
            server.name: threads.serve(SHARE_SERVICE, ShareService(server))
            for server in share_servers_of(servers)
        }
        agents = [
            Peer(one.name, threads.serve(SERVICE_NAME, AgentService(one, addresses))) for one in parties
        ]
        write_state(State(tuple(agents), tuple(Peer(*item) for item in addresses.items())), path)
        yield


def told(*arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    lines: dict[str, Any] = json.loads(result.stdout)
    assert lines["exit_code"] == result.exit_code
    return lines


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize(
    ("budget", "policy", "code"),
    [(ONE, Policy(largest_epsilon=ONE * 10), 5), (ONE * 10, Policy(largest_epsilon=ONE), 1)],
    ids=["too little is left", "too much at once"],
)
def test_a_command_that_one_party_refuses_says_which_and_charges_nobody(
    tmp_path: Path, asked: tuple[str, ...], budget: Epsilon, policy: Policy, code: int
) -> None:
    parties, path = two_parties(budget, policy), tmp_path / "parties.json"
    with running(path, parties):
        answer = told(*asked, "--connect", path, "--epsilon", 2, "--json")
        assert answer["exit_code"] == code
        assert answer["message"].startswith("party anna: ")
        assert not any(party.ledger.spent().any() for party in parties)
        assert told(*asked, "--connect", path, "--epsilon", 1, "--json")["status"] == "ok"
        assert all(party.ledger.spent().all() for party in parties)


def test_a_file_without_share_servers_is_said_to_have_none(tmp_path: Path) -> None:
    parties, path = two_parties(ONE, Policy(largest_epsilon=ONE * 10)), tmp_path / "parties.json"
    with running(path, parties, servers=0):
        answer = told("ask", "smoker", "--model", "shared", "--connect", path, "--json")
    assert answer["exit_code"] == 2
    assert "parties.json names no share servers" in answer["message"]
