"""What dishonest servers and collectors get out of servers that forgot: one release, and nobody's answer.

Real processes: an agent, a helper, and for the second attack a leader.  Two attacks that once worked:

- A dishonest leader has a helper verify the same reports under two keys, with a restart in between.  Two points of a wire
  polynomial determine its two unknowns, of which one is the person's answer.
- A dishonest collector has restarted servers release one collection again and again, each time with other noise.

Each is tried with every way of forgetting: a server that never had a state, one whose state was lost, one whose state is
an old copy, and an old copy of everything.  The broken twins, without what binds them, give everybody's answer away and
release again.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import LocalDpError
from localdp.oracles.collecting import run_collection
from localdp.sharing.binding import Binding, commitment_to
from localdp.sharing.blocks import pack_positions, run_of
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.prio3 import Count, Prio3
from localdp.sharing.prio3.polynomials import basis_at
from localdp.sharing.prio3.prio3 import NONCE_BYTES
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault
from parties import codec
from parties.coordinator import Peer, RemoteParties
from parties.serving import open_channel
from parties.shares.collector import RemoteShareServers, in_an_hour
from parties.shares.service import SERVICE_NAME, ShareService
from parties.shares.vault import vault_path
from parties.wire.v1 import oracle_pb2, oracle_pb2_grpc, share_server_pb2_grpc
from parties.wire.v1 import share_server_pb2 as pb
from tests.fault.test_share_kill_nine import free_port
from tests.support.agents import running, succeeded
from tests.support.federations import loopback
from tests.support.processes import COMMAND, Stage, read_line, stage

PEOPLE = 60
ALL = run_of(0, PEOPLE)
LITTLE = Epsilon.requested("0.01")
PRIO3 = Prio3(Count(), 2)
SECONDS = 20.0
CONFIG = """
name = "clinic"
[data]
path = "patients.csv"
[schema]
smoker = {{ kind = "bit" }}
[budget]
total = 0.01
[policy]
minimum_cohort = {people}
[share_servers]
"{leader}" = "{leader_address}"
"{helper}" = "{helper_address}"
"""


class Believing(ShareServer):
    """A server that makes sure of nothing: a dishonest leader."""

    def _require_bound(self, collection: Collection) -> None:
        pass


@dataclass
class Process:
    """A share server as a process, that is ended and started again on what is on disk."""

    place: Stage
    name: str
    durable: bool = True
    module: str = ""  # a broken twin, in place of the command
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None
    told: dict[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.place.directory / f"{self.name}.state"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        program = (
            [sys.executable, "-m", self.module] if self.module else [str(COMMAND), "share-server", "run"]
        )
        state = ["--state", str(self.state)] if self.durable else []
        command = [*program, "--name", self.name, "--listen", self.address, *state, "--json"]
        self._process = self.place.popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0
        )
        self.told = json.loads(read_line(self._process))["data"]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        assert self._process is not None and self._process.stdout is not None
        self._process.send_signal(how)
        self._process.wait(SECONDS)
        self._process.stdout.close()
        self._process = None

    def copied(self) -> Path:
        """A copy of all of its files, as they are now."""
        copies = self.place.directory / f"{self.name}-{os.urandom(4).hex()}"
        copies.mkdir()
        for file in (self.state, vault_path(self.state)):
            shutil.copy(file, copies / file.name)
        return copies

    def put_back(self, copies: Path, *, everything: bool) -> None:
        for file in (self.state, vault_path(self.state)) if everything else (self.state,):
            shutil.copy(copies / file.name, file)


@contextmanager
def process(place: Stage, name: str, **options: Any) -> Iterator[Process]:
    made = Process(place, name, **options)
    made.start()
    try:
        yield made
    finally:
        if made._process is not None:
            made.stop()


def made_agent(directory: Path, answers: np.ndarray[Any, Any], servers: dict[str, str]) -> Path:
    """An agent whose people can pay for one collection."""
    (directory / "patients.csv").write_text("smoker\n" + "".join(f"{int(one)}\n" for one in answers))
    (leader, leader_address), (helper, helper_address) = servers.items()
    config = directory / "agent.toml"
    config.write_text(
        CONFIG.format(
            people=PEOPLE,
            leader=leader,
            leader_address=leader_address,
            helper=helper,
            helper_address=helper_address,
        )
    )
    succeeded(directory, "agent", "init", str(config))
    return config


def forgets_nothing(helper: Process, copies: Path | None) -> None:
    helper.stop()
    helper.start()


def loses_its_state(helper: Process, copies: Path | None) -> None:
    helper.stop()
    for file in helper.place.directory.glob(f"{helper.name}.state*"):
        if file != vault_path(helper.state):
            file.unlink()
    helper.start()


def is_an_old_state(helper: Process, copies: Path | None) -> None:
    assert copies is not None
    helper.stop()
    helper.put_back(copies, everything=False)
    helper.start()


def is_an_old_copy(helper: Process, copies: Path | None) -> None:
    assert copies is not None
    helper.stop()
    helper.put_back(copies, everything=True)
    helper.start()


Forgetting = Callable[[Process, Path | None], None]
FORGETTING = [
    is_an_old_state,
    *(
        pytest.param(one, marks=pytest.mark.nightly)
        for one in (forgets_nothing, loses_its_state, is_an_old_copy)
    ),
]


class Attack:
    """A dishonest leader and collector, a helper and an agent that are honest."""

    def __init__(self, helper: Process, leader: ShareServer, agent: str) -> None:
        self.helper, self.leader, self.agent = helper, leader, agent
        self.keys = os.urandom(32), os.urandom(32)
        with open_channel(helper.address) as channel:
            told = share_server_pb2_grpc.ShareServerServiceStub(channel).DescribeServer(
                pb.DescribeServerRequest(), timeout=SECONDS
            )
        binding = Binding(
            (leader.sealing_key.public, told.sealing_key),
            (leader.witness_key, told.witness_key),
            commitment_to(self.keys[0]),
            in_an_hour(),
        )
        self.collection = Collection(
            os.urandom(16),
            "smoker",
            Encoding.count(),
            LITTLE,
            NoisePlan.EACH_SERVER,
            (leader.name, told.name),
            (Contributor("clinic", PEOPLE),),
            PEOPLE,
            binding,
            "prio3",
        )
        leader.open(self.collection)

    def contributed(self) -> None:
        """Open the collection at the helper, and have the agent upload."""
        wire = codec.collection_to_wire(self.collection)
        cohort = codec.cohort_to_wire(Cohort(0, PEOPLE))
        with open_channel(self.helper.address) as there, open_channel(self.agent) as here:
            helper = share_server_pb2_grpc.ShareServerServiceStub(there)
            helper.OpenCollection(pb.OpenCollectionRequest(collection=wire), timeout=SECONDS)
            agent = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(here)
            agent.Contribute(oracle_pb2.ContributeRequest(collection=wire, cohort=cohort), timeout=SECONDS)

    def verifiers(self, key: bytes) -> list[bytes]:
        """What the helper says about everybody's report under a key; nothing if it refuses, or has not got them."""
        request = pb.CheckReportsRequest(
            collection=self.collection.digest, verify_key=key, positions=pack_positions(ALL)
        )
        with open_channel(self.helper.address) as channel:
            try:
                answer = share_server_pb2_grpc.ShareServerServiceStub(channel).CheckReports(
                    request, timeout=SECONDS
                )
            except grpc.RpcError:
                return []
        if not np.unpackbits(np.frombuffer(answer.held, np.uint8), count=PEOPLE).all():
            return []
        size = len(answer.verifiers) // PEOPLE
        return [answer.verifiers[at : at + size] for at in range(0, len(answer.verifiers), size)]

    def answers(self, first: list[bytes], second: list[bytes]) -> list[int]:
        """Everybody's answer, from two points of the polynomial of the first wire: its seed and the answer."""
        rows = self.leader._task(self.collection.digest).rows_of(ALL)
        field, found = PRIO3.field, []
        for person in range(PEOPLE):
            nonce, public = rows.public[person, :NONCE_BYTES].tobytes(), b""
            equations = []
            for key, told in zip(self.keys, (first[person], second[person]), strict=True):
                derive = PRIO3.derivations(self.collection.digest)
                *_, point = derive.query_coins(key, nonce)
                own = PRIO3.verify_init(
                    key, self.collection.digest, 0, nonce, public, rows.inputs[person].tobytes()
                )[1]
                value = field.unpack(own)[1] + field.unpack(told)[1]
                equations.append((*basis_at(field, 2, 2, point), value))
            (a, b, v), (c, d, w) = equations
            found.append((a * w - c * v) * field.inverse((a * d - b * c) % field.modulus) % field.modulus)
        return found


def read_off(directory: Path, forgetting: Forgetting, module: str = "") -> int:
    """How many of the agent's answers the attack finds."""
    answers = np.random.default_rng(7).permutation(np.arange(PEOPLE) < PEOPLE // 2)
    leader = Believing("server-0", MemoryVault(os.urandom(32)))
    with (
        stage(directory) as place,
        loopback() as threads,
        process(place, "server-1", module=module) as helper,
    ):
        address = threads.serve(SERVICE_NAME, ShareService(leader))
        config = made_agent(directory, answers, {"server-0": address, "server-1": helper.address})
        with running(place, config) as (_, agent):
            attack = Attack(helper, leader, agent)
            attack.contributed()
            helper.stop()
            copies = helper.copied()
            helper.start()
            first = attack.verifiers(attack.keys[0])
            assert len(first) == PEOPLE
            forgetting(helper, copies)
            with suppress(grpc.RpcError):
                attack.contributed()
            second = attack.verifiers(attack.keys[1])
        found = attack.answers(first, second) if second else []
    return sum(one == answer for one, answer in zip(found, answers, strict=False))


@pytest.mark.parametrize("forgetting", FORGETTING, ids=lambda one: one.__name__)
def test_a_helper_says_nothing_under_a_second_key(tmp_path: Path, forgetting: Forgetting) -> None:
    assert read_off(tmp_path, forgetting) == 0


def test_a_helper_that_believes_any_key_gives_everybody_away(tmp_path: Path) -> None:
    assert read_off(tmp_path, is_an_old_state, "tests.fault.forgetful_process") == PEOPLE


class Averaging:
    """A dishonest collector, two servers that forget, and an agent."""

    def __init__(self, servers: tuple[Process, Process], agent: str) -> None:
        self.servers, self.agent = servers, agent
        self.got: list[int] = []
        with self._shared() as shared:
            name = os.urandom(16)
            self.collection = Collection(
                name,
                "smoker",
                Encoding.count(),
                LITTLE,
                NoisePlan.EACH_SERVER,
                shared.servers,
                shared.contributors,
                PEOPLE,
                shared.bind(name),
                "prio3",
            )

    @contextmanager
    def _shared(self) -> Iterator[RemoteShareServers]:
        peers = [Peer(one.told["name"], one.address) for one in self.servers]
        with (
            closing(RemoteParties([Peer("clinic", self.agent)])) as parties,
            closing(RemoteShareServers(parties, peers, SECONDS)) as shared,
        ):
            yield shared

    def upload(self) -> None:
        with self._shared() as shared:
            shared.open(self.collection)
            shared.contribute(self.collection, Cohort(0, PEOPLE))

    def ask(self) -> None:
        """Ask for the release, from the beginning."""
        with self._shared() as shared, suppress(LocalDpError):
            self.got.append(int(run_collection(shared, self.collection, Cohort(0, PEOPLE))[0][0]))

    def copies(self) -> list[Path]:
        for one in self.servers:
            one.stop()
        made = [one.copied() for one in self.servers]
        for one in self.servers:
            one.start()
        return made

    def forget(self, forgetting: Forgetting, copies: list[Path]) -> None:
        for one, copy in zip(self.servers, copies, strict=True):
            forgetting(one, copy)


def averaged(directory: Path, *, every_way: bool, module: str = "") -> list[int]:
    """What a collector gets that asks for one collection after some ways of forgetting, at both servers at once."""
    with (
        stage(directory) as place,
        process(place, "server-0", module=module) as leader,
        process(place, "server-1", module=module) as helper,
    ):
        servers = {one.name: one.address for one in (leader, helper)}
        with running(place, made_agent(directory, np.arange(PEOPLE) % 2 == 0, servers)) as (_, agent):
            attack = Averaging((leader, helper), agent)
            empty = attack.copies()
            attack.upload()
            full = attack.copies()
            attack.ask()
            assert len(attack.got) == 1
            ways: list[tuple[Forgetting, list[Path]]] = [(is_an_old_copy, full), (is_an_old_state, empty)]
            if every_way:
                ways += [
                    (forgets_nothing, full),
                    (is_an_old_copy, empty),
                    (is_an_old_state, full),
                    (loses_its_state, empty),
                ]
            for forgetting, copies in ways:
                attack.forget(forgetting, copies)
                attack.ask()
    return attack.got


@pytest.mark.parametrize("every_way", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_one_collection_has_one_release_whatever_servers_forget(tmp_path: Path, every_way: bool) -> None:
    assert len(set(averaged(tmp_path, every_way=every_way))) == 1


def test_servers_that_draw_when_they_are_asked_release_again(tmp_path: Path) -> None:
    got = averaged(tmp_path, every_way=False, module="tests.fault.forgetful_process")
    assert len(set(got)) > 1


def test_a_server_without_a_state_is_another_one_after_a_restart(tmp_path: Path) -> None:
    with stage(tmp_path) as place, process(place, "server-0", durable=False) as server:
        first = server.told
        server.stop()
        server.start()
        assert first["name"].partition("~")[0] == server.told["name"].partition("~")[0] == "server-0"
        assert first["name"] != server.told["name"] and first["key"] != server.told["key"]
