"""The results in a directory, read without belief: bounded, plain JSON of a known shape, and printable text.

Known are results.json, and files of the shapes that `compare`, `separate` and `attack` write.  Other JSON in the directory
is somebody else's, and left alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from localdp.errors import InvalidParameter
from parties.durable import Data
from parties.report.results import story_of_results
from parties.report.stories import story_of_comparison, story_of_demonstration
from parties.report.story import Story

MOST_BYTES = 256 * 1024 * 1024
MOST_FILES = 50
# By the keys that only such a file has.
_SHAPES: tuple[tuple[set[str], Callable[[str, Data], Story]], ...] = (
    ({"format", "provenance", "cells", "trials"}, story_of_results),
    ({"rows", "slopes", "noise_plan", "privacy"}, story_of_comparison),
    ({"title", "points", "measure", "epsilon"}, story_of_demonstration),
    ({"title", "panels", "notes"}, story_of_demonstration),
)


def stories_in(directory: Path) -> list[Story]:
    """The stories of all results in a directory: results.json first, the others by name."""
    if not directory.is_dir():
        raise InvalidParameter(f"{directory} is not a directory")
    paths = sorted(directory.glob("*.json"), key=lambda path: (path.name != "results.json", path.name))
    if len(paths) > MOST_FILES:
        raise InvalidParameter(f"{directory} has more than {MOST_FILES} JSON files")
    found = [story for path in paths if (story := story_of(path)) is not None]
    if not found:
        raise InvalidParameter(
            f"{directory} has no results: make some with localdp run, compare, separate or attack"
        )
    return found


def story_of(path: Path) -> Story | None:
    """The story of one file; None if it is of no known shape."""
    data = _read(path)
    known = isinstance(data, dict)
    told = next((told for keys, told in _SHAPES if known and keys <= set(data)), None)
    if told is None:
        return None
    try:
        return told(path.name, data)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise InvalidParameter(f"{path} is damaged, or of another version") from error


def _read(path: Path) -> Any:
    if path.stat().st_size > MOST_BYTES:
        raise InvalidParameter(f"{path} is larger than {MOST_BYTES} bytes")
    try:
        text = path.read_text(encoding="utf-8")
        return _printable(json.loads(text, parse_constant=_finite, parse_float=_finite))
    except (ValueError, RecursionError) as error:
        raise InvalidParameter(f"{path} is not JSON") from error


def _finite(text: str) -> float:
    """JSON has no other numbers, but Python reads them."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.20} is no number of JSON")
    return number


def _printable(value: Any) -> Any:
    """Text without control characters or halves of characters, which no page can hold."""
    if isinstance(value, str):
        return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in value)
    if isinstance(value, list):
        return [_printable(one) for one in value]
    if isinstance(value, dict):
        return {_printable(key): _printable(one) for key, one in value.items()}
    return value
