"""Parties and share servers for tests: as objects, and behind real gRPC on loopback threads of this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Ledger, MemoryLedger
from localdp.domains import Records
from localdp.domains.dealing import dealt
from localdp.experiments.population import made_up_people
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomness.keyring import Keyring
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.server_policy import ServerPolicy
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault
from parties.agent.service import SERVICE_NAME as AGENT_SERVICE
from parties.agent.service import AgentService
from parties.coordinator import Peer, RemoteParties
from parties.identity import Identity
from parties.serving import start_server
from parties.shares.collector import RemoteShareServers, never
from parties.shares.service import SERVICE_NAME as SHARE_SERVICE
from parties.shares.service import ShareService
from tests.support.shares import bound

KEYRING = Keyring.insecurely_seeded(20)
BUDGET = Epsilon.requested(20)
ONE = Epsilon.requested(1)

_Result = TypeVar("_Result")


def people(count: int, keyring: Keyring = KEYRING) -> Records:
    """Made-up people, the same in every run."""
    return made_up_people(count, keyring.source("people", str(count)))


def party(
    records: Records,
    number: int = 0,
    ledger: Ledger | None = None,
    budget: Epsilon = BUDGET,
    keyring: Keyring = KEYRING,
) -> Party:
    """The party of that number, as the simulation would make it."""
    return Party(
        f"party-{number}",
        records,
        keyring.party(number),
        ledger or MemoryLedger(records.people, budget),
        Policy(largest_epsilon=budget),
    )


def parties_of(records: Records, count: int, keyring: Keyring = KEYRING) -> list[Party]:
    """The records dealt out to parties."""
    return [party(part, number, keyring=keyring) for number, part in enumerate(dealt(records, count))]


def share_servers_of(count: int, keyring: Keyring = KEYRING) -> list[ShareServer]:
    """Share servers, as the simulation would make them, of operators who also allow relayed collections."""
    allowed = ServerPolicy(relayed=True)
    vaults = [MemoryVault(keyring.server(number)) for number in range(count)]
    return [ShareServer(f"server-{number}", vault, policy=allowed) for number, vault in enumerate(vaults)]


def request(number: int = 0, query: str = "smoker", epsilon: Epsilon = ONE, resolution: int = 1) -> Request:
    """A request whose identifier is the number."""
    return Request(number.to_bytes(16, "big"), query, OneBitRandomizer(epsilon, resolution))


def collection_of(holders: Sequence[Party], number: int = 0, **changes: Any) -> Collection:
    """A collection by two servers from these parties, with what the test wants otherwise."""
    fields: dict[str, Any] = {
        "collection_id": number.to_bytes(16, "big"),
        "query": "smoker",
        "encoding": Encoding.count(),
        "epsilon": ONE,
        "plan": NoisePlan.EACH_SERVER,
        "servers": ("server-0", "server-1"),
        "parties": tuple(Contributor(one.name, one.people) for one in holders),
        "minimum_batch": 2,
    }
    fields |= changes
    if "binding" not in fields:
        fields["binding"] = bound(fields["servers"], fields["collection_id"], KEYRING)
    return Collection(**fields)


class Loopback:
    """An event loop in a thread, for servers that a test takes apart while it talks to them."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="loopback")
        self._thread.start()
        self._servers: list[grpc.aio.Server] = []
        self._closers: list[Callable[[], Coroutine[Any, Any, None]]] = []

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run something on the loop, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def serve(self, service: str, servicer: Any, port: int = 0, identity: Identity | None = None) -> str:
        """Start a server for one service, with TLS if it has an identity; returns its address."""
        server, bound = self.run(start_server("127.0.0.1", port, [(service, servicer.register)], identity))
        self._servers.append(server)
        if hasattr(servicer, "close"):
            self._closers.append(servicer.close)
        return f"127.0.0.1:{bound}"

    def close(self) -> None:
        """Stop the servers, then the loop."""
        for server in self._servers:
            self.run(server.stop(0))
        for closer in self._closers:
            self.run(closer())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(30)
        self.loop.close()


@dataclass(frozen=True)
class Served:
    """Parties and share servers, reached over gRPC."""

    parties: list[Party]
    servers: list[ShareServer]
    remote: RemoteParties
    shared: RemoteShareServers
    addresses: dict[str, str]
    loopback: Loopback


@contextmanager
def loopback() -> Iterator[Loopback]:
    """A loop for servers."""
    with closing(Loopback()) as made:
        yield made


@contextmanager
def served(
    parties: Sequence[Party],
    *,
    wrap_server: Callable[[int, ShareServer], ShareService] = lambda number, server: ShareService(server),
    wrap_agent: Callable[[Party, dict[str, str]], AgentService] = AgentService,
    servers: int = 2,
    timeout_seconds: float = 20.0,
) -> Iterator[Served]:
    """The parties behind agents, with share servers, each of which the test may replace by something worse."""
    with ExitStack() as stack:
        threads = stack.enter_context(loopback())
        machines = share_servers_of(servers)
        addresses = {
            machine.name: threads.serve(SHARE_SERVICE, wrap_server(number, machine))
            for number, machine in enumerate(machines)
        }
        agents = [
            Peer(one.name, threads.serve(AGENT_SERVICE, wrap_agent(one, addresses))) for one in parties
        ]
        peers = [Peer(name, address) for name, address in addresses.items()]
        remote = stack.enter_context(closing(RemoteParties(agents, timeout_seconds)))
        shared = stack.enter_context(
            closing(RemoteShareServers(remote, peers, timeout_seconds, ends=never))
        )
        yield Served(list(parties), machines, remote, shared, addresses, threads)
