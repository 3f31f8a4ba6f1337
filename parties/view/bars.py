"""The one progress bar of all commands that run trials."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn

REFRESHES_PER_SECOND = 4


def trials_bar(console: Console, *further: ProgressColumn, bar_width: int | None = 40) -> Progress:
    """What is under way, a bar, how many trials of how many; on the console that is given."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width),
        MofNCompleteColumn(),
        TextColumn("trials"),
    )
    return Progress(
        *columns,
        *further,
        console=console,
        transient=True,
        refresh_per_second=REFRESHES_PER_SECOND,
        redirect_stdout=False,
    )


@contextmanager
def trials_shown(console: Console, total: int) -> Iterator[Callable[[str, int], None]]:
    """A bar while the body runs; what is yielded is told what was just done, and how many trials that were."""
    from rich.progress import TimeElapsedColumn

    with trials_bar(console, TimeElapsedColumn()) as progress:
        task = progress.add_task("starting", total=total)
        yield lambda what, trials: progress.update(task, advance=trials, description=what)
