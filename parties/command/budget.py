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
from parties.command.output import ExitCode, plain_path, print_ok, print_whole, stdout_console
from parties.durable import Data

if TYPE_CHECKING:
    from parties.agent.config import AgentConfig
    from parties.agent.entries import LedgerEntry
    from parties.agent.uses import UsesOfAll

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
    uses: Annotated[
        bool,
        typer.Option("--uses", help="What was asked at which price alone, and of nobody in particular."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Write a signed, machine-readable register of every use of epsilon."""
    from parties.agent.config import load_config
    from parties.agent.register import export
    from parties.agent.secret_file import load_secrets
    from parties.agent.uses import uses_of

    settings = load_config(config)
    write, entries = (uses_of if uses else export), _entries(settings)
    document = write(settings.name, entries, load_secrets(settings.storage).signer())
    out.write_text(json_text.dumps(document, indent=2) + "\n")
    if json:
        print_ok({"out": str(out), "entries": len(entries), "public_key": document["public_key"]})
        return
    console = stdout_console()
    print_whole(console, f"{len(entries)} entries written to {plain_path(out)}")
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


@budget_app.command("collect")
@command
def budget_collect(
    registers: Annotated[
        list[Path],
        typer.Argument(readable=False, help="Registers of several parties, by `localdp budget export`."),
    ],
    keys: Annotated[
        Path,
        typer.Option(
            readable=False,
            help='TOML file: a line NAME = "PUBLIC KEY" for each party, known from elsewhere.',
        ),
    ],
    earlier: Annotated[
        list[Path] | None,
        typer.Option(readable=False, help="A register that was collected before; several are allowed."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show uses of epsilon by purpose, over all parties and without people; name registers that cannot be right."""
    from parties.agent.uses import collected

    found = collected(
        [_document(path) for path in registers], _keys(keys), [_document(path) for path in earlier or ()]
    )
    data = {
        "parties": list(found.parties),
        "purposes": [one.to_data() for one in found.purposes],
        "faults": dict(found.faults),
    }
    if json:
        print_ok(data)
    else:
        _print_collected(found)
    if found.faults:
        raise typer.Exit(int(ExitCode.FAILED))


def _print_collected(found: UsesOfAll) -> None:
    from rich.table import Table

    console = stdout_console()
    table = Table(title=f"Uses of epsilon, by {len(found.parties)} parties", title_justify="left")
    for heading in ("question", "parties", "uses", "largest", "most in all"):
        table.add_column(heading, justify="left" if heading == "question" else "right", overflow="fold")
    for one in found.purposes:
        table.add_row(one.question, f"{one.parties:,}", f"{one.uses:,}", str(one.largest), str(one.most))
    console.print(table)
    for name, why in found.faults.items():
        print_whole(console, f"{name} does not count: {why}")


def _document(path: Path) -> Data:
    try:
        document: Data = json_text.loads(path.read_text())
    except ValueError as error:
        raise InvalidParameter(f"{plain_path(path)}: a register is JSON") from error
    return document


def _keys(path: Path) -> dict[str, bytes]:
    from parties.toml_file import TomlFile

    try:
        return {name: bytes.fromhex(key) for name, key in TomlFile(path).table.items()}
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f'{plain_path(path)}: a line is NAME = "PUBLIC KEY", in hexadecimal'
        ) from error


def _entries(config: AgentConfig) -> list[LedgerEntry]:
    from parties.agent.register import entries_of
    from parties.agent.secret_file import load_secrets
    from parties.agent.state import LEDGER_NAME

    path = config.storage / LEDGER_NAME
    key = (
        load_secrets(config.storage).chain_key if path.is_file() else b""
    )  # that there is none is told first
    return entries_of(path, key)
