"""What a simulated process is told to be: an agent, a share server or a shuffler, as data that travels through a pipe."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.party import Party
from localdp.oracles.policy import Policy
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.share_server import ShareServer
from parties.agent.ledger import SqliteLedger
from parties.coordinator import Peer, RemoteParties
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
        key = bytes.fromhex(self.secret)
        storage = SqliteStorage(Path(self.state), self.name, key, synced=self.synced)
        return ShareServer(self.name, key, storage)


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
    kind: str = "agent"

    def build(self) -> Party:
        """The party behind the service, with its durable ledger."""
        records = load_records(Path(self.records))
        ledger = SqliteLedger(Path(self.ledger), records.people, Epsilon(self.budget_nanonats))
        policy = Policy(largest_epsilon=Epsilon(self.largest_request_nanonats))
        return Party(self.name, records, bytes.fromhex(self.secret), ledger, policy)


@dataclass(frozen=True, slots=True)
class ShufflerRole:
    """One shuffler, in front of agents that run already."""

    name: str
    secret: str  # hexadecimal
    agents: dict[str, str]  # name to address
    epsilon_nanonats: int  # what it promises
    delta: str  # as a fraction
    kind: str = "shuffler"

    def build(self) -> Shuffler:
        """The shuffler behind the service, with channels to the agents; they end with the process."""
        agents = RemoteParties([Peer(name, address) for name, address in self.agents.items()])
        promise = Promise(Epsilon(self.epsilon_nanonats), Fraction(self.delta))
        return Shuffler(agents, KeystreamSource(bytes.fromhex(self.secret)), promise)


Role = AgentRole | ShareServerRole | ShufflerRole


def role_to_line(role: Role) -> str:
    """One line of JSON."""
    return json.dumps(asdict(role))


def role_from_line(line: str) -> Role:
    """The role that a line describes."""
    data: dict[str, Any] = json.loads(line)
    kinds: dict[str, type[AgentRole] | type[ShareServerRole] | type[ShufflerRole]] = {
        "agent": AgentRole,
        "share-server": ShareServerRole,
        "shuffler": ShufflerRole,
    }
    kind = kinds.get(data.get("kind", ""))
    if kind is None:
        raise InvalidParameter("a simulated process is an agent, a share server or a shuffler")
    return kind(**data)


def save_records(records: Records, path: Path) -> None:
    """Schema and columns in one file that only the owner can read."""
    schema = np.frombuffer(json.dumps(records.schema.to_data()).encode(), dtype=np.uint8)
    columns: dict[str, Any] = {f"column_{name}": records.column(name) for name in records.schema.names}
    path.touch(mode=0o600)
    with path.open("wb") as file:
        np.savez(file, schema=schema, **columns)


def load_records(path: Path) -> Records:
    """What `save_records` wrote, validated again."""
    with np.load(path, allow_pickle=False) as file:
        schema = Schema.from_data(json.loads(file["schema"].tobytes()))
        return Records.from_columns(schema, {name: file[f"column_{name}"] for name in schema.names})
