"""A running experiment as it is shown: the folded view, exactly; its picture at 80 and 120 columns; lines and JSON."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import Any

import pytest

from parties.experiments.cells import Block, BlockResult, blocks_of
from parties.experiments.definition import Experiment
from parties.experiments.running import run_experiment
from parties.view.experiments import experiment_shown, progress_data, progress_line
from parties.view.pace import Pace
from parties.view.sweep import CellView, Mean, SweepView
from parties.view.sweep_table import SweepPicture, sweep_table
from tests.support.experiments import SMALL, experiment
from tests.support.terminals import plain_console, rendered

LARGE = (
    SMALL.replace("number = 3", "number = 3\nbudget = 2.5")
    .replace("epsilon = [1, 2]", "epsilon = [0.25, 0.5, 1, 2, 3]")
    .replace("people = [30, 60]", "people = [1000, 20000, 1e6]")
    .replace("trials = 30", "trials = 1000")
    .replace("insecure_seeds = 1", "insecure_seeds = [1, 2]")
)


def answered(value: float, error: float = 0.1, **more: Any) -> dict[str, Any]:
    return {"estimate": value, "error": error, "standard_error": 0.5, "epsilon_charged": 1.0, **more}


def result(*rows: dict[str, Any], predicted: float | None = None) -> BlockResult:
    return BlockResult(list(rows), None, {}, predicted)


def refused(why: str) -> dict[str, Any]:
    return {"refused": why}


def first_blocks(made: Experiment) -> tuple[SweepView, list[Block]]:
    return SweepView.of(made), list(blocks_of(made))


def test_a_running_mean_is_the_mean_and_its_standard_error() -> None:
    numbers = [3.0, -1.0, 4.5, 1e6, 2.25]
    mean = Mean()
    for number in numbers:
        mean = mean.with_(number)
    assert mean.value == pytest.approx(statistics.fmean(numbers), rel=1e-15)
    assert mean.standard_error == pytest.approx(statistics.stdev(numbers) / math.sqrt(5), rel=1e-12)
    assert Mean().with_(7.0).standard_error is None


def test_blocks_are_folded_into_trials_refusals_people_budgets_and_estimates(tmp_path: Path) -> None:
    view, blocks = first_blocks(experiment(tmp_path, SMALL.replace("number = 3", "number = 3\nbudget = 3")))
    cell = blocks[0].cell
    rows = [answered(0.25, 0.1, people_unreachable=10), answered(0.75, -0.3, people_late=2)]
    view = view.told(blocks[0], result(*rows, refused("signal_too_weak"), predicted=0.2))
    view = view.told(blocks[1], result(refused("signal_too_weak"), refused("budget_exhausted")))
    seen = view.cells[cell]
    assert (seen.done, seen.answered, seen.finished) == (5, 2, False)
    assert seen.refused == view.refused == {"signal_too_weak": 2, "budget_exhausted": 1}
    assert seen.answering == 1 - 12 / (2 * 30)
    assert view.left(seen) == 2.0
    assert (seen.estimate.value, seen.error_bar) == (0.5, 0.25)
    assert seen.error == pytest.approx(math.sqrt((0.01 + 0.09) / 2))
    assert seen.predicted == 0.2
    assert (view.done, view.total) == (5, 16 * 30)
    assert view.models()[0].against_predicted == pytest.approx(math.sqrt(0.05) / 0.2)


def test_of_one_trial_the_error_bar_is_that_of_the_answer(tmp_path: Path) -> None:
    view, blocks = first_blocks(experiment(tmp_path))
    view = view.told(blocks[0], result(answered(0.25)))
    assert view.cells[blocks[0].cell].error_bar == 0.5


def test_without_a_budget_nothing_is_said_about_what_is_left(tmp_path: Path) -> None:
    view, blocks = first_blocks(experiment(tmp_path))
    assert view.left(view.cells[blocks[0].cell]) is None


def test_behind_a_shuffler_what_is_left_is_less_by_what_a_ledger_was_charged(tmp_path: Path) -> None:
    made = experiment(tmp_path, SMALL.replace("number = 3", "number = 3\nbudget = 9"))
    limited, _ = first_blocks(made)
    block = next(block for block in blocks_of(made) if block.cell.model == "shuffled")
    limited = limited.told(block, result(answered(0.25, epsilon_promised=1.0, epsilon_charged=5.5)))
    assert limited.left(limited.cells[block.cell]) == 3.5


def test_the_view_of_a_real_run_is_its_results_whatever_the_order_of_blocks(tmp_path: Path) -> None:
    made = experiment(tmp_path)
    told: list[tuple[Block, BlockResult]] = []
    results = run_experiment(made, done=lambda block, result: told.append((block, result))).results
    view = SweepView.of(made)
    for block, brought in reversed(told):
        view = view.told(block, brought)
    assert view.done == view.total == len(results.trials)
    for cell, seen in zip(results.cells, view.cells.values(), strict=True):
        measures = cell["measures"]
        assert seen.finished
        assert seen.measure == "estimate"
        assert seen.estimate.value == pytest.approx(measures["estimate"]["mean"], rel=1e-12)
        assert seen.error == pytest.approx(measures["error"]["root_mean_square"], rel=1e-12)
        assert seen.predicted == cell["predicted_standard_error"]


def test_of_many_cells_those_touched_last_and_the_next_one_are_shown_in_order(tmp_path: Path) -> None:
    view, blocks = first_blocks(experiment(tmp_path))
    firsts = [block for block in blocks if block.first == 0]
    for block in firsts[:9]:
        view = view.told(block, result(answered(0.5)))
    shown = view.shown(4)
    assert [cell.cell for cell in shown] == [block.cell for block in firsts[6:10]]
    assert [cell.done for cell in shown] == [1, 1, 1, 0]
    assert len(view.shown(16)) == 16


def large(directory: Path) -> SweepView:
    """Half way through a sweep of 120 cells with wide numbers and refusals."""
    view, blocks = first_blocks(experiment(directory, LARGE))
    row = answered(0.1234567, 1e-5, people_unreachable=100)
    for block in blocks[::40]:
        rows = [row, answered(0.1234, 2e-5), refused("budget_exhausted"), refused("signal_too_weak")]
        view = view.told(block, result(*rows, predicted=1.5e-5))
    return view


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("lines", [24, 50])
def test_the_picture_of_a_large_sweep_fits_and_cuts_nothing(
    tmp_path: Path, columns: int, lines: int
) -> None:
    view = large(tmp_path)
    shown = rendered(sweep_table(view, columns, lines), columns, lines)
    assert max(map(len, shown)) <= columns
    assert len(shown) <= min(lines - 1, 22)
    text = "\n".join(shown)
    assert "…" not in text
    assert "budget_exhausted" in text and "signal_too_weak" in text
    for model in ("curator", "local", "shuffled", "shared"):
        assert sum(line.startswith(model) for line in shown) >= 1
    assert "0.123428 ± 0.000056" in text
    assert ("predicted" in shown[1]) == (columns == 120)
    assert [line for line in shown if line.startswith("shared") and "120/30,000" in line]


def test_the_picture_of_a_small_sweep_has_every_cell_and_no_more(tmp_path: Path) -> None:
    text = SMALL.replace("epsilon = [1, 2]", "epsilon = 1")
    view, blocks = first_blocks(experiment(tmp_path, text))
    view = view.told(blocks[0], result(answered(0.25), answered(0.75), predicted=0.1))
    shown = rendered(sweep_table(view, 120, 30), 120)
    assert shown[0] == "experiment.toml  smoker; epsilon 1; seed 1; no limit to budgets"
    assert shown[1].split() == [
        "model",
        "people",
        "trials",
        "refused",
        "answering",
        "estimate",
        "(95",
        "%)",
        "error",
        "predicted",
    ]
    assert shown[2].split() == ["curator", "30", "2/30", "0", "100%", "0.50", "±", "0.49", "0.1", "0.1"]
    assert len(shown) == 2 + 8


def test_the_bar_tells_trials_and_the_time_left(tmp_path: Path) -> None:
    view, blocks = first_blocks(experiment(tmp_path))
    pace, console = Pace(), plain_console()[0]
    picture = SweepPicture(console, view, pace, lambda: 20.0)
    for second, block in enumerate(blocks[:3]):
        picture.view = picture.view.told(block, result(*[answered(0.5)] * block.trials))
        pace.told(10.0 * second, picture.view.effort)
    assert rendered(picture, 80)[-1].endswith("55/480 trials about 4:46 left")


def test_blocks_of_an_earlier_run_do_not_count_as_speed() -> None:
    pace = Pace()
    for step in range(100):
        pace.told(5.0 + step * 0.001, 10 * (step + 1))
    assert pace.seconds_left(6.0, 2000) is None
    pace.told(15.099, 1100)
    assert pace.seconds_left(15.099, 2000) == pytest.approx(90.0)


def test_elsewhere_a_line_is_printed_every_tenth_of_the_trials(tmp_path: Path) -> None:
    console, file = plain_console()
    made = experiment(tmp_path)
    with experiment_shown(made, console) as done:
        run_experiment(made, done=done)
    lines = file.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("480 of 480 trials; shared, epsilon 2, n = 60: estimate 0.")
    assert "±" in lines[-1]
    assert "\x1b" not in file.getvalue()


def test_machines_get_one_json_object_a_line(tmp_path: Path) -> None:
    console, file = plain_console()
    made = experiment(
        tmp_path, SMALL.replace("number = 3", "number = 3\nbudget = 1").replace('"shuffled", ', "")
    )
    with experiment_shown(made, console, json=True) as done:
        run_experiment(made, done=done)
    told = [json.loads(line) for line in file.getvalue().splitlines()]
    assert {(one["schema_version"], one["event"]) for one in told} == {(1, "progress")}
    assert [one["trials"] for one in told] == sorted({one["trials"] for one in told})
    assert (told[-1]["trials"], told[-1]["of"]) == (360, 360)
    assert sum(told[-1]["refused"].values()) == 180
    cell = told[0]["cell"]
    assert (cell["model"], cell["epsilon"], cell["budget_left"]) == ("curator", 1.0, 0.0)
    assert cell["standard_error"] > 0


def test_a_line_and_the_data_say_what_was_refused(tmp_path: Path) -> None:
    view, blocks = first_blocks(experiment(tmp_path))
    view = view.told(blocks[0], result(refused("policy_refused")))
    assert progress_line(view, 75) == (
        "1 of 480 trials; about 1:15 left; refused: 1 policy_refused; curator, epsilon 1, n = 30: no estimate"
    )
    data = progress_data(view, None)
    assert data["cell"]["estimate"] is None
    json.dumps(data, allow_nan=False)


def test_learners_show_their_score(tmp_path: Path) -> None:
    view, blocks = first_blocks(experiment(tmp_path))
    view = view.told(blocks[0], result({"score": 0.5}, {"score": 1.0}))
    seen: CellView = view.cells[blocks[0].cell]
    assert (seen.measure, seen.estimate.value, seen.error) == ("score", 0.75, None)
    assert "score" in rendered(sweep_table(view, 80, 30), 80)[1]
