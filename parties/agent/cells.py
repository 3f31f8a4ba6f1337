"""What cells of text mean, those of a CSV file above all: text, until the declared schema says what it is.

| declared | cells | no cell at all |
|---|---|---|
| bit | true, false, yes, no, 1, 0, 1.0, 0.0, in any case | the empty cell, and NA, N/A, NaN, null and the like |
| integer | 30, +30, 30.0, 3e1 | the same |
| real | 70.5, -1, .5, 7e-3 | the same |
| category | the text as it stands, spaces and all: 07 is not 7 | the empty cell, unless it is a label |
| whose row it is | the text as it stands | the empty cell |

What says nothing is refused, unless the schema says what it is read as (`missing`, `parties.agent.declared`).

Spaces around a truth or a number do not count.  Nothing is guessed from the other cells of a column: the same text means
the same wherever it stands.  Every different text of a column is understood once: a column of a million cells has few.

Checked in tests/unit/parties/agent/test_csv.py and tests/unit/parties/agent/test_missing_cells.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain
from localdp.domains.columns import ColumnArray

# The last two are what 1 and 0 become in a data frame with missing cells, which makes a column one of floats.
TRUTHS = {
    "true": True,
    "false": False,
    "yes": True,
    "no": False,
    "1": True,
    "0": False,
    "1.0": True,
    "0.0": False,
}
_MISSING = frozenset(("", "#n/a", "#na", "<na>", "n/a", "na", "nan", "-nan", "null", "none"))
_WHOLE = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?")
_EXACT = 1 << 53  # from here on not every whole number is a float


@dataclass(frozen=True, slots=True)
class TextCells:
    """One column: its different texts in order of appearance, and which of them stands in each row."""

    distinct: list[str]
    codes: NDArray[np.int64]

    def rows_with(self, texts: list[int]) -> NDArray[np.int64]:
        """The rows in which one of these texts stands, by their places among the different ones."""
        chosen = np.zeros(len(self.distinct), np.bool_)
        chosen[texts] = True
        return np.flatnonzero(chosen[self.codes])

    def empty(self, domain: Domain | None) -> NDArray[np.int64]:
        return self.rows_with([at for at, text in enumerate(self.distinct) if _is_missing(text, domain)])

    def outside(self, domain: Domain) -> NDArray[np.int64]:
        texts = enumerate(self.distinct)
        strange = [(at, text) for at, text in texts if not domain.holds(meaning(text, domain))]
        return self.rows_with([at for at, text in strange if not _is_missing(text, domain)])

    def values(self, domain: Domain, missing: object = None) -> ColumnArray:
        """The column in the domain's own type; every cell is in the domain, or empty, and then what `missing` says."""
        meant = [meaning(text, domain) for text in self.distinct]
        if missing is not None:  # what the domain does not hold is empty
            meant = [value if domain.holds(value) else missing for value in meant]
        return domain.check(meant)[self.codes]

    def people(self) -> tuple[list[str], NDArray[np.int64]]:
        """The different identifiers, as they stand, in order of appearance, and which of them each row has."""
        return self.distinct, self.codes


def meaning(text: str, domain: Domain) -> object:
    """What a cell says about a column of this domain; a text that says nothing of the kind stays what it is."""
    match domain:
        case BitDomain():
            return TRUTHS.get(text.strip().lower(), text)
        case IntegerDomain():
            return _whole(text)
        case RealDomain():
            return float(text) if is_number(text) else text
    return text


def is_number(text: str) -> bool:
    """Whether a text is a number, as a real column has them."""
    return _NUMBER.fullmatch(text.strip()) is not None


def _whole(text: str) -> int | str:
    stripped = text.strip()
    if _WHOLE.fullmatch(stripped):
        return int(stripped)
    if _NUMBER.fullmatch(stripped) and abs(number := float(stripped)) < _EXACT and number.is_integer():
        return int(number)
    return text


def _is_missing(text: str, domain: Domain | None) -> bool:
    if domain is None:
        return not text.strip()
    if isinstance(domain, CategoryDomain):
        return not text.strip() and not domain.holds(text)
    return text.strip().lower() in _MISSING
