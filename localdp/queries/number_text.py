"""The canonical text of an exact rational.  Checked in tests/unit/queries/test_text.py."""

from __future__ import annotations

from fractions import Fraction

from localdp.queries.nodes import MOST_DIGITS


def number_text(value: Fraction) -> str:
    """A decimal when one of few enough digits is exact, a fraction otherwise."""
    scale = MOST_DIGITS - 1
    scaled = abs(value) * 10**scale
    digits = str(scaled.numerator).zfill(scale + 1)
    whole, decimals = digits[:-scale], digits[-scale:].rstrip("0")
    if scaled.denominator != 1 or len(whole) + len(decimals) > MOST_DIGITS:
        return f"{value.numerator}/{value.denominator}"
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"
