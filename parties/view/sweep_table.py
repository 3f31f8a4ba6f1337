"""A running experiment for people to look at: a row for each cell of interest, a summary of each model, a bar.

It fits into 80 columns.  What all cells have in common stands in the title; the errors, measured and predicted, are columns
where there is room.  Numbers and status words are never cut; where there are too few lines, cells are left out.
Checked in tests/unit/parties/view/test_view_sweep.py.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.progress import ProgressColumn, Task
from rich.table import Table
from rich.text import Text

from parties.experiments.cells import Cell
from parties.view.bars import trials_bar
from parties.view.columns import TableColumn, table_of
from parties.view.pace import Pace
from parties.view.sweep import CellView, ModelView, SweepView
from parties.view.words import by_reason, duration, estimate, half_width, number, one_line

MOST_CELLS = 12  # all of them, if there are no more
_FEWER_CELLS = 7  # beside a summary of the models
_OTHER_LINES = 8  # title, headings, refusals, bar
_SPARE = {"error": 5, "predicted": 4, "answering": 3, "seed": 2, "refused": 1}  # the largest goes first
_NAMES = {"root_mean_square_error": "rms error", None: "estimate"}


class SweepPicture:
    """What `parties.view.screen.picture` draws: the latest view, the bar and the time that is left."""

    def __init__(self, console: Console, view: SweepView, pace: Pace, clock: Callable[[], float]) -> None:
        self.view = view
        self._pace, self._clock = pace, clock
        self._bar = trials_bar(console, _Left(), bar_width=20)
        self._task = self._bar.add_task("starting", total=view.total)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        view = self.view
        self._bar.update(
            self._task,
            completed=view.done,
            description="starting" if view.last is None else one_line(view.last.model),
            seconds_left=self._pace.seconds_left(self._clock(), view.total_effort),
        )
        yield sweep_table(view, options.max_width, console.height)
        yield self._bar.get_renderable()


class _Left(ProgressColumn):
    """The time that is left, where it is known."""

    def render(self, task: Task) -> Text:
        seconds = task.fields.get("seconds_left")
        return Text("" if seconds is None else f"about {duration(seconds)} left")


def sweep_table(view: SweepView, width: int, height: int) -> Group:
    """The view, in so many columns and lines."""
    room = max(1, height - _OTHER_LINES)
    models = view.models()
    parts: list[Table | Text] = [_title(view)]
    if len(view.cells) <= min(MOST_CELLS, room):
        parts.append(_cells(view, list(view.cells.values()), width))
    else:
        few = max(1, min(_FEWER_CELLS, room - len(models) - 3))
        parts += [_cells(view, view.shown(few), width), Text(), _models(models, width)]
    if view.refused:
        parts.append(Text(f"refused: {by_reason(view.refused)}", overflow="fold"))
    return Group(*parts)


def _title(view: SweepView) -> Text:
    told = [one_line(view.asked)]
    told += [f"{name} {values.pop()}" for name, values in _varied(view).items() if len(values) == 1]
    told.append("no limit to budgets" if view.budget is None else f"budget {view.budget:g} a person")
    title = Text(one_line(view.name), style="bold")
    return title.append(f"  {'; '.join(told)}", style="not bold")


def _varied(view: SweepView) -> dict[str, set[str]]:
    """What a sweep may vary, and the values that it takes."""
    values: dict[str, set[str]] = {"epsilon": set(), "people": set(), "dim.": set(), "seed": set()}
    for cell in view.cells:
        for name, value in _place(cell).items():
            if value is not None:
                values[name].add(value)
    return values


def _place(cell: Cell) -> dict[str, str | None]:
    return {
        "epsilon": f"{float(cell.epsilon):g}",
        "people": f"{cell.people:,}",
        "dim.": None if cell.dimension is None else str(cell.dimension),
        "seed": None if cell.seed is None else str(cell.seed),
    }


def _cells(view: SweepView, cells: list[CellView], width: int) -> Table:
    measure = next((cell.measure for cell in cells if cell.measure), None)
    named = _NAMES.get(measure, measure or "")
    columns = {"model": [cell.cell.model for cell in cells]}
    for name, values in _varied(view).items():
        if len(values) > 1:
            columns[name] = [_place(cell.cell)[name] or "-" for cell in cells]
    columns["trials"] = [f"{cell.done:,}/{cell.total:,}" for cell in cells]
    columns["refused"] = [f"{sum(cell.refused.values()):,}" for cell in cells]
    columns["answering"] = [_percent(cell.answering) for cell in cells]
    if view.budget is not None:
        columns["left"] = [number(view.left(cell)) if cell.answered else "-" for cell in cells]
    columns[f"{named} (95 %)"] = [estimate(_mean(cell), half_width(cell.error_bar)) for cell in cells]
    if measure == "estimate":
        columns["error"] = [number(cell.error) for cell in cells]
        columns["predicted"] = [number(cell.predicted) for cell in cells]
    styles = ["dim" if cell.finished or not cell.done else "" for cell in cells]
    return table_of([_column(name, shown) for name, shown in columns.items()], width, styles)


def _column(name: str, cells: list[str]) -> TableColumn:
    return TableColumn(name, list(map(Text, cells)), right=name != "model", spare=_SPARE.get(name, 0))


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.3g}%"


def _mean(cell: CellView) -> float | None:
    return cell.estimate.value if cell.estimate.count else None


def _models(models: list[ModelView], width: int) -> Table:
    columns = {
        "model": [model.model for model in models],
        "cells": [f"{model.finished:,}/{model.cells:,}" for model in models],
        "trials": [f"{model.done:,}/{model.total:,}" for model in models],
        "refused": [f"{model.refused:,}" for model in models],
    }
    if any(model.against_predicted is not None for model in models):
        columns["error/predicted"] = [number(model.against_predicted) for model in models]
    return table_of([_column(name, shown) for name, shown in columns.items()], width)
