"""report.html from the results in a directory, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from parties.durable import write_atomically
from parties.report.experiment.files import stories_in
from parties.report.experiment.page import report_page
from parties.report.experiment.story import Story
from parties.report.plot import require_matplotlib

FILE = "report.html"


def write_experiment_report(directory: Path, out: Path | None = None) -> Path:
    """Tell of all results in a directory, in DIRECTORY/report.html unless another file is given."""
    return write_report(stories_in(directory), directory, out)


def write_report(stories: list[Story], directory: Path, out: Path | None = None) -> Path:
    """The page of stories that were read before."""
    require_matplotlib()
    path = directory / FILE if out is None else out
    page = report_page(stories, directory.resolve().name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page, confidential=any(story.confidential for story in stories))
    return path
