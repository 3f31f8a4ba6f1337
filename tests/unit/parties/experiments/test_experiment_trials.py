"""A block is a function of keyring, cell and trial numbers; refusals are outcomes; faults are counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from parties.experiments.cells import Block, cells_of
from parties.experiments.trials import run_block
from tests.support.experiments import SMALL, experiment, work

UNSEEDED = SMALL.replace("insecure_seeds = 1\n", "")


def test_blocks_are_the_same_in_any_order_and_cut(tmp_path: Path) -> None:
    made, blocks = work(tmp_path, SMALL.replace("[1, 2]", "1"))
    forward = {block.name: run_block(made, block) for block in blocks}
    backward = {block.name: run_block(made, block) for block in reversed(blocks)}
    assert forward == backward
    whole = run_block(made, replace(blocks[0], trials=blocks[0].trials))
    halves = [run_block(made, replace(blocks[0], first=first, trials=5)).rows for first in (0, 5)]
    assert whole.rows[:10] == halves[0] + halves[1]


def test_no_two_cells_or_trials_share_coins(tmp_path: Path) -> None:
    made, blocks = work(tmp_path)
    local = [block for block in blocks if block.cell.model == "local" and block.cell.people == 60]
    errors = [row["estimate"] for block in local for row in run_block(made, block).rows]
    assert len(errors) == 60
    assert (
        len(set(errors)) > 15
    )  # a count of 60 reports has few values; equal coins would leave one for each cell


def test_the_noise_of_one_cell_is_not_that_of_another(tmp_path: Path) -> None:
    made, blocks = work(tmp_path)
    noises = [
        [round(row["count_error"]) for row in run_block(made, block).rows]
        for block in blocks
        if block.cell.model == "curator" and float(block.cell.epsilon) == 1 and block.first == 0
    ]
    assert len(noises) == 2  # of 30 people and of 60, with one law
    assert noises[0] != noises[1]


def test_without_a_seed_the_noise_root_decides_and_with_one_it_does_not(tmp_path: Path) -> None:
    def rows(text: str, noise: bytes) -> list[float]:
        made, blocks = work(tmp_path, text, noise)
        return [row["estimate"] for row in run_block(made, blocks[1]).rows]

    assert rows(SMALL, b"a") == rows(SMALL, b"b")
    assert rows(UNSEEDED, b"a") == rows(UNSEEDED, b"a")
    assert rows(UNSEEDED, b"a") != rows(UNSEEDED, b"b")


def test_without_a_seed_people_are_those_of_the_public_coins_whatever_the_noise(tmp_path: Path) -> None:
    truths = set()
    for noise in (b"a", b"b"):
        made, blocks = work(tmp_path, UNSEEDED, noise)
        truths |= {row["truth"] for row in run_block(made, blocks[1]).rows}
    assert len(truths) == 1


def test_every_trial_has_a_budget_of_its_own(tmp_path: Path) -> None:
    made, blocks = work(tmp_path, SMALL.replace("number = 3", "number = 3\nbudget = 1"))
    at_one = next(
        block for block in blocks if block.cell.model == "shared" and float(block.cell.epsilon) == 1
    )
    assert all("refused" not in row for row in run_block(made, at_one).rows)
    at_two = next(
        block for block in blocks if block.cell.model == "shared" and float(block.cell.epsilon) == 2
    )
    result = run_block(made, at_two)
    assert {row["refused"] for row in result.rows} <= {"policy_refused", "budget_exhausted"}
    assert result.promise is None
    assert len(result.refusals) == 1


def test_the_plan_predicts_the_error_of_trials(tmp_path: Path) -> None:
    made, _ = work(tmp_path, SMALL.replace("[30, 60]", "400").replace("[1, 2]", "1"))
    for cell in cells_of(made.experiment):
        result = run_block(made, Block(cell, 0, 300))
        assert result.predicted is not None
        measured = float(np.sqrt(np.mean([row["error"] ** 2 for row in result.rows])))
        # 300 trials: the root of a mean square is within 30 %, at this seed and but for a chance of 1e-6 at any
        assert measured == pytest.approx(result.predicted, rel=0.3), cell.name


@pytest.mark.parametrize("model", ["curator", "local", "shared"])
def test_missing_parties_are_counted_where_parties_answer(tmp_path: Path, model: str) -> None:
    faults = "[faults]\ndropouts = 0.34\nstragglers = 0.34\n[run]"
    text = SMALL.replace("[run]", faults).replace('"shuffled", ', "")
    made, blocks = work(tmp_path, text)
    block = next(block for block in blocks if block.cell.model == model and block.cell.people == 30)
    for row in run_block(made, block).rows:
        assert (
            row.get("people_unreachable", 0)
            == row.get("people_late", 0)
            == (0 if model == "curator" else 10)
        )
        assert row["reports"] == (30 if model == "curator" else 10)


def test_cells_are_every_combination_once(tmp_path: Path) -> None:
    names = [cell.name for cell in cells_of(experiment(tmp_path))]
    assert len(names) == len(set(names)) == 16
    assert names[0] == "curator epsilon=1 people=30 dimension=- seed=1"
