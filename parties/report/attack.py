"""An attack as tables and as one drawing with a panel for each: one line a series, the parameter across.

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

from localdp.experiments.attack_results import Attack, Panel, Point
from parties.durable import write_atomically
from parties.report.plot import INK, plot_settings, require_matplotlib

_COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7")
_MARKS = ("o", "D", "^", "s")
_DASHES = ("-", (0, (6, 3)), (0, (2, 2)), (0, (1, 1.4)))
_PANEL_INCHES = (6.4, 4.6)
_COLUMNS = 2


def write_attack(attack: Attack, folder: Path) -> tuple[Path, Path]:
    """NAME.json and NAME.svg in a folder; the numbers first."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers, drawing = folder / f"{attack.name}.json", folder / f"{attack.name}.svg"
    write_atomically(numbers, json.dumps(attack.to_data(), indent=2, allow_nan=False) + "\n")
    write_atomically(drawing, attack_svg(attack))
    return numbers, drawing


def attack_svg(attack: Attack) -> str:
    """A whole SVG document, on white paper."""
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(_COLUMNS, len(attack.panels))
    rows = -(-len(attack.panels) // columns)
    with mpl.rc_context(plot_settings(f"localdp-{attack.name}")):
        figure = Figure(figsize=(columns * _PANEL_INCHES[0], rows * _PANEL_INCHES[1]), layout="constrained")
        FigureCanvasAgg(figure)
        for place, panel in enumerate(attack.panels):
            _draw(figure.add_subplot(rows, columns, place + 1), panel)
        page = io.StringIO()
        figure.savefig(page, format="svg", metadata={"Date": None, "Creator": None, "Title": attack.title})
    return page.getvalue()


def _draw(axes: Any, panel: Panel) -> None:
    for place, (name, points) in enumerate(panel.series().items()):
        _draw_series(axes, place, name, points)
    axes.set_title(panel.title, loc="left", fontsize=10)
    axes.set_xlabel(panel.parameter)
    axes.set_ylabel(panel.measure)
    if panel.logarithmic:
        axes.set_xscale("log")
    axes.minorticks_off()
    ticks = sorted({point.parameter for point in panel.points})
    axes.set_xticks(ticks, [f"{tick:,g}" for tick in ticks])
    axes.set_ylim(-0.02, 1.04)
    axes.legend(frameon=False, fontsize=8.5, loc="lower left")


def _draw_series(axes: Any, place: int, name: str, points: list[Point]) -> None:
    bound = name.startswith(("at most", "at least"))
    axes.plot(
        [point.parameter for point in points],
        [point.value for point in points],
        color=INK if bound else _COLOURS[place % len(_COLOURS)],
        marker="" if bound else _MARKS[place % len(_MARKS)],
        linestyle=(0, (1, 1.4)) if bound else _DASHES[place % len(_DASHES)],
        label=name,
    )
    predicted = [point for point in points if point.predicted is not None]
    if predicted:
        axes.plot(
            [point.parameter for point in predicted],
            [point.predicted for point in predicted],
            color=INK,
            linestyle=(0, (6, 3)),
            linewidth=1,
            label=f"{name}, predicted",
        )


def print_attack(attack: Attack, console: Console) -> None:
    """A table for each panel, then the notes."""
    for panel in attack.panels:
        console.print(_table(panel))
    for note in attack.notes:
        console.print(note, soft_wrap=True, highlight=False)


def _table(panel: Panel) -> Table:
    table = Table(title=f"{panel.title}: {panel.measure}", title_justify="left")
    table.add_column(panel.parameter)
    columns = _columns(panel)
    for name in columns:
        table.add_column(name, justify="right")
    for parameter in sorted({point.parameter for point in panel.points}):
        table.add_row(f"{parameter:,g}", *(cells.get(parameter, "") for cells in columns.values()))
    return table


def _columns(panel: Panel) -> dict[str, dict[float, str]]:
    """What stands in each column, by parameter; what is predicted stands beside what was measured."""
    columns: dict[str, dict[float, str]] = {}
    for name, points in panel.series().items():
        columns[name] = {point.parameter: f"{point.value:.3f}" for point in points}
        predicted = {p.parameter: f"{p.predicted:.3f}" for p in points if p.predicted is not None}
        if predicted:
            columns[f"{name}, predicted"] = predicted
    return columns
