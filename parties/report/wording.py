"""How numbers and models are written in every report, so that table, plot and page agree."""

from __future__ import annotations

import math
from collections.abc import Sequence

from localdp.asking.writing import with_error

MISSING = "-"
_DIGITS = 4


def number(value: float | None) -> str:
    """Four significant digits, in plain form: 0.8509, 76.56, 7,656."""
    if value is None:
        return MISSING
    if value == 0:
        return "0"
    if not 1e-6 <= abs(value) < 1e9:
        return f"{value:.3e}"
    return f"{value:,.{max(0, _DIGITS - 1 - _magnitude(value))}f}"


def alike(values: Sequence[float]) -> list[str]:
    """The numbers of one sentence in one notation: with exponents if one of them is too small or too large without."""
    if all(value == 0 or 1e-3 <= abs(value) < 1e9 for value in values):
        return [number(value) for value in values]
    return ["0" if value == 0 else f"{value:.3e}" for value in values]


def with_error_bar(mean: float, half_width: float, plus_minus: str = "±") -> str:
    """The mean to the last digit that half of its interval, of two digits, leaves meaningful: 765.6 ± 9.1."""
    power = _magnitude(mean or half_width) if half_width > 0 else 0
    if 0 < half_width < 1e-6 and power < -3:  # one exponent for both
        scaled = with_error_bar(mean / 10.0**power, half_width / 10.0**power, plus_minus)
        return f"({scaled})e{power:+03d}"
    if half_width <= 0 or not 1e-6 <= half_width < 1e9:
        return f"{number(mean)} {plus_minus} {number(half_width)}"
    return with_error(mean, half_width).replace("±", plus_minus)


def slope(value: float | None) -> str:
    """Two decimals with a sign, and no negative zero."""
    return MISSING if value is None else f"{round(value, 2) + 0.0:+.2f}"


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value)))
