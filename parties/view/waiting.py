"""What is waited for, said on standard error once it takes longer than a second; what is quick stays quiet.

On a terminal it is a line that turns and vanishes; elsewhere a line now and then, the longer it takes the more seldom, as
long as there is something new to say.
Checked in tests/unit/parties/view/test_waiting.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Thread

from rich.console import Console
from rich.progress import TimeElapsedColumn
from rich.status import Status

from parties.view.bars import trials_bar
from parties.view.screen import kind_of, print_line
from parties.view.words import one_line

SECONDS = 1.0
_LONGEST_SECONDS = 30.0  # between lines
_REDRAWN_SECONDS = 0.1


@contextmanager
def waiting(console: Console, what: str = "", seconds: float = SECONDS) -> Iterator[Callable[[str], None]]:
    """While the body runs, say what is waited for; what is yielded is told what that is by now."""
    turning = Status("", console=console) if kind_of(console, json=False) == "picture" else None
    said = (
        _Said(seconds, _LONGEST_SECONDS, lambda text: print_line(console, text))
        if turning is None
        else _Said(seconds, _REDRAWN_SECONDS, _turned(turning))
    )
    said.told(what)
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


@contextmanager
def trials_shown(console: Console, total: int) -> Iterator[Callable[[str, int], None]]:
    """A bar while the body runs, or lines; what is yielded is told what was just done, and how many trials that were."""
    done = 0
    if kind_of(console, json=False) == "picture":
        with trials_bar(console, TimeElapsedColumn()) as progress:
            task = progress.add_task("starting", total=total)
            yield lambda what, trials: progress.update(task, advance=trials, description=what)
        return
    with waiting(console) as tell:

        def advance(what: str, trials: int) -> None:
            nonlocal done
            done += trials
            tell(f"{what}: {done:,} of {total:,} trials")

        yield advance


class _Said:
    """What is waited for, and what of it was shown."""

    def __init__(self, seconds: float, most_seconds: float, show: Callable[[str], None]) -> None:
        self._seconds, self._most_seconds, self._show = seconds, most_seconds, show
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
                self._seconds = min(2 * self._seconds, self._most_seconds)
