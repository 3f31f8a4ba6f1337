"""What every door to a federation offers: agents that dial in, a shuffler of its own, and one compilation for all."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.accounting.ledger import MemoryLedger
from localdp.domains import BitDomain, Records, Schema
from localdp.errors import BudgetExhausted, InvalidParameter, Unreachable
from localdp.oracles.local import LocalOracle
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.party.party import Party
from localdp.randomness.hazmat import SeededSource
from parties.agent.service import SERVICE_NAME as AGENT_SERVICE
from parties.agent.service import AgentService
from parties.coordinator import Peer, RemoteParties
from parties.federated.events import Event
from parties.federation import Federation
from parties.rounds.round import Rounds
from parties.shares.collector import RemoteShareServers
from parties.shuffler.service import SERVICE_NAME, ShufflerService
from parties.simulation import launched_shares
from tests.support.federations import ONE, loopback, parties_of, people
from tests.support.relays import attaching

PEOPLE = people(60)
PROMISE = Promise(ONE, minimum_cohort=2)
NOWHERE = {"name": "party-0", "address": "127.0.0.1:1"}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def test_agents_that_dial_in_are_a_federation_as_well() -> None:
    relay, holders = f"127.0.0.1:{free_port()}", parties_of(PEOPLE, 2)
    with attaching() as agents:
        for one in holders:
            agents.add(AgentService(one, {}), one.name, relay)
        names = [one.name for one in holders]
        with Federation.connect(relay=relay, expect=names) as federation:
            assert federation.parties == {"party-0": 30, "party-1": 30}
            assert federation.oracle("local", 1).answer(["smoker"])[0].reports == 60
            assert federation.of(["party-1"]).oracle("local", 1).answer(["smoker"])[0].reports == 30
            with pytest.raises(InvalidParameter, match="no share servers: the shared model needs"):
                federation.oracle("shared", 1)
            with pytest.raises(InvalidParameter, match="have no address"):
                federation.round("smoker", 1)
            with pytest.raises(InvalidParameter, match="no addresses"):
                federation.write_addresses("nowhere.json")
        assert all(one.ledger.spent().all() for one in holders)


@pytest.mark.parametrize("relay", ["nowhere", ":7000", "127.0.0.1:"])
def test_a_relay_is_an_address(relay: str) -> None:
    with pytest.raises(InvalidParameter, match="an address such as"):
        Federation.connect(relay=relay, expect=["party-0"])


def test_behind_a_shuffler_nobody_else_is_dialled(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    with loopback() as loop:
        agents = [
            Peer(one.name, loop.serve(AGENT_SERVICE, AgentService(one, {})))
            for one in parties_of(PEOPLE, 2)
        ]
        with closing(RemoteParties(agents)) as behind:
            service = ShufflerService("mixer", Shuffler(behind, SeededSource(1), PROMISE))
            mixer = {"name": "mixer", "address": loop.serve(SERVICE_NAME, service)}
            path.write_text(json.dumps({"agents": [NOWHERE], "shuffler": mixer}))
            with Federation.connect(path, only_shuffler=True) as federation:
                assert federation.oracle("shuffled", 1).answer(["smoker"])[0].reports == 60
                assert (federation.people, federation.parties) == (60, {})
                for refused in (
                    federation.budgets,
                    lambda: federation.of(["party-0"]),
                    lambda: federation.round("smoker", 1),
                ):
                    with pytest.raises(InvalidParameter, match="only the shuffler knows these parties"):
                        refused()


def test_whoever_may_not_be_missing_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    path.write_text(json.dumps({"agents": [NOWHERE], "share_servers": []}))
    with pytest.raises(Unreachable):
        Federation.connect(path, may_miss=False)


class NoPeople(AgentService):
    """Says that it speaks for nobody."""

    async def Describe(self, request: Any, context: Any) -> Any:  # noqa: N802
        described = await super().Describe(request, context)
        described.people = 0
        return described


class Refuses(AgentService):
    """Does not say who it is."""

    async def Describe(self, request: Any, context: Any) -> Any:  # noqa: N802
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "party party-0 is to blame")


def other_columns(one: Party) -> AgentService:
    """Says that its records have other columns than everybody else's."""
    records = Records.from_columns(Schema({"smokr": BitDomain()}), {"smokr": np.ones(5, np.bool_)})
    return AgentService(Party(one.name, records, bytes(32), MemoryLedger(5, one.ledger.limit)), {})


LIARS: dict[str, Callable[[Party], AgentService]] = {
    "of other columns": other_columns,
    "of nobody": lambda one: NoPeople(one, {}),
    "that refuses": lambda one: Refuses(one, {}),
}


@pytest.mark.parametrize("liar", LIARS)
def test_one_party_that_cannot_be_believed_is_left_out_and_stops_nobody(tmp_path: Path, liar: str) -> None:
    """It stands first in the file, where it would decide what everybody's columns are."""
    path, (first, *honest) = tmp_path / "parties.json", parties_of(PEOPLE, 3)
    with loopback() as loop:
        services = [LIARS[liar](first), *(AgentService(one, {}) for one in honest)]
        agents = [
            {"name": one.name, "address": loop.serve(AGENT_SERVICE, service)}
            for one, service in zip((first, *honest), services, strict=True)
        ]
        path.write_text(json.dumps({"agents": agents, "share_servers": []}))
        with pytest.warns(UserWarning, match=r"party-0.* cannot be asked: .*party-0"):
            federation = Federation.connect(path)
        with federation:
            assert list(federation.away) == ["party-0"] and federation.people == 40
            few = federation.oracle("local", 1, quorum=0.6, deadline_seconds=20, journal=tmp_path / "j")
            assert few.answer(["smoker"])[0].reports == 40


def test_a_journal_does_not_keep_the_columns_of_a_party_that_is_no_longer_named(tmp_path: Path) -> None:
    first, *honest = parties_of(PEOPLE, 3)
    with loopback() as loop, closing(Rounds(tmp_path / "j")) as rounds:
        liar = Peer(first.name, loop.serve(AGENT_SERVICE, other_columns(first)))
        peers = [Peer(one.name, loop.serve(AGENT_SERVICE, AgentService(one, {}))) for one in honest]
        assert rounds.enrol([liar]) == {}
        rounds.only(peer.name for peer in peers)
        assert rounds.enrol(peers) == {}
        assert rounds.roster.schema == PEOPLE.schema


def test_a_launched_shuffler_is_a_process_of_its_own() -> None:
    with Federation.launch(PEOPLE, parties=2, processes=1, budget=20, shuffler=PROMISE) as federation:
        assert federation.process_ids["shuffler"] not in {federation.process_ids["party-0"]}
        oracle = federation.oracle("shuffled", 1)
        assert oracle.answer(["smoker"])[0].reports == 60
        assert "whatever the analyst and anybody else behind the shuffler" in oracle.claim.statement()
        with pytest.raises(InvalidParameter, match="ask the whole federation"):
            federation.of(["party-0"]).oracle("shuffled", 1)
    with pytest.raises(InvalidParameter, match="a shuffler of its own is a process"):
        Federation.launch(PEOPLE, processes=False, shuffler=PROMISE)


def test_what_proofs_need_is_compiled_here_before_launched_servers_hear_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[str] = []
    opened = RemoteShareServers.open

    def compiling(encoding: object, count: int, servers: int, tell: Any) -> None:
        tell("streams", 0, 4)
        steps.append(f"compiled for {count} people and {servers} servers")

    def opening(self: RemoteShareServers, collection: Any) -> bool:
        steps.append("opened")
        return opened(self, collection)

    monkeypatch.setattr(launched_shares, "compile_for", compiling)
    monkeypatch.setattr(RemoteShareServers, "open", opening)
    with Federation.launch(PEOPLE, parties=2, processes=1, told=steps.append) as federation:
        federation.oracle("shared", 1).answer(["smoker"])
        assert steps == ["opened"]  # without proofs there is nothing to compile
        federation.oracle("shared", 1, tier="prio3").answer(["smoker"])
    told = "compiling what makes and verifies proofs: streams (1 of 4)"
    assert steps[1:] == [told, "compiled for 60 people and 2 servers", "opened"]


def test_a_round_that_fails_says_what_it_would_have_cost() -> None:
    told: list[Event] = []
    with Federation.launch(PEOPLE, processes=False, budget=3) as federation:
        federation.events.subscribe(told.append)
        federation.oracle("local", 2).answer(["smoker"])
        with pytest.raises(BudgetExhausted):
            federation.oracle("local", 2).answer(["smoker"])
    assert [(event.kind, event.epsilon) for event in told if event.kind != "party answered"] == [
        ("round started", 2.0),
        ("round ended", 2.0),
        ("round started", 2.0),
        ("round failed", 2.0),
    ]


def test_a_round_that_is_interrupted_is_told_as_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalOracle, "answer", interrupted)
    told: list[Event] = []
    with Federation.launch(PEOPLE, processes=False) as federation:
        federation.events.subscribe(told.append)
        with pytest.raises(KeyboardInterrupt):
            federation.oracle("local", 1).answer(["smoker"])
    assert [(event.kind, event.reason) for event in told] == [
        ("round started", ""),
        ("round failed", "interrupted"),
    ]
