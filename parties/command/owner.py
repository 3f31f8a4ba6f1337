"""`localdp owner`: what waits for the owner of the data, what the owner decides, and what the last extract changed.

Checked in tests/integration/test_owner_command.py.
"""

from __future__ import annotations

from typing import Annotated

import typer

from localdp.errors import InvalidParameter
from parties.command.arguments import ConfigArgument, JsonOption
from parties.command.declaring import command
from parties.command.output import print_ok, print_whole, stdout_console

owner_app = typer.Typer(
    help="Questions that wait for the owner; what the last extract changed.",
    no_args_is_help=True,
)
NumberArgument = Annotated[
    str, typer.Argument(help="The question's number, as `localdp owner pending` shows it.")
]


@owner_app.command("pending")
@command
def owner_pending(config: ConfigArgument, json: JsonOption = False) -> None:
    """The questions that wait for your approval."""
    from parties.agent.approval import waiting
    from parties.agent.config import load_config

    found = waiting(load_config(config).storage)
    if json:
        told = [
            {
                "number": one.number,
                "analyst": one.caller,
                "question": one.question,
                "epsilon": float(one.cost),
                "rule": one.rule,
            }
            for one in found
        ]
        print_ok({"pending": told})
        return
    console = stdout_console()
    if not found:
        print_whole(console, "nothing waits")
    for one in found:
        print_whole(
            console,
            f"{one.number}  {one.caller or 'somebody on loopback'}, epsilon {one.cost}: {one.question}",
        )


@owner_app.command("approve")
@command
def owner_approve(config: ConfigArgument, number: NumberArgument, json: JsonOption = False) -> None:
    """Let this analyst ask this question, at this epsilon or less, within budget and quota."""
    _decide(config, number, json, allowed=True)


@owner_app.command("refuse")
@command
def owner_refuse(config: ConfigArgument, number: NumberArgument, json: JsonOption = False) -> None:
    """Refuse this question of this analyst, at this epsilon or more."""
    _decide(config, number, json, allowed=False)


@owner_app.command("changes")
@command
def owner_changes(config: ConfigArgument, json: JsonOption = False) -> None:
    """What the last reading of the table changed, by counts."""
    from dataclasses import asdict

    from parties.agent.changes import read_changes
    from parties.agent.config import load_config

    changes = read_changes(load_config(config).storage)
    if json:
        print_ok(asdict(changes))
        return
    for line in changes.lines():
        print_whole(stdout_console(), line)


def _decide(config: ConfigArgument, number: str, json: bool, *, allowed: bool) -> None:
    from parties.agent.approval import take, waiting
    from parties.agent.config import load_config
    from parties.agent.state import ledger_to_write

    settings = load_config(config)
    one = next((one for one in waiting(settings.storage) if one.number == number), None)
    if one is None:
        raise InvalidParameter(f"no question {number!r} waits; look at `localdp owner pending`")
    with ledger_to_write(settings) as ledger:
        ledger.decide(one.decided(allowed=allowed))
    take(settings.storage, number)
    if json:
        print_ok({"number": number, "allowed": allowed})
        return
    told = f"{one.caller or 'somebody on loopback'} may ask {one.question!r} at epsilon {one.cost} or less"
    refused = (
        f"{one.caller or 'somebody on loopback'} is refused {one.question!r} at epsilon {one.cost} or more"
    )
    print_whole(stdout_console(), told if allowed else refused)
