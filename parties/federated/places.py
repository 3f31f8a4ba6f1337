"""Where the parties of a federation are: in this process, in processes of their own, or running somewhere.

A place offers the same two things in each case: an LR oracle over the parties, and the share servers that they upload to.
With the same keyring the first two give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.accounting.remaining import Step
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.experiments.cheating import joined
from localdp.experiments.keyring import Keyring
from localdp.experiments.population import dealt
from localdp.oracles.collecting import ShareServers
from localdp.oracles.lr import InProcessLROracle, LROracle
from localdp.oracles.shared import InProcessShareServers
from localdp.oracles.shuffler import Mixer
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.sharing.collection import Contributor
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault
from parties.addresses import read_state
from parties.coordinator import Peer, RemoteParties
from parties.federated.ledgers import Book, LedgerFile
from parties.identity import Identity
from parties.shares.collector import RemoteShareServers, never
from parties.shuffler.client import RemoteShuffler
from parties.simulation.launcher import Simulation, party_name, server_name

MOST_PARTIES = 2000
SERVERS = range(2, 17)


@dataclass(frozen=True, slots=True)
class Place:
    """Parties and share servers that can be asked."""

    lr: LROracle
    share_servers: ShareServers | None  # None: there are none
    contributors: tuple[Contributor, ...]
    limits: tuple[Epsilon, ...]  # what each person of each party may spend
    records: Records | None = None  # of everybody, where they are at hand
    ledgers: tuple[Book, ...] = ()  # of the parties, where they are at hand
    agents: tuple[Peer, ...] = ()  # whom to dial
    away: tuple[Peer, ...] = ()  # who is named, and could not be reached
    stated: Mapping[str, int] = field(
        default_factory=dict
    )  # people of a party, as the file of parties has it
    budgets: Callable[[], Sequence[tuple[Step, ...] | None]] | None = None  # what each party says is left
    servers: tuple[Peer, ...] = ()
    process_ids: Mapping[str, int] = field(default_factory=dict)  # of launched processes, by name
    mixer: Mixer | None = None  # a shuffler of its own; None: this process would be the shuffler
    shuffles: bool = True  # a shuffler that runs mixes the reports of all parties, and not of some
    some: Callable[[Sequence[int]], Place] | None = None  # the place of some of the parties, by number
    identity: Identity | None = None
    close: Callable[[], None] = field(default=lambda: None)


@dataclass(frozen=True, slots=True)
class Launch:
    """What simulated parties are told."""

    records: tuple[Records, ...]  # of each party
    everybody: Records
    budget: Epsilon
    largest: Epsilon  # of one request
    servers: int
    keyring: Keyring


def dealt_out(records: Records, parties: int | Sequence[int]) -> tuple[Records, ...]:
    """The people dealt out to so many parties, or to parties of these sizes."""
    if isinstance(parties, int):
        if not 1 <= parties <= min(MOST_PARTIES, records.people):
            raise InvalidParameter(
                f"{records.people} people are dealt to 1 to {min(MOST_PARTIES, records.people)} parties"
            )
        return tuple(dealt(records, parties))
    if not 1 <= len(parties) <= MOST_PARTIES or any(size < 1 for size in parties):
        raise InvalidParameter(f"there are 1 to {MOST_PARTIES} parties, each with at least one person")
    if sum(parties) != records.people:
        raise InvalidParameter(
            f"the sizes of the parties add up to {sum(parties)}, but there are {records.people} people"
        )
    ends = [sum(parties[: number + 1]) for number in range(len(parties))]
    return tuple(records.slice(end - size, end) for size, end in zip(parties, ends, strict=True))


def in_this_process(launch: Launch) -> Place:
    """Parties and servers as objects."""
    ledgers = [MemoryLedger(part.people, launch.budget) for part in launch.records]
    policy = Policy(largest_epsilon=launch.largest)
    parties = [
        Party(party_name(number), part, launch.keyring.party(number), ledger, policy)
        for number, (part, ledger) in enumerate(zip(launch.records, ledgers, strict=True))
    ]
    servers = [
        ShareServer(server_name(number), MemoryVault(launch.keyring.server(number)))
        for number in range(launch.servers)
    ]
    return _objects(parties, servers, launch.everybody, launch.budget)


def _objects(
    parties: Sequence[Party], servers: Sequence[ShareServer], everybody: Records, budget: Epsilon
) -> Place:
    shared = InProcessShareServers(parties, servers)

    def some(numbers: Sequence[int]) -> Place:
        chosen = [parties[number] for number in numbers]
        return _objects(chosen, servers, joined([party.records for party in chosen]), budget)

    return Place(
        InProcessLROracle(parties),
        shared,
        shared.contributors,
        (budget,) * len(parties),
        everybody,
        tuple(party.ledger for party in parties),
        some=some,
    )


def in_processes(launch: Launch, agent_processes: int | None = None) -> Place:
    """A process for each server and each party, or so many for all parties; all gone after `close`, or with this one."""
    simulation = Simulation(
        launch.records,
        budget=launch.budget,
        servers=launch.servers,
        keyring=launch.keyring,
        largest_request=launch.largest,
        agent_processes=agent_processes,
    )
    simulation.__enter__()
    started = [*simulation.share_servers, *simulation.agents]
    process_ids = {peer.name: pid for peer, pid in zip(started, simulation.process_ids, strict=True)}

    def some(numbers: Sequence[int]) -> Place:
        chosen = [launch.records[number] for number in numbers]
        return _dialled(place, numbers, joined(chosen))

    place = Place(
        simulation.parties,
        simulation.shared,
        simulation.parties.contributors,
        simulation.parties.limits,
        launch.everybody,
        tuple(
            LedgerFile(path, part.people, launch.budget)
            for path, part in zip(simulation.ledger_files, launch.records, strict=True)
        ),
        agents=tuple(simulation.agents),
        servers=tuple(simulation.share_servers),
        process_ids=process_ids,
        some=some,
        close=lambda: simulation.__exit__(None, None, None),
    )
    return place


def _dialled(whole: Place, numbers: Sequence[int], records: Records | None = None) -> Place:
    """Some of the parties over channels of their own, which are all that ends with the place."""
    agents = [whole.agents[number] for number in numbers]
    with ExitStack() as stack:
        parties = RemoteParties(agents, identity=whole.identity)
        stack.callback(parties.close)
        shared = None
        if whole.servers:
            ends = None if records is None else never  # launched servers, so that a run can be repeated
            shared = RemoteShareServers(parties, whole.servers, identity=whole.identity, ends=ends)
            stack.callback(shared.close)
        names = {peer.name for peer in (*agents, *whole.servers)}
        return Place(
            parties,
            shared,
            parties.contributors,
            parties.limits,
            records,
            tuple(whole.ledgers[number] for number in numbers) if whole.ledgers else (),
            agents=tuple(agents),
            stated=whole.stated,
            budgets=parties.budgets,
            servers=whole.servers,
            process_ids={name: pid for name, pid in whole.process_ids.items() if name in names},
            shuffles=whole.mixer is None,
            identity=whole.identity,
            close=stack.pop_all().close,
        )


def running(path: Path, identity: Identity | None) -> Place:
    """The parties that a file of `localdp parties up` tells of: those who are there."""
    if not path.is_file():
        raise InvalidParameter(f"{path}: there is no such file; `localdp parties up` writes it")
    state = read_state(path)
    with ExitStack() as stack:
        parties = RemoteParties(state.agents, identity=identity, may_miss=True)
        stack.callback(parties.close)
        shared = None
        if state.share_servers:
            shared = RemoteShareServers(parties, state.share_servers, identity=identity)
            stack.callback(shared.close)
        mixer = None
        if state.shuffler is not None:
            mixer = RemoteShuffler(state.shuffler, identity=identity)
            stack.callback(mixer.close)
        place = Place(
            parties,
            shared,
            parties.contributors,
            parties.limits,
            agents=tuple(peer for peer in state.agents if peer.name not in parties.away),
            away=tuple(peer for peer in state.agents if peer.name in parties.away),
            stated=state.people,
            budgets=parties.budgets,
            servers=state.share_servers,
            mixer=mixer,
            identity=identity,
            some=lambda numbers: _dialled(place, numbers),
            close=stack.pop_all().close,
        )
        return place
