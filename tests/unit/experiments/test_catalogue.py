"""Every task of the catalogue plans without asking, measures against the truth, and is perfect on the truth itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from localdp.algorithms.quick_start import oracle_of_records
from localdp.errors import InvalidParameter, QueryRefused, SignalTooWeak
from localdp.experiments.catalogue import LEARNERS, RELEASES, LearnerTask, QueryTask, Task
from localdp.experiments.datasets import synthetic
from localdp.oracles.definition import Answer, StatisticalQueryOracle, VectorAnswer
from localdp.oracles.exact import ExactOracle
from localdp.queries.asked import Asked, AskedVector
from localdp.randomness.hazmat import SeededSource

PARAMETERS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "boosting": ("conjunction", {"rounds": 2}),
    "conjunction": ("conjunction", {}),
    "decision-tree": ("conjunction", {"depth": 2}),
    "finite-class": ("conjunction", {"hypotheses": ["x0 and x1", "x2", "x0 and x1 and x2"]}),
    "halfspace": ("gaussian-halfspace", {}),
    "k-means": ("clusters", {"n_clusters": 4}),
    "linear-regression": ("gaussian-line", {}),
    "logistic-regression": ("gaussian-halfspace", {}),
    "naive-bayes": ("conjunction", {}),
    "parity": ("parity", {}),
    "pca": ("gaussian-line", {}),
    "construction": ("bits", {"queries": ["x0 and x1", "x2"], "alpha": 0.3}),
    "marginals": ("bits", {"order": 2}),
    "ranges": ("made-up", {"column": "age", "bins": 16}),
    "auction": ("drivers", {"bid": "luck", "prices": 16}),
    "facilities": ("drivers", {"place": "luck", "steps": 4, "check_signal": False}),
    "two-outcomes": ("bits", {"first": "x0", "second": "x1"}),
    "equilibrium": ("drivers", {"own": ["x0", "x1"], "base": [0, 0.1], "slope": [1, 1], "rounds": 5}),
    "stream": ("bits", {"query": "x0", "steps": 8}),
    "blocks": ("made-up", {"estimate": "deviation(age)", "low": 0, "high": 60}),
    "winner": ("made-up", {"query": "region"}),
    "blocks-winner": ("made-up", {"estimate": "best(smoker, age >= 65, bmi > 30)"}),
    "scale": ("made-up", {"column": "bmi"}),
    "stable-median": ("made-up", {"column": "bmi", "proposed": 0.05}),
    "stable-mean": ("made-up", {"column": "bmi", "proposed": 0.05}),
    "factorised-stream": ("bits", {"query": "x0", "steps": 8}),
    "projected": ("bits", {"queries": ["x0 and x1", "x2"], "columns": ["x0", "x1", "x2"]}),
    "experts": ("bits", {"losses": ["x0", "x1"], "steps": 8}),
    "simplex": ("bits", {"columns": ["x0", "x1"], "steps": 8}),
}


class AsksNobody(ExactOracle):
    """Plans, and fails the test when it is asked."""

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        raise AssertionError("somebody was asked")

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        raise AssertionError("somebody was asked")

    def in_rounds(self, rounds: int) -> AsksNobody:
        return AsksNobody(self._records)


def test_every_learner_and_release_is_tried_here() -> None:
    assert set(PARAMETERS) == {*LEARNERS, *RELEASES}


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_learner_plans_without_asking_anybody(name: str) -> None:
    chosen, parameters = PARAMETERS[name]
    records = synthetic(chosen, 2000, SeededSource(1))
    outlook = LearnerTask(name, parameters).outlook(AsksNobody(records))
    assert outlook.standard_error == 0
    assert outlook.how.endswith("the truth")
    assert outlook.rounds >= 1


def test_the_outlook_is_that_of_one_of_several_rounds() -> None:
    records = synthetic("conjunction", 4000, SeededSource(1))
    one, four = (
        LearnerTask("boosting", {"rounds": rounds, "check_signal": False}).outlook(
            oracle_of_records(records, 1.0, "local")
        )
        for rounds in (1, 4)
    )
    assert (one.rounds, four.rounds) == (1, 4)
    assert one.standard_error is not None and four.standard_error is not None
    assert four.standard_error == pytest.approx(2 * one.standard_error, rel=0.02)  # a quarter of the people


@pytest.mark.parametrize("name", PARAMETERS)
def test_on_the_truth_a_learner_is_as_good_as_on_the_truth(name: str) -> None:
    chosen, parameters = PARAMETERS[name]
    records = synthetic(chosen, 2000, SeededSource(1))
    task = LearnerTask(name, parameters)
    task.check(records.schema)
    told = task.measured(ExactOracle(records), records, task.truth(records))
    if "score" in told.measures:
        assert told.measures["score"] == told.measures["score_of_truth"]
    elif "right" in told.measures:
        assert told.measures["right"] == 1.0
    else:
        assert (
            told.measures["root_mean_square_error"] <= 0.3
        )  # the alpha of the construction; the others are exact


@pytest.mark.parametrize("text", ["smoker", "clip(bmi/60)", "cells(region, smoker)", "parities(1, smoker)"])
def test_a_query_has_no_error_on_the_truth_and_some_elsewhere(text: str) -> None:
    records = synthetic("made-up", 2000, SeededSource(1))
    task: Task = QueryTask(text)
    truth = task.truth(records)

    def errors(oracle: StatisticalQueryOracle) -> list[float]:
        measures = task.measured(oracle, records, truth).measures
        return [measures[name] for name in measures if name.endswith("error") and name != "standard_error"]

    assert errors(ExactOracle(records)) == [0.0] * len(errors(ExactOracle(records)))
    assert all(error != 0 for error in errors(oracle_of_records(records, 1.0, "local")))


def test_the_outlook_of_a_query_is_its_plan() -> None:
    oracle = oracle_of_records(synthetic("made-up", 2000, SeededSource(1)), 1.0, "local")
    outlook = QueryTask("smoker").outlook(oracle)
    assert outlook.standard_error == oracle.plan(["smoker"]).rows[0].standard_error
    assert "one-bit" in outlook.how
    assert oracle.cost.rounds == 0


def test_a_signal_that_drowns_is_refused_while_planning() -> None:
    oracle = oracle_of_records(synthetic("parity", 50, SeededSource(1)), 0.1, "local")
    with pytest.raises(SignalTooWeak):
        LearnerTask("parity").outlook(oracle)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("no-such-learner", {}),
        ("halfspace", {"no_such_parameter": 1}),
        ("construction", {"update": "text"}),
        ("ranges", {}),  # needs a column
        ("construction", {"queries": 5}),
        ("k-means", {"n_clusters": "four"}),
    ],
)
def test_what_no_learner_can_be_given_is_refused_by_name(name: str, parameters: dict[str, Any]) -> None:
    records = synthetic("clusters", 50, SeededSource(1))
    with pytest.raises(InvalidParameter):
        LearnerTask(name, parameters).outlook(ExactOracle(records))


@pytest.mark.parametrize(
    "task",
    [
        LearnerTask("halfspace", {"target": "labl"}),
        LearnerTask("halfspace", {"features": ["x0", "y7"]}),
        LearnerTask("ranges", {"column": "agee"}),
        LearnerTask("marginals", {"columns": ["x0", "y7"]}),
    ],
    ids=lambda task: str(task.parameters),
)
def test_a_column_that_is_not_there_is_named_with_those_that_are(task: LearnerTask) -> None:
    with pytest.raises(InvalidParameter, match="there are x0, x1"):
        task.check(synthetic("parity", 1, SeededSource(1)).schema)


def test_a_query_about_no_column_is_refused() -> None:
    with pytest.raises(QueryRefused):
        QueryTask("smokr").check(synthetic("made-up", 1, SeededSource(1)).schema)
