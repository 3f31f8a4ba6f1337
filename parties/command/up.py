"""`localdp parties up`: simulated parties that stay until they are told to go."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from localdp.accounting.epsilon import Epsilon
from localdp.experiments.keyring import Keyring
from localdp.experiments.population import SCHEMA, dealt, made_up_people
from localdp.oracles.shuffler import Promise
from parties.command.options import number_of_people
from parties.command.output import print_ok, stderr_console, stdout_console
from parties.command.signals import terminate_like_ctrl_c
from parties.command.state import State, forget_state, require_replaceable, write_state
from parties.simulation.launcher import Simulation

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
    promise = Promise(Epsilon.requested(options.promise)) if options.shuffler else None
    people = made_up_people(number_of_people(options.people), Keyring.from_system().source("people"))
    require_replaceable(options.state)
    terminate_like_ctrl_c()
    console = stderr_console()
    with console.status(f"starting {options.parties} agents and {options.servers} share servers"):
        simulation = Simulation(
            dealt(people, options.parties), budget=budget, servers=options.servers, shuffler=promise
        )
        simulation.__enter__()
    state = State(tuple(simulation.agents), tuple(simulation.share_servers), simulation.shuffler)
    try:
        write_state(state, options.state)
        _announce(options, state, budget)
        while True:
            time.sleep(WAKE_SECONDS)
    except KeyboardInterrupt:
        console.print("stopping")
    finally:
        simulation.__exit__(None, None, None)
        forget_state(state, options.state)


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
