"""`localdp budget`: the ledger, for the person who owns the data."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from localdp.accounting.epsilon import NANONATS_PER_NAT
from localdp.accounting.ledger import Charge
from localdp.errors import InvalidParameter
from parties.agent.config import AgentConfig, load_config
from parties.agent.entries import (
    Checkpoint,
    Content,
    EpochEnded,
    EpochOpened,
    LedgerEntry,
    Loss,
    SettingsStated,
    Upgrade,
    Witnessed,
)
from parties.agent.register import entries_of, entry_data, export, verify
from parties.agent.secret_file import load_secrets
from parties.agent.state import LEDGER_NAME, ledger_to_read
from parties.command.output import plain_path, print_ok, print_prose, print_whole, stdout_console

_INDENT = 4
_FIGURES = ("when (UTC)", "who", "people", "epsilon")


def _entries(config: AgentConfig) -> list[LedgerEntry]:
    path = config.storage / LEDGER_NAME
    key = (
        load_secrets(config.storage).chain_key if path.is_file() else b""
    )  # that there is none is told first
    return entries_of(path, key)


def run_show(path: Path, json: bool) -> None:
    """Spending over all people: the owner's summary."""
    config = load_config(path)
    uses = sum(isinstance(entry.content, Charge) for entry in _entries(config))
    ledger = ledger_to_read(config)
    spent, limit = ledger.spent() / NANONATS_PER_NAT, float(ledger.limit)
    data = {
        "party": config.name,
        "people": len(spent),
        "budget": limit,
        "uses": uses,
        "spent_mean": float(spent.mean()),
        "spent_most": float(spent.max()),
        "remaining_least": max(0.0, limit - float(spent.max())),
        "people_with_nothing_left": int(np.count_nonzero(spent >= limit)),
    }
    if json:
        print_ok(data)
        return
    table = Table(title=f"Budget of {config.name}", show_header=False, title_justify="left")
    table.add_row("people", f"{data['people']:,}")
    table.add_row("budget of each", f"epsilon {ledger.limit}")
    table.add_row("uses so far", f"{data['uses']:,}")
    table.add_row("spent on average / at most", f"{data['spent_mean']:.6g} / {data['spent_most']:.6g}")
    table.add_row("left at least", f"{data['remaining_least']:.6g}")
    table.add_row("people with nothing left", f"{data['people_with_nothing_left']:,}")
    stdout_console().print(table)


def run_history(path: Path, last: int, json: bool) -> None:
    """The latest uses, and what bears on them: epochs, settings, losses."""
    entries = [entry for entry in _entries(load_config(path)) if not isinstance(entry.content, Checkpoint)]
    entries = entries[-last:]
    if json:
        print_ok({"entries": [entry_data(entry) for entry in entries]})
    else:
        print_history(entries, stdout_console())


def print_history(entries: Sequence[LedgerEntry], console: Console) -> None:
    """A line of figures for each use, then what was asked, then how it was answered: nothing is ever cut."""
    rows = [_figures(entry) for entry in entries]
    widths = [max(map(len, column)) for column in zip(_FIGURES, *rows, strict=True)]
    print_prose(console, Text(_aligned(_FIGURES, widths), style="bold"))
    for entry, row in zip(entries, rows, strict=True):
        print_prose(console, _aligned(row, widths))
        question, how = _told(entry.content)
        for text, style in ((question, "bold"), (how, "dim")):
            if text:
                print_prose(console, Text(f"{' ' * _INDENT}{text}", style), _INDENT)


def _told(content: Content) -> tuple[str, str]:
    """What an entry says, beside its figures: first what the owner looks for, then more about it."""
    match content:
        case Charge():
            return question_of(content.purpose)
        case EpochOpened(number):
            return f"epoch {number} was opened", ""
        case EpochEnded(number):
            return f"epoch {number} has ended", ""
        case SettingsStated(text):
            return "settings", text
        case Loss():
            return "everybody was charged for a loss", content.purpose
        case Upgrade(version, entries):
            return f"{entries} entries of layout {version} were brought over", ""
        case Witnessed(key):
            return "the witness has this key from here on", key.hex()
    return content.kind, ""


def question_of(purpose: str) -> tuple[str, str]:
    """What a charge was for: the question, and the randomizer or the collection, which the ledger writes before it."""
    how, of, question = purpose.partition(" of ")
    return (question, f"by {how}") if of else (purpose, "")


def _figures(entry: LedgerEntry) -> tuple[str, ...]:
    content, when = entry.content, entry_data(entry)["time"][:19].replace("T", " ")
    if isinstance(content, Loss):
        return when, "-", "everybody", str(content.cost)
    if not isinstance(content, Charge):
        return when, "-", "-", "-"
    cohort = content.cohort
    part = "" if cohort.split is None else f" (1/{cohort.split.parts})"
    return when, content.caller or "-", f"{cohort.start}..{cohort.stop - 1}{part}", str(content.cost)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def run_export(path: Path, out: Path, json: bool) -> None:
    """The signed register, into a file."""
    config = load_config(path)
    document = export(config.name, _entries(config), load_secrets(config.storage).signer())
    out.write_text(json_text.dumps(document, indent=2) + "\n")
    if json:
        print_ok(
            {"out": str(out), "entries": len(document["entries"]), "public_key": document["public_key"]}
        )
        return
    console = stdout_console()
    print_whole(console, f"{len(document['entries'])} entries written to {plain_path(out)}")
    print_whole(console, f"public key {document['public_key']}")


def run_verify(register: Path, public_key: str, json: bool) -> None:
    """Whether a register is whole and signed."""
    try:
        document, key = json_text.loads(register.read_text()), bytes.fromhex(public_key)
    except ValueError as error:
        raise InvalidParameter("a register is JSON, and a public key is hexadecimal") from error
    entries = verify(document, key)
    if json:
        print_ok({"entries": entries, "verified": True})
    else:
        stdout_console().print(f"whole and signed: {entries} entries")
