"""The hospitals of examples/tables/messy_hospitals.py, and what an owner writes into the drafts of their configurations."""

from __future__ import annotations

import functools
import runpy
from pathlib import Path
from typing import Any

from tests.support.processes import ROOT

# In the place of the lines of a draft that begin with #!, by section; the rest of the draft stays as it is.
WARDS = 'labels = ["Cardiology", "Surgery", "Neurology", "Pediatrics", "other"]\nother = "other"\nmissing = "other"'
EDITS: dict[str, dict[str, str]] = {
    "north": {
        "ne_le": 'as = "years"\nuntil = 2024-12-31\nlow = 0\nhigh = 120',
        "admission_date": "since = 2024-01-01\nlow = 0\nhigh = 365",
        "ward": WARDS,
        "weight": "low = 0\nhigh = 300\nmissing = 0",
        "cost_total": 'low = 0\nhigh = 50000\noutside = "clip"',
        "smoker": "missing = false",
        "died": "",
    },
    "south": {
        "ne_le": 'as = "years"\nuntil = 2024-12-31\nlow = 0\nhigh = 120',
        "entree": "since = 2024-01-01\nlow = 0\nhigh = 365",
        "service": WARDS,
        "poids": "low = 0\nhigh = 300\nmissing = 0",
        "cout": 'low = 0\nhigh = 50000\noutside = "clip"',
        "fumeur": "missing = false",
        "decede": "",
    },
}


@functools.cache
def hospitals() -> dict[str, Any]:
    """The names of the example."""
    return runpy.run_path(str(ROOT / "examples/tables/messy_hospitals.py"))


@functools.cache
def visits(seed: int) -> list[dict[str, object]]:
    """Made-up visits, as the example has them."""
    made: list[dict[str, object]] = hospitals()["visits"](seed)
    return made


def edited(draft: str, edits: dict[str, str]) -> str:
    """A draft with its owner's lines: a section that is not named goes, and so does every line that begins with #!."""
    head, *sections = draft.split("\n[schema.")
    kept = []
    for section in sections:
        name, _, body = section.partition("]")
        if name not in edits:
            continue
        own = edits[name]
        lines = [line for line in body.splitlines() if not line.startswith("#!")]
        taken = {line.split(" =")[0] for line in own.splitlines()}
        lines = [line for line in lines if line.split(" =")[0] not in taken]
        kept.append(f"\n[schema.{name}]" + "\n".join([*lines, own]))
    plain = "\n".join(line for line in head.splitlines() if not line.startswith("#!"))
    return plain + "\n" + "\n".join(kept) + "\n"


def written(directory: Path, hospital: str) -> Path:
    """The table of a hospital."""
    path = directory / f"{hospital}.csv"
    hospitals()[hospital](path, visits({"north": 1, "south": 2}[hospital]))
    return path
