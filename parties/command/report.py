"""`localdp report`: the results in a directory as one page for people to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parties.command.arguments import JsonOption
from parties.command.declaring import command
from parties.command.output import print_ok, print_whole, stderr_console, stdout_console


@command
def report(
    directory: Annotated[
        Path,
        typer.Argument(readable=False, help="Where run, compare, separate or attack put their results."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The page, instead of report.html beside the results.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Make one page of the results in a directory.

    It needs nothing else, and has plots, numbers, promises, refusals, costs and origin.
    """
    from parties.report.drawing import require_matplotlib
    from parties.report.files import stories_in
    from parties.report.writing import write_report
    from parties.view.waiting import waiting

    require_matplotlib()
    stories = stories_in(directory)
    with waiting(stderr_console(), "drawing the report"):
        path = write_report(stories, directory, out)
    if json:
        told = [{"source": story.source, "title": story.title} for story in stories]
        print_ok({"written": str(path), "bytes": path.stat().st_size, "experiments": told})
        return
    for story in stories:
        print_whole(stdout_console(), f"{story.source}: {story.title}")
    print_whole(stdout_console(), f"Written: {path}")
