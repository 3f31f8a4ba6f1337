"""What a request asks of a record: a query, in the form that its randomizer takes.

| randomizer of | query | input |
|---|---|---|
| a mean (one-bit, piecewise, hybrid, Laplace) | a condition, or a clipped number | the value on the randomizer's grid |
| categories (k-ary, subsets, unary, Hadamard, ranges, any channel ...) | a bare column with as many values | its number |
| fingerprints (local hashing, sketches, Bloom filters) | a bare column | 64 bits that stand for the value |
| bits (marginals) | a vector of conditions | the integer with these bits, the first one lowest |
| a vector (coordinate sampling) | a vector of conditions and clipped numbers | the values on the grid |
| the unit ball (PrivUnit) | the same, of d components u | (2 u - 1) / sqrt(d), rounded towards zero |

A query that does not fit its randomizer is refused before anything is charged.
Checked in tests/unit/oracles/test_question.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, Records, Schema
from localdp.errors import InvalidParameter, QueryRefused
from localdp.queries.expressions import Column, Expression, Vector, columns_of
from localdp.queries.parser import parse
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.text import to_text
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from localdp.randomizers.definition import LocalRandomizer, Values
from localdp.randomizers.hybrid import HybridRandomizer
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.memoised import MemoisedUnary
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.piecewise import PiecewiseRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from localdp.randomizers.rappor import BloomRappor
from localdp.randomizers.universal_hash import fingerprints

MEANS = (OneBitRandomizer, PiecewiseRandomizer, HybridRandomizer, LocalDiscreteLaplace)
FINGERPRINTED = (
    OptimalLocalHashing,
    CountMeanSketch,
    HadamardCountMeanSketch,
    BloomRappor,
    MemoisedHashing,
)
MEMOISED = (MemoisedUnary, MemoisedHashing)


@dataclass(frozen=True, slots=True)
class Question:
    """A query that was checked against a schema and a randomizer."""

    text: str  # canonical
    columns: frozenset[str]  # that it looks at
    inputs: Callable[[Records], Values]  # from records to the randomizer's inputs

    def about(self, randomizer: LocalRandomizer) -> str:
        """The question in words, for the owner of the records."""
        return f"{randomizer.canonical} of {self.text}"

    @classmethod
    def asked(cls, text: str, schema: Schema, randomizer: LocalRandomizer) -> Question:
        """The question of a request, or a refusal."""
        expression = parse(text)
        return cls(to_text(expression), columns_of(expression), _inputs(expression, schema, randomizer))


def category_size(expression: Expression, schema: Schema) -> int:
    """How many values the column has that a query consists of."""
    if not isinstance(expression, Column):
        raise QueryRefused(
            "this randomizer takes a bare column: a bit, a category or a bounded whole number"
        )
    if expression.name not in schema:
        StatisticalQuery(expression, schema)  # refuses, and suggests the nearest name
    match schema[expression.name]:
        case BitDomain():
            return 2
        case CategoryDomain(labels):
            return len(labels)
        case IntegerDomain(low, high):
            return high - low + 1
    raise QueryRefused(
        f"column {expression.name!r} has too many values to be a category; compare it, or clip it"
    )


def _inputs(
    expression: Expression, schema: Schema, randomizer: LocalRandomizer
) -> Callable[[Records], Values]:
    match randomizer:
        case CoordinateSampling():
            parts = _components(expression, schema, randomizer.dimension)
            return lambda records: _stacked(parts, records, randomizer.resolution)
        case PrivUnit():
            parts = _components(expression, schema, randomizer.dimension)
            return lambda records: _within_ball(parts, records, randomizer.resolution)
        case HadamardMarginals():
            return _bits(_components(expression, schema, randomizer.bits))
    if isinstance(randomizer, MEANS):
        return _on_grid(StatisticalQuery(expression, schema), randomizer.resolution)
    size = category_size(expression, schema)
    if isinstance(randomizer, FINGERPRINTED):
        return lambda records: _fingerprints(expression, records)
    if size != randomizer.inputs:
        raise InvalidParameter(
            f"the query has {size} values, and the randomizer {randomizer.inputs} inputs"
        )
    return lambda records: _codes(expression, records)


def _on_grid(query: StatisticalQuery, resolution: int) -> Callable[[Records], Values]:
    if query.kind == "bit":
        return lambda records: (
            query.evaluate(records) if resolution == 1 else query.encode(records, resolution)
        )
    if resolution == 1:
        raise InvalidParameter("this query has values between 0 and 1: it needs a randomizer on a grid")
    return lambda records: query.encode(records, resolution)


def _codes(expression: Expression, records: Records) -> Values:
    assert isinstance(expression, Column)
    column, domain = records.column(expression.name), records.schema[expression.name]
    codes: Values = column - domain.low if isinstance(domain, IntegerDomain) else column.astype(np.int64)
    return codes


def _fingerprints(expression: Expression, records: Records) -> Values:
    """Of the label, or of the number in decimal: the same for the same value at every party."""
    assert isinstance(expression, Column)
    domain, column = records.schema[expression.name], records.column(expression.name)
    if isinstance(domain, CategoryDomain):
        known, places = fingerprints(domain.labels), column
    else:
        numbers, places = np.unique(column.astype(np.int64), return_inverse=True)
        known = fingerprints(str(number) for number in numbers)
    return np.take(known, places)


def _components(expression: Expression, schema: Schema, number: int) -> list[StatisticalQuery]:
    if not isinstance(expression, Vector):
        raise QueryRefused("this randomizer takes a vector: write vector(...)")
    if len(expression.components) != number:
        raise InvalidParameter(
            f"the query has {len(expression.components)} components, and the randomizer {number}"
        )
    return [StatisticalQuery(component, schema) for component in expression.components]


def _stacked(parts: list[StatisticalQuery], records: Records, resolution: int) -> Values:
    return np.stack([part.encode(records, resolution) for part in parts], axis=1)


def _within_ball(parts: list[StatisticalQuery], records: Records, resolution: int) -> Values:
    units = np.stack([part.evaluate(records).astype(np.float64) for part in parts], axis=1)
    vectors: Values = np.trunc((2 * units - 1) * (resolution / math.sqrt(len(parts)))).astype(np.int64)
    return vectors


def _bits(parts: list[StatisticalQuery]) -> Callable[[Records], Values]:
    if any(part.kind != "bit" for part in parts):
        raise QueryRefused("marginals are of bits: each component of the vector is a condition")

    def inputs(records: Records) -> Values:
        value = np.zeros(records.people, np.int64)
        for place, part in enumerate(parts):
            value |= part.evaluate(records).astype(np.int64) << place
        return value

    return inputs
