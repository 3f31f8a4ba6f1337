"""Pictures of results on axes of matplotlib, which is loaded when one is drawn.

Labels are somebody's words and no formulas, so a dollar sign in them is one (`parse_math=False`).

Checked in tests/unit/asking/test_results.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from localdp.asking.frames import needed
from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 60
_ROW, _FRAME, _WIDTH = 0.28, 1.4, 7.0  # inches


def titled(axes: Axes, title: str, horizontal: str) -> Axes:
    """With what it is above it, and what is measured below."""
    axes.set_xlabel(horizontal, parse_math=False)
    escaped = title.replace("$", r"\$")  # what is wrapped is measured as a formula, whatever it is told
    axes.set_title(escaped, fontsize="medium", loc="left", wrap=True)
    return axes


def plot_interval(value: float, low: float, high: float, colour: str, ax: Axes | None) -> Axes:
    """A point and its interval."""
    axes = ax or _axes(1)
    reach = np.maximum([[value - low], [high - value]], 0)
    axes.errorbar([value], [0], xerr=reach, fmt="o", color=colour, capsize=4)
    axes.set_yticks([])
    axes.margins(x=0.5)
    return axes


def plot_bars(labels: Sequence[str], counts: Floats, widths: Floats, colour: str, ax: Axes | None) -> Axes:
    """A bar for each label, with its interval."""
    if len(labels) > MOST_BARS:
        raise InvalidParameter(
            f"a picture has at most {MOST_BARS} bars: plot .top({MOST_BARS}) of it, or fewer bins"
        )
    axes, places = ax or _axes(len(labels)), np.arange(len(labels))
    axes.barh(places, counts, xerr=widths, color=colour, alpha=0.85, capsize=2)
    axes.set_yticks(places, labels, parse_math=False)
    axes.invert_yaxis()
    return axes


def plot_map(labels: Sequence[tuple[str, ...]], counts: Floats, ax: Axes | None) -> Axes:
    """Two labels for each count: rows and columns of a map of colours."""
    rows, columns = (list(dict.fromkeys(cell[place] for cell in labels)) for place in (0, 1))
    drawn = np.full((len(rows), len(columns)), np.nan)
    for (row, column), value in zip(labels, counts, strict=True):
        drawn[rows.index(row), columns.index(column)] = max(value, 0)
    axes = ax or _axes(len(rows))
    shown = axes.imshow(drawn, aspect="auto", cmap="Blues", vmin=0)
    axes.figure.colorbar(shown, ax=axes, label="people")
    axes.set_yticks(np.arange(len(rows)), rows, parse_math=False)
    axes.set_xticks(np.arange(len(columns)), columns, parse_math=False)
    return axes


def _axes(rows: int) -> Axes:
    size = (_WIDTH, _FRAME + _ROW * rows)
    made: Axes = needed("matplotlib.pyplot").subplots(figsize=size, layout="constrained")[1]
    return made
