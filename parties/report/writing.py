"""The files of a report, each whole or not at all; numbers first, so that no run is lost where nothing can be drawn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from localdp.experiments.comparison import Comparison
from localdp.experiments.panels import Panel
from parties.durable import Data, write_atomically
from parties.report.drawing import panels_svg, require_matplotlib
from parties.report.files import stories_in
from parties.report.page import report_page
from parties.report.stories import panel_of_comparison, story_of_comparison
from parties.report.story import Story

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


def write_comparison(comparison: Comparison, folder: Path) -> tuple[Path, Path, Path]:
    """compare.json, compare.svg and compare.html."""
    data = comparison.to_data()
    story = story_of_comparison("compare.json", data)
    panels = [replace(panel_of_comparison(data), title=story.title)]
    numbers, drawing = write_numbers_and_drawing(folder / "compare", data, panels, story.title)
    return numbers, drawing, write_report([story], folder, folder / "compare.html")


def write_numbers_and_drawing(
    path: Path, data: Data, panels: Sequence[Panel], title: str
) -> tuple[Path, Path]:
    """PATH.json and PATH.svg."""
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers, drawing = path.with_name(f"{path.name}.json"), path.with_name(f"{path.name}.svg")
    write_atomically(numbers, json.dumps(data, indent=2, allow_nan=False) + "\n")
    write_atomically(drawing, panels_svg(panels, title))
    return numbers, drawing
