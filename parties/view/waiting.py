"""What is waited for, said on standard error once it takes longer than a second; what is quick stays quiet.

On a terminal it is a line that turns and vanishes; elsewhere a line for what is waited for then, and another when that
changes, at most one a second.
Checked in tests/unit/parties/view/test_waiting.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer

from rich.console import Console
from rich.status import Status

from parties.view.screen import kind_of, print_line
from parties.view.words import one_line

SECONDS = 1.0


@contextmanager
def waiting(what: str, console: Console, seconds: float = SECONDS) -> Iterator[Callable[[str], None]]:
    """Say what is waited for while the body runs; what is yielded is told what that is by now."""
    shown = (
        _Turning(what, console)
        if kind_of(console, json=False) == "picture"
        else _Lines(what, console, seconds)
    )
    timer = Timer(seconds, shown.begin)
    timer.daemon = True
    timer.start()
    try:
        yield shown.told
    finally:
        timer.cancel()
        timer.join()
        shown.end()


class _Turning:
    """A line on a terminal, drawn by a thread of rich."""

    def __init__(self, what: str, console: Console) -> None:
        self._status = Status(one_line(what), console=console)

    def begin(self) -> None:
        self._status.start()

    def told(self, text: str) -> None:
        self._status.update(one_line(text))

    def end(self) -> None:
        self._status.stop()


class _Lines:
    """Lines in a file or a pipe."""

    def __init__(self, what: str, console: Console, seconds: float) -> None:
        self._what, self._console, self._seconds = what, console, seconds
        self._printed: float | None = None  # when the last line was
        self._lock = Lock()

    def begin(self) -> None:
        with self._lock:
            self._print()

    def told(self, text: str) -> None:
        with self._lock:
            changed, self._what = text != self._what, text
            if changed and self._printed is not None and time.monotonic() - self._printed >= self._seconds:
                self._print()

    def end(self) -> None:
        """Nothing has to be taken away."""

    def _print(self) -> None:
        self._printed = time.monotonic()
        print_line(self._console, one_line(self._what))
