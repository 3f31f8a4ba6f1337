"""What learners reach with nothing set but data, bounds and epsilon: local model, n = 1e5, d = 10, epsilon = 1.

Data are new for each seed.  X is standard normal, or X = Z A with A = Q diag(1.5 to 0.3, geometric) Q' and Q a random
rotation; bounds are 5 on either side.  Labels are the side of a random plane; the target of a regression has an R**2 of
0.909 without privacy, within bounds of 1 on either side.  Four clusters are at corners of a cube of side 1, moved by up to
0.1, or anywhere in a cube of side 2, with a spread of 0.15.  Every fit keeps an account of what people spend.

Data and coins follow from the seed, so every run is the same.  By day the middle one of three seeds of each, against a
floor that is 0.04 lower; at night the mean of 20 seeds against the figure itself.  Twins that must be caught: a scale that
is left at the bounds, and a spend that is larger than epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.definition import Learner
from localdp.algorithms.learners.grid_clusters import squared_distances
from localdp.algorithms.learners.halfspace import HalfspaceLearner
from localdp.algorithms.learners.k_means import KMeans
from localdp.algorithms.learners.linear_regression import LinearRegression
from localdp.algorithms.learners.logistic import LogisticRegression
from localdp.algorithms.learners.pca import PCA
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.errors import BudgetExhausted
from localdp.oracles.models import ModelName
from localdp.randomness.source import Floats
from tests.support.seeded import seeded_oracle

PEOPLE, DIMENSION, SEEDS = 100_000, 10, 20
BY_DAY = 0.04  # that the middle one of three seeds may be below the mean of many
NAMES = tuple(f"x{place}" for place in range(DIMENSION))
ONE = 1.0
Fitted = TypeVar("Fitted", bound=Learner)


def features(kind: str, draws: np.random.Generator) -> Floats:
    table = draws.normal(size=(PEOPLE, DIMENSION))
    if kind == "correlated":
        turned, _ = np.linalg.qr(draws.normal(size=(DIMENSION, DIMENSION)))
        table = table @ (turned * np.geomspace(1.5, 0.3, DIMENSION)) @ turned.T
    return np.clip(table, -5, 5)


def people(kind: str, seed: int, *, number: bool) -> tuple[Records, Floats, np.ndarray]:
    draws = np.random.default_rng(seed)
    table, normal = features(kind, draws), draws.normal(size=DIMENSION)
    form = table @ (normal / np.linalg.norm(normal))
    noise = draws.normal(size=PEOPLE)
    target = (np.sqrt(0.909) * form / form.std() + np.sqrt(0.091) * noise) / 3
    labels = np.clip(target, -1, 1) if number else form > 0
    domain = RealDomain(-1.0, 1.0) if number else BitDomain()
    schema = Schema({**{name: RealDomain(-5.0, 5.0) for name in NAMES}, "target": domain})
    columns = {name: table[:, place] for place, name in enumerate(NAMES)}
    return Records.from_columns(schema, {**columns, "target": labels}), table, labels


def fitted(learner: Fitted, records: Records, model: ModelName, seed: int, epsilon: float = ONE) -> Fitted:
    """A fit, with an account: everybody has spent 1 over all rounds, scale included, and has nothing left."""
    oracle = seeded_oracle(records, epsilon, model, seed)
    learner.fit(oracle)
    assert oracle.cost.epsilon_promised == learner.cost_.epsilon_promised <= Epsilon.requested(ONE)
    with pytest.raises(BudgetExhausted):
        oracle.answer(["x0 >= 0"])
    return learner


def logistic(kind: str, seed: int, model: ModelName = "local") -> float:
    records, table, labels = people(kind, seed, number=False)
    return fitted(LogisticRegression(), records, model, seed).score(table, labels)


def halfspace(kind: str, seed: int, model: ModelName = "local") -> float:
    records, table, labels = people(kind, seed, number=False)
    return fitted(HalfspaceLearner(), records, model, seed).score(table, labels)


def linear(kind: str, seed: int, model: ModelName = "local") -> float:
    records, table, labels = people(kind, seed, number=True)
    return fitted(LinearRegression(), records, model, seed).score(table, labels)


def component(kind: str, seed: int, model: ModelName = "local") -> float:
    """The squared cosine with a first component of variance 0.37, where the nine others have 0.07."""
    draws = np.random.default_rng(seed)
    turned, _ = np.linalg.qr(draws.normal(size=(DIMENSION, DIMENSION)))
    spreads = np.sqrt([0.37] + [0.07] * (DIMENSION - 1))
    table = np.clip(draws.normal(size=(PEOPLE, DIMENSION)) * spreads @ turned.T, -3, 3)
    schema = Schema({name: RealDomain(-3.0, 3.0) for name in NAMES})
    records = Records.from_columns(schema, {name: table[:, place] for place, name in enumerate(NAMES)})
    learner = fitted(PCA(1), records, model, seed)
    return float(learner.components_[0] @ turned[:, 0]) ** 2


def clusters(kind: str, seed: int, model: ModelName = "local") -> float:
    """The cost of four clusters, in units of that at the true centres."""
    draws = np.random.default_rng(seed)
    if kind == "corners":
        corners = 0.5 - draws.permutation(2**DIMENSION)[:4, None] // 2 ** np.arange(DIMENSION) % 2
        centres = corners + draws.uniform(-0.1, 0.1, corners.shape)
    else:
        centres = draws.uniform(-1, 1, (4, DIMENSION))
    table = centres[draws.integers(0, 4, PEOPLE)] + draws.normal(0, 0.15, (PEOPLE, DIMENSION))
    table = np.clip(table, -1, 1)
    schema = Schema({name: RealDomain(-1.0, 1.0) for name in NAMES})
    records = Records.from_columns(schema, {name: table[:, place] for place, name in enumerate(NAMES)})
    cost = -fitted(KMeans(4), records, model, seed).score(table)
    return cost / float(squared_distances(table, centres).min(axis=1).mean())


Result = Callable[..., float]
FIGURES: list[tuple[Result, str, float]] = [
    (logistic, "isotropic", 0.95),
    (logistic, "correlated", 0.92),
    (halfspace, "isotropic", 0.965),
    (halfspace, "correlated", 0.90),
    (linear, "isotropic", 0.89),
    (linear, "correlated", 0.86),
    (component, "turned at random", 0.99),
]


# Without privacy: all labels, an R**2 of 0.909, all of the component.  A point below each.
CURATED: list[tuple[Result, str, float]] = [
    (logistic, "isotropic", 0.99),
    (logistic, "correlated", 0.99),
    (halfspace, "isotropic", 0.99),
    (halfspace, "correlated", 0.99),
    (linear, "isotropic", 0.899),
    (linear, "correlated", 0.899),
    (component, "turned at random", 0.99),
]


@pytest.mark.parametrize(("learned", "kind", "least"), FIGURES)
def test_the_middle_one_of_three_seeds_is_near_the_figure(learned: Result, kind: str, least: float) -> None:
    # A fit in twenty or so is far off: the middle one of three is near.
    assert np.median([learned(kind, seed) for seed in range(3)]) >= least - BY_DAY


@pytest.mark.parametrize(("learned", "kind", "least"), [CURATED[1], CURATED[3]])
def test_a_curator_is_within_a_point_of_no_privacy(learned: Result, kind: str, least: float) -> None:
    # One fit is spread by 0.0025: the middle one of three is looked at.
    assert np.median([learned(kind, seed, "curator") for seed in range(3)]) >= least - 0.003


def test_clusters_in_ten_dimensions_cost_little_more_than_the_best() -> None:
    assert np.median([clusters("corners", seed) for seed in range(3)]) <= 1.2 + 5 * BY_DAY


@pytest.mark.nightly
def test_the_mean_cost_of_clusters_is_the_figure() -> None:
    assert np.mean([clusters("corners", seed) for seed in range(SEEDS)]) <= 1.2
    assert np.mean([clusters("uniform", seed) for seed in range(SEEDS)]) <= 1.5
    assert np.mean([clusters("corners", seed, "curator") for seed in range(3)]) <= 1.01
    assert clusters("corners", 0, "shared") <= 1.02


@pytest.mark.nightly
@pytest.mark.parametrize("model", ["curator", "shared"])
@pytest.mark.parametrize(("learned", "kind", "least"), CURATED)
def test_a_shared_curator_is_within_a_point_as_well(
    learned: Result, kind: str, least: float, model: ModelName
) -> None:
    assert np.mean([learned(kind, seed, model) for seed in range(5)]) >= least


def test_a_scale_left_at_the_bounds_is_caught() -> None:
    records, table, labels = people("isotropic", 0, number=False)
    bounded = LogisticRegression(rounds=1)  # as it was: moments, in units of the bounds
    assert bounded.fit(seeded_oracle(records, ONE, "local")).score(table, labels) < 0.95 - BY_DAY


def test_the_account_catches_who_spends_twice_as_much() -> None:
    records, _, _ = people("isotropic", 0, number=False)
    with pytest.raises(AssertionError):
        fitted(HalfspaceLearner(rounds=1), records, "local", 0, 2 * ONE)


@pytest.mark.nightly
@pytest.mark.parametrize(("learned", "kind", "least"), FIGURES)
def test_the_mean_of_many_seeds_is_the_figure(learned: Result, kind: str, least: float) -> None:
    # A component's mean is a fourth of a spread above its figure: more seeds tell it from luck.
    seeds = 5 * SEEDS if learned is component else SEEDS
    assert np.mean([learned(kind, seed) for seed in range(seeds)]) >= least
