"""Encoded queries: sums give back means, and no two people are further apart than the sensitivity."""

from itertools import combinations

import numpy as np
import pytest

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.oracles.exact import ExactOracle
from localdp.queries.encoded import (
    Query,
    encoded,
    encoded_sums,
    encoding_of,
    masks_of,
    means_of,
    most_differing,
    resolution_of,
    unit_of,
)
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery

SCHEMA = Schema(
    {
        "a": BitDomain(),
        "b": BitDomain(),
        "c": BitDomain(),
        "d": BitDomain(),
        "y": BitDomain(),
        "kind": CategoryDomain(("red", "green", "blue")),
        "x": RealDomain(-1.0, 1.0),
        "z": RealDomain(-1.0, 1.0),
    }
)
NUMBERS = ["a", "a and not b", "clip(x)", 'kind == "red"']
VECTORS = [
    "kind",
    "cells(kind, a)",
    "vector(a, clip(x), b)",
    "ball(x, z)",
    "sphere(x, z)",
    "moments(ball(x, z))",
    "gradient(logistic, [0.5, -2], ball(x, z), a)",
    "at(kind, ball(x, z))",
    "parities(2, a, b, c, d)",
    "parities(4, a, b, c, d)",
    "parities(3, a, b, c, d; y)",
]


def people(count: int) -> Records:
    generator = np.random.default_rng(7)
    columns = {name: generator.random(count) < 0.4 for name in "abcdy"}
    reals = {name: generator.uniform(-1, 1, count) for name in "xz"}
    return Records(SCHEMA, {**columns, "kind": generator.integers(0, 3, count), **reals})


def query_of(text: str) -> Query:
    return StatisticalQuery.parse(text, SCHEMA) if text in NUMBERS else VectorQuery.parse(text, SCHEMA)


@pytest.mark.parametrize("text", [*NUMBERS, *VECTORS])
def test_entries_lie_in_their_range_and_add_up(text: str) -> None:
    query, records = query_of(text), people(300)
    rows, shape = encoded(query, records), encoding_of(query)
    assert rows.shape == (300, shape.length)
    assert rows.dtype == np.int64
    assert 0 <= rows.min() <= rows.max() <= shape.bound
    assert np.array_equal(rows.sum(axis=0), encoded_sums(query, records))


@pytest.mark.parametrize("text", [*NUMBERS, *VECTORS])
def test_no_two_people_are_further_apart_than_the_sensitivity(text: str) -> None:
    query = query_of(text)
    rows, sensitivity = encoded(query, people(300)), encoding_of(query).sensitivity
    distances = np.abs(rows[:, None, :] - rows[None, :, :]).sum(axis=2)
    assert distances.max() <= sensitivity
    if query.kind in ("bit", "category", "parities"):
        assert distances.max() == sensitivity  # and the bound is reached


@pytest.mark.parametrize("text", [*NUMBERS, *VECTORS])
def test_sums_say_what_the_exact_oracle_says(text: str) -> None:
    query, records = query_of(text), people(300)
    means = means_of(query, encoded_sums(query, records), records.people)
    oracle = ExactOracle(records)
    if isinstance(query, StatisticalQuery):
        truth = np.array([oracle.answer([query])[0].value])
    else:
        truth = oracle.answer_vectors([query])[0].values
    assert np.abs(means - truth).max() <= unit_of(query) + 1e-12


@pytest.mark.parametrize(
    "text", ["ball(x, z)", "sphere(x, z)", "moments(sphere(x, z))", "at(kind, sphere(x, z))"]
)
def test_opposite_corners_reach_the_sensitivity_of_a_ball_and_never_pass_it(text: str) -> None:
    # Angles at which rounding lengthens the sum of absolute values most, and their opposites.
    angles = np.linspace(np.pi / 4 - 1e-3, np.pi / 4 + 1e-3, 401)
    x, z = np.cos(angles), np.sin(angles)
    count = 2 * len(angles)
    columns = {name: np.zeros(count, np.bool_) for name in "abcdy"}
    records = Records(
        SCHEMA,
        {**columns, "kind": np.arange(count) % 3, "x": np.append(x, -x), "z": np.append(z, -z)},
    )
    query = VectorQuery.parse(text, SCHEMA)
    rows, sensitivity = encoded(query, records), encoding_of(query).sensitivity
    distances = np.abs(rows[:, None, :] - rows[None, :, :]).sum(axis=2)
    assert distances.max() <= sensitivity
    if text in ("ball(x, z)", "sphere(x, z)"):
        assert distances.max() >= sensitivity - 2


@pytest.mark.parametrize(("bits", "order"), [(1, 1), (3, 1), (4, 2), (5, 3), (5, 5), (6, 2)])
def test_the_most_differing_parities_are_found_by_trying_all_pairs(bits: int, order: int) -> None:
    masks = [
        sum(1 << bit for bit in chosen)
        for weight in range(1, order + 1)
        for chosen in combinations(range(bits), weight)
    ]
    tried = max(sum((mask & changed).bit_count() % 2 for mask in masks) for changed in range(1, 1 << bits))
    assert most_differing(bits, order, labelled=False) == tried


def test_labelled_parities_come_with_the_empty_set_first_and_the_label_in_all_of_them() -> None:
    query = VectorQuery.parse("parities(1, a, b; y)", SCHEMA)
    assert masks_of(query).tolist() == [0b100, 0b101, 0b110]
    records = people(50)
    signs = 1 - 2.0 * records.column("y")
    a = 1 - 2.0 * records.column("a")
    values = ExactOracle(records).answer_vectors([query])[0].values
    assert values[:2] == pytest.approx([signs.mean(), (signs * a).mean()])


WHOLE = Schema(
    {"stay": IntegerDomain(0, 61), "age": IntegerDomain(0, 120), "a": BitDomain(), "x": RealDomain(0, 1)}
)


@pytest.mark.parametrize(
    ("text", "resolution"),
    [
        ("clip(stay/61)", 61 * 1074),
        ("clip(1/3*stay - 1/7)", 21 * 3120),
        ("clip(stay/61 - age/120)", 61 * 120 * 8),
        ("if a then 1/3 else clip(stay/61)", 183 * 358),
        ("clip(stay/65537)", 1 << 16),  # finer than the grid
        ("clip(stay/61 + x)", 1 << 16),  # not whole
        ("clip(x)", 1 << 16),
    ],
)
def test_whole_numbers_are_not_rounded(text: str, resolution: int) -> None:
    query = StatisticalQuery.parse(text, WHOLE)
    assert resolution_of(query) == encoding_of(query).bound == round(1 / unit_of(query)) == resolution
    people = 122
    stays, ages = np.arange(people) % 62, np.arange(people) % 121
    columns = {"stay": stays, "age": ages, "a": np.arange(people) % 2 == 0, "x": np.full(people, 0.3)}
    records = Records.from_columns(WHOLE, columns)
    off = np.abs(encoded(query, records)[:, 0] - query.evaluate(records) * resolution)
    assert (off.max() < 1e-6) == (resolution != 1 << 16)
