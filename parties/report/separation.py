"""A separation as a plot and a table: one line for each series, the parameter across.

Drawn like the comparison (`plot.py`): text stays text, the same bytes for the same data, colours that the colour-blind
can tell apart, marks and dashes that differ as well.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from localdp.experiments.separations import Separation
from parties.durable import write_atomically
from parties.report.plot import plot_settings, require_matplotlib

_COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7")
_MARKS = ("o", "D", "s", "^")
_DASHES = ("-", (0, (6, 3)), (0, (2, 2)), (0, (1, 1.4)))
_INCHES = (8.0, 5.0)


def write_separation(separation: Separation, folder: Path) -> tuple[Path, Path]:
    """NAME.json and NAME.svg in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers, drawing = folder / f"{separation.name}.json", folder / f"{separation.name}.svg"
    write_atomically(numbers, json.dumps(separation.to_data(), indent=2, allow_nan=False) + "\n")
    write_atomically(drawing, separation_svg(separation))
    return numbers, drawing


def separation_svg(separation: Separation) -> str:
    """A whole SVG document, on white paper."""
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(plot_settings(f"localdp-{separation.name}")):
        figure = Figure(figsize=_INCHES, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        _draw(axes, separation)
        figure.legend(loc="outside lower left", ncols=2, frameon=False, handlelength=3)
        page = io.StringIO()
        figure.savefig(
            page, format="svg", metadata={"Date": None, "Creator": None, "Title": separation.title}
        )
    return page.getvalue()


def _draw(axes: Any, separation: Separation) -> None:
    for place, (name, points) in enumerate(separation.series().items()):
        axes.plot(
            [point.parameter for point in points],
            [point.value for point in points],
            color=_COLOURS[place % len(_COLOURS)],
            marker=_MARKS[place % len(_MARKS)],
            linestyle=_DASHES[place % len(_DASHES)],
            label=name,
        )
    axes.set_title(f"{separation.title}, epsilon = {separation.epsilon}", loc="left", fontsize=11)
    axes.set_xlabel(separation.parameter)
    axes.set_ylabel(separation.measure)
    ticks = sorted({point.parameter for point in separation.points})
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_ylim(bottom=-0.02 if "fraction" in separation.measure else 0)


def print_separation(separation: Separation, console: Console) -> None:
    """The numbers as a table."""
    table = Table(title=f"{separation.title}, epsilon = {separation.epsilon}", title_justify="left")
    table.add_column(separation.parameter)
    series = separation.series()
    for name in series:
        table.add_column(name, justify="right")
    for parameter in sorted({point.parameter for point in separation.points}):
        cells = [
            next((f"{point.value:.4g}" for point in points if point.parameter == parameter), "")
            for points in series.values()
        ]
        table.add_row(f"{parameter:,}", *cells)
    console.print(table)
    for note in (separation.measure, *separation.notes):
        console.print(note, soft_wrap=True, highlight=False)
