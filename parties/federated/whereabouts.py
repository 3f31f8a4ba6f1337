"""Where the parties of a federation are: in this process, in processes of their own, or running somewhere.

A place offers the same in each case: the parties as oracles ask them (`localdp.oracles.models.Parties`), and what a
coordinator knows of them beside that.  With the same keyring the first two give the same bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.accounting.remaining import Step
from localdp.accounting.shuffling import FEWEST_PEOPLE
from localdp.domains import Records
from localdp.domains.dealing import joined
from localdp.errors import InvalidParameter
from localdp.oracles.lr import InProcessLROracle, LROracle
from localdp.oracles.models import Parties
from localdp.oracles.shared import InProcessShareServers
from localdp.oracles.shuffler import Promise
from localdp.oracles.simulated import simulated_parties, simulated_servers
from localdp.party.party import Party
from localdp.party.policy import operator_of
from localdp.randomness.keyring import Keyring
from localdp.sharing.collection import Contributor
from localdp.sharing.share_server import ShareServer
from parties.addresses import State
from parties.coordinator import Peer, Reachable, RemoteParties
from parties.federated.ledgers import Book, LedgerFile, LockedLedger
from parties.identity import Identity
from parties.relay.server import RelayServer
from parties.shares.collector import RemoteShareServers, never
from parties.shuffler.client import RemoteShuffler
from parties.simulation import launcher
from parties.simulation.launched_shares import LaunchedShareServers

SERVERS = range(2, 17)
ATTACH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """Parties and share servers that can be asked."""

    parties: Parties
    contributors: tuple[Contributor, ...] = ()  # none: only a shuffler knows who they are
    limits: tuple[Epsilon, ...] = ()  # what each person of each party may spend
    ledgers: tuple[Book, ...] = ()  # of the parties, where they are at hand
    agents: tuple[Reachable, ...] = ()  # whom to dial, and who has dialled in
    away: tuple[Peer, ...] = ()  # who is named, and could not be asked
    reasons: tuple[str, ...] = ()  # why not, in words
    # People of a party, as the file of parties has it.
    stated: Mapping[str, int] = field(default_factory=dict)
    budgets: Callable[[], Sequence[tuple[Step, ...] | None]] | None = None  # what each party says is left
    servers: tuple[Peer, ...] = ()
    shuffler: Peer | None = None
    process_ids: Mapping[str, int] = field(default_factory=dict)  # of launched processes, by name
    shuffles: bool = True  # a shuffler that runs mixes the reports of all parties, and not of some
    some: Callable[[Sequence[int]], Place] | None = None  # the place of some of the parties, by number
    identity: Identity | None = None
    close: Callable[[], None] = field(default=lambda: None)

    @property
    def lr(self) -> LROracle:
        """The parties' reports."""
        assert self.parties.lr is not None  # there is no place without
        return self.parties.lr

    @property
    def dialled(self) -> tuple[Peer, ...]:
        """The agents that have an address."""
        return tuple(agent for agent in self.agents if isinstance(agent, Peer))

    def require_known(self) -> None:
        """Refuse what has to know who the parties are."""
        if not self.contributors:
            raise InvalidParameter(
                "only the shuffler knows these parties: ask it, or connect without only_shuffler"
            )


@dataclass(frozen=True, slots=True)
class Launch:
    """What simulated parties are told."""

    records: tuple[Records, ...]  # of each party
    everybody: Records
    budget: Epsilon
    largest: Epsilon  # of one request
    servers: int
    keyring: Keyring
    promise: Promise | None = None  # of a shuffler of its own
    told: Callable[[str], None] = lambda text: None  # hears what takes long

    def __post_init__(self) -> None:
        if self.servers not in SERVERS:
            raise InvalidParameter(f"there are {SERVERS.start} to {SERVERS.stop - 1} share servers")
        if self.promise is not None and self.everybody.people < FEWEST_PEOPLE:
            raise InvalidParameter(f"a shuffler mixes the reports of at least {FEWEST_PEOPLE} people")

    @property
    def curator(self) -> MemoryLedger:
        """The book that a curator would keep."""
        return LockedLedger(self.everybody.people, self.budget)


@dataclass(frozen=True, slots=True)
class Address:
    """Where running parties are, and who asks them."""

    state: State
    said: str  # who says so
    identity: Identity | None = None
    relay: str | None = None  # where agents dial in
    expect: tuple[str, ...] = ()  # which of them, all of whom are waited for
    told: Callable[[str], None] = lambda text: None  # hears how far share servers are, where it takes long


def in_this_process(launch: Launch) -> Place:
    """Parties and servers as objects."""
    if launch.promise is not None:
        raise InvalidParameter("a shuffler of its own is a process, as parties are with processes=True")
    parties = simulated_parties(
        launch.records, launch.keyring, launch.budget, launch.largest, ledger=LockedLedger
    )
    servers = simulated_servers(launch.servers, launch.keyring)
    return _objects(parties, servers, launch.everybody, launch.curator)


def _objects(
    parties: Sequence[Party],
    servers: Sequence[ShareServer],
    everybody: Records,
    curator: MemoryLedger | None = None,
) -> Place:
    shared = InProcessShareServers(parties, servers)

    def some(numbers: Sequence[int]) -> Place:
        chosen = [parties[number] for number in numbers]
        return _objects(chosen, servers, joined([party.records for party in chosen]))

    return Place(
        Parties(InProcessLROracle(parties), shared, records=everybody, curator=curator),
        shared.contributors,
        tuple(party.ledger.limit for party in parties),
        tuple(party.ledger for party in parties),
        some=some,
    )


def in_processes(launch: Launch, agent_processes: int | None = None) -> Place:
    """A process for each server and each party, or so many for all parties; all gone after `close`, or with this one."""
    simulation = launcher.Simulation(
        launch.records,
        budget=launch.budget,
        servers=launch.servers,
        keyring=launch.keyring,
        largest_request=launch.largest,
        shuffler=launch.promise,
        agent_processes=agent_processes,
        told=launch.told,
    )
    simulation.__enter__()
    shufflers = [] if simulation.shuffler is None else [simulation.shuffler]
    started = [*simulation.share_servers, *simulation.agents, *shufflers]

    def some(numbers: Sequence[int]) -> Place:
        chosen = [launch.records[number] for number in numbers]
        return _dialled(place, numbers, joined(chosen))

    place = Place(
        Parties(simulation.parties, simulation.shared, simulation.mixer, launch.everybody, launch.curator),
        simulation.parties.contributors,
        simulation.parties.limits,
        tuple(
            LedgerFile(path, part.people, launch.budget)
            for path, part in zip(simulation.ledger_files, launch.records, strict=True)
        ),
        agents=tuple(simulation.agents),
        servers=tuple(simulation.share_servers),
        shuffler=simulation.shuffler,
        process_ids={peer.name: pid for peer, pid in zip(started, simulation.process_ids, strict=True)},
        some=some,
        close=lambda: simulation.__exit__(None, None, None),
    )
    return place


def _dialled(whole: Place, numbers: Sequence[int], records: Records | None = None) -> Place:
    """Some of the parties over channels of their own, which are all that ends with the place."""
    agents = tuple(whole.agents[number] for number in numbers)
    with ExitStack() as stack:
        parties = RemoteParties(agents, identity=whole.identity)
        stack.callback(parties.close)
        shared = None
        if whole.servers:
            shared = (
                RemoteShareServers(parties, whole.servers, identity=whole.identity)
                if records is None
                else LaunchedShareServers(
                    parties, whole.servers, ends=never
                )  # so that a run can be repeated
            )
            stack.callback(shared.close)
        names = {peer.name for peer in (*agents, *whole.servers)}
        return replace(
            whole,
            parties=Parties(parties, shared, records=records, said=whole.parties.said),
            contributors=parties.contributors,
            limits=parties.limits,
            ledgers=tuple(whole.ledgers[number] for number in numbers) if whole.ledgers else (),
            agents=agents,
            away=(),
            budgets=parties.budgets,
            shuffler=None,
            process_ids={name: pid for name, pid in whole.process_ids.items() if name in names},
            shuffles=whole.parties.mixer is None,
            some=None,
            close=stack.pop_all().close,
        )


def running(where: Address, *, may_miss: bool = True) -> Place:
    """The parties that a file tells of, and those that dial in: all of them or, if some may be missing, who is there."""
    state, identity = where.state, where.identity
    with ExitStack() as stack:
        attached = _attached(where, stack)
        parties = RemoteParties([*state.agents, *attached], identity=identity, may_miss=may_miss)
        stack.callback(parties.close)
        shared = None
        if state.share_servers:
            shared = RemoteShareServers(parties, state.share_servers, identity=identity, told=where.told)
            stack.callback(shared.close)
        place = Place(
            Parties(parties, shared, _mixer(state, identity, stack), said=where.said),
            parties.contributors,
            parties.limits,
            agents=tuple(peer for peer in (*state.agents, *attached) if peer.name not in parties.away),
            away=tuple(peer for peer in state.agents if peer.name in parties.away),
            reasons=tuple(map(str, parties.away.values())),
            stated=state.people,
            budgets=parties.budgets,
            servers=state.share_servers,
            shuffler=state.shuffler,
            identity=identity,
            some=lambda numbers: _dialled(place, numbers),
            close=stack.pop_all().close,
        )
        return place


def behind_shuffler(where: Address) -> Place:
    """A running shuffler, which alone knows the parties: nobody else is dialled."""
    with ExitStack() as stack:
        mixer = _mixer(where.state, where.identity, stack)
        if mixer is None or where.relay is not None:
            raise InvalidParameter(
                "the shuffled model needs a shuffler: `localdp parties up --shuffler`, and to connect with its file"
            )
        parties = Parties(mixer, mixer=mixer, said=where.said)
        return Place(
            parties, shuffler=where.state.shuffler, identity=where.identity, close=stack.pop_all().close
        )


def _mixer(state: State, identity: Identity | None, stack: ExitStack) -> RemoteShuffler | None:
    if state.shuffler is None:
        return None
    mixer = RemoteShuffler(state.shuffler, identity=identity)
    stack.callback(mixer.close)
    return mixer


_FINGERPRINT = re.compile("[0-9a-f]{64}")


def _attached(where: Address, stack: ExitStack) -> Sequence[Reachable]:
    """The agents that dial in, once all of them have."""
    if where.relay is None:
        return ()
    host, _, port = where.relay.rpartition(":")
    if not host or not port.isdecimal() or not where.expect:
        raise InvalidParameter(
            "a relay is an address such as 127.0.0.1:7000; --expect, or expect=, names those who dial it"
        )
    names, enrolled = expected(where.expect)
    server = stack.enter_context(RelayServer(host, int(port), where.identity, enrolled=enrolled))
    server.wait_for(names, ATTACH_SECONDS)
    return server.peers(names)


def expected(entries: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Who dials in, NAME or NAME=FINGERPRINT, and the certificates that were declared."""
    names, enrolled = list[str](), dict[str, str]()
    for entry in entries:
        name, declares, told = entry.partition("=")
        names.append(name)
        if declares:
            enrolled[operator_of(name)] = fingerprint = told.replace(":", "").lower()
            if not _FINGERPRINT.fullmatch(fingerprint):
                raise InvalidParameter(
                    "a fingerprint is 64 hexadecimal digits: `localdp site new` tells it"
                )
    return names, enrolled


def names_of(away: Mapping[str, int | None]) -> str:
    """Party south (6,055 people), and so on."""
    told = [name if people is None else f"{name} ({people:,} people)" for name, people in away.items()]
    return ("party " if len(told) == 1 else "parties ") + ", ".join(told)
