"""`localdp parties up`: simulated parties that stay until they are told to go."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from localdp.accounting.epsilon import Epsilon
from localdp.experiments.keyring import Keyring
from localdp.experiments.population import SCHEMA, dealt, made_up_people
from parties.command.options import whole_number
from parties.command.output import print_ok, stderr_console, stdout_console
from parties.command.state import State, write_state
from parties.simulation.launcher import Simulation


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The command's options, as typed."""

    people: str
    parties: int
    servers: int
    budget: str
    state: Path
    json: bool


def run_up(options: UpOptions) -> None:
    """Launch, say where everybody is, and wait for Ctrl-C or a termination signal."""
    budget = Epsilon.requested(options.budget)
    people = made_up_people(whole_number(options.people), Keyring.from_system().source("people"))
    _terminate_like_ctrl_c()
    console = stderr_console()
    with console.status(f"starting {options.parties} agents and {options.servers} share servers"):
        simulation = Simulation(dealt(people, options.parties), budget=budget, servers=options.servers)
        simulation.__enter__()
    try:
        state = State(tuple(simulation.agents), tuple(simulation.share_servers))
        write_state(state, options.state)
        _announce(options, state, budget)
        signal.pause()
    except KeyboardInterrupt:
        console.print("stopping")
    finally:
        options.state.unlink(missing_ok=True)
        simulation.__exit__(None, None, None)


def _terminate_like_ctrl_c() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def _announce(options: UpOptions, state: State, budget: Epsilon) -> None:
    if options.json:
        print_ok({**state.to_data(), "state": str(options.state), "columns": list(SCHEMA.names)})
        return
    table = Table("role", "name", "address")
    for peer in state.share_servers:
        table.add_row("share server", peer.name, peer.address)
    for peer in state.agents:
        table.add_row("agent", peer.name, peer.address)
    console = stdout_console()
    console.print(table)
    console.print(f"columns: {', '.join(SCHEMA.names)}; budget of each person: epsilon {budget}")
    console.print(f"ask:  localdp ask 'smoker and age >= 65' --connect {options.state}", soft_wrap=True)
    console.print("Ctrl-C ends all of it.")
