"""Pieces of query texts: public numbers as short exact decimals, labels in quotes, conjunctions.

Claim.  `decimal` is off by at most 5e-10, and its text means the same number at every party.
Checked in tests/unit/algorithms/test_texts.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from localdp.errors import InvalidParameter
from localdp.queries.expressions import Column, Compare, Label
from localdp.queries.text import to_text
from localdp.queries.tokens import number_text

DECIMALS = 9


def decimal(value: float) -> str:
    """A public number, rounded to nine digits after the point."""
    if not math.isfinite(value):
        raise InvalidParameter("a public number is finite")
    return number_text(Fraction(f"{float(value):.{DECIMALS}f}"))


def rounded(value: float) -> float:
    """The number that `decimal` writes."""
    return float(f"{float(value):.{DECIMALS}f}") + 0.0


def point(values: Iterable[float]) -> str:
    """A public point, as in [0, 0.5]."""
    return f"[{', '.join(decimal(value) for value in values)}]"


def equals_label(column: str, label: str) -> str:
    """The condition that a category has this label."""
    return to_text(Compare("==", Column(column), Label(label)))


def conjunction(conditions: Sequence[str]) -> str:
    """All of these conditions, each of them a column, a negated column or a comparison."""
    return " and ".join(conditions) if conditions else "true"
