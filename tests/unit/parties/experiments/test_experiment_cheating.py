"""Cheaters in an experiment file: who they are, what they change under each trust model, and what results say of it."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from localdp.errors import InvalidParameter
from localdp.experiments.cheating import OUT_OF_RANGE
from parties.experiments.cells import cells_of
from parties.experiments.forecast import caveats, forecasts
from parties.experiments.running import run_experiment
from parties.experiments.trials import run_block
from parties.report.results import story_of_results
from tests.support.experiments import SMALL, experiment, work

MODELS = ("exact", "curator", "local", "shuffled", "shared")
# Ten parties of 40 people, of which two cheat.
TEXT = (
    SMALL.replace("number = 3", "number = 10\n[faults]\ncheaters = 0.2")
    .replace('["curator", "local", "shuffled", "shared"]', json.dumps(MODELS))
    .replace("[30, 60]", "400")
    .replace("[1, 2]", "2")
)
PRIO3 = TEXT.replace("[output]", '[run.options.shared]\ntier = "prio3"\n[output]')
INPUTS = TEXT.replace("cheaters = 0.2", 'cheaters = 0.2\ncheat = "inputs"')
HONEST = TEXT.replace("cheaters = 0.2", "cheaters = 0.0")


def rows(directory: Path, text: str, model: str) -> list[dict[str, Any]]:
    made, blocks = work(directory, text.replace(json.dumps(MODELS), f'["{model}"]'))
    return [row for block in blocks for row in run_block(made, block).rows]


def mean_error(some: list[dict[str, Any]]) -> float:
    return statistics.fmean(row["error"] for row in some)


@pytest.mark.parametrize("text", [TEXT, INPUTS], ids=["reports", "inputs"])
@pytest.mark.parametrize("model", MODELS)
def test_people_of_cheating_parties_are_counted_under_every_model(
    tmp_path: Path, text: str, model: str
) -> None:
    for row in rows(tmp_path, text, model):
        assert row["people_cheating"] == 80
        assert row["reports"] == 400
        assert row.get("reports_rejected") == (0 if model == "shared" else None)


def test_who_cheats_differs_from_trial_to_trial(tmp_path: Path) -> None:
    # What is exact but for the lies of 80 people has other errors where other people lie.
    assert len({row["error"] for row in rows(tmp_path, TEXT, "exact")}) > 5


@pytest.mark.parametrize("model", ["exact", "curator", "local", "shuffled", "shared"])
def test_a_lie_about_inputs_moves_an_answer_by_no_more_than_the_liars_part(
    tmp_path: Path, model: str
) -> None:
    lied, honest = (rows(tmp_path, text, model) for text in (INPUTS, HONEST))
    moved = mean_error(lied) - mean_error(honest)
    # Three in ten smoke, so of 80 people 56 on average are said to and do not.  n = 400 people and 30 trials: the noise of
    # local reports at epsilon 2 leaves a standard deviation of 0.0055, who smokes one of 0.005; alpha = 3e-6 at any seed.
    assert moved == pytest.approx(0.14, abs=0.035)


def test_chosen_reports_move_a_local_answer_by_no_more_than_their_width(tmp_path: Path) -> None:
    lied, inputs, honest = (mean_error(rows(tmp_path, text, "local")) for text in (TEXT, INPUTS, HONEST))
    width = 1.3130352854993312  # (e^2 + 1) / (e^2 - 1)
    assert inputs < lied <= honest + 0.2 * width + 0.02


def test_without_proofs_the_sum_is_spoilt(tmp_path: Path) -> None:
    for row in rows(tmp_path, TEXT, "shared"):
        assert row["count_error"] > 0.9 * 80 * OUT_OF_RANGE


def test_with_proofs_cheaters_are_rejected_and_the_rest_answers(tmp_path: Path) -> None:
    for row in rows(tmp_path, PRIO3, "shared"):
        assert (row["reports_rejected"], row["reports"]) == (80, 320)
        assert abs(row["error"]) < 0.1


def test_the_shuffled_promise_counts_on_honest_reports_alone(tmp_path: Path) -> None:
    made, blocks = work(tmp_path, TEXT.replace(json.dumps(MODELS), '["shuffled"]'))
    result = run_block(made, blocks[0])
    assert result.promise is not None
    assert "At least 320 of the 400 people must send honest reports." in result.promise
    sizes = TEXT.replace("number = 10", "sizes = [300, 50, 50]").replace("= 0.2", "= 0.34")
    made, blocks = work(tmp_path, sizes.replace(json.dumps(MODELS), '["shuffled"]'))
    told = run_block(made, blocks[0]).promise
    assert told is not None
    assert "At least 100 of the 400" in told  # whoever cheats, it may be the largest party


def test_a_plan_is_for_honest_parties_and_says_so(tmp_path: Path) -> None:
    lying, honest = experiment(tmp_path, TEXT), experiment(tmp_path, HONEST)
    assert "without cheaters" in caveats(lying)[0]
    assert caveats(honest) == ()
    for one, other in zip(forecasts(lying), forecasts(honest), strict=True):
        if one.model != "shuffled":  # whose reports reveal less where fewer are honest
            assert one.predicted_standard_error == other.predicted_standard_error


def test_a_budget_that_refuses_trials_does_not_hide_how_long_others_take(tmp_path: Path) -> None:
    text = HONEST.replace("number = 10", "number = 10\nbudget = 1").replace("people = 400", "people = 4000")
    made = experiment(tmp_path, text)
    assert any("exceeds budget = 1" in caveat for caveat in caveats(made))
    assert all(cell.seconds is not None for cell in forecasts(made))


def test_results_and_report_tell_of_cheaters(tmp_path: Path) -> None:
    run_experiment(experiment(tmp_path, PRIO3))
    data = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {cell["model"] for cell in data["cells"]} == set(MODELS)
    assert all(
        set(cell["measures"]) & {"people_cheating", "reports_rejected"} == set() for cell in data["cells"]
    )
    story = story_of_results("results.json", data)
    assert story.refusals is not None
    told = {(row[0], row[1]): row for row in story.refusals.rows}
    assert {model for why, model in told if why == "cheating"} == set(MODELS)
    assert told["rejected", "shared"][2:4] == ("2 of 10", 30)
    assert "80 reports" in told["rejected", "shared"][4]
    notes = " ".join(story.notes)
    assert "2 of 10 parties cheat" in notes
    assert "shared: A cheater can lie about its own answer" in notes
    assert "C = (e^epsilon + 1)/(e^epsilon - 1)" in notes


def test_trials_without_cheaters_are_what_they_were(tmp_path: Path) -> None:
    made, blocks = work(tmp_path, HONEST)
    for block in blocks[:5]:
        for row in run_block(made, block).rows:
            assert not {"people_cheating", "reports_rejected"} & set(row)


def test_cheaters_come_beside_those_who_are_missing(tmp_path: Path) -> None:
    text = PRIO3.replace("cheaters = 0.2", "cheaters = 0.2\ndropouts = 0.3\nstragglers = 0.1")
    for row in rows(tmp_path, text, "shared"):
        assert (row["people_unreachable"], row["people_late"], row["people_cheating"]) == (120, 40, 80)
        assert (row["reports"], row["reports_rejected"]) == (160, 80)


BAD = {
    "a kind that is not there": (
        'cheaters = 0.2\ncheat = "hard"',
        "faults.cheat: how cheaters lie is one of",
    ),
    "a kind and nobody": ('cheat = "inputs"', "faults.cheat: nobody cheats"),
    "too few for one": ("cheaters = 0.01", "of 10 parties that is nobody"),
    "everybody": ("cheaters = 0.97", "somebody has to answer, and honestly"),
    "together everybody": ("cheaters = 0.5\ndropouts = 0.5", "somebody has to answer"),
    "no fraction": ("cheaters = 2", "faults.cheaters: a fraction"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, what: str) -> None:
    written, told = BAD[what]
    with pytest.raises(InvalidParameter, match=told):
        experiment(tmp_path, TEXT.replace("cheaters = 0.2", written))


def test_a_learner_is_lied_to_as_well(tmp_path: Path) -> None:
    text = """[data]
set = "conjunction"
[parties]
number = 5
[faults]
cheaters = 0.2
[run]
models = ["curator", "local", "shared"]
learner = "conjunction"
epsilon = 8
people = 5000
dimension = 4
insecure_seeds = 1
[run.parameters]
check_signal = false
"""
    made, blocks = work(tmp_path, text)
    assert len(list(cells_of(made.experiment))) == 3
    for block in blocks:
        (row,) = run_block(made, block).rows
        assert row["people_cheating"] == 1000
        assert "score" in row
