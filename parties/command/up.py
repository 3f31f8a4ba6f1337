"""`localdp parties up`: simulated parties that stay until they are told to go, and what happens to them meanwhile.

Checked in tests/integration/test_live_view.py and tests/integration/test_nothing_is_left_behind.py.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from rich.table import Table

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import FEWEST_PEOPLE
from localdp.experiments.keyring import Keyring
from localdp.experiments.population import SCHEMA, made_up_people
from localdp.oracles.shuffler import Promise
from parties.addresses import State, forget_state, require_replaceable, write_state
from parties.command.options import number_of_people
from parties.command.output import print_ok, stderr_console, stdout_console
from parties.command.signals import heard, terminate_like_ctrl_c
from parties.federation import Federation
from parties.view.journal import JournalReader, make_journal
from parties.view.owned import Owned, Watch
from parties.view.parties import PartiesShown
from parties.view.screen import tell

# A signal that comes just before the wait is noticed at its end; signal.pause() would sleep on for ever.
WAKE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The command's options, as typed."""

    people: str
    parties: int
    servers: int
    budget: str
    state: Path
    json: bool
    shuffler: bool = False
    promise: str = "1"


def run_up(options: UpOptions) -> None:
    """Launch, say where everybody is, and wait for Ctrl-C or a termination signal."""
    budget = Epsilon.requested(options.budget)
    worth = Epsilon.requested(options.promise)
    promise = Promise(worth, minimum_cohort=FEWEST_PEOPLE) if options.shuffler else None
    people = made_up_people(number_of_people(options.people), Keyring.from_system().source("people"))
    require_replaceable(options.state)
    terminate_like_ctrl_c()
    console = stderr_console()
    starting = f"starting {options.parties} agents and {options.servers} share servers"
    with nullcontext() if options.json else console.status(starting):
        federation = Federation.launch(
            people,
            parties=options.parties,
            share_servers=options.servers,
            budget=budget,
            shuffler=promise,
        )
    journal = journal_of(federation)
    state = replace(federation.addresses, events=journal)
    try:
        make_journal(journal)
        write_state(state, options.state)
        _announce(options, state, budget)
        _watch(federation, budget, PartiesShown(console, options.json))
    except KeyboardInterrupt:
        heard()
        tell(console, "stopping", options.json)
    finally:
        federation.close()
        forget_state(state, options.state)


def journal_of(federation: Federation) -> Path:
    """Where coordinators note their rounds: beside the ledgers, and gone with them."""
    return next(iter(federation.ledger_files.values())).with_name("rounds.jsonl")


def owned_by(federation: Federation, budget: Epsilon) -> list[Owned]:
    """Whoever launches parties owns all of them: processes, and ledgers to read."""
    state, sizes, ledgers = federation.addresses, federation.parties, federation.ledger_files
    owned = [Owned(peer.name, "share server") for peer in state.share_servers]
    owned += [Owned(name, "agent", sizes[name], budget, path) for name, path in ledgers.items()]
    owned += [] if state.shuffler is None else [Owned(state.shuffler.name, "shuffler")]
    return [replace(one, process_id=federation.process_ids[one.name]) for one in owned]


def _watch(federation: Federation, budget: Epsilon, shown: PartiesShown) -> None:
    """Show what happens, until somebody interrupts."""
    watch, journal = Watch(owned_by(federation, budget)), JournalReader(journal_of(federation))
    with shown.on_screen():
        while True:
            notes = list(journal.notes())
            shown.seen(*watch.look())  # after the notes: a round that is over was charged for
            for note in notes:
                shown.told(note)
            time.sleep(WAKE_SECONDS)


def _announce(options: UpOptions, state: State, budget: Epsilon) -> None:
    if options.json:
        print_ok({**state.to_data(), "state": str(options.state), "columns": list(SCHEMA.names)})
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
    console.print(f"ask:  localdp ask 'smoker and age >= 65' --connect {options.state}", soft_wrap=True)
    console.print("Ctrl-C ends all of it.")
