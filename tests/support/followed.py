"""A page that says how to add something, followed in a copy of the tree: no file is touched that it does not name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.processes import ROOT

_ROOMS = ("localdp", "parties", "protos", "tests")
_SECONDS = 120.0


def titled(page: str) -> dict[str, str]:
    """The blocks of a page that are files, or parts of files."""
    return dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```', page, re.DOTALL | re.MULTILINE))


def followed(page: str, places: Mapping[str, str], copy: Path) -> Path:
    """A copy of the tree with what the page says.

    `places`: where it says that a block goes, as the text that it is put before; an empty one is the end of the file.
    """
    for room in _ROOMS:
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "docs").mkdir()
    shutil.copy(ROOT / "docs/contract.md", copy / "docs")
    for name in ("pyproject.toml", "buf.yaml"):
        shutil.copy(ROOT / name, copy)
    for title, block in titled(page).items():
        _write(copy / title.split(",")[0], block, places.get(title))
    run(copy, "protos/generate.py")  # what `make protos` runs
    return copy


def _write(path: Path, block: str, place: str | None) -> None:
    if place is None:
        path.write_text(block)
        return
    text = path.read_text()
    assert place in text, f"there is no place in {path.name} before {place!r}"
    path.write_text(text.replace(place, block + place, 1) if place else text + block)


def run(tree: Path, *arguments: str) -> str:
    """Python in that tree, of which nothing may fail."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout
