"""Centre and scale of features, learned from answers: right up to the factor that learners bear."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.algorithms.learners.learned_scale import (
    learned,
    learned_target,
    mean_residual,
    median_of,
    projection_query,
    rounds_of_scale,
)
from localdp.algorithms.learners.scaling import Scaling
from localdp.domains import RealDomain, Records, Schema
from localdp.oracles.exact import ExactOracle
from localdp.oracles.models import ModelName
from localdp.queries.vector_query import VectorQuery
from tests.support.seeded import seeded_oracle

FEATURES = 6


def people(number: int, centre: float, spread: float, features: int = FEATURES) -> Records:
    draws = np.random.default_rng(3)
    table = np.clip(centre + spread * draws.normal(size=(number, features)), -100, 100)
    names = [f"x{place}" for place in range(features)]
    schema = Schema({name: RealDomain(-100.0, 100.0) for name in names})
    return Records.from_columns(schema, {name: table[:, place] for place, name in enumerate(names)})


def in_units(records: Records, scaling: Scaling) -> np.ndarray:
    table = np.stack([records.column(name) for name in scaling.names], axis=1)
    return np.asarray((table - scaling.centres) * scaling.slopes)


@pytest.mark.parametrize("centre", [0.0, 40.0])
@pytest.mark.parametrize("spread", [0.5, 5.0, 20.0])
def test_on_exact_answers_people_are_around_zero_and_about_as_long_as_one(
    centre: float, spread: float
) -> None:
    records = people(2000, centre, spread)
    bounded = Scaling.each(records.schema, records.schema.names, None)
    units = in_units(records, learned(ExactOracle(records), bounded, 12))
    assert np.linalg.norm(units.mean(axis=0)) < 0.1
    assert 0.5 < np.sqrt(np.square(units).sum(axis=1).mean()) < 1.5


def test_in_the_local_model_a_tenth_of_the_people_is_enough() -> None:
    records = people(100_000, 10.0, 10.0)
    view = seeded_oracle(records, 1.0, "local").in_rounds(100)
    bounded = Scaling.each(records.schema, records.schema.names, None)
    units = in_units(records, learned(view, bounded, rounds_of_scale(100)))
    assert view.cost.rounds == rounds_of_scale(100)
    assert 0.3 < np.sqrt(np.square(units).sum(axis=1).mean()) < 2.0


def test_a_target_is_brought_to_spread_one() -> None:
    records = people(2000, 30.0, 4.0, features=1)
    scaled = learned_target(ExactOracle(records), Scaling.each(records.schema, ("x0",), None), 1)
    values = in_units(records, scaled)[:, 0]
    assert abs(values.mean()) < 0.1 and 0.6 < values.std() < 1.6


def test_a_mean_of_residuals_counts_only_where_noise_does_not_explain_it() -> None:
    records = people(20_000, 0.0, 0.5, features=1)
    oracle = seeded_oracle(records, 1.0, "local")
    assert mean_residual(oracle, "x0", 1) == 0
    assert mean_residual(ExactOracle(records), "x0 + 1", 1) == pytest.approx(1, abs=0.05)


def test_the_median_of_sizes_lies_between_powers_of_two() -> None:
    shares = np.zeros(14)
    shares[5] = 1.0
    assert 2.0 ** (5 - 13) <= median_of(shares) <= 2.0 ** (5 - 12)
    shares[:] = 0
    shares[0] = 1.0
    assert median_of(shares) == 2.0**-12


def test_a_projection_of_many_features_is_a_query_that_agents_take() -> None:
    records = people(10, 0.0, 1.0, features=300)
    scaling = Scaling.each(records.schema, records.schema.names, None)
    assert VectorQuery.parse(projection_query(scaling, 1), records.schema).length == 14


def test_people_in_a_few_places_are_about_as_long_as_one() -> None:
    draws = np.random.default_rng(4)
    corners = np.where(draws.random((2, FEATURES)) < 0.5, -60.0, 60.0)
    records = placed(corners[draws.integers(0, 2, 4000)] + draws.normal(size=(4000, FEATURES)))
    bounded = Scaling.common(records.schema, records.schema.names, None)
    units = in_units(records, learned(ExactOracle(records), bounded, 12))
    assert 0.6 < np.sqrt(np.square(units).sum(axis=1).mean()) < 1.2


def placed(table: np.ndarray, reach: float = 100.0) -> Records:
    names = [f"x{place}" for place in range(table.shape[1])]
    schema = Schema({name: RealDomain(-reach, reach) for name in names})
    return Records.from_columns(schema, {name: table[:, place] for place, name in enumerate(names)})


def test_where_bounds_are_a_hundred_times_too_wide_noise_is_not_the_scale() -> None:
    table = np.random.default_rng(5).normal(size=(100_000, FEATURES))
    records = placed(table, 500.0)
    view = seeded_oracle(records, 1.0, "local").in_rounds(100)
    bounded = Scaling.each(records.schema, records.schema.names, None)
    units = in_units(records, learned(view, bounded, rounds_of_scale(100)))
    assert np.sqrt(np.square(units).sum(axis=1).mean()) > 0.3  # around a centre that is noise: 0.02


def test_features_of_different_sizes_are_told_apart_by_a_curator_alone() -> None:
    table = np.random.default_rng(6).normal(size=(50_000, FEATURES)) * np.geomspace(30, 1, FEATURES)
    records = placed(np.clip(table, -100, 100))
    bounded = Scaling.each(records.schema, records.schema.names, None)
    models: tuple[tuple[ModelName, bool], ...] = (("curator", True), ("local", False))
    for model, even in models:
        view = seeded_oracle(records, 1.0, model).in_rounds(25)
        spreads = in_units(records, learned(view, bounded, 5, apart=True)).std(axis=0)
        assert (spreads.max() < 3 * spreads.min()) == even


def test_a_feature_that_is_the_same_for_all_keeps_its_unit() -> None:
    table = np.random.default_rng(7).normal(size=(20_000, FEATURES))
    table[:, 0] = 0.7
    records = placed(table, 5.0)
    bounded = Scaling.each(records.schema, records.schema.names, None)
    view = seeded_oracle(records, 1.0, "curator").in_rounds(25)
    found = learned(view, bounded, 5, apart=True)
    assert found.widths[0] < 10 * found.widths[1]
