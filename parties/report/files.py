"""Writes a comparison as compare.json, compare.svg and compare.html, each whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from localdp.experiments.comparison import Comparison
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


def write_atomically(path: Path, text: str, *, confidential: bool = False) -> None:
    """A reader sees the old file or the new one, never a part; nothing is left behind on failure."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        if not confidential:  # it was made for its owner alone
            os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
