"""The shuffled model of a federation: whoever mixes sees who sent what, so it is not the one who asks."""

from __future__ import annotations

import json
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.randomness.hazmat import SeededSource
from parties.agent.service import SERVICE_NAME as AGENT_SERVICE
from parties.agent.service import AgentService
from parties.coordinator import Peer, RemoteParties
from parties.federation import Federation
from parties.shuffler.service import SERVICE_NAME, ShufflerService
from tests.support.federations import ONE, loopback, parties_of, people

PEOPLE = people(90)


def addresses(path: Path, agents: list[Peer], shuffler: Peer | None = None) -> Path:
    data = {"agents": [{"name": one.name, "address": one.address} for one in agents], "share_servers": []}
    if shuffler is not None:
        data["shuffler"] = {"name": shuffler.name, "address": shuffler.address}  # type: ignore[assignment]
    path.write_text(json.dumps(data))
    return path


def test_running_parties_without_a_shuffler_are_not_asked_for_what_only_a_shuffler_should_see(
    tmp_path: Path,
) -> None:
    holders = parties_of(PEOPLE, 2)
    with loopback() as loop:
        agents = [Peer(one.name, loop.serve(AGENT_SERVICE, AgentService(one, {}))) for one in holders]
        with Federation.connect(addresses(tmp_path / "alone.json", agents)) as federation:
            for ask in (federation.oracle, partial(federation.plan, ["smoker"])):
                with pytest.raises(InvalidParameter, match="needs a shuffler, and these parties have none"):
                    ask(model="shuffled", epsilon=1)
            federation.oracle("local", 1).answer(["smoker"])
        with closing(RemoteParties(agents)) as behind:
            promise = Promise(ONE, minimum_cohort=2)
            service = ShufflerService("mixer", Shuffler(behind, SeededSource(1), promise))
            mixer = Peer("mixer", loop.serve(SERVICE_NAME, service))
            with Federation.connect(addresses(tmp_path / "mixed.json", agents, mixer)) as federation:
                oracle = federation.oracle("shuffled", 1)
                assert oracle.answer(["smoker"])[0].reports == 90
                assert "whatever the analyst and anybody else" in oracle.claim.statement()


def test_of_launched_parties_the_claim_excepts_whoever_runs_the_simulation() -> None:
    with Federation.launch(PEOPLE, parties=3, processes=False, insecure_seed=1) as federation:
        told = federation.oracle("shuffled", 1).claim.statement()
    assert "whatever anybody but whoever runs this process" in told
    assert "the other parties must not tell the analyst what they sent" in told
