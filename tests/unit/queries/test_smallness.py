"""No step of an evaluation is subnormal: the bounds hold, and what could break them is refused."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.domains import BitDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.domains.columns import SMALLEST_REAL
from localdp.errors import QueryRefused
from localdp.queries import vector_smallness
from localdp.queries.parser import parse
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery

TINY = 5e-324
SCHEMA = Schema(
    {
        "s": BitDomain(),
        "i": IntegerDomain(-(10**6), 10**6),
        "x": RealDomain(-1, 1),
        "y": RealDomain(-1, 1),
        "far": RealDomain(-1e300, 1e300),
        "near": RealDomain(1e-305, 1e-300),
        "away": RealDomain(1e-40, 1),
    }
)
LEAST = SMALLEST_REAL
NUMBERS = [0.0, LEAST, -LEAST, LEAST * (1 + 2**-52), 1e-30, 1.0, -1.0, math.nextafter(0.5, 1), TINY, 1e-300]
ACCEPTED = [
    "ball(x, y, s)",
    "sphere(x, y)",
    "sphere(x/1000000 - y, x)",
    "ball(far, x, s/1e29)",
    "ball(x/1e29, far)",
    "sphere(far)",
    "sphere(away, x)",
    "moments(ball(x, y), x/3)",
    "moments(moments(ball(s/1000, i/1000000)))",
    "moments(moments(sphere(x, y)))",
    "gradient(logistic, [1e29, -1e29], ball(x, y), s)",
    "gradient(madaboost, [1e29, 1], sphere(x, y), s)",
    "gradient(squared, [1/1e29, 1], ball(x, y), x/2 - y/2)",
    "gradient(hinge, [1, 1/1e29], ball(far, x), s)",
    "moments(gradient(logistic, [1e6, -1e6], ball(x, y), s))",
    "at(nearest(ball(x, y), [0, 0], [1/1e29, 1]), signed(s, moments(ball(x, y))))",
]
REFUSED = [
    "moments(moments(moments(moments(ball(s/3e19)))))",
    "moments(moments(moments(ball(x, y))))",
    "nearest(moments(moments(ball(x/8))), [0])",
    "ball(near)",
    "cells(s, nearest(moments(moments(moments(sphere(x)))), [1]))",
    "at(nearest(moments(moments(moments(sphere(x)))), [1]), ball(s))",
]


def people() -> Records:
    pairs = np.array([(one, other) for one in NUMBERS for other in NUMBERS])
    number = len(pairs)
    return Records(
        SCHEMA,
        {
            "s": np.arange(number) % 2,
            "i": np.arange(number) % 3 - 1,
            "x": pairs[:, 0],
            "y": pairs[:, 1],
            "far": np.resize([1e300, 1.0, LEAST, -3e299, 0.0, 1e-40, TINY], number),
            "near": np.full(number, 1e-301),
            "away": np.resize([1e-40, 1.0, 0.5], number),
        },
    )


def is_normal(values: NDArray[Any]) -> bool:
    return not bool(((values != 0) & (np.abs(values) < 2.0**-1022)).any())


class Watched(np.ndarray):
    """An array that keeps an eye on each result of arithmetic on it."""

    seen: ClassVar[set[str]] = set()

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):  # type: ignore[no-untyped-def]
        plain = [part.view(np.ndarray) if isinstance(part, Watched) else part for part in inputs]
        if out is not None:
            options["out"] = tuple(
                part.view(np.ndarray) if isinstance(part, Watched) else part for part in out
            )
        result = getattr(ufunc, method)(*plain, **options)
        if isinstance(result, np.ndarray) and result.dtype == np.float64 and not is_normal(result):
            Watched.seen.add(ufunc.__name__)
        if out is not None:
            return out[0]
        return result.view(Watched) if isinstance(result, np.ndarray) else result


def watched(records: Records) -> Records:
    columns: dict[str, NDArray[Any]] = {
        name: records.column(name).copy().view(Watched) for name in SCHEMA.names
    }
    return records._with(columns, records.people)


@pytest.fixture
def subnormal(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the functions that gave a subnormal number."""
    monkeypatch.setattr(Watched, "seen", set())
    for name in ("zeros", "empty", "ones", "full"):
        made = getattr(np, name)
        monkeypatch.setattr(
            np, name, lambda *rest, made=made, **options: made(*rest, **options).view(Watched)
        )
    return Watched.seen


@pytest.mark.parametrize("text", ACCEPTED)
def test_no_step_of_an_accepted_query_is_subnormal(text: str, subnormal: set[str]) -> None:
    query, records = VectorQuery.parse(text, SCHEMA), watched(people())
    query.evaluate(records)
    assert not subnormal


@pytest.mark.parametrize(
    "text", ["clip(x/1e29)", "clip(x/1e29 - y/1e29)", "x + y/1e29 < 1/3", "clip(far/1e29 + x)"]
)
def test_no_step_of_a_statistical_query_is_subnormal(text: str, subnormal: set[str]) -> None:
    query, records = StatisticalQuery.parse(text, SCHEMA), watched(people())
    query.evaluate(records)
    assert not subnormal


@pytest.mark.parametrize("text", REFUSED)
def test_a_query_that_may_meet_a_subnormal_number_is_refused(text: str) -> None:
    with pytest.raises(QueryRefused, match=r"smaller than 2\*\*-1000"):
        VectorQuery.parse(text, SCHEMA)


def test_a_form_of_tiny_numbers_is_refused_and_their_comparison_is_not() -> None:
    with pytest.raises(QueryRefused, match=r"smaller than 2\*\*-1000"):
        StatisticalQuery.parse("clip(near/1e29)", SCHEMA)
    StatisticalQuery.parse("near > 0", SCHEMA)


def test_without_the_refusal_subnormal_numbers_would_be_met(
    subnormal: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localdp.queries.vector_checking.require_normal", lambda *_: None)
    for text in (
        "moments(moments(moments(moments(ball(s/3e19)))))",
        "nearest(moments(moments(ball(x/8))), [0])",
    ):
        subnormal.clear()
        VectorQuery.parse(text, SCHEMA).evaluate(watched(people()))
        assert subnormal, text


def test_every_vector_node_has_an_exponent() -> None:
    for text in ACCEPTED:
        vector_smallness.require_normal(parse(text), SCHEMA)
