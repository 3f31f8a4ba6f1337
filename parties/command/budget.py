"""`localdp budget`: the ledger, for the person who owns the data.

Checked in tests/integration/test_agent_command.py.
"""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.errors import InvalidParameter
from parties.command.arguments import ConfigArgument, JsonOption
from parties.command.declaring import command
from parties.command.output import plain_path, print_ok, print_whole, stdout_console

if TYPE_CHECKING:
    from parties.agent.config import AgentConfig
    from parties.agent.entries import LedgerEntry

budget_app = typer.Typer(help="What was asked of your people, and what remains.", no_args_is_help=True)


@budget_app.command("show")
@command
def budget_show(config: ConfigArgument, json: JsonOption = False) -> None:
    """What has been spent, and what remains."""
    from rich.table import Table

    from localdp.accounting.epsilon import NANONATS_PER_NAT
    from localdp.accounting.ledger import Charge
    from parties.agent.config import load_config
    from parties.agent.state import ledger_to_read

    settings = load_config(config)
    uses = sum(isinstance(entry.content, Charge) for entry in _entries(settings))
    ledger = ledger_to_read(settings)
    spent, limit = ledger.spent() / NANONATS_PER_NAT, float(ledger.limit)
    data = {
        "party": settings.name,
        "people": len(spent),
        "budget": limit,
        "uses": uses,
        "spent_mean": float(spent.mean()),
        "spent_most": float(spent.max()),
        "remaining_least": max(0.0, limit - float(spent.max())),
        "people_with_nothing_left": int((spent >= limit).sum()),
    }
    if json:
        print_ok(data)
        return
    table = Table(title=f"Budget of {settings.name}", show_header=False, title_justify="left")
    table.add_row("people", f"{data['people']:,}")
    table.add_row("budget of each", f"epsilon {ledger.limit}")
    table.add_row("uses so far", f"{data['uses']:,}")
    table.add_row("spent on average / at most", f"{data['spent_mean']:.6g} / {data['spent_most']:.6g}")
    table.add_row("left at least", f"{data['remaining_least']:.6g}")
    table.add_row("people with nothing left", f"{data['people_with_nothing_left']:,}")
    stdout_console().print(table)


@budget_app.command("history")
@command
def budget_history(
    config: ConfigArgument,
    last: Annotated[int, typer.Option(min=1, help="How many of the latest uses to show.")] = 20,
    json: JsonOption = False,
) -> None:
    """What was asked, by whom, when, and at which epsilon."""
    from parties.agent.config import load_config
    from parties.agent.entries import Checkpoint
    from parties.agent.register import entry_data
    from parties.command.history import print_history

    kept = [entry for entry in _entries(load_config(config)) if not isinstance(entry.content, Checkpoint)]
    entries = kept[-last:]
    if json:
        print_ok({"entries": [entry_data(entry) for entry in entries]})
    else:
        print_history(entries, stdout_console())


@budget_app.command("export")
@command
def budget_export(
    config: ConfigArgument,
    out: Annotated[Path, typer.Option(help="Where to write the signed register.")],
    json: JsonOption = False,
) -> None:
    """Write a signed, machine-readable register of every use of epsilon."""
    from parties.agent.config import load_config
    from parties.agent.register import export
    from parties.agent.secret_file import load_secrets

    settings = load_config(config)
    document = export(settings.name, _entries(settings), load_secrets(settings.storage).signer())
    out.write_text(json_text.dumps(document, indent=2) + "\n")
    if json:
        print_ok(
            {"out": str(out), "entries": len(document["entries"]), "public_key": document["public_key"]}
        )
        return
    console = stdout_console()
    print_whole(console, f"{len(document['entries'])} entries written to {plain_path(out)}")
    print_whole(console, f"public key {document['public_key']}")


@budget_app.command("verify")
@command
def budget_verify(
    register: Annotated[
        Path, typer.Argument(readable=False, help="A register made by `localdp budget export`.")
    ],
    public_key: Annotated[
        str, typer.Option(help="The party's public key, in hexadecimal, known from elsewhere.")
    ],
    json: JsonOption = False,
) -> None:
    """Check that a register is whole and was signed by the party."""
    from parties.agent.register import verify

    try:
        document, key = json_text.loads(register.read_text()), bytes.fromhex(public_key)
    except ValueError as error:
        raise InvalidParameter("a register is JSON, and a public key is hexadecimal") from error
    entries = verify(document, key)
    if json:
        print_ok({"entries": entries, "verified": True})
    else:
        stdout_console().print(f"whole and signed: {entries} entries")


def _entries(config: AgentConfig) -> list[LedgerEntry]:
    from parties.agent.register import entries_of
    from parties.agent.secret_file import load_secrets
    from parties.agent.state import LEDGER_NAME

    path = config.storage / LEDGER_NAME
    key = (
        load_secrets(config.storage).chain_key if path.is_file() else b""
    )  # that there is none is told first
    return entries_of(path, key)
