"""`localdp parties up` and federations as they run: parties and rounds, on a screen, in lines or as JSON.

| standard error is | what is shown |
|---|---|
| a terminal | parties, up or gone, what they answered and what is left; rounds with their estimates; failures |
| something else | a line for each round that is over, and for each party that goes |
| for machines (`--json`) | a JSON object for each step of a round, and whenever a party or the budgets changed |

Checked in tests/unit/parties/view/test_view_rounds.py and, on a pseudo-terminal, in tests/integration/test_live_view.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from rich.console import Console

from parties.view.rounds import Note, PartiesView, PartyView
from parties.view.rounds_table import PartiesPicture, round_line
from parties.view.screen import kind_of, picture, print_event, print_line


class PartiesShown:
    """Is told what happens, and shows it."""

    def __init__(self, console: Console, json: bool) -> None:
        self._console = console
        self._kind = kind_of(console, json)
        self._budgets: tuple[float, float] | None = None
        self.view = PartiesView()

    def seen(self, *parties: PartyView) -> None:
        """What is known of some parties now."""
        before = set(self.view.gone)
        for party in parties:
            self.view = self.view.seen(party)
        for name in self.view.gone:
            if name not in before:
                self._say(f"gone: {name}", "party gone", {"party": name})
        self._tell_budgets()

    def left(self, lowest: float, highest: float) -> None:
        """What people have left, where only the whole is known."""
        self.view = replace(self.view, left=(lowest, highest))
        self._tell_budgets()

    def _tell_budgets(self) -> None:
        now = self.view.budgets
        if self._kind == "json" and now is not None and now != self._budgets:
            self._budgets = now
            print_event(self._console, "budgets", {"lowest": now[0], "highest": now[1]})

    def told(self, note: Note) -> None:
        """A step of a round."""
        self.view = self.view.told(note)
        if self._kind == "json":
            data = note.to_data()
            print_event(self._console, data.pop("kind"), data)
        elif self._kind == "lines" and note.kind != "round started":
            print_line(self._console, round_line(note, self.view))

    def _say(self, line: str, event: str, data: Mapping[str, object]) -> None:
        if self._kind == "json":
            print_event(self._console, event, data)
        elif self._kind == "lines":
            print_line(self._console, line)

    @contextmanager
    def on_screen(self) -> Iterator[None]:
        """The picture, where there is a terminal, while the body runs."""
        if self._kind != "picture":
            yield
            return
        drawn = PartiesPicture(lambda: self.view)
        with picture(self._console, lambda: drawn):
            yield
