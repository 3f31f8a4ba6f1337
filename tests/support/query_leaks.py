"""Every node kind of the query language, and every way from values to a randomizer's inputs, with people to tell apart.

A case is a query text, and classes of people who differ in the columns that it looks at: all false and all true, small and
large, on and off a boundary, one label and another, all alike and mixed.  `leaks_of` compares the time of each class
with that of the first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.domains import (
    BitDomain,
    CategoryDomain,
    IntegerDomain,
    RealDomain,
    Records,
    RowsDomain,
    Schema,
)
from localdp.party.question import Question
from localdp.queries import losses, vector_evaluate
from localdp.queries.blocks import BlockEstimate, PeopleInBlocks
from localdp.queries.encoded import encoded
from localdp.queries.expressions import Loss, Several
from localdp.queries.parser import parse
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from tests.support.leaks import KEPT, KEPT_UNDER_LOAD, Leak, compare, confirmed

Array = NDArray[Any]
Evaluation = Callable[[Records], object]
People = Mapping[
    str, object
]  # a value for everybody, or MIXED; columns that are not named stay at their first value

ONE = Epsilon.requested(1)
MIXED = object()  # different values for different people
MOST_ROWS = 8
REGIONS = CategoryDomain(("north", "east", "south", "west"))
SCHEMA = Schema(
    {
        "smoker": BitDomain(),
        "insured": BitDomain(),
        "age": IntegerDomain(0, 120),
        "income": IntegerDomain(-(10**6), 10**9),
        "region": REGIONS,
        "birthplace": REGIONS,
        "street": CategoryDomain(tuple(f"street {number}" for number in range(10_000))),
        "x": RealDomain(-1, 1),
        "y": RealDomain(-1, 1),
        "z": RealDomain(-1, 1),
        "visit": RowsDomain(MOST_ROWS),
        "died": RowsDomain(MOST_ROWS, BitDomain()),
        "cost": RowsDomain(MOST_ROWS, RealDomain(-1, 1)),
        "stay": RowsDomain(MOST_ROWS, IntegerDomain(0, 60)),
        "ward": RowsDomain(MOST_ROWS, REGIONS),
    }
)

BIT: tuple[People, ...] = ({"smoker": 0}, {"smoker": 1}, {"smoker": MIXED})
AGES: tuple[People, ...] = ({"age": 0}, {"age": 64}, {"age": 65}, {"age": 120}, {"age": MIXED})
LABELS: tuple[People, ...] = ({"region": 0}, {"region": 3}, {"region": MIXED})
REALS: tuple[People, ...] = (
    {"x": 0, "y": 0, "z": 0},
    {"x": 1, "y": 1, "z": 1},
    {"x": -1, "y": 0.25, "z": 1e-20},
    {"x": 1e-37, "y": 2e-37, "z": 0},
    {"x": MIXED, "y": MIXED, "z": MIXED},
)
VISITS: tuple[People, ...] = (
    {"visit": 1},
    {"visit": MOST_ROWS},
    {"visit": MIXED},
    {"visit": MOST_ROWS, "died": 1, "cost": 1, "stay": 60, "ward": 3},
    {"visit": MIXED, "died": MIXED, "cost": MIXED, "stay": MIXED, "ward": MIXED},
)
LABELLED: tuple[People, ...] = (*REALS, {"x": 1, "y": 1, "z": 1, "smoker": 1}, {"x": -1, "y": -1, "z": -1})


def evaluated(text: str) -> Evaluation:
    """The values of a query."""
    expression = parse(text)
    if isinstance(expression, Several):
        return VectorQuery(expression, SCHEMA).evaluate
    return StatisticalQuery(expression, SCHEMA).evaluate


@dataclass(frozen=True)
class Case:
    """A query, what is done with it, and classes of people."""

    text: str
    classes: tuple[People, ...]
    asked: Callable[[str], Evaluation] = evaluated


def numbered(text: str) -> Evaluation:
    """The values of a query that stands as a category."""
    return VectorQuery.parse(text, SCHEMA).evaluate


def inputs_of(randomizer: LocalRandomizer) -> Callable[[str], Evaluation]:
    """The inputs that a query makes for a randomizer."""
    return lambda text: Question.asked(text, SCHEMA, randomizer).inputs


def shared(text: str) -> Evaluation:
    """The entries that go into shares."""
    several = isinstance(parse(text), Several) or text == "region"
    query = VectorQuery.parse(text, SCHEMA) if several else StatisticalQuery.parse(text, SCHEMA)
    return lambda records: encoded(query, records)


def in_blocks(text: str) -> Evaluation:
    """The estimates of blocks, computed where the records are."""
    bounds = (None, None) if text.startswith("best") else (-1.0, 1.0)
    blocks = PeopleInBlocks(BlockEstimate.parse(text, SCHEMA, *bounds), bytes(16))

    def estimated(records: Records) -> object:
        few = max(1, records.people // 50)
        return blocks.estimate.of(records, blocks.partition(records.people, few))

    return estimated


def shortened(_: str) -> Evaluation:
    """One function of a sphere by itself: it is little beside the rest."""
    return lambda records: vector_evaluate._shortened(np.array([records.column("x")]), False, least=0.0)


def slopes(loss: str) -> Evaluation:
    """The slopes of a loss by themselves."""
    return lambda records: losses.slope(
        cast(Loss, loss), 3.0 * records.column("x"), records.column("smoker").astype(np.float64)
    )


def repeated(kind: str, part: str, times: int = 16) -> str:
    """kind(part, part, ...), as one who wants to hear the time would ask."""
    return f"{kind}({', '.join([part] * times)})"


NEARER = ", ".join(f"[{share}]" for share in ["1", *(f"1/{power}" for power in range(2, 33))])
CENTRES = "[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1/2, 1/2, 1/2], [-1, 0, 0], [0, -1, 0], [0, 0, -1]"
BALL = "ball(x, y, z)"

NODES: dict[str, Case] = {
    "Column": Case("smoker", BIT, numbered),
    "OfRows": Case("any(visit: died)", VISITS),
    "Number": Case("clip(1/3)", BIT),
    "Label": Case('region == "north"', LABELS),
    "Truth": Case("smoker == true", BIT),
    "Linear": Case("clip(x/2 + y/3 - z + age/120 + 1/4)", (*REALS, *AGES[3:])),
    "Compare": Case("2*age + income >= 65", (*AGES, {"income": -(10**6)}, {"income": 10**9})),
    "Member": Case('region in {"north", "west"}', LABELS),
    "And": Case(" and ".join(["smoker"] * 16), BIT),
    "Or": Case(" or ".join(["smoker"] * 16), BIT),
    "Not": Case("not smoker", BIT),
    "Clip": Case("clip(x)", REALS),
    "Parity": Case(repeated("parity", "smoker"), BIT),
    "DecisionList": Case(
        " else ".join(["if smoker then insured"] * 8) + " else not smoker",
        (*BIT, {"smoker": 1, "insured": 1}),
    ),
    "UnitDecisionList": Case(
        " else ".join(["if age < 65 then clip(x)"] * 8) + " else 1/2", (*AGES, *REALS[1:3])
    ),
    "Vector": Case(
        f"vector({', '.join(['smoker', 'clip(x)', 'age >= 65'] * 5)})", (*BIT, *AGES[2:], *REALS[3:])
    ),
    "Which": Case(repeated("which", "smoker"), BIT),
    "Cells": Case("cells(region, smoker, age)", (*LABELS, *BIT[1:], *AGES[3:])),
    "Nearest": Case(f"nearest({BALL}, {CENTRES})", REALS),
    "Road": Case(
        "road([0.1, 0.2, 0.3], [1, 1, 2], 4, 50, 9, [3, 4, 2], clip(x), clip(y), smoker; clip(z))",
        (*REALS, {"x": 1, "y": 0, "z": 0.5, "smoker": 1}),
    ),
    "Ball": Case("ball(x, y, z, smoker, age/120)", LABELLED),
    "Sphere": Case("sphere(x, y, z)", REALS),
    "Signed": Case(f"signed(smoker, {BALL})", LABELLED),
    "Moments": Case(f"moments({BALL}, x)", REALS),
    "Gradient": Case(f"gradient(logistic, [1, -300, 1/3], {BALL}, smoker)", LABELLED),
    "At": Case(f"at(region, {BALL})", (*LABELS, *REALS)),
    "Parities": Case("parities(2, smoker, age >= 65, x > 0, insured)", (*BIT, *AGES[2:], *REALS[3:])),
}

MORE_NODES: dict[str, Case] = {
    "all rows": Case("all(visit: died or stay > 30 or smoker)", VISITS),
    "how many rows": Case("count(visit)", VISITS, numbered),
    "how many rows of a kind": Case("clip(count(visit: stay > 30)/8)", VISITS),
    "sums of rows": Case("clip(sum(visit: cost)/8)", VISITS),
    "sums of whole numbers of rows": Case("sum(visit: stay) > 100", VISITS),
    "means of rows": Case("clip(mean(visit: cost))", VISITS),
    "the largest of rows": Case("clip(max(visit: cost))", VISITS),
    "the smallest of rows": Case("min(visit: stay) < 30", VISITS),
    "the first of rows": Case('first(visit: ward) == "north"', VISITS),
    "the last of rows": Case("last(visit: ward)", VISITS, numbered),
    "a comparison of reals": Case("x + y <= z", REALS),
    "a comparison of categories": Case("region == birthplace", (*LABELS, {"region": 1, "birthplace": 1})),
    "a long which of ages": Case(f"which({', '.join(f'age < {10 * k}' for k in range(1, 9))})", AGES),
    "a column of numbers": Case("age", AGES, numbered),
    "moments of moments": Case(f"moments(moments({BALL}))", REALS),
    "hinge": Case(f"gradient(hinge, [1, -3, 1/3], {BALL}, smoker)", LABELLED),
    "squared": Case(f"gradient(squared, [1, -3, 1/3], {BALL}, x)", LABELLED),
    "madaboost": Case(f"gradient(madaboost, [1, -300, 1/3], {BALL}, smoker)", LABELLED),
    "many blocks": Case("at(age, ball(x))", AGES[2:]),
    "ever nearer": Case(f"nearest(ball(x), {NEARER})", ({"x": 1}, {"x": 0}, {"x": MIXED})),
    "the shortening of vectors": Case("sphere(x)", REALS, shortened),
    "the slope of a hinge": Case(
        "hinge", ({"x": 0}, {"x": 1, "smoker": 1}, {"x": MIXED, "smoker": MIXED}), slopes
    ),
    "one of many labels": Case(
        'street in {"street 7", "street 9000"}', ({"street": 0}, {"street": 9_000}, {"street": MIXED})
    ),
}

WAYS: dict[str, Case] = {
    "a bit": Case("smoker", BIT, inputs_of(OneBitRandomizer(ONE))),
    "a bit on a grid": Case("smoker", BIT, inputs_of(OneBitRandomizer(ONE, 1024))),
    "a number on a grid": Case("clip(x)", REALS, inputs_of(OneBitRandomizer(ONE, 1024))),
    "a category": Case("region", LABELS, inputs_of(KaryRandomizedResponse(ONE, 4))),
    "fingerprints of bits": Case("smoker", BIT, inputs_of(OptimalLocalHashing(ONE))),
    "fingerprints of labels": Case("region", LABELS, inputs_of(OptimalLocalHashing(ONE))),
    "fingerprints of many labels": Case(
        "street", ({"street": 0}, {"street": 9_999}, {"street": MIXED}), inputs_of(OptimalLocalHashing(ONE))
    ),
    "fingerprints of numbers": Case("age", AGES, inputs_of(OptimalLocalHashing(ONE))),
    "fingerprints of many numbers": Case(
        "income",
        ({"income": 0}, {"income": -(10**6)}, {"income": 10**9}, {"income": 7}, {"income": MIXED}),
        inputs_of(OptimalLocalHashing(ONE)),
    ),
    "bits of a vector": Case(
        "vector(smoker, age >= 65)", (*BIT, *AGES), inputs_of(HadamardMarginals(ONE, 2, 2))
    ),
    "parities": Case("parities(2, smoker, insured)", BIT, inputs_of(HadamardMarginals(ONE, 2, 2))),
    "a vector on a grid": Case(
        "vector(clip(x), smoker)", LABELLED, inputs_of(CoordinateSampling(ONE, 2, 1024))
    ),
    "a cube in the ball": Case("vector(clip(x), clip(y))", REALS, inputs_of(PrivUnit(ONE, 2))),
    "the ball": Case(BALL, REALS, inputs_of(PrivUnit(ONE, 3))),
    "a share of a bit": Case("smoker", BIT, shared),
    "a share of a number": Case("clip(x)", REALS, shared),
    "a share of a category": Case("region", LABELS, shared),
    "a share of a cube": Case("vector(clip(x), smoker)", LABELLED, shared),
    "a share of the ball": Case(BALL, REALS, shared),
    "a mean of blocks": Case("mean(x)", REALS, in_blocks),
    "a median of blocks": Case("median(x)", REALS, in_blocks),
    "a deviation of blocks": Case("deviation(x)", REALS, in_blocks),
    "a slope of blocks": Case("slope(x, y, z)", LABELLED, in_blocks),
    "a logistic slope of blocks": Case("logistic(smoker, x, y)", LABELLED, in_blocks),
    "a choice of blocks": Case("best(smoker, x > 0, insured)", LABELLED, in_blocks),
    "a share of parities": Case("parities(2, smoker, insured)", BIT, shared),
}


def columns_for(people: People, number: int) -> list[Array]:
    """The columns of so many people of a class, in the order of the schema."""
    draws = np.random.default_rng(1)
    return [_column(domain, people.get(name), number, draws) for name, domain in SCHEMA.columns.items()]


def _column(domain: Any, value: object, number: int, draws: np.random.Generator) -> Array:
    if isinstance(domain, RowsDomain) and domain.of is None:
        rows = draws.integers(1, MOST_ROWS + 1, size=number) if value is MIXED else value or 1
        return np.arange(MOST_ROWS) < np.broadcast_to(np.asarray(rows), number)[:, None]
    if isinstance(domain, RowsDomain):
        return _column(domain.of, value, number * MOST_ROWS, draws).reshape(number, MOST_ROWS)
    if value is not MIXED:
        first = domain.low if isinstance(domain, IntegerDomain) and domain.low > 0 else 0
        return np.full(number, first if value is None else value, domain.dtype)
    match domain:
        case BitDomain():
            return draws.integers(2, size=number).astype(np.bool_)
        case CategoryDomain(labels):
            return draws.integers(len(labels), size=number).astype(np.int32)
        case IntegerDomain(low, high):
            return draws.integers(low, high + 1, size=number)
    return draws.uniform(domain.low, domain.high, number)


def on_buffers(*buffers: Array) -> Records:
    """Records that look at the buffers, and so have whatever is copied into them."""
    columns = {name: buffer[:] for name, buffer in zip(SCHEMA.names, buffers, strict=True)}
    nobody = {name: column[:0] for name, column in zip(SCHEMA.names, columns_for({}, 1), strict=True)}
    return Records(SCHEMA, nobody)._with(columns, len(buffers[0]))


class Timed:
    """An evaluation on records that are made once, around the buffers of the first call."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._records: Records | None = None

    def __call__(self, *buffers: Array) -> object:
        self._records = self._records or on_buffers(*buffers)
        return self._evaluation(self._records)


def leaks_of(
    case: Case, number: int, rounds: int, batches: int, most: float, short: bool = False
) -> list[Leak]:
    """The leaks between the first class and each other one that are larger than `most`, and stay so."""
    found = [confirmed(measure, rounds, most) for measure in measures_of(case, number, batches, short)]
    return [leak for leak in found if leak is not None]


def measures_of(case: Case, number: int, batches: int, short: bool = False) -> list[Callable[[int], Leak]]:
    """For each class but the first, what compares it with the first in so many rounds; short ones under any load."""
    kept, clock = (KEPT_UNDER_LOAD, time.thread_time_ns) if short else (KEPT, time.perf_counter_ns)
    first, *others = (columns_for(people, number) for people in case.classes)
    evaluation = case.asked(case.text)

    def against(other: list[Array]) -> Callable[[int], Leak]:
        return lambda rounds: compare(
            Timed(evaluation), first, other, rounds, batches, kept=kept, clock=clock
        )

    return [against(other) for other in others]
