"""Requests that were captured, and rounds, over mutual TLS: who asks is who the certificate says, and the owner sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.errors import LocalDpError, PolicyRefused
from parties import codec
from parties.agent.config import load_config
from parties.agent.entries import LedgerEntry
from parties.agent.service import SERVICE_NAME
from parties.agent.state import LEDGER_NAME, init_storage
from parties.identity import load_identity
from parties.serving import open_channel
from parties.status import error_of
from tests.support.agents import failed, running, succeeded, write_agent
from tests.support.federations import request
from tests.support.ledgers import charges_in, entries_in, spent_by_day
from tests.support.processes import stage

PEOPLE = 40
AGENTS = ("north", "south")
ROLES = "analyst,auditor,mallory,north,south"
COST = request().randomizer.epsilon.nanonats


def captured(number: int) -> bytes:
    """A request as it goes over the wire."""
    return codec.request_to_wire(request(number), Cohort(0, PEOPLE)).SerializeToString()


@dataclass(frozen=True)
class Clinics:
    """Two agents that answer an analyst and an auditor, and nobody else."""

    directory: Path
    addresses: dict[str, str]

    def replay(self, caller: str, message: bytes) -> list[bytes]:
        """The raw answer to the raw bytes of a request, sent under a caller's certificate."""
        identity = load_identity(self.directory / "keys" / caller)
        with open_channel(self.addresses["north"], identity) as channel:
            method: Any = channel.unary_stream(f"/{SERVICE_NAME}/Randomize")
            return list(method(message, timeout=20))

    def refused(self, caller: str, message: bytes) -> LocalDpError:
        with pytest.raises(grpc.RpcError) as caught:
            self.replay(caller, message)
        return error_of(caught.value, "the agent")

    def entries(self, agent: str = "north") -> list[LedgerEntry]:
        return entries_in(self.directory / agent / "state" / LEDGER_NAME)

    def history(self, since: int = 0, agent: str = "north") -> list[tuple[str, int]]:
        """Who got reports, and what each of the people paid for them then."""
        charges = charges_in(self.directory / agent / "state" / LEDGER_NAME)[since:]
        return [(charge.caller, charge.cost.nanonats) for charge in charges]

    def spent(self) -> set[int]:
        by_day = spent_by_day(self.entries(), PEOPLE).values()
        return set(sum(by_day, np.zeros(PEOPLE, np.int64)).tolist())


@pytest.fixture(scope="module")
def clinics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinics]:
    """Agents as processes, each with a configuration and a state of its own."""
    directory, addresses = tmp_path_factory.mktemp("clinics"), dict[str, str]()
    succeeded(directory, "keys", "init", "keys", "--names", ROLES)
    with ExitStack() as stack:
        made = stack.enter_context(stage(directory))
        for name in AGENTS:
            (directory / name).mkdir()
            config = write_agent(
                directory / name,
                people=PEOPLE,
                policy='aggregators = ["analyst", "auditor"]',
                more=f'[tls]\ndirectory = "../keys/{name}"\n',
            )
            config.write_text(config.read_text().replace('name = "clinic"', f'name = "{name}"'))
            init_storage(load_config(config))
            addresses[name] = stack.enter_context(running(made, config))[1]
        yield Clinics(directory, addresses)


def test_a_captured_request_is_worth_nothing_to_somebody_whom_the_agent_does_not_serve(
    clinics: Clinics,
) -> None:
    message, before = captured(1), len(clinics.history())
    assert isinstance(clinics.refused("mallory", message), PolicyRefused)
    assert clinics.history(before) == []  # nor does it spend anything for whoever it was captured from
    clinics.replay("analyst", message)
    assert isinstance(clinics.refused("mallory", message), PolicyRefused)
    assert clinics.history(before) == [("analyst", COST)]


def test_another_aggregator_gets_the_same_report_for_free_and_the_owner_sees_that_it_did(
    clinics: Clinics,
) -> None:
    message, before = captured(2), len(clinics.history())
    first = clinics.replay("analyst", message)
    spent = clinics.spent()
    assert clinics.replay("auditor", message) == first
    assert clinics.history(before) == [("analyst", COST), ("auditor", 0)]
    assert clinics.spent() == spent and len(spent) == 1
    for caller in ("auditor", "analyst"):
        assert clinics.replay(caller, message) == first
    assert len(clinics.history(before)) == 2  # repetitions leave no further trace
    clinics.replay("auditor", captured(3))
    assert clinics.history(before + 2) == [("auditor", COST)]
    told = succeeded(clinics.directory / "north", "budget", "history", "agent.toml")["entries"]
    charges = [row for row in told if row["kind"] == "charge"]
    assert [(row["caller"], row["epsilon_nanonats"]) for row in charges[before:]] == clinics.history(before)


def ask_round(identity: str) -> list[str]:
    asked = ["round", "smoker", "--connect", "parties.json", "--journal", "rounds.sqlite", "--epsilon", "1"]
    return [*asked, "--quorum", "1", "--identity", f"keys/{identity}"]


def test_a_round_shows_an_identity_and_is_charged_to_its_name(clinics: Clinics) -> None:
    peers = [{"name": name, "address": address} for name, address in clinics.addresses.items()]
    listed = json.dumps({"agents": peers, "share_servers": []})
    (clinics.directory / "parties.json").write_text(listed)
    before = [len(clinics.history(agent=name)) for name in AGENTS]
    told = failed(clinics.directory, *ask_round("mallory"))
    assert told["error_code"] == "quorum_missed" and "2 policy_refused" in told["message"]
    assert [len(clinics.history(agent=name)) for name in AGENTS] == before
    # The same question is the same round, gone on with: under another identity it is answered.
    told = succeeded(clinics.directory, *ask_round("analyst"))
    assert told["answered"] == {"parties": 2, "people": 2 * PEOPLE, "unknown": 0} and told["missing"] == {}
    for name, rows in zip(AGENTS, before, strict=True):
        assert clinics.history(rows, name) == [("analyst", COST)]
    without = [part for part in ask_round("") if part not in ("--identity", "keys/")]
    without[1] = "not smoker"
    assert failed(clinics.directory, *without)["error_code"] in ("quorum_missed", "unreachable")
