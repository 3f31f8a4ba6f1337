"""`localdp run` as it runs: what `run_experiment` tells of finished blocks, on a screen, in lines or as JSON.

| standard error is | what is shown |
|---|---|
| a terminal | cells under way with their running estimates, a summary of each model, a bar with the time left |
| something else | a line every tenth of the trials |
| for machines (`--json`) | a JSON object every hundredth of the trials, and when the last is done |

Checked in tests/unit/parties/view/test_view_sweep.py and, on a pseudo-terminal, in tests/integration/test_live_view.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from parties.durable import Data
from parties.experiments.cells import Block, BlockResult, Cell
from parties.experiments.definition import Experiment
from parties.experiments.running import Done
from parties.view.pace import Pace
from parties.view.screen import kind_of, picture, print_event, print_line
from parties.view.sweep import CellView, SweepView
from parties.view.sweep_table import SweepPicture
from parties.view.words import by_reason, duration, estimate, half_width

LINES = 10
EVENTS = 100

Clock = Callable[[], float]


@contextmanager
def experiment_shown(
    experiment: Experiment, console: Console, json: bool = False, clock: Clock = time.monotonic
) -> Iterator[Done]:
    """Shows the run of the body, which tells what is yielded of every block that has ended."""
    view, pace, kind = SweepView.of(experiment), Pace(), kind_of(console, json)
    if kind == "picture":
        shown = SweepPicture(console, view, pace, clock)

        def done(block: Block, result: BlockResult) -> None:
            shown.view = shown.view.told(block, result)
            pace.told(clock(), shown.view.effort)

        with picture(console, lambda: shown):
            yield done
        return
    yield _Steps(console, view, pace, clock, json).done


class _Steps:
    """Something is printed every so many trials, however long they take."""

    def __init__(self, console: Console, view: SweepView, pace: Pace, clock: Clock, json: bool) -> None:
        self._console, self._view, self._pace, self._clock = console, view, pace, clock
        self._json, self._steps = json, EVENTS if json else LINES

    def done(self, block: Block, result: BlockResult) -> None:
        """A block has ended."""
        before, self._view = self._view.done, self._view.told(block, result)
        view, now = self._view, self._clock()
        self._pace.told(now, view.effort)
        if view.done * self._steps // view.total == before * self._steps // view.total:
            return
        left = self._pace.seconds_left(now, view.total_effort)
        if self._json:
            print_event(self._console, "progress", progress_data(view, left))
        else:
            print_line(self._console, progress_line(view, left))


def progress_line(view: SweepView, seconds_left: float | None) -> str:
    """What has been done, the time left, what was refused, and the cell that was told of last."""
    told = [f"{view.done:,} of {view.total:,} trials"]
    if seconds_left is not None and view.done < view.total:
        told.append(f"about {duration(seconds_left)} left")
    if view.refused:
        told.append(f"refused: {by_reason(view.refused)}")
    if view.last is not None:
        told.append(f"{_named(view.last)}: {_measured(view.cells[view.last])}")
    return "; ".join(told)


def _named(cell: Cell) -> str:
    dimension = "" if cell.dimension is None else f", dimension {cell.dimension}"
    return f"{cell.model}, epsilon {float(cell.epsilon):g}, n = {cell.people:,}{dimension}"


def _measured(cell: CellView) -> str:
    if not cell.estimate.count:
        return "no estimate"
    name = (cell.measure or "estimate").replace("_", " ")
    return f"{name} {estimate(cell.estimate.value, half_width(cell.error_bar))} (95 %)"


def progress_data(view: SweepView, seconds_left: float | None) -> Data:
    """The same for a machine, with the cell whole."""
    return {
        "trials": view.done,
        "of": view.total,
        "seconds_left": None if seconds_left is None else round(seconds_left, 3),
        "refused": dict(view.refused),
        "cell": None if view.last is None else _cell_data(view, view.cells[view.last]),
    }


def _cell_data(view: SweepView, cell: CellView) -> Data:
    return {
        "model": cell.cell.model,
        "epsilon": float(cell.cell.epsilon),
        "people": cell.cell.people,
        "dimension": cell.cell.dimension,
        "seed": cell.cell.seed,
        "trials": cell.done,
        "of": cell.total,
        "refused": dict(cell.refused),
        "answering": cell.answering,
        "budget_left": view.left(cell),
        "measure": cell.measure,
        "estimate": cell.estimate.value if cell.estimate.count else None,
        "standard_error": cell.error_bar,
        "root_mean_square_error": cell.error,
        "predicted_standard_error": cell.predicted,
    }
