"""A separation or an attack for people to look at: a table for each panel, and NAME.json and NAME.svg in a folder."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from localdp.experiments.panels import Demonstration, Panel
from parties.report.fitting import print_fitting
from parties.report.writing import write_numbers_and_drawing

_PREDICTED = ", predicted"


def write_demonstration(shown: Demonstration, folder: Path) -> tuple[Path, Path]:
    """NAME.json and NAME.svg in a folder; the numbers first."""
    return write_numbers_and_drawing(folder / shown.name, shown.to_data(), shown.panels, shown.title)


def print_demonstration(shown: Demonstration, console: Console) -> None:
    """A table for each panel, then the notes."""
    separation = shown.epsilon is not None
    for panel in shown.panels:
        title = f"{shown.title}, {panel.title}" if separation else f"{panel.title}: {panel.measure}"
        told = _table(panel, title, ".4g" if separation else ".3f")
        print_fitting(console, told, [one for one in _columns(panel, "") if one.endswith(_PREDICTED)])
    for note in (*(panel.measure for panel in shown.panels if separation), *shown.notes):
        console.print(note, soft_wrap=True, highlight=False)


def _table(panel: Panel, title: str, digits: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(panel.parameter)
    columns = _columns(panel, digits)
    for name in columns:
        table.add_column(name, justify="right")
    for parameter in sorted({point.parameter for point in panel.points}):
        table.add_row(f"{parameter:,g}", *(cells.get(parameter, "") for cells in columns.values()))
    return table


def _columns(panel: Panel, digits: str) -> dict[str, dict[float, str]]:
    """What stands in each column, by parameter; what is predicted stands beside what was measured."""
    columns: dict[str, dict[float, str]] = {}
    for name, points in panel.series().items():
        columns[name] = {
            point.parameter: "too few people" if point.value is None else f"{point.value:{digits}}"
            for point in points
        }
        predicted = {p.parameter: f"{p.predicted:{digits}}" for p in points if p.predicted is not None}
        if predicted:
            columns[f"{name}{_PREDICTED}"] = predicted
    return columns
