"""A draft for a table added to the beginning of a configuration, such as that of a site's bundle, in the place of copying.

What the beginning has already stays as it is: its name, its policy, its addresses.  One that has a table is not touched.

Checked in tests/unit/parties/agent/test_completing.py.
"""

from __future__ import annotations

import re
import tomllib

from localdp.errors import InvalidParameter

_OF_A_DRAFT = ("data", "schema", "budget")
_SECTION = re.compile(r"^\[(?P<name>\w+)", re.MULTILINE)


def completed(beginning: str, draft: str, file: str) -> str:
    """Both in one; `file` is what the beginning is called."""
    try:
        there = tomllib.loads(beginning)
    except tomllib.TOMLDecodeError:
        raise InvalidParameter(f"{file} is no TOML") from None
    taken = [name for name in _OF_A_DRAFT if name in there]
    if taken:
        raise InvalidParameter(f"{file} has [{taken[0]}] already; nothing was added to it")
    if "name" not in there:
        raise InvalidParameter(
            f"{file} has no name; begin with `localdp site join`, or write a draft with --out"
        )
    starts = [found.start() for found in _SECTION.finditer(draft)]
    parts = [draft[begin:end] for begin, end in zip(starts, [*starts[1:], len(draft)], strict=True)]
    kept = [part for part in parts if (found := _SECTION.match(part)) and found["name"] not in there]
    said = [line for line in draft[: starts[0]].splitlines() if line.startswith("#")]
    return f"{beginning.rstrip()}\n\n" + "\n".join(said) + "\n\n" + "".join(kept)
