"""`localdp parties`: simulated parties that stay until they are told to go, and what happens to them meanwhile;
and who of a file of running parties is up.

Checked in tests/integration/test_live_view.py, tests/integration/test_parties_status.py and
tests/integration/test_nothing_is_left_behind.py.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.accounting.epsilon import Epsilon
from parties.command.arguments import IdentityOption, JsonOption, PartiesOption, PeopleOption, ServersOption
from parties.command.declaring import command
from parties.command.options import number_of_people
from parties.command.output import ExitCode, print_envelope, print_ok, stderr_console, stdout_console
from parties.command.signals import heard, terminate_like_ctrl_c

if TYPE_CHECKING:
    from parties.addresses import State
    from parties.federation import Federation
    from parties.view.owned import Owned
    from parties.view.parties import PartiesShown

# A signal that comes just before the wait is noticed at its end; signal.pause() would sleep on for ever.
WAKE_SECONDS = 0.5

parties_app = typer.Typer(
    help="Simulated parties on this machine; who of running ones is up.", no_args_is_help=True
)


@parties_app.command("up")
@command
def parties_up(
    people: PeopleOption = "50000",
    parties: PartiesOption = 20,
    servers: ServersOption = 2,
    budget: Annotated[str, typer.Option(help="What each person may spend in total, in nats.")] = "10",
    state: Annotated[
        Path, typer.Option(help="Where to write the addresses, for `localdp ask --connect`.")
    ] = Path("out/parties.json"),
    shuffler: Annotated[
        bool, typer.Option("--shuffler", help="With a shuffler in front of the agents.")
    ] = False,
    promise: Annotated[
        str, typer.Option(help="The largest epsilon of what the shuffler has mixed, in nats.")
    ] = "1",
    json: JsonOption = False,
) -> None:
    """Launch simulated parties and keep them until Ctrl-C; nothing is left behind."""
    from localdp.accounting.shuffling import FEWEST_PEOPLE
    from localdp.experiments.population import made_up_people
    from localdp.oracles.shuffler import Promise
    from localdp.randomness.keyring import Keyring
    from parties.addresses import require_replaceable
    from parties.federation import Federation
    from parties.view.waiting import waiting

    limit, worth = Epsilon.requested(budget), Epsilon.requested(promise)
    made_up = made_up_people(number_of_people(people), Keyring.from_system().source("people"))
    require_replaceable(state)
    terminate_like_ctrl_c()
    starting = f"starting {parties} agents and {servers} share servers"
    with nullcontext() if json else waiting(stderr_console(), starting):
        federation = Federation.launch(
            made_up,
            parties=parties,
            share_servers=servers,
            budget=limit,
            shuffler=Promise(worth, minimum_cohort=FEWEST_PEOPLE) if shuffler else None,
        )
    _stay(federation, limit, state, json)


@parties_app.command("status")
@command
def parties_status(
    file: Annotated[
        Path, typer.Argument(readable=False, help="The parties: the file of `localdp parties up`.")
    ],
    identity: IdentityOption = None,
    json: JsonOption = False,
) -> None:
    """Say who is up, and what is left to their people.

    How many people, which epoch, which budgets.  The exit code is 3 if somebody is not up.
    """
    from parties.addresses import read_state
    from parties.command.standing import named_in, print_standings, standings_envelope
    from parties.identity import load_identity
    from parties.rounds.standing import standings
    from parties.view.waiting import waiting

    named = named_in(read_state(file))
    with waiting(stderr_console(), f"waiting for {len(named)} to answer"):
        found = standings(named, None if identity is None else load_identity(identity))
    if json:
        print_envelope(standings_envelope(found))
    else:
        print_standings(found, stdout_console())
    if any(one.error for one in found):
        raise typer.Exit(int(ExitCode.UNREACHABLE))


def _stay(federation: Federation, budget: Epsilon, path: Path, json: bool) -> None:
    """Say where everybody is, and wait for Ctrl-C or a termination signal."""
    from parties.addresses import forget_state, write_state
    from parties.view.journal import make_journal
    from parties.view.parties import PartiesShown
    from parties.view.screen import tell

    journal, console = journal_of(federation), stderr_console()
    state = replace(federation.addresses, events=journal)
    try:
        make_journal(journal)
        write_state(state, path)
        _announce(state, path, budget, json)
        _watch(federation, budget, PartiesShown(console, json))
    except KeyboardInterrupt:
        heard()
        tell(console, "stopping", json)
    finally:
        federation.close()
        forget_state(state, path)


def journal_of(federation: Federation) -> Path:
    """Where coordinators note their rounds: beside the ledgers, and gone with them."""
    return next(iter(federation.ledger_files.values())).with_name("rounds.jsonl")


def owned_by(federation: Federation, budget: Epsilon) -> list[Owned]:
    """Whoever launches parties owns all of them: processes, and ledgers to read."""
    from parties.view.owned import Owned

    state, sizes, ledgers = federation.addresses, federation.parties, federation.ledger_files
    owned = [Owned(peer.name, "share server") for peer in state.share_servers]
    owned += [Owned(name, "agent", sizes[name], budget, path) for name, path in ledgers.items()]
    owned += [] if state.shuffler is None else [Owned(state.shuffler.name, "shuffler")]
    return [replace(one, process_id=federation.process_ids[one.name]) for one in owned]


def _watch(federation: Federation, budget: Epsilon, shown: PartiesShown) -> None:
    """Show what happens, until somebody interrupts."""
    from parties.view.journal import JournalReader
    from parties.view.owned import Watch

    watch, journal = Watch(owned_by(federation, budget)), JournalReader(journal_of(federation))
    with shown.on_screen():
        while True:
            notes = list(journal.notes())
            shown.seen(*watch.look())  # after the notes: a round that is over was charged for
            for note in notes:
                shown.told(note)
            time.sleep(WAKE_SECONDS)


def _announce(state: State, path: Path, budget: Epsilon, json: bool) -> None:
    from rich.table import Table

    from localdp.experiments.population import SCHEMA

    if json:
        print_ok({**state.to_data(), "state": str(path), "columns": list(SCHEMA.names)})
        return
    table = Table("role", "name", "address")
    for peer in state.share_servers:
        table.add_row("share server", peer.name, peer.address)
    if state.shuffler is not None:
        table.add_row("shuffler", state.shuffler.name, state.shuffler.address)
    for peer in state.agents:
        table.add_row("agent", peer.name, peer.address)
    console = stdout_console()
    console.print(table)
    console.print(f"columns: {', '.join(SCHEMA.names)}; budget of each person: epsilon {budget}")
    console.print(f"ask:  localdp ask 'smoker and age >= 65' --connect {path}", soft_wrap=True)
    console.print("Ctrl-C ends all of it.")
