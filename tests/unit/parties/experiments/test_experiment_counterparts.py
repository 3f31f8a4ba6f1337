"""Baselines are on the same people as the learner, no worse than a constant, and told beside every trial."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from localdp.errors import InvalidParameter
from localdp.experiments.catalogue import LEARNERS, LearnerTask, QueryTask
from localdp.experiments.datasets import synthetic
from localdp.randomness.hazmat import SeededSource
from parties.experiments.cells import blocks_of
from parties.experiments.counterparts import (
    CONSTANT,
    COUNTERPARTS,
    SCIKIT_LEARN,
    counterparts_of,
    has_counterpart,
)
from parties.experiments.trials import run_block
from tests.support.experiments import experiment, work

SETS = {
    "boosting": "majority",
    "conjunction": "conjunction",
    "decision-tree": "tree",
    "halfspace": "gaussian-halfspace",
    "k-means": "corner-clusters",
    "linear-regression": "gaussian-line",
    "logistic-regression": "correlated-halfspace",
    "naive-bayes": "two-classes",
    "parity": "parity",
    "pca": "components",
}
PARAMETERS: dict[str, dict[str, int]] = {"k-means": {"n_clusters": 4}, "pca": {"n_components": 1}}
TEXT = """[data]
set = ["majority", "iris"]
resample = true
[run]
models = ["exact", "curator"]
learner = "decision-tree"
epsilon = 1
people = 2000
baselines = true
insecure_seeds = 1
"""


def reached(name: str) -> tuple[float, float]:
    records = synthetic(SETS[name], 2000, SeededSource(1))
    task = LearnerTask(name, PARAMETERS.get(name, {}))
    found = counterparts_of(task, records, task.truth(records))
    return found[SCIKIT_LEARN], found[CONSTANT]


def test_every_learner_has_a_counterpart() -> None:
    assert set(COUNTERPARTS) == set(LEARNERS) == set(SETS)
    assert not has_counterpart(QueryTask("smoker"))


@pytest.mark.parametrize("name", SETS)
def test_scikit_learn_is_better_than_a_constant(name: str) -> None:
    learned, constant = reached(name)
    assert learned > constant
    assert learned <= 1.0 + 1e-9


def test_a_ratio_is_over_the_figure_of_scikit_learn() -> None:
    row = {"score": -0.3, SCIKIT_LEARN: -0.2, CONSTANT: -1.0}
    means = COUNTERPARTS["k-means"]
    assert means.figure(row, means.column) == pytest.approx(1.5)
    assert means.figure(row, CONSTANT) == pytest.approx(5.0)


def test_baselines_stand_beside_every_trial(tmp_path: Path) -> None:
    made, _ = work(tmp_path, TEXT.replace('["majority", "iris"]', '"iris"'))
    for block in blocks_of(made.experiment):
        row = run_block(made, block).rows[0]
        assert row[SCIKIT_LEARN] > 0.9
        assert 0.3 < row[CONSTANT] < 0.4


def test_a_file_without_baselines_has_none(tmp_path: Path) -> None:
    text = TEXT.replace('["majority", "iris"]', '"iris"').replace("baselines = true", "baselines = false")
    made, blocks = work(tmp_path, text)
    assert SCIKIT_LEARN not in run_block(made, blocks[0]).rows[0]


def test_baselines_are_those_of_learners(tmp_path: Path) -> None:
    text = TEXT.replace('learner = "decision-tree"', 'release = "marginals"').replace(', "iris"', "")
    with pytest.raises(InvalidParameter, match=r"run\.baselines: only of boosting"):
        experiment(tmp_path, text.replace("resample = true\n", ""))


def test_without_scikit_learn_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    there = builtins.__import__

    def without(name: str, *others: Any, **named: Any) -> Any:
        if name.startswith("sklearn"):
            raise ImportError(name)
        return there(name, *others, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InvalidParameter, match="pip install scikit-learn"):
        reached("linear-regression")
