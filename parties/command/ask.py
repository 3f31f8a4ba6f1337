"""`localdp ask`: one query, one trust model, one answer with its error bar and its price."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import FEWEST_PEOPLE
from localdp.errors import InvalidParameter
from localdp.experiments.keyring import Keyring
from localdp.experiments.population import SCHEMA, dealt, made_up_people
from localdp.oracles.bounds import shuffled_local_epsilon
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import Answer, StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.shared import DEFAULT_TIER, MINIMUM_BATCH, SharedOracle, require_batch
from localdp.oracles.shuffled import ShuffledOracle
from localdp.oracles.shuffler import DEFAULT_DELTA, Promise
from localdp.queries.asked import checked_round
from localdp.queries.encoded import encoding_of
from localdp.sharing.collection import Tier
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.prio3_tier import compile_for
from parties.command.answers import answer_rows
from parties.command.options import number_of_people
from parties.command.output import print_ok, print_whole, stderr_console, stdout_console

if TYPE_CHECKING:
    from localdp.domains import Records
    from parties.coordinator import Peer
    from parties.identity import Identity


@dataclass(frozen=True, slots=True)
class AskOptions:
    """The command's options, as typed."""

    query: str
    model: str
    epsilon: str
    connect: Path | None
    identity: Path | None
    relay: str | None
    expect: str
    people: str
    parties: int
    servers: int
    noise_plan: str
    json: bool
    tier: Tier = DEFAULT_TIER
    minimum_batch: int | None = None


def run_ask(options: AskOptions) -> None:
    """Ask, then print the answer with its error, its cost and what was promised."""
    with _noted(options) as noted, oracle_of(options) as oracle:
        answer, schema = oracle.answer([options.query])[0], oracle.schema
        data = answer_data(answer, oracle)
        noted(answer)
    if options.json:
        print_ok(data)
        return
    table = Table(title=answer.query, show_header=False, title_justify="left")
    for row in answer_rows(answer, schema):
        table.add_row(*row)
    table.add_row("trust model", oracle.claim.model)
    table.add_row("epsilon per person", str(oracle.cost.epsilon_per_person))
    console = stdout_console()
    console.print(table)
    console.print(oracle.claim.statement())


@contextmanager
def _noted(options: AskOptions) -> Iterator[Callable[[Answer], None]]:
    """Notes the round for whoever watches the running parties, if it asks any."""
    if options.connect is None:
        yield lambda answer: None
        return
    from parties.addresses import state_if_any
    from parties.view.journal import released, round_told

    state, epsilon = state_if_any(options.connect), float(Epsilon.requested(options.epsilon))
    everybody = {"parties": len(state.agents), "asked": len(state.agents)}
    with round_told(state.events, options.query, options.model, epsilon) as ended:
        yield lambda answer: ended(**released(answer), **everybody)


def answer_data(answer: Answer, oracle: StatisticalQueryOracle) -> dict[str, Any]:
    """The answer for a machine."""
    return {
        **asdict(answer),
        "standard_error": answer.standard_error,
        "count": answer.count,
        "count_error": answer.count_error,
        "model": oracle.claim.model,
        "epsilon_per_person": float(oracle.cost.epsilon_per_person),
        "rounds": oracle.cost.rounds,
        "bytes_moved": oracle.cost.bytes_moved,
        "privacy": oracle.claim.statement(),
    }


@contextmanager
def oracle_of(options: AskOptions) -> Iterator[StatisticalQueryOracle]:
    """The oracle of the trust model: on running parties if connected, else on parties launched for this question."""
    epsilon = Epsilon.requested(options.epsilon)
    running = options.connect is not None or options.relay is not None
    if options.identity is not None and not running:
        raise InvalidParameter("--identity is shown to running parties: it goes with --connect or --relay")
    if options.minimum_batch is not None and options.model != "shared":
        raise InvalidParameter(
            "--minimum-batch is about what share servers hold: it goes with --model shared"
        )
    if running:
        with _connected(options, epsilon) as oracle:
            yield oracle
        return
    checked_round([options.query], SCHEMA)  # a query that is refused is refused before anything is launched
    keyring = Keyring.from_system()
    records = made_up_people(number_of_people(options.people), keyring.source("people"))
    if options.model == "exact":
        yield ExactOracle(records)
    elif options.model == "curator":
        yield CuratorOracle(records, epsilon, keyring.source("curator"))
    else:
        with _launched(options, epsilon, records) as oracle:
            yield oracle


@contextmanager
def _launched(options: AskOptions, epsilon: Epsilon, records: Records) -> Iterator[StatisticalQueryOracle]:
    from parties.simulation.launcher import Simulation

    shuffled = options.model == "shuffled"
    if options.model == "shared":
        require_batch(_batch(options), records.people)  # before anything is launched
    if options.model == "shared" and options.tier == "prio3":
        _compile_first(options, records.people)
    if shuffled and records.people < FEWEST_PEOPLE:
        raise InvalidParameter(f"a shuffler mixes the reports of at least {FEWEST_PEOPLE} people")
    with Simulation(
        dealt(records, options.parties),
        budget=shuffled_local_epsilon(epsilon, DEFAULT_DELTA, records.people) if shuffled else epsilon,
        servers=options.servers,
        shuffler=Promise(epsilon, minimum_cohort=FEWEST_PEOPLE) if shuffled else None,
    ) as simulation:
        if simulation.mixer is not None:
            yield ShuffledOracle(simulation.mixer, epsilon, Keyring.from_system().source("analyst"))
        else:
            yield _distributed(options, epsilon, simulation.parties, simulation.shared)


def _compile_first(options: AskOptions, people: int) -> None:
    """On a machine that never verified many proofs: compile once here, and not in every process that is launched."""
    query = checked_round([options.query], SCHEMA)[0]
    console = stderr_console()

    def tell(step: str, done: int, steps: int) -> None:
        text = f"compiling what makes and verifies proofs: {step} ({done + 1} of {steps})"
        if console.is_terminal:
            status.update(text)
        elif done < steps:
            console.print(text)

    with console.status("getting ready") as status:
        compile_for(encoding_of(query), people, options.servers, tell)


@contextmanager
def _connected(options: AskOptions, epsilon: Epsilon) -> Iterator[StatisticalQueryOracle]:
    from parties.command.running import running_parties, told_of
    from parties.shares.collector import RemoteShareServers

    if options.model in ("exact", "curator"):
        raise InvalidParameter(
            f"running parties keep their records to themselves: nobody can be the {options.model} oracle"
        )
    state, identity = told_of(options)
    if options.model == "shuffled":
        with _mixed(options, state.shuffler, identity, epsilon) as oracle:
            yield oracle
        return
    with running_parties(options, state, identity) as parties:
        if options.model == "local":
            yield _distributed(options, epsilon, parties, None)
            return
        _require_share_servers(options, state.share_servers)
        shares = RemoteShareServers(parties, state.share_servers, identity=identity, told=_told)
        with closing(shares) as shared:
            yield _distributed(options, epsilon, parties, shared)


def _told(text: str) -> None:
    """What is waited for, where it takes long."""
    print_whole(stderr_console(), text)


@contextmanager
def _mixed(
    options: AskOptions, shuffler: Peer | None, identity: Identity | None, epsilon: Epsilon
) -> Iterator[StatisticalQueryOracle]:
    """Behind a running shuffler, which alone knows the parties."""
    from parties.shuffler.client import RemoteShuffler

    if shuffler is None or options.relay is not None:
        raise InvalidParameter(
            "the shuffled model needs a shuffler: `localdp parties up --shuffler`, and --connect with its file"
        )
    with closing(RemoteShuffler(shuffler, identity=identity)) as mixer:
        yield ShuffledOracle(mixer, epsilon, Keyring.from_system().source("analyst"))


def _distributed(
    options: AskOptions, epsilon: Epsilon, parties: Any, shared: Any
) -> StatisticalQueryOracle:
    source = Keyring.from_system().source("analyst")
    if options.model == "local":
        return LocalOracle(parties, epsilon, source)
    plan = NoisePlan.parse(options.noise_plan)
    batch = _batch(options)
    return SharedOracle(shared, epsilon, source, plan=plan, tier=options.tier, minimum_batch=batch)


def _batch(options: AskOptions) -> int:
    return MINIMUM_BATCH if options.minimum_batch is None else options.minimum_batch


def _require_share_servers(options: AskOptions, servers: Sequence[Peer]) -> None:
    if not servers:
        named = "nobody names" if options.connect is None else f"{options.connect} names no"
        raise InvalidParameter(f"{named} share servers: the shared model needs at least two of them")
