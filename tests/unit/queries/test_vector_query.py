"""Vector queries as objects: kinds, parities, blocks, and the records they accept."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, QueryRefused
from localdp.queries import VectorQuery, check, parse
from localdp.queries import vector_query as module
from localdp.randomizers.marginals import labelled_masks, parity_masks

SCHEMA = Schema(
    {
        "s": BitDomain(),
        "t": BitDomain(),
        "u": BitDomain(),
        "age": IntegerDomain(18, 120),
        "x": RealDomain(-1, 1),
        "y": RealDomain(-1, 1),
        "c": CategoryDomain(("red", "green", "blue")),
    }
)
PEOPLE = 500
_DRAWN = np.random.default_rng(7)
RECORDS = Records(
    SCHEMA,
    {
        **{name: _DRAWN.integers(0, 2, PEOPLE) for name in "stu"},
        "age": _DRAWN.integers(18, 121, PEOPLE),
        "x": _DRAWN.uniform(-1, 1, PEOPLE),
        "y": _DRAWN.uniform(-1, 1, PEOPLE),
        "c": _DRAWN.integers(0, 3, PEOPLE),
    },
)


def query(text: str) -> VectorQuery:
    return VectorQuery.parse(text, SCHEMA)


def values(text: str) -> Any:
    return query(text).evaluate(RECORDS)


def test_a_query_knows_its_columns_and_text() -> None:
    asked = query("at( cells(c,s), moments(ball(x,2*y), t) )")
    assert asked.columns == frozenset("cstxy")
    assert asked.text == str(asked) == "at(cells(c, s), moments(ball(x, 2*y), t))"
    assert asked == VectorQuery(parse(asked.text), SCHEMA)
    assert len({asked, query(asked.text), query("c")}) == 2


def test_a_query_cannot_be_changed_or_built_ill_typed() -> None:
    asked: Any = query("c")
    with pytest.raises(dataclasses.FrozenInstanceError):
        asked.length = 4
    with pytest.raises(QueryRefused):
        dataclasses.replace(asked, expression=parse("clip(x)"))


def test_records_of_another_schema_are_refused() -> None:
    other = Schema({"c": CategoryDomain(("red", "green", "blue"))})
    with pytest.raises(QueryRefused, match="another schema"):
        query("c").evaluate(Records(other, {"c": [1]}))


@pytest.mark.parametrize("text", ["c", "age", "s", "age >= 65"])
def test_a_column_or_a_condition_is_a_category(text: str) -> None:
    expected = {
        "c": RECORDS.column("c"),
        "age": RECORDS.column("age") - 18,
        "s": RECORDS.column("s"),
        "age >= 65": RECORDS.column("age") >= 65,
    }[text]
    assert (values(text) == expected).all()


def test_the_first_part_of_cells_is_the_most_significant() -> None:
    expected = (RECORDS.column("c") * 2 + RECORDS.column("s")) * 103 + (RECORDS.column("age") - 18)
    assert (values("cells(c, s, age)") == expected).all()
    assert query("cells(c, s, age)").length == 3 * 2 * 103


def test_the_first_condition_that_holds_is_which() -> None:
    expected = np.digitize(RECORDS.column("age"), [30, 60])
    assert (values("which(age < 30, age < 60)") == expected).all()


def test_of_equally_near_centres_the_lowest_number_wins() -> None:
    assert (values("nearest(ball(x), [0.5], [0.5])") == 0).all()
    signs = values("nearest(sphere(x), [1], [-1])")
    assert (signs == (RECORDS.column("x") < 0)).all()


def test_moments_are_the_triangle_of_the_outer_product() -> None:
    v = values("ball(x, y, 0.1)")
    rows, columns = np.triu_indices(3)
    outer = v[:, rows] * v[:, columns] * np.where(rows < columns, np.sqrt(2), 1)
    np.testing.assert_allclose(values("moments(ball(x, y, 0.1))"), outer, atol=1e-15)
    both = np.concatenate([outer, v * RECORDS.column("y")[:, None]], axis=1) / np.sqrt(2)
    np.testing.assert_allclose(values("moments(ball(x, y, 0.1), y)"), both, atol=1e-15)
    # Inner products of moments are squares of inner products: the scaling of the triangle is the right one.
    norms = np.square(values("moments(ball(x, y, 0.1))")).sum(axis=1)
    np.testing.assert_allclose(norms, np.square(v).sum(axis=1) ** 2, atol=1e-14)


def test_a_sign_is_that_of_its_condition() -> None:
    v, held = values("ball(x, y)"), RECORDS.column("s")[:, None]
    assert (values("signed(s, ball(x, y))") == np.where(held, v, -v)).all()


def test_a_label_below_zero_keeps_its_sign() -> None:
    v, label = values("ball(x, y)"), RECORDS.column("y")[:, None]
    assert label.min() < -0.9
    np.testing.assert_allclose(values("moments(ball(x, y), y)")[:, 3:], v * label / np.sqrt(2), atol=1e-15)
    found = values("gradient(squared, [0.25, -0.5], ball(x, y), y)")
    margin = v @ np.array([0.25, -0.5])
    np.testing.assert_allclose(found, v * np.clip(margin[:, None] - label, -1, 1), atol=1e-15)


def test_a_gradient_is_the_slope_of_its_loss_times_the_features() -> None:
    v, t = values("ball(x, y)"), RECORDS.column("s").astype(np.float64)
    margin, sign = v @ np.array([2.0, -3.0]), 2 * t - 1
    slopes = {
        "logistic": 1 / (1 + np.exp(-margin)) - t,
        "hinge": np.where(sign * margin < 1, -sign, 0.0),
        "madaboost": -sign * np.minimum(1, np.exp(-sign * margin)),
    }
    for loss, slope in slopes.items():
        found = values(f"gradient({loss}, [2, -3], ball(x, y), s)")
        np.testing.assert_allclose(found, v * slope[:, None], atol=1e-14)


def test_sums_and_counts_of_clusters_come_from_vectors_in_blocks() -> None:
    near = values("nearest(ball(x, y), [0.5, 0.5], [-0.5, -0.5])")
    placed = values("at(nearest(ball(x, y), [0.5, 0.5], [-0.5, -0.5]), ball(0.5, x/2, y/2))").reshape(
        -1, 2, 3
    )
    for cluster in (0, 1):
        assert placed[:, cluster, 0].sum() == pytest.approx(0.5 * (near == cluster).sum())
        assert placed[near == cluster, cluster, 1].sum() == pytest.approx(
            RECORDS.column("x")[near == cluster].sum() / 2
        )
        assert (placed[near != cluster, cluster] == 0).all()


def signs_of(words: Any, masks: Any) -> Any:
    return 1 - 2 * (np.bitwise_count(words.astype(np.uint64)[:, None] & masks).astype(np.int64) % 2)


def test_the_words_of_parities_give_their_signs_in_the_stated_order() -> None:
    truth = np.stack([RECORDS.column(name) for name in "stu"], axis=1).astype(np.int64)
    sets = sorted(
        (s for k in (1, 2) for s in combinations(range(3), k)), key=lambda s: sum(1 << i for i in s)
    )
    asked = query("parities(2, s, t, u)")
    assert (asked.bits, asked.order, asked.labelled, asked.length) == (3, 2, False, 6)
    expected = np.stack([np.prod(1 - 2 * truth[:, list(s)], axis=1) for s in sets], axis=1)
    assert (signs_of(asked.evaluate(RECORDS), parity_masks(3, 2)) == expected).all()
    labelled = query("parities(2, s, t, u; age >= 65)")
    assert (labelled.bits, labelled.order, labelled.labelled, labelled.length) == (3, 2, True, 7)
    y = 1 - 2 * (RECORDS.column("age") >= 65).astype(np.int64)[:, None]
    expected = np.concatenate([y, y * expected], axis=1)
    assert (signs_of(labelled.evaluate(RECORDS), labelled_masks(4, 2)) == expected).all()


def test_only_parities_have_bits_and_an_order() -> None:
    for name in ("bits", "order", "labelled"):
        with pytest.raises(InvalidParameter):
            getattr(query("c"), name)


@pytest.mark.parametrize(
    "text",
    [
        "cells(c, nearest(ball(x, y), [0, 0], [0.3, 1/3]))",
        "vector(s, clip(x))",
        "moments(sphere(x, y, s), y)",
        "gradient(logistic, [0.3, 1/3], ball(x, y), s)",
        "parities(2, s, t; u)",
    ],
)
def test_a_persons_value_does_not_depend_on_blocks_or_on_anybody_else(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = values(text)
    for people in (1, 7):
        parts = [
            query(text).evaluate(RECORDS.slice(start, min(start + people, PEOPLE)))
            for start in range(0, PEOPLE, people)
        ]
        assert (np.concatenate(parts) == whole).all()
    monkeypatch.setattr(module, "BLOCK_ENTRIES", 64)
    assert (values(text) == whole).all()
    assert len(list(query(text).blocks(RECORDS))) > 1
    assert len(query(text).evaluate(RECORDS.slice(0, 0))) == 0


def test_blocks_of_long_vectors_are_short() -> None:
    asked = query("moments(ball(" + ", ".join(["x"] * 360) + "))")
    largest = max(block.size for _, block in asked.blocks(RECORDS))
    assert asked.length <= largest <= module.BLOCK_ENTRIES


def test_a_decision_list_is_a_statistical_query_of_its_own_kind() -> None:
    assert check(parse("if s then t else u"), SCHEMA).kind == "bit"
    grades = check(parse("if s then 0.25 else if age >= 65 then t else clip(x)"), SCHEMA)
    assert grades.kind == "unit"
    old = np.where(RECORDS.column("age") >= 65, RECORDS.column("t"), np.clip(RECORDS.column("x"), 0, 1))
    assert (grades.evaluate(RECORDS) == np.where(RECORDS.column("s"), 0.25, old)).all()
