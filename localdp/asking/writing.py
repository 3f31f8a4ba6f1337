"""Numbers as people read them: as many digits as the error allows, thousands apart, a word where noise left the range.

Checked in tests/unit/asking/test_writing.py.
"""

from __future__ import annotations

import math

_SIGNIFICANT = 2  # digits of an error that say something
_MOST_DECIMALS = 12


def decimals_for(error: float) -> int:
    """How many decimals show two digits of an error, none before the point."""
    if error <= 0 or not math.isfinite(error):
        return 0
    return min(max(_SIGNIFICANT - 1 - math.floor(math.log10(error)), 0), _MOST_DECIMALS)


def number(value: float, decimals: int) -> str:
    """With thousands apart, and no minus before zero."""
    shown = f"{value:,.{decimals}f}"
    return shown.lstrip("-") if not any(digit in "123456789" for digit in shown) else shown


def exact(value: float, grain: float = 0.0) -> str:
    """A number without an error, as short as it is, and no finer than its grain."""
    if grain > 0:
        value = round(value, max(math.floor(-math.log10(grain)), 0))
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


def price(promised: float, charged: float) -> str:
    """An epsilon that is promised, and the one that ledgers were charged where a shuffler makes it more."""
    more = f" ({charged:.4g} of a ledger)" if charged > promised else ""
    return f"epsilon {promised:g}{more}"


def with_error(value: float, half_width: float, unit: str = "", *, whole: bool = False) -> str:
    """904 ± 8, or 4.83 % ± 0.04 %; without an error the number alone.  What is counted is `whole`."""
    if half_width == 0:
        return exact(value) + unit
    decimals = 0 if whole else decimals_for(half_width)
    return f"{number(value, decimals)}{unit} ± {number(half_width, decimals)}{unit}"


def percent(level: float) -> str:
    """A level such as 95 %."""
    return f"{100 * level:.6g} %"


def word_about(value: float, low: float, high: float) -> str:
    """Why an estimate lies outside of what is possible; empty if it does not."""
    if low <= value <= high:
        return ""
    side, end = ("below", low) if value < low else ("above", high)
    return f"{side} {exact(end)} because of the noise: read it as close to {exact(end)}"
