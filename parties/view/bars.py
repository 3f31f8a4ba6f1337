"""The one progress bar of all commands that run trials."""

from __future__ import annotations

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
