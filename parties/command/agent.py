"""`localdp agent`: the agent of whoever holds records.  Its state, its epochs, serving; all of it in one file, and back.

Checked in tests/integration/test_agent_command.py and tests/integration/test_backup_commands.py.
"""

from __future__ import annotations

import math
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from localdp.accounting.epsilon import NANONATS_PER_NAT, Epsilon
from localdp.errors import InvalidParameter
from parties.command.arguments import ConfigArgument, JsonOption
from parties.command.declaring import command
from parties.command.output import plain_path, print_ok, print_whole, stderr_console, stdout_console

agent_app = typer.Typer(help="A party's agent: make its state, and serve.", no_args_is_help=True)


@agent_app.command("init")
@command
def agent_init(config: ConfigArgument, json: JsonOption = False) -> None:
    """Check the configuration and the data, make secret keys and an empty ledger, and open the first epoch."""
    from parties.agent.config import load_config
    from parties.agent.state import init_storage
    from parties.view.waiting import waiting

    with waiting(stderr_console(), "reading the table"):
        made = init_storage(load_config(config))
    if json:
        print_ok({"storage": str(made)})
    else:
        print_whole(stdout_console(), f"Made secret keys and an empty ledger in {made}")


@agent_app.command("publish")
@command
def agent_publish(config: ConfigArgument, json: JsonOption = False) -> None:
    """Open a new epoch: read the table anew, and answer from it from now on.  A running agent notices by itself."""
    from parties.agent.config import load_config
    from parties.agent.state import publish
    from parties.view.waiting import waiting

    with waiting(stderr_console(), "reading the table"):
        opened = publish(load_config(config))
    if json:
        print_ok({"epoch": opened.number, "opened_at": opened.opened_at})
    else:
        told = f"Epoch {opened.number} is open; requests of earlier ones have expired"
        print_whole(stdout_console(), told)


@agent_app.command("run")
@command
def agent_run(config: ConfigArgument, json: JsonOption = False) -> None:
    """Serve until Ctrl-C."""
    import asyncio

    from parties.agent.config import load_config
    from parties.agent.run import serve_agent

    settings = load_config(config)
    console = stderr_console()

    def started(address: str) -> None:
        if json:
            print_ok({"name": settings.name, "address": address})
        else:
            print_whole(console, f"{settings.name} serves at {address}; Ctrl-C ends it")

    asyncio.run(serve_agent(settings, started, lambda text: print_whole(console, text)))


@agent_app.command("backup")
@command
def agent_backup(
    config: ConfigArgument,
    out: Annotated[
        Path, typer.Option(help="The file to write: keys, ledger and mark. Keep it as you keep keys.")
    ],
    json: JsonOption = False,
) -> None:
    """Write the agent's state into one file; the agent may be running."""
    from parties.agent.backup import make_backup
    from parties.agent.config import load_config
    from parties.agent.state import LEDGER_NAME
    from parties.agent.witnessing import witnessed
    from parties.view.waiting import waiting

    settings = load_config(config)
    with waiting(stderr_console(), "copying keys and ledger"), witnessed(settings) as witness:
        entries = make_backup(settings.storage / LEDGER_NAME, settings.name, out, witness=witness)
    if json:
        print_ok({"out": str(out), "entries": entries})
        return
    console = stdout_console()
    print_whole(console, f"keys and {entries} entries written to {plain_path(out)}")
    print_whole(
        console, "whoever has this file can undo the coins of every report: keep it as you keep the keys"
    )


@agent_app.command("restore")
@command
def agent_restore(
    config: ConfigArgument,
    backup: Annotated[Path, typer.Argument(readable=False, help="A file of `localdp agent backup`.")],
    charge_loss: Annotated[
        bool,
        typer.Option("--charge-loss", help="Charge everybody what may have been charged since the backup."),
    ] = False,
    loss: Annotated[
        str | None,
        typer.Option(
            help="Charge everybody this epsilon; needed where the mark is lost, and nobody can know."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Go back to a backup, at a loss that no budget gains by; the agent must be stopped."""
    from parties.agent.backup import keys_in
    from parties.agent.backup import restore as restored_from
    from parties.agent.config import load_config
    from parties.agent.opening import forget_command
    from parties.agent.state import LEDGER_NAME
    from parties.agent.witnessing import witnessed
    from parties.view.waiting import waiting

    settings = load_config(config)
    declared = None if loss is None else _declared(loss)
    ledger = settings.storage / LEDGER_NAME
    keys = partial(keys_in, backup, settings.name)
    with waiting(stderr_console(), "copying keys and ledger"), witnessed(settings, keys) as witness:
        restored = restored_from(
            ledger, settings.name, backup, charge_loss=charge_loss, loss=declared, witness=witness
        )
    if json:
        told = {"entries": restored.entries, "loss": float(restored.loss)}
        print_ok({**told, "witness_must_forget": restored.unwitnessed})
        return
    console = stdout_console()
    print_whole(console, f"{restored.entries} entries restored into {plain_path(settings.storage)}")
    if restored.loss.nanonats:
        print_whole(console, f"everybody was charged epsilon {restored.loss} for what was lost")
    print_whole(console, "the epoch that was open has ended: the next start opens a new one")
    if restored.unwitnessed:
        print_whole(
            console,
            "the witness still knows the ledger of before, and refuses this one until its operator has run "
            f"`{forget_command(settings.name)}`",
        )


def _declared(text: str) -> Epsilon:
    """A loss may be nothing, and may be more than any request."""
    from parties.agent.backup import MOST_LOSS

    most = MOST_LOSS.nanonats // NANONATS_PER_NAT
    try:
        nats = Decimal(text)
        if not 0 <= nats <= most:  # compared first: the whole number of 1e999999 is a long one
            raise ValueError
        return Epsilon(math.ceil(nats * NANONATS_PER_NAT))
    except (ArithmeticError, ValueError) as error:
        raise InvalidParameter(f"a loss is a number of nats, from 0 on and at most {most}") from error
