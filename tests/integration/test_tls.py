"""Certificates end to end: real agents and share servers with mutual TLS, under identities of `localdp keys`."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, LocalDpError, PolicyRefused, TooFewReports, Unreachable
from localdp.sharing.blocks import Rows, ShareBlock, pack_positions
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from parties.agent.service import AgentService
from parties.coordinator import Peer, RemoteParties
from parties.federated.whereabouts import expected
from parties.identity import Identity, fingerprint_of, load_identity
from parties.relay.server import RelayServer
from parties.serving import open_aio_channel, open_channel
from parties.shares.client import upload
from parties.shares.collector import RemoteShareServers
from parties.status import error_of
from parties.wire.v1 import share_server_pb2 as pb
from parties.wire.v1 import share_server_pb2_grpc
from tests.support.agents import failed, running, succeeded, write_agent
from tests.support.federations import ONE, party, people, request
from tests.support.processes import COMMAND, Stage, read_line, stage, wait_until
from tests.support.relays import PATIENCE_SECONDS, attaching

PEOPLE = 40
ROLES = "analyst,mallory,clinic,server-0,server-1"
EVERYBODY = Cohort(0, PEOPLE)


@dataclass(frozen=True)
class Deployment:
    """An agent and two share servers that want certificates."""

    directory: Path
    agent: str
    servers: tuple[Peer, ...]

    def identity(self, name: str, keys: str = "keys") -> Identity:
        return load_identity(self.directory / keys / name)

    def parties(self, identity: Identity | None) -> RemoteParties:
        return RemoteParties([Peer("clinic", self.agent)], 20, identity)

    def entries(self) -> list[dict[str, Any]]:
        """What stands in the agent's ledger."""
        told = succeeded(self.directory, "budget", "history", "agent.toml")
        listed: list[dict[str, Any]] = told["entries"]
        return listed


@contextmanager
def share_server(made: Stage, name: str) -> Iterator[Peer]:
    """`localdp share-server run` as a process."""
    collectors = ["--collector", "analyst", "--collector", "mallory"]
    options = ["--name", name, "--tls", f"keys/{name}", "--state", f"{name}.state", *collectors, "--json"]
    command = [str(COMMAND), "share-server", "run", *options]
    process = made.popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdout is not None
    try:
        yield Peer(name, json.loads(read_line(process))["data"]["address"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Everything as processes, under certificates of one authority; another authority has issued the same names."""
    directory = tmp_path_factory.mktemp("deployment")
    for keys in ("keys", "others"):
        succeeded(directory, "keys", "init", keys, "--names", ROLES)
    with ExitStack() as stack:
        made = stack.enter_context(stage(directory))
        servers = tuple(stack.enter_context(share_server(made, name)) for name in ("server-0", "server-1"))
        uploads = "".join(f'{server.name} = "{server.address}"\n' for server in servers)
        config = write_agent(
            directory,
            people=PEOPLE,
            policy='aggregators = ["analyst"]',
            more=f'[tls]\ndirectory = "keys/clinic"\n[share_servers]\n{uploads}',
        )
        succeeded(directory, "agent", "init", "agent.toml")
        _, address = stack.enter_context(running(made, config))
        (directory / "state.json").write_text(
            json.dumps(
                {
                    "agents": [{"name": "clinic", "address": address}],
                    "share_servers": [{"name": s.name, "address": s.address} for s in servers],
                }
            )
        )
        yield Deployment(directory, address, servers)


def reports(parties: RemoteParties, number: int = 0) -> int:
    return sum(len(part) for part in parties.reports(request(number), EVERYBODY))


def test_a_named_aggregator_is_answered_and_its_name_is_in_the_ledger(deployment: Deployment) -> None:
    with closing(deployment.parties(deployment.identity("analyst"))) as parties:
        assert reports(parties) == PEOPLE
    assert deployment.entries()[-1]["caller"] == "analyst"


def test_an_aggregator_who_was_not_named_is_refused_and_nothing_is_charged(deployment: Deployment) -> None:
    before = deployment.entries()
    with (
        closing(deployment.parties(deployment.identity("mallory"))) as parties,
        pytest.raises(PolicyRefused, match="does not answer this analyst"),
    ):
        reports(parties, 1)
    assert deployment.entries() == before


def test_an_identity_of_another_authority_is_not_talked_to(deployment: Deployment) -> None:
    with pytest.raises(Unreachable):
        deployment.parties(deployment.identity("analyst", "others"))


def test_another_role_at_a_partys_address_is_not_taken_for_the_party(deployment: Deployment) -> None:
    analyst = deployment.identity("analyst")
    with pytest.raises(Unreachable):
        RemoteParties([Peer("mallory", deployment.agent)], 20, analyst)


@pytest.mark.parametrize("command", ["agent", "share-server"])
def test_nobody_starts_with_the_certificate_of_somebody_else(
    deployment: Deployment, tmp_path: Path, command: str
) -> None:
    keys = deployment.directory / "keys" / "mallory"
    if command == "agent":
        write_agent(tmp_path, people=4, more=f'[tls]\ndirectory = "{keys}"\n')
        succeeded(tmp_path, "agent", "init", "agent.toml")
        told = failed(tmp_path, "agent", "run", "agent.toml")
    else:
        told = failed(tmp_path, "share-server", "run", "--name", "server-0", "--tls", str(keys))
    assert told["error_code"] == "invalid_parameter" and "'mallory'" in told["message"]


def test_without_a_certificate_there_is_no_answer(deployment: Deployment) -> None:
    with pytest.raises(Unreachable):
        deployment.parties(None)
    anonymous = grpc.ssl_channel_credentials(deployment.identity("analyst").authority)
    for address in (deployment.agent, deployment.servers[0].address):
        with grpc.secure_channel(address, anonymous) as channel:
            call: Any = channel.unary_unary("/grpc.health.v1.Health/Check")
            with pytest.raises(grpc.RpcError) as caught:
                call(b"", timeout=10)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("model", ["local", "shared"])
def test_ask_shows_an_identity(deployment: Deployment, model: str) -> None:
    asked = ["ask", "smoker", "--connect", "state.json", "--model", model, "--epsilon", "0.5"]
    told = succeeded(deployment.directory, *asked, "--identity", "keys/analyst")
    assert (told["people"], told["model"]) == (PEOPLE, model)
    assert deployment.entries()[-1]["caller"] == "analyst"


@pytest.mark.parametrize(
    ("identity", "code"),
    [(["--identity", "keys/mallory"], "policy_refused"), ([], "unreachable")],
    ids=["another's", "none"],
)
def test_ask_with_the_wrong_identity_is_told_so(
    deployment: Deployment, identity: list[str], code: str
) -> None:
    told = failed(deployment.directory, "ask", "smoker", "--connect", "state.json", *identity)
    assert told["error_code"] == code


def test_an_identity_goes_with_running_parties(tmp_path: Path) -> None:
    assert failed(tmp_path, "ask", "smoker", "--identity", "keys")["error_code"] == "invalid_parameter"


def collection(servers: RemoteShareServers, name: bytes = bytes(16)) -> Collection:
    contributors = (Contributor("clinic", PEOPLE),)
    counts, plan = Encoding.count(), NoisePlan.EACH_SERVER
    binding = servers.bind(name)
    return Collection(name, "smoker", counts, ONE, plan, servers.servers, contributors, 2, binding)


async def uploaded(server: Peer, identity: Identity, asked: Collection) -> int | grpc.RpcError:
    rows = Rows(np.zeros((PEOPLE, 0), np.uint8), np.zeros((PEOPLE, 8), np.uint8))

    async def blocks() -> AsyncIterator[list[ShareBlock]]:
        yield [ShareBlock(asked.digest, "clinic", EVERYBODY, rows)]

    async with open_aio_channel(server.address, identity) as channel:
        return (await upload([channel], blocks(), 10))[0]


def test_nobody_uploads_shares_in_the_name_of_another_party(deployment: Deployment) -> None:
    analyst = deployment.identity("analyst")
    with (
        closing(deployment.parties(analyst)) as parties,
        closing(RemoteShareServers(parties, deployment.servers, 20, analyst)) as servers,
    ):
        asked = collection(servers, b"another's name!!")
        servers.open(asked)
        failure = asyncio.run(uploaded(deployment.servers[0], deployment.identity("mallory"), asked))
        assert isinstance(failure, grpc.RpcError)
        assert isinstance(error_of(failure, "server-0"), PolicyRefused)
        counted = asyncio.run(uploaded(deployment.servers[0], deployment.identity("clinic"), asked))
        assert counted == PEOPLE


def test_a_party_uploads_to_no_other_role_than_the_share_server_that_it_chose(
    deployment: Deployment, tmp_path: Path
) -> None:
    first, second = deployment.servers
    swapped = f'server-0 = "{second.address}"\nserver-1 = "{first.address}"\n'
    config = write_agent(
        tmp_path,
        people=PEOPLE,
        more=f'[tls]\ndirectory = "{deployment.directory}/keys/clinic"\n[share_servers]\n{swapped}',
    )
    succeeded(tmp_path, "agent", "init", "agent.toml")
    analyst = deployment.identity("analyst")
    with (
        stage(tmp_path) as made,
        running(made, config) as (_, address),
        closing(RemoteParties([Peer("clinic", address)], 20, analyst)) as parties,
        closing(RemoteShareServers(parties, deployment.servers, 20, analyst)) as servers,
    ):
        asked = collection(servers, b"swapped servers!")
        servers.open(asked)
        with pytest.raises(Unreachable):
            servers.contribute(asked, EVERYBODY)
        assert {holding.reports for holding in servers.holdings(asked)} == {0}


def test_a_collection_is_released_for_whoever_opened_it(deployment: Deployment) -> None:
    analyst = deployment.identity("analyst")
    with (
        closing(deployment.parties(analyst)) as parties,
        closing(RemoteShareServers(parties, deployment.servers, 20, analyst)) as servers,
    ):
        asked = collection(servers, b"whoever opens it")
        servers.open(asked)
        with closing(
            RemoteShareServers(parties, deployment.servers, 20, deployment.identity("mallory"))
        ) as others:
            with pytest.raises(PolicyRefused, match="somebody else"):
                others.open(asked)
            with pytest.raises(PolicyRefused):
                others.agree(asked)
            with pytest.raises(PolicyRefused):
                others.release(asked, bytes(32), [])
        with pytest.raises(TooFewReports):
            servers.agree(asked)


@pytest.mark.parametrize("itself", ["analyst", "analyst/ward"])
def test_nobody_opens_a_collection_in_which_it_could_upload_for_a_party_itself(
    deployment: Deployment, itself: str
) -> None:
    """It would fill the batch with reports that it knows, and one other person's would be what is left."""
    analyst = deployment.identity("analyst")
    with (
        closing(deployment.parties(analyst)) as parties,
        closing(RemoteShareServers(parties, deployment.servers, 20, analyst)) as servers,
    ):
        asked = collection(servers, b"a batch of one!!")
        padded = replace(asked, parties=(*asked.parties, Contributor(itself, 499)))
        with pytest.raises(PolicyRefused, match="opened it"):
            servers.open(padded)


def test_only_named_collectors_open_collections(deployment: Deployment) -> None:
    clinic = deployment.identity("clinic")
    with (
        closing(deployment.parties(clinic)) as parties,
        closing(RemoteShareServers(parties, deployment.servers, 20, clinic)) as servers,
    ):
        asked = collection(servers)
        with pytest.raises(PolicyRefused):
            servers.open(asked)


def test_collectors_are_named_where_they_show_certificates(tmp_path: Path) -> None:
    told = failed(tmp_path, "share-server", "run", "--name", "server-0", "--collector", "analyst")
    assert told["error_code"] == "invalid_parameter"


def test_nobody_leads_a_collection_but_its_first_server(deployment: Deployment) -> None:
    analyst = deployment.identity("analyst")
    with (
        closing(deployment.parties(analyst)) as parties,
        closing(RemoteShareServers(parties, deployment.servers, 20, analyst)) as servers,
    ):
        asked = collection(servers)
        servers.open(asked)
    name = asked.digest
    positions = pack_positions(np.arange(2, dtype=np.uint32))
    calls = {
        "CheckReports": pb.CheckReportsRequest(collection=name, verify_key=bytes(32), positions=positions),
        "VoteOnReports": pb.VoteOnReportsRequest(collection=name, positions=positions),
        "CommitJob": pb.CommitJobRequest(collection=name, positions=positions, accepted=b"\xc0"),
        "GetOpening": pb.GetOpeningRequest(collection=name),
        "SealReports": pb.SealReportsRequest(collection=name),
    }
    for who in ("analyst", "clinic", "server-1"):
        with open_channel(deployment.servers[1].address, deployment.identity(who)) as channel:
            stub: Any = share_server_pb2_grpc.ShareServerServiceStub(channel)
            for method, request_ in calls.items():
                with pytest.raises(grpc.RpcError) as caught:
                    getattr(stub, method)(request_, timeout=10)
                assert isinstance(error_of(caught.value, "server-1"), PolicyRefused)


@pytest.mark.parametrize(
    "more",
    ['[listen]\naddress = "0.0.0.0:0"', '[dial]\ncoordinator = "192.0.2.1:7000"'],
    ids=["listening", "dialling"],
)
def test_an_agent_off_loopback_does_not_start_without_certificates(tmp_path: Path, more: str) -> None:
    write_agent(tmp_path, people=4, more=more)
    succeeded(tmp_path, "agent", "init", "agent.toml")
    told = failed(tmp_path, "agent", "run", "agent.toml")
    assert told["error_code"] == "invalid_parameter" and "is not loopback" in told["message"]


def test_a_share_server_off_loopback_does_not_start_without_certificates(tmp_path: Path) -> None:
    arguments = ["share-server", "run", "--name", "server-0", "--listen"]
    assert "loopback" in failed(tmp_path, *arguments, "0.0.0.0:0")["message"]
    assert "loopback" in failed(tmp_path, *arguments, "0.0.0.0:0", "--state", "state")["message"]
    assert failed(tmp_path, *arguments, "7001")["error_code"] == "invalid_parameter"


def test_a_share_server_with_a_certificate_does_not_start_without_a_state(tmp_path: Path) -> None:
    succeeded(tmp_path, "keys", "init", "keys", "--names", "server-0")
    told = failed(tmp_path, "share-server", "run", "--name", "server-0", "--tls", "keys/server-0")
    assert told["error_code"] == "invalid_parameter" and "needs --state" in told["message"]


def test_an_agent_that_dials_charges_to_the_name_that_its_coordinator_has_proved(
    deployment: Deployment, tmp_path: Path
) -> None:
    with RelayServer(identity=deployment.identity("analyst")) as relay, stage(tmp_path) as made:
        config = write_agent(
            tmp_path,
            policy='aggregators = ["analyst"]',
            more=f'[dial]\ncoordinator = "{relay.address}"\nname = "analyst"\n'
            f'[tls]\ndirectory = "{deployment.directory}/keys/clinic"\n',
        )
        succeeded(tmp_path, "agent", "init", "agent.toml")
        with running(made, config) as (process, address):
            assert address == f"{relay.address}, which it dials"
            relay.wait_for(["clinic"], PATIENCE_SECONDS)
            with closing(relay.parties()) as parties:
                assert reports(parties) == PEOPLE
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_SECONDS) == 0
            wait_until(lambda: not relay.attached, "the agent has left")
        told = succeeded(tmp_path, "budget", "history", "agent.toml")
    charged = [entry for entry in told["entries"] if entry["kind"] == "charge"]
    assert [entry["caller"] for entry in charged] == ["analyst"]


def test_ask_waits_for_agents_that_dial_and_asks_them(deployment: Deployment, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        relay = f"127.0.0.1:{probe.getsockname()[1]}"
    config = write_agent(
        tmp_path,
        more=f'[dial]\ncoordinator = "{relay}"\nname = "analyst"\n'
        f'[tls]\ndirectory = "{deployment.directory}/keys/clinic"\n',
    )
    succeeded(tmp_path, "agent", "init", "agent.toml")
    with stage(tmp_path) as made, running(made, config):
        identity = ["--identity", f"{deployment.directory}/keys/analyst"]
        told = succeeded(tmp_path, "ask", "smoker", "--relay", relay, "--expect", "clinic", *identity)
    assert told["people"] == PEOPLE


def test_a_relay_needs_to_know_whom_to_wait_for(tmp_path: Path) -> None:
    told = failed(tmp_path, "ask", "smoker", "--relay", "127.0.0.1:0")
    assert told["error_code"] == "invalid_parameter"


def dialled(
    deployment: Deployment,
    agent: str,
    party_name: str,
    coordinator: str,
    enrolled: dict[str, str] | None = None,
) -> list[LocalDpError | None]:
    """What an agent hears first when it dials a coordinator that should be the analyst, and is somebody."""
    own = deployment.identity(coordinator)
    with RelayServer(identity=own, enrolled=enrolled or {}) as relay, attaching() as agents:
        service = AgentService(party(people(4)), {})
        agents.add(service, party_name, relay.address, deployment.identity(agent), "analyst")
        wait_until(lambda: bool(agents.news[party_name]), "the agent has heard something")
        assert agents.news[party_name][0] is None or not relay.attached
        return agents.news[party_name][:1]


def test_an_agent_does_not_take_another_role_for_its_coordinator(deployment: Deployment) -> None:
    heard = dialled(deployment, "clinic", "clinic", "mallory")
    assert isinstance(heard[0], Unreachable)


def test_an_agent_attaches_under_the_name_in_its_certificate_alone(deployment: Deployment) -> None:
    assert isinstance(dialled(deployment, "mallory", "clinic", "analyst")[0], PolicyRefused)
    assert isinstance(dialled(deployment, "clinic", "clinics", "analyst")[0], PolicyRefused)


def test_a_site_that_was_enrolled_by_fingerprint_attaches_with_that_certificate_alone(
    deployment: Deployment,
) -> None:
    own = fingerprint_of(deployment.identity("clinic").certificate)
    other = fingerprint_of(deployment.identity("mallory").certificate)
    for name in ("clinic", "clinic/ward-7"):
        assert dialled(deployment, "clinic", name, "analyst", {"clinic": own}) == [None]
        heard = dialled(deployment, "clinic", name, "analyst", {"clinic": other})
        assert isinstance(heard[0], PolicyRefused) and "enrolled" in str(heard[0])
    assert dialled(deployment, "clinic", "clinic", "analyst", {"mallory": other}) == [None]


def test_fingerprints_are_declared_beside_the_names_of_those_who_dial() -> None:
    digits = "0A" * 32
    colons = ":".join(["0a"] * 32)
    assert expected(["north", f"south={digits}"]) == (["north", "south"], {"south": "0a" * 32})
    assert expected([f"south/ward-1={colons}"]) == (["south/ward-1"], {"south": "0a" * 32})
    for wrong in ("", "0a", "0g" * 32):
        with pytest.raises(InvalidParameter, match="64 hexadecimal digits"):
            expected([f"south={wrong}"])


def test_one_agent_attaches_for_many_parties_below_its_own_name(deployment: Deployment) -> None:
    assert dialled(deployment, "clinic", "clinic/ward-7", "analyst") == [None]
