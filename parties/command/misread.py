"""Where a query was misread: the character, and the text with a caret under it, taken out of a refusal of the parser.

Somebody's name may stand before it (`said_by`), so it is read off the text.
Checked in tests/unit/parties/command/test_misread.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rich.cells import cell_len

from localdp.errors import QueryRefused

INDENT = 4
_REFUSED = re.compile(r"(.*, at character ([0-9]+)):\n {4}(.*)\n {4}( *)\^", re.DOTALL)  # queries/tokens.py


class Misread(NamedTuple):
    """What is wrong, and where."""

    said: str
    character: int  # from 1
    around: str
    before: int  # characters before the caret

    def lines(self, width: int | None) -> list[str]:
        """The text on one line, as much of it as fits, and the caret under the character."""
        room = len(self.around) + 1 if width is None else max(width - 2 * INDENT, 1)
        start = max(0, self.before - room + 1)
        cells = cell_len(self.around[start : self.before])
        return [" " * INDENT + self.around[start : start + room], " " * (INDENT + cells) + "^"]


def misread(error: BaseException) -> Misread | None:
    """Where it is, if the error is about one place of a query."""
    found = _REFUSED.fullmatch(str(error)) if isinstance(error, QueryRefused) else None
    if found is None:
        return None
    said, character, around, caret = found.groups()
    return Misread(said, int(character), printable(around), len(caret))


def printable(text: str) -> str:
    """Without line breaks or control characters: what came over the network must not drive a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)
