"""What is known of a running experiment, folded from its finished blocks: no clock, no terminal, no disk.

    view = SweepView.of(experiment)
    view = view.told(block, result)         # for every block that ends

A cell's running estimate is the mean of what its trials measured so far, plus or minus the standard error of that mean:
the sample deviation over the square root of the trials, or what the answer itself says of one trial.  Beside it stands
the root of the mean square error, against the one that was predicted.  What is left of a budget is the file's, less what
a person's ledger was charged in a trial: under the shuffled model for a single report, which is more than is promised.

Claim.  Blocks may come in any order, and the view is that of all rows at once but for rounding.
Checked in tests/unit/parties/view/test_view_sweep.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from parties.experiments.cells import Block, BlockResult, Cell, Row, cells_of
from parties.experiments.definition import Experiment

# What is shown of a trial, and what of it is compared with the predicted error: the first that its row has.
ESTIMATES = ("estimate", "score", "root_mean_square_error")
_ERRORS = ("error", "root_mean_square_error")
_EFFORT_OF_A_TRIAL = 2000  # people; a trial takes some time however few are asked


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean and sum of squared deviations of some numbers, one at a time (Welford 1962)."""

    count: int = 0
    value: float = 0.0
    squares: float = 0.0

    def with_(self, number: float) -> Mean:
        """One number more."""
        away = number - self.value
        value = self.value + away / (self.count + 1)
        return Mean(self.count + 1, value, self.squares + away * (number - value))

    @property
    def standard_error(self) -> float | None:
        """Of the mean; one number has none."""
        return math.sqrt(self.squares / (self.count - 1) / self.count) if self.count > 1 else None


@dataclass(frozen=True, slots=True)
class CellView:
    """One cell so far."""

    cell: Cell
    total: int  # trials
    done: int = 0
    touched: int = 0  # when a block of it ended last: the number of blocks of the run by then
    refused: Mapping[str, int] = field(default_factory=dict)  # trials, by reason
    missing: float = 0.0  # people who did not answer, over all answered trials
    charged: float = 0.0  # the most that a person's ledger was charged in a trial
    measure: str | None = None
    estimate: Mean = Mean()
    claimed: float | None = None  # standard error of the latest answer, in its own words
    squared_error: Mean = Mean()
    predicted: float | None = None

    @property
    def answered(self) -> int:
        """Trials that were not refused."""
        return self.done - sum(self.refused.values())

    @property
    def finished(self) -> bool:
        """Whether all trials are done."""
        return self.done == self.total

    @property
    def answering(self) -> float | None:
        """The part of the people who answered, over the trials so far."""
        if not self.answered:
            return None
        return 1.0 - self.missing / (self.answered * self.cell.people)

    @property
    def error_bar(self) -> float | None:
        """Standard error of the running estimate."""
        return self.claimed if self.estimate.count == 1 else self.estimate.standard_error

    @property
    def error(self) -> float | None:
        """Root of the mean square error so far."""
        return math.sqrt(self.squared_error.value) if self.squared_error.count else None

    @property
    def effort(self) -> int:
        """About how much work a trial is."""
        return self.cell.people + _EFFORT_OF_A_TRIAL

    def told(self, result: BlockResult, touched: int) -> CellView:
        """With one more block."""
        predicted = self.predicted if result.predicted is None else result.predicted
        begun = replace(self, predicted=predicted, touched=touched)
        return reduce(CellView._with, result.rows, begun)

    def _with(self, row: Row) -> CellView:
        if "refused" in row:
            why = str(row["refused"])
            refused = {**self.refused, why: self.refused.get(why, 0) + 1}
            return replace(self, done=self.done + 1, refused=refused)
        measure = next((name for name in ESTIMATES if row.get(name) is not None), None)
        error = next((float(row[name]) for name in _ERRORS if row.get(name) is not None), None)
        return replace(
            self,
            done=self.done + 1,
            missing=self.missing + (row.get("people_unreachable") or 0) + (row.get("people_late") or 0),
            charged=max(self.charged, row.get("epsilon_charged") or 0.0),
            measure=self.measure or measure,
            estimate=self.estimate if measure is None else self.estimate.with_(float(row[measure])),
            claimed=row.get("standard_error", self.claimed),
            squared_error=self.squared_error if error is None else self.squared_error.with_(error * error),
        )


@dataclass(frozen=True, slots=True)
class ModelView:
    """All cells of one trust model together."""

    model: str
    cells: int
    finished: int
    done: int
    total: int
    refused: int
    against_predicted: float | None  # root of the mean square of error over predicted error: about 1


@dataclass(frozen=True, slots=True)
class SweepView:
    """A run so far."""

    name: str
    asked: str
    budget: float | None  # what a person may spend in a trial; None: no limit
    cells: Mapping[Cell, CellView]  # in the order of the sweep
    blocks: int = 0
    done: int = 0
    effort: int = 0
    last: Cell | None = None
    refused: Mapping[str, int] = field(default_factory=dict)  # trials, by reason

    @classmethod
    def of(cls, experiment: Experiment) -> SweepView:
        """Before the first block."""
        task, budget = experiment.task, experiment.parties.budget
        cells = {cell: CellView(cell, experiment.sweep.trials) for cell in cells_of(experiment)}
        asked = str(getattr(task, "text", None) or getattr(task, "name", ""))
        return cls(experiment.path.name, asked, None if budget is None else float(budget), cells)

    @property
    def total(self) -> int:
        """Trials in all."""
        return sum(cell.total for cell in self.cells.values())

    @property
    def total_effort(self) -> int:
        """About how much work all of it is."""
        return sum(cell.total * cell.effort for cell in self.cells.values())

    def told(self, block: Block, result: BlockResult) -> SweepView:
        """With one more block."""
        before, blocks = self.cells[block.cell], self.blocks + 1
        after = before.told(result, blocks)
        new = after.done - before.done
        told = {why: after.refused[why] - before.refused.get(why, 0) for why in after.refused}
        counted = {why: self.refused.get(why, 0) + told.get(why, 0) for why in {**self.refused, **told}}
        return replace(
            self,
            cells={**self.cells, block.cell: after},
            blocks=blocks,
            done=self.done + new,
            effort=self.effort + new * after.effort,
            last=block.cell,
            refused=counted,
        )

    def left(self, cell: CellView) -> float | None:
        """What a person has left after a trial; None: there is no limit."""
        return None if self.budget is None else max(0.0, self.budget - cell.charged)

    def shown(self, most: int) -> list[CellView]:
        """The cells to look at, in order: all that fit, or those touched last and the one that comes next."""
        cells = list(self.cells.values())
        if len(cells) <= most:
            return cells
        begun = sorted((cell for cell in cells if cell.touched), key=lambda cell: -cell.touched)
        waiting = [cell for cell in cells if not cell.touched][:1]
        # What is under way before what is finished; either way the latest first.
        chosen = sorted(begun, key=lambda cell: cell.finished)[: most - len(waiting)] + waiting
        places = {id(cell) for cell in chosen}
        return [cell for cell in cells if id(cell) in places]

    def models(self) -> list[ModelView]:
        """A summary of each trust model, in the order of the sweep."""
        grouped: dict[str, list[CellView]] = {}
        for cell in self.cells.values():
            grouped.setdefault(cell.cell.model, []).append(cell)
        return [_summary(model, cells) for model, cells in grouped.items()]


def _summary(model: str, cells: list[CellView]) -> ModelView:
    compared = [
        (cell.squared_error.count, cell.squared_error.value / cell.predicted**2)
        for cell in cells
        if cell.predicted and cell.squared_error.count and cell.measure != "score"
    ]
    trials = sum(count for count, _ in compared)
    return ModelView(
        model,
        len(cells),
        sum(cell.finished for cell in cells),
        sum(cell.done for cell in cells),
        sum(cell.total for cell in cells),
        sum(sum(cell.refused.values()) for cell in cells),
        math.sqrt(sum(count * ratio for count, ratio in compared) / trials) if trials else None,
    )
