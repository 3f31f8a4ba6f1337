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
def agent_publish(
    config: ConfigArgument,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare", help="Only read the table, at the lowest priority; the epoch waits to be opened."
        ),
    ] = False,
    open_prepared: Annotated[bool, typer.Option("--open", help="Open the epoch that waits.")] = False,
    json: JsonOption = False,
) -> None:
    """Open a new epoch: read the table anew, and answer from it from now on.  A running agent notices by itself."""
    from dataclasses import asdict

    from parties.agent.apart import apart
    from parties.agent.by_hand import open_waiting, prepare_to_wait
    from parties.agent.changes import read_changes
    from parties.agent.config import load_config
    from parties.agent.state import publish
    from parties.view.waiting import waiting

    if prepare and open_prepared:
        raise InvalidParameter("--prepare and --open are two steps; without both an epoch opens at once")
    settings = load_config(config)
    with waiting(stderr_console(), "opening the epoch" if open_prepared else "reading the table"):
        if prepare:
            apart(prepare_to_wait, settings)
            told: dict[str, object] = {"waits": True}
        else:
            opened = open_waiting(settings) if open_prepared else publish(settings)
            told = {"epoch": opened.number, "opened_at": opened.opened_at}
    changes = read_changes(settings.storage)
    if json:
        print_ok({**told, "changes": asdict(changes)})
        return
    if prepare:
        words = "The table is read; `localdp agent publish --open` opens the epoch. Nothing has changed until then"
    else:
        words = f"Epoch {told['epoch']} is open; requests of earlier ones have expired"
    print_whole(stdout_console(), words)
    for line in changes.lines():
        print_whole(stdout_console(), f"  {line}")


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


@agent_app.command("roads")
@command
def agent_roads(
    config: ConfigArgument,
    billboard: Annotated[Path, typer.Argument(help="A file of `localdp release equilibrium --out`.")],
    out: Annotated[
        Path | None, typer.Option(help="File for everybody's road, in the table's order.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Say which road each of one's own people takes, by a billboard; nothing leaves this machine."""
    import json as json_text

    from localdp.algorithms.games.billboard import Billboard
    from parties.agent.config import load_config
    from parties.agent.table import table_of
    from parties.durable import write_atomically

    try:
        published = json_text.loads(billboard.read_text())["learned"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidParameter(f"{billboard} is no file of `localdp release equilibrium --out`") from error
    roads = Billboard.read(published).roads(table_of(load_config(config))[0]) + 1
    if out is not None:
        write_atomically(out, "road\n" + "".join(f"{road}\n" for road in roads), confidential=True)
    counts = {str(road): int((roads == road).sum()) for road in sorted(set(roads.tolist()))}
    if json:
        print_ok({"people": len(roads), "of_each_road": counts})
        return
    for road, people in counts.items():
        print_whole(stdout_console(), f"road {road}: {people} of one's own people")


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
