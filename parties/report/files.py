"""Writes a comparison as compare.json, compare.svg and compare.html, each whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from localdp.experiments.comparison import Comparison
from parties.durable import write_atomically
from parties.report.page import render_page
from parties.report.plot import render_svg


class ReportPaths(NamedTuple):
    """Where the three files are."""

    json: Path
    svg: Path
    html: Path


def write_all(comparison: Comparison, directory: str | os.PathLike[str]) -> ReportPaths:
    """The numbers first, so that a run is not lost where matplotlib is missing and no plot can be drawn."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    paths = ReportPaths(folder / "compare.json", folder / "compare.svg", folder / "compare.html")
    write_atomically(paths.json, json.dumps(comparison.to_data(), indent=2, allow_nan=False) + "\n")
    write_atomically(paths.svg, render_svg(comparison))
    write_atomically(paths.html, render_page(comparison))
    return paths
