"""How running parties stand, for people and for scripts: `localdp parties status`.

The envelope of --json has everybody under "data", also where somebody is not up, which is a failure.
Checked in tests/integration/test_parties_status.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from parties.addresses import State
from parties.command.output import OUTCOMES, ExitCode, envelope_ok, message_of, print_prose
from parties.durable import Data
from parties.federated.budgets import by_step
from parties.report.fitting import print_fitting
from parties.rounds.standing import RoleStanding

_SPARE = ("address", "epoch", "budget")


def named_in(state: State) -> list[RoleStanding]:
    """Everybody in a file of parties, not met yet: agents, share servers, the shuffler."""
    agents = [RoleStanding("agent", peer, people=state.people.get(peer.name)) for peer in state.agents]
    servers = [RoleStanding("share server", peer) for peer in state.share_servers]
    return [
        *agents,
        *servers,
        *([] if state.shuffler is None else [RoleStanding("shuffler", state.shuffler)]),
    ]


def standings_envelope(found: Sequence[RoleStanding]) -> Data:
    """Everybody, as a failure if somebody is not up."""
    from localdp.errors import Unreachable

    envelope = envelope_ok({"peers": [_data(one) for one in found]})
    away = [one.peer.name for one in found if one.error]
    if away:
        envelope |= {
            "status": "error",
            "exit_code": int(ExitCode.UNREACHABLE),
            "error_code": OUTCOMES[Unreachable].error_code,
            "message": f"not up: {', '.join(away)}",
            "hint": "the reasons are under data",
        }
    return envelope


def _data(one: RoleStanding) -> Data:
    left = None if one.left is None else {str(step.at_least): step.people for step in one.left}
    return {
        "role": one.role,
        "name": one.peer.name,
        "address": one.peer.address,
        "up": one.error is None,
        "people": one.people,
        "epoch": one.epoch,
        "budget": None if one.budget is None else float(one.budget),
        "people_with_at_least": left,
        "reason": None if one.error is None else message_of(one.error),
    }


def print_standings(found: Sequence[RoleStanding], console: Console) -> None:
    """A line for each; below it why somebody is not up, and what is left in all."""
    table = Table(
        box=box.ASCII2 if console.options.ascii_only else box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in ("name", "role", "is", "address"):
        table.add_column(heading, no_wrap=True)
    for heading in ("people", "epoch", "budget"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("left")
    for one in found:
        table.add_row(*_cells(one))
    print_fitting(console, table, _SPARE)
    for one in found:
        if one.error is not None:
            print_prose(console, message_of(one.error))
    up = sum(one.error is None for one in found)
    people = sum(one.people or 0 for one in found if one.role == "agent" and one.error is None)
    print_prose(console, f"{up} of {len(found)} are up; agents speak for {people:,} people")


def _cells(one: RoleStanding) -> list[str | Text]:
    word = Text("up", style="green") if one.error is None else Text("away", style="bold red")
    numbers = (
        "" if one.people is None else f"{one.people:,}",
        "" if one.epoch is None else str(one.epoch),
        "" if one.budget is None else str(one.budget),
    )
    return [one.peer.name, one.role, word, one.peer.address, *numbers, _left(one)]


def _left(one: RoleStanding) -> str:
    if one.left is None:
        return "it does not say" if one.role == "agent" and one.error is None else ""
    groups = by_step([one.left])
    if len(groups) == 1:
        return f"at least {next(iter(groups))}"
    return "; ".join(f"at least {amount}: {people:,} people" for amount, people in groups.items())
