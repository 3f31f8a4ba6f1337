"""Numbers and texts as they are shown: short, printable, and the same on a screen and in a line.

What comes from a file or from another process must not drive a terminal: control characters become spaces.
Checked in tests/unit/parties/view/test_view_rounds.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from localdp.asking.writing import decimals_for
from localdp.oracles.definition import LEVEL, normal_width

LONGEST_TEXT = 500
_MOST_DECIMALS = 7
_LARGEST_PLAIN = 1e9


def number(value: float | None) -> str:
    """Three digits, or a dash."""
    return "-" if value is None else f"{value:.3g}"


def half_width(standard_error: float | None) -> float | None:
    """Half of the interval at 95 %, of an estimate that is about normal."""
    return None if standard_error is None else normal_width(LEVEL) * standard_error


def estimate(value: float | None, error: float | None) -> str:
    """A number with half of its interval, in two digits, and no more digits than that has a use for."""
    if value is None:
        return "-"
    if error is None:
        return f"{value:.4g}"
    decimals = decimals_for(error)
    if error <= 0 or decimals > _MOST_DECIMALS or abs(value) >= _LARGEST_PLAIN:
        return f"{value:.4g} ± {error:.2g}"
    return f"{value:z.{decimals}f} ± {error:.{decimals}f}"


def by_reason(counts: Mapping[str, int]) -> str:
    """40 budget_exhausted, 3 unreachable."""
    return ", ".join(f"{count:,} {one_line(why)}" for why, count in counts.items() if count)


def duration(seconds: float | None) -> str:
    """1:05 or 2:00:00."""
    if seconds is None or not 0 <= seconds < 1e7:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def one_line(text: str, longest: int = LONGEST_TEXT) -> str:
    """Without line breaks and control characters, and not endless."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * longest]).split())
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
