"""A federation of a script or a notebook, watched: its rounds with their estimates, failures, and what people have left.

    with Federation.launch(people, parties=4, budget=10) as federation, watching(federation):
        federation.oracle("local", 1).answer(["smoker"])

On a terminal a picture that vanishes at the end, elsewhere a line for each round; on standard error.
Checked in tests/unit/parties/view/test_view_rounds.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from localdp.errors import LocalDpError

if TYPE_CHECKING:
    from rich.console import Console

    from parties.federation import Federation
    from parties.view.rounds import Note, PartyView


@contextmanager
def watching(federation: Federation, console: Console | None = None, json: bool = False) -> Iterator[None]:
    """Show what happens in the federation while the body runs."""
    from rich.console import Console

    from parties.view.journal import NamedRounds
    from parties.view.parties import PartiesShown

    shown = PartiesShown(console or Console(stderr=True), json)

    def look() -> None:
        shown.seen(*_parties(federation))
        with suppress(LocalDpError):  # a ledger that cannot be read now: no round fails for that
            amounts = [float(amount) for amount in federation.budgets().remaining]
            shown.left(min(amounts), max(amounts))

    def told(note: Note) -> None:
        look()
        shown.told(note)

    look()
    unsubscribe = federation.events.subscribe(NamedRounds(len(federation.parties), told))
    try:
        with shown.on_screen():
            yield
    finally:
        unsubscribe()


def _parties(federation: Federation) -> Iterator[PartyView]:
    from parties.view.owned import is_alive
    from parties.view.rounds import PartyView

    processes = federation.process_ids
    for name, people in federation.parties.items():
        alive = name not in processes or is_alive(processes[name])
        yield PartyView(name, "agent", alive, people)
