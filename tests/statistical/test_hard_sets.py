"""On data that suit no method: no learner is worse than LDP-SGD or a constant, or it refuses.

Local model, n = 1e5, d = 10, epsilon = 1, nothing set.  The sets are not those of the learners' tables: features with heavy
tails, of one sign, away from 0, copies and constants, bounds a hundred times too wide, mixtures; classes of a tenth and of
a hundredth, with noise.  By day one seed of a few; at night 20 of all, against the better of both, less a standard error.
A seed fixes people and coins, so every run is the same.
A twin that must be caught: a halfspace through 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from localdp.algorithms.learners.halfspace import HalfspaceLearner
from localdp.algorithms.learners.logistic import LogisticRegression
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.errors import SignalTooWeak
from localdp.experiments.ldp_sgd import SgdLogistic
from localdp.oracles.models import ModelName
from localdp.randomness.source import Floats
from tests.support.seeded import seeded_oracle

PEOPLE, DIMENSION, SEEDS = 100_000, 10, 20
NAMES = tuple(f"x{place}" for place in range(DIMENSION))
Made = Callable[[], LogisticRegression | HalfspaceLearner]
Draw = Callable[[np.random.Generator], Floats]
SHAPE = (PEOPLE, DIMENSION)


def _copied(draws: np.random.Generator) -> Floats:
    rows = draws.normal(size=SHAPE)
    rows[:, 1:3], rows[:, 3] = rows[:, :1], 0.7
    return rows


def _mixed(draws: np.random.Generator) -> Floats:
    long, side = draws.random((2, PEOPLE, 1)) < np.array([0.1, 0.3])[:, None, None]
    return draws.normal(size=SHAPE) * np.where(long, 5, 1) + np.where(side, 2, -1)


FEATURES: dict[str, tuple[Draw, float, float]] = {
    "normal": (lambda draws: draws.normal(size=SHAPE), -5, 5),
    "heavy tails": (lambda draws: draws.standard_t(2, size=SHAPE), -20, 20),
    "of one sign": (lambda draws: draws.exponential(size=SHAPE), 0, 10),
    "away from 0": (lambda draws: draws.normal(size=SHAPE) + 3 + 2 * draws.random(DIMENSION), -10, 10),
    "copies": (_copied, -5, 5),
    "wide bounds": (lambda draws: draws.normal(size=SHAPE), -500, 500),
    "a mixture": (_mixed, -20, 20),
}
CASES = [
    *((name, 0.5, 0.0) for name in FEATURES),
    ("normal", 0.1, 0.0),
    ("normal", 0.01, 0.0),
    ("normal", 0.1, 1.0),
    ("normal", 0.3, 1.0),
    ("of one sign", 0.1, 1.0),
    ("away from 0", 0.1, 0.0),
    ("a mixture", 0.3, 0.0),
]


def people(kind: str, share: float, noise: float, seed: int) -> tuple[Records, Floats, np.ndarray]:
    """Labels: the upper share of a linear form, plus noise of so many of its spreads."""
    draws = np.random.default_rng(seed)
    made, low, high = FEATURES[kind]
    rows = np.clip(made(draws), low, high)
    form = rows @ draws.normal(size=DIMENSION)
    form = form / form.std() + noise * draws.normal(size=PEOPLE)
    labels = form > np.quantile(form, 1 - share)
    schema = Schema({**{name: RealDomain(low, high) for name in NAMES}, "target": BitDomain()})
    columns = {name: rows[:, place] for place, name in enumerate(NAMES)}
    return Records.from_columns(schema, {**columns, "target": labels}), rows, labels


def reached(
    made: Made,
    case: tuple[str, float, float],
    seed: int,
    model: ModelName = "local",
) -> float | None:
    records, rows, labels = people(*case, seed)
    try:
        return made().fit(seeded_oracle(records, 1.0, model, seed)).score(rows, labels)
    except SignalTooWeak:
        return None


MADE = [LogisticRegression, HalfspaceLearner]


@pytest.mark.parametrize("made", MADE)
def test_a_rare_class_is_found(made: Made) -> None:
    # 0.93 with a spread of 0.017 from seed to seed, so the mean of two is below 0.9 once in two hundred draws of people.
    assert np.mean([reached(made, ("normal", 0.1, 0.0), seed) or 0.9 for seed in range(2)]) > 0.9


def test_a_class_of_a_hundredth_is_refused() -> None:
    assert reached(LogisticRegression, ("normal", 0.01, 0.0), 0) is None


def test_a_halfspace_through_zero_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HalfspaceLearner, "_is_centred", lambda *_: True)
    score = reached(HalfspaceLearner, ("normal", 0.1, 0.0), 0)
    assert score is not None and score < 0.9


@pytest.mark.nightly
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("case", CASES)
def test_no_learner_is_worse_than_the_published_one_or_a_constant(
    made: Made, case: tuple[str, float, float]
) -> None:
    scores = [score for seed in range(SEEDS) if (score := reached(made, case, seed)) is not None]
    if len(scores) < SEEDS / 2:
        return  # refused, for the greater part
    published = [reached(SgdLogistic, case, seed) or 0.0 for seed in range(SEEDS)]
    beside = max(float(np.mean(published)), case[1], 1 - case[1])
    assert np.mean(scores) >= beside - np.std(scores) / len(scores) ** 0.5
