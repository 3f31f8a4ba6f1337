"""What is waited for, said on standard error once it takes longer than a second; what is quick stays quiet.

On a terminal it is a line that turns and vanishes; elsewhere a line a second, as long as there is something new to say.
Checked in tests/unit/parties/view/test_waiting.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Thread

from rich.console import Console
from rich.status import Status

from parties.view.screen import kind_of, print_line
from parties.view.words import one_line

SECONDS = 1.0


@contextmanager
def waiting(console: Console, seconds: float = SECONDS) -> Iterator[Callable[[str], None]]:
    """What is yielded is told what is waited for by now; whatever stays that long is said, while the body runs."""
    turning = Status("", console=console) if kind_of(console, json=False) == "picture" else None
    said = _Said(seconds, (lambda text: print_line(console, text)) if turning is None else _turned(turning))
    thread = Thread(target=said.watch, daemon=True)
    thread.start()
    try:
        yield said.told
    finally:
        said.end()
        thread.join()
        if turning is not None:
            turning.stop()


def _turned(status: Status) -> Callable[[str], None]:
    def show(text: str) -> None:
        status.update(text)
        status.start()

    return show


class _Said:
    """What is waited for, and what of it was shown."""

    def __init__(self, seconds: float, show: Callable[[str], None]) -> None:
        self._seconds, self._show = seconds, show
        self._what = self._shown = ""
        self._ended = False
        self._changed = Condition()

    def told(self, text: str) -> None:
        with self._changed:
            self._what = one_line(text)
            self._changed.notify()

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()

    def watch(self) -> None:
        """Show what is waited for, a while after it is first told, and again a while after it has changed."""
        with self._changed:
            while self._changed.wait_for(lambda: self._ended or self._what != self._shown):
                if self._changed.wait_for(lambda: self._ended, self._seconds) or self._ended:
                    return
                self._shown = self._what
                self._show(self._shown)
