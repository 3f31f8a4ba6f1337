"""What a simulated process is told to be: one or many agents, a share server or a shuffler, as data for a pipe."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.experiments.cheating import CheatingParty
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.party.party import Party
from localdp.party.policy import ANY_DELTA, Policy
from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault
from parties.agent.ledger import SqliteLedger
from parties.coordinator import Peer, RemoteParties
from parties.durable import Data
from parties.shares.storage import SqliteStorage

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ShareServerRole:
    """One share server."""

    name: str
    secret: str  # hexadecimal
    state: str  # path of its state
    synced: bool = False  # a simulation does not outlive its machine
    kind: str = "share-server"

    def build(self) -> ShareServer:
        """The state machine behind the service, with its durable state."""
        vault = MemoryVault(bytes.fromhex(self.secret))
        storage = SqliteStorage(Path(self.state), self.name, vault, synced=self.synced)
        return ShareServer(self.name, vault, storage)


@dataclass(frozen=True, slots=True)
class AgentRole:
    """One party's agent."""

    name: str
    secret: str  # hexadecimal
    records: str  # path of the records, as `save_records` wrote them
    ledger: str  # path of the ledger
    budget_nanonats: int
    largest_request_nanonats: int
    share_servers: dict[str, str]  # name to address
    cheats: bool = False  # sends what suits it, instead of what its records say
    synced: bool = False  # a simulation does not outlive its machine
    kind: str = "agent"

    @property
    def chain_key(self) -> bytes:
        """The key of its ledger's chain."""
        return derive_key(bytes.fromhex(self.secret), b"ledger chain")

    def build(self) -> Party:
        """The party behind the service, with its durable ledger."""
        records = load_records(Path(self.records))
        budget = Epsilon(self.budget_nanonats)
        ledger = SqliteLedger(
            Path(self.ledger), records.people, budget, chain_key=self.chain_key, synced=self.synced
        )
        policy = Policy(Epsilon(self.largest_request_nanonats), largest_delta_flooded=ANY_DELTA)
        kind = CheatingParty if self.cheats else Party
        return kind(self.name, records, bytes.fromhex(self.secret), ledger, policy)


@dataclass(frozen=True, slots=True)
class AgentsRole:
    """Several parties' agents in one process, each with a port of its own."""

    name: str
    agents: tuple[AgentRole, ...]
    kind: str = "agents"


@dataclass(frozen=True, slots=True)
class ShufflerRole:
    """One shuffler, in front of agents that run already."""

    name: str
    secret: str  # hexadecimal
    agents: dict[str, str]  # name to address
    epsilon_nanonats: int  # what it promises
    delta: str  # as a fraction
    colluding: int
    requests: int
    minimum_cohort: int
    kind: str = "shuffler"

    def build(self) -> Shuffler:
        """The shuffler behind the service; its channels to the agents and its account of promises end with the process."""
        agents = RemoteParties([Peer(name, address) for name, address in self.agents.items()])
        promised = Epsilon(self.epsilon_nanonats), Fraction(self.delta)
        promise = Promise(*promised, self.colluding, self.requests, self.minimum_cohort)
        return Shuffler(agents, KeystreamSource(bytes.fromhex(self.secret)), promise)


Role = AgentRole | AgentsRole | ShareServerRole | ShufflerRole


def role_to_line(role: Role) -> str:
    """One line of JSON."""
    return json.dumps(asdict(role))


def names_in(role: Role) -> list[str]:
    """Who answers health checks once the process is there."""
    return [agent.name for agent in role.agents] if isinstance(role, AgentsRole) else [role.name]


def role_from_line(line: str) -> Role:
    """The role that a line describes."""
    data: Data = json.loads(line)
    kinds: dict[str, type[AgentRole] | type[ShareServerRole] | type[ShufflerRole]] = {
        "agent": AgentRole,
        "share-server": ShareServerRole,
        "shuffler": ShufflerRole,
    }
    if data.get("kind") == "agents":
        return AgentsRole(data["name"], tuple(AgentRole(**agent) for agent in data["agents"]))
    kind = kinds.get(data.get("kind", ""))
    if kind is None:
        raise InvalidParameter("a simulated process is an agent, a share server or a shuffler")
    return kind(**data)


def save_records(records: Records, path: Path) -> None:
    """Schema and columns in one file that only the owner can read."""
    schema = np.frombuffer(json.dumps(records.schema.to_data()).encode(), dtype=np.uint8)
    columns: Data = {f"column_{name}": records.column(name) for name in records.schema.names}
    path.touch(mode=0o600)
    with path.open("wb") as file:
        np.savez(file, schema=schema, **columns)


def load_records(path: Path) -> Records:
    """What `save_records` wrote, validated again."""
    with np.load(path, allow_pickle=False) as file:
        schema = Schema.from_data(json.loads(file["schema"].tobytes()))
        return Records.from_columns(schema, {name: file[f"column_{name}"] for name in schema.names})
