"""Two classes told apart by a linear form: rounds, uneven classes, features of a skewed law, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.algorithms.learners.halfspace import HalfspaceLearner
from localdp.algorithms.learners.logistic import LogisticRegression
from localdp.algorithms.learners.separation import LinearSeparation
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.errors import SignalTooWeak
from localdp.oracles.models import ModelName
from localdp.randomness.source import Floats
from tests.support.seeded import seeded_oracle

NAMES = ("a", "b", "c")
PEOPLE = 60_000


def records(rows: Floats, labels: np.ndarray, reach: float = 8.0) -> Records:
    schema = Schema({**{name: RealDomain(-reach, reach) for name in NAMES}, "target": BitDomain()})
    columns = {name: rows[:, place] for place, name in enumerate(NAMES)}
    return Records.from_columns(schema, {**columns, "target": labels})


def normal_people(seed: int) -> tuple[Floats, Floats]:
    draws = np.random.default_rng(seed)
    rows = np.clip(draws.normal(size=(PEOPLE, 3)), -8, 8)
    return rows, rows @ (np.array([2.0, -1.0, 0.5]) / np.sqrt(5.25))


@pytest.mark.parametrize("rounds", [12, 25, 50, 100, 1000])
@pytest.mark.parametrize("conditioned", [True, False])
def test_every_round_has_its_part(rounds: int, conditioned: bool) -> None:
    parts = LinearSeparation.of("target", rounds, scaled=True, conditioned=conditioned)
    assert parts.labels + parts.scale + parts.steps + parts.sharp + parts.curve == rounds
    assert parts.steps >= 1 and (parts.sharp > 1) == (conditioned and rounds > 12)


@pytest.mark.parametrize("model", ["curator", "local"])
@pytest.mark.parametrize("made", [LogisticRegression, HalfspaceLearner])
def test_a_tenth_of_the_people_are_found(
    made: type[LogisticRegression | HalfspaceLearner], model: ModelName
) -> None:
    rows, form = normal_people(4)
    labels = form > 1.28
    epsilon = 1.0 if model == "curator" else 4.0
    learner = made().fit(seeded_oracle(records(rows, labels), epsilon, model))
    assert learner.score(rows, labels) > (0.98 if model == "curator" else 0.91)  # a constant has 0.90
    assert learner.intercept_ < 0


def test_features_of_a_skewed_law_are_told_apart_by_a_curator() -> None:
    rows = np.minimum(np.exp(np.random.default_rng(5).normal(size=(PEOPLE, 3))), 8.0)
    labels = rows @ np.array([1.0, -1.0, 1.0]) > 1.65
    learner = LogisticRegression().fit(seeded_oracle(records(rows, labels), 1.0, "curator"))
    assert learner.score(rows, labels) > 0.975  # least squares alone: 0.96


@pytest.mark.parametrize("made", [LogisticRegression, HalfspaceLearner])
@pytest.mark.parametrize("share", [0.02, 0.5])
def test_labels_of_no_form_are_refused(
    made: type[LogisticRegression | HalfspaceLearner], share: float
) -> None:
    rows, _ = normal_people(6)
    labels = np.random.default_rng(6).random(PEOPLE) < share
    # A fit in ten or so is not refused: the seeds fix which.
    assert sum(is_refused(made(), records(rows, labels), seed) for seed in range(3)) >= 2


def is_refused(learner: LogisticRegression | HalfspaceLearner, people: Records, seed: int) -> bool:
    try:
        learner.fit(seeded_oracle(people, 1.0, "local", seed))
    except SignalTooWeak as refusal:
        return "linear margin of labels" in str(refusal)
    return False


def test_a_plane_through_zero_has_no_intercept_and_one_elsewhere_has() -> None:
    rows, form = normal_people(7)
    around = HalfspaceLearner().fit(seeded_oracle(records(rows, form > 0), 1.0, "curator"))
    away = rows + 3
    elsewhere = HalfspaceLearner().fit(seeded_oracle(records(away, form > 0, 12.0), 1.0, "curator"))
    assert around.intercept_ == 0.0
    assert elsewhere.score(away, form > 0) > 0.97
