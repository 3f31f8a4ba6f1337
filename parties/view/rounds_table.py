"""Running parties for people to look at: who is there and what is left, and the latest rounds with their answers.

It fits into 80 columns and into the lines that there are.  A query may be cut short; numbers and status words are not.
Checked in tests/unit/parties/view/test_view_rounds.py.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from parties.view.columns import TableColumn, table_of
from parties.view.rounds import Note, PartiesView, PartyView
from parties.view.words import by_reason, estimate, number, one_line

_MOST_PARTIES = 8
_MOST_ROUNDS = 10
_OTHER_LINES = 8  # headings, sums and blank lines
_MARKS = {"round started": "asking", "round ended": "answered"}
_UP = Text("up", style="green")
_GONE = Text("gone", style="bold red")


class PartiesPicture:
    """What `parties.view.screen.picture` draws: the latest view."""

    def __init__(self, view: Callable[[], PartiesView]) -> None:
        self._view = view

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield parties_table(self._view(), options.max_width, console.height)


def parties_table(view: PartiesView, width: int, height: int) -> Group:
    """The view, in so many columns and lines."""
    room = max(2, height - _OTHER_LINES)
    most = min(_MOST_PARTIES, room // 2)
    parts: list[Table | Text] = []
    if view.parties:
        parts += [_parties(view.notable(most), width), Text(summary(view), overflow="fold"), Text()]
    rounds = list(view.rounds.values())[-min(_MOST_ROUNDS, room - min(most, len(view.parties))) :]
    parts.append(_rounds(rounds, width) if rounds else Text("no rounds yet", style="dim"))
    failed = failures(view)
    if failed:
        parts.append(Text(failed, overflow="fold"))
    return Group(*parts)


def summary(view: PartiesView) -> str:
    """All parties in one line."""
    told = []
    for role in dict.fromkeys(party.role for party in view.parties.values()):
        some = [party for party in view.parties.values() if party.role == role]
        told.append(f"{sum(party.alive for party in some):,} of {len(some):,} {role}s up")
    if view.budgets is not None:
        people = sum(party.people for party in view.parties.values())
        told.append(f"{people:,} people have {left(*view.budgets)} left")
    return "; ".join(told)


def failures(view: PartiesView) -> str:
    """What failed so far, by reason; empty if nothing did."""
    told = [f"rounds failed: {by_reason(view.failures)}"] if view.failures else []
    told += [f"people missing: {by_reason(view.missing)}"] if view.missing else []
    return "; ".join(told)


def left(lowest: float | None, highest: float | None) -> str:
    """What people have left, between the least and the most."""
    if lowest is None or highest is None:
        return "-"
    low, high = f"{lowest:.4g}", f"{highest:.4g}"
    return low if low == high else f"{low} to {high}"


def _parties(parties: list[PartyView], width: int) -> Table:
    agents = [party.role == "agent" for party in parties]
    people = [f"{p.people:,}" if agent else "-" for p, agent in zip(parties, agents, strict=True)]
    uses = ["-" if party.uses is None else f"{party.uses:,}" for party in parties]
    columns = [
        TableColumn("party", [Text(one_line(party.name)) for party in parties], right=False, elastic=True),
        TableColumn("state", [_UP if party.alive else _GONE for party in parties], right=False),
        TableColumn("people", list(map(Text, people))),
    ]
    if any(party.uses is not None for party in parties):
        columns.append(TableColumn("answered", list(map(Text, uses))))
        budgets = [Text(left(party.lowest, party.highest)) for party in parties]
        columns.append(TableColumn("budget left", budgets))
    return table_of(columns, width)


def _rounds(rounds: list[Note], width: int) -> Table:
    parties = [f"{note.parties:,}/{note.asked:,}" if note.asked else "-" for note in rounds]
    values = [estimate(note.value, note.half_width) for note in rounds]
    columns = [
        TableColumn("round", [Text(_asked(note)) for note in rounds], right=False, elastic=True),
        TableColumn("model", [Text(note.model) for note in rounds], right=False),
        TableColumn("epsilon", [Text(number(note.epsilon)) for note in rounds], spare=2),
        TableColumn("parties", list(map(Text, parties)), spare=1),
        TableColumn("estimate (95 %)", list(map(Text, values))),
        TableColumn("state", [_state(note) for note in rounds], right=False),
    ]
    return table_of(columns, width)


def _asked(note: Note) -> str:
    return note.query if note.queries <= 1 else f"{note.query} and {note.queries - 1} more"


def _state(note: Note) -> Text:
    if note.kind == "round failed":
        return Text(note.reason or "failed", style="bold red")
    if note.missing:
        return Text("in part", style="yellow")
    return Text(_MARKS.get(note.kind, note.kind), style="dim" if note.kind == "round started" else "green")


def round_line(note: Note, view: PartiesView) -> str:
    """A round that is over, in one line."""
    told = [f"{note.model}: {_asked(note)}"]
    if note.kind == "round failed":
        return "; ".join([*told, f"failed: {note.reason or 'unknown'}"])
    told += [f"{estimate(note.value, note.half_width)} (95 %)"] if note.value is not None else []
    told += [f"epsilon {note.epsilon:.4g}"] if note.epsilon is not None else []
    told += [f"{note.reports:,} reports of {note.people:,} people"] if note.people else []
    told += [f"{note.parties:,} of {note.asked:,} parties"] if note.asked else []
    told += [f"missing: {by_reason(note.missing)}"] if note.missing else []
    told += [f"left: {left(*view.budgets)}"] if view.budgets is not None else []
    return "; ".join(told)
