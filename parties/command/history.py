"""The entries of a ledger in words, for the person who owns the data.

Checked in tests/unit/parties/command/test_narrow_terminals.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from localdp.accounting.ledger import Charge
from parties.agent.entries import (
    Content,
    Decided,
    EpochEnded,
    EpochOpened,
    LedgerEntry,
    Loss,
    SettingsStated,
    Upgrade,
    Witnessed,
)
from parties.agent.purposes import question_of
from parties.agent.register import entry_data
from parties.command.output import print_prose

_INDENT = 4
_FIGURES = ("when (UTC)", "who", "people", "epsilon")


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
        case Decided(caller, question, price, allowed):
            may = "may ask" if allowed else "may not ask"
            return (
                f"{caller or 'somebody on loopback'} {may} {question}",
                f"at epsilon {price} or {'less' if allowed else 'more'}",
            )
    return content.kind, ""


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
