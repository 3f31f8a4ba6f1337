"""What a request asks of a record: a query, in the form that its randomizer takes.

| it takes | query | input |
|---|---|---|
| `GridInput` | a condition, or a number in [0, 1] | the value on the grid |
| `CategoryInput` | a category with as many values | its number |
| `FingerprintInput` | a bare column | 64 bits that stand for the value |
| `BitsInput` | parities(...) of these, or a vector of conditions | the integer with these bits, the first one lowest |
| `CubeInput` | a vector with entries in [0, 1] | the values on the grid |
| `BallInput` | a vector of norm at most 1 | its entries on the grid, rounded towards zero |
| `BallInput` | a vector of d entries u in [0, 1] | (2 u - 1) / sqrt(d), rounded towards zero |

A query that does not fit its randomizer is refused before anything is charged.  What is done for a person is the same
whatever the values are: nothing is looked for among the values of others, and tables are of the public domain.
Checked in tests/unit/party/test_question.py, and for time in tests/unit/queries/test_silence.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np

from localdp.domains import CategoryDomain, IntegerDomain, Records, Schema
from localdp.errors import InvalidParameter, QueryRefused
from localdp.queries.encoded import Query
from localdp.queries.expressions import Column, Condition, Expression, Vector
from localdp.queries.parser import parse
from localdp.queries.selecting import looked_up
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_checking import category_size
from localdp.queries.vector_evaluate import words
from localdp.queries.vector_query import Kind, VectorQuery
from localdp.randomizers.definition import Floats, LocalRandomizer, Values
from localdp.randomizers.input_kinds import (
    BallInput,
    BitsInput,
    CategoryInput,
    CubeInput,
    FingerprintInput,
    GridInput,
)
from localdp.randomizers.parts.decimal_fingerprints import decimal_fingerprints
from localdp.randomizers.parts.universal_hash import fingerprints

__all__ = ["Question", "category_size"]

SMALL_DOMAIN = 1 << 12  # numbers whose fingerprints make a table, however few people there are


@dataclass(frozen=True, slots=True)
class Question:
    """A query that was checked against a schema and a randomizer."""

    query: Query
    inputs: Callable[[Records], Values]  # from records to the randomizer's inputs

    @property
    def text(self) -> str:
        """The canonical text of the query."""
        return self.query.text

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it looks at."""
        return self.query.columns

    def about(self, randomizer: LocalRandomizer) -> str:
        """The question in words, for the owner of the records: whole, since its last word may be what is asked."""
        return f"{randomizer.canonical} of {self.text}"

    @classmethod
    def asked(cls, text: str, schema: Schema, randomizer: LocalRandomizer) -> Question:
        """The question of a request, or a refusal."""
        match randomizer.takes:
            case FingerprintInput():
                expression = parse(text)
                inputs = _fingerprinted(expression, schema)
                return cls(VectorQuery(expression, schema), inputs)
            case GridInput(resolution):
                number = StatisticalQuery.parse(text, schema)
                return cls(number, _on_grid(number, resolution))
            case kind:
                query = VectorQuery.parse(text, schema)
                return cls(query, _inputs(query, kind))


def _inputs(
    query: VectorQuery, kind: CategoryInput | BitsInput | CubeInput | BallInput
) -> Callable[[Records], Values]:
    match kind:
        case CategoryInput(values):
            _require(query, ("category",), values, "a column, a condition, which(...) or cells(...)")
            return query.evaluate
        case CubeInput(dimension, resolution):
            _require(query, ("cube",), dimension, "vector(...)")
            return _rounded(query, resolution)
        case BallInput(dimension, resolution):
            _require(query, ("cube", "ball"), dimension, "vector(...) or ball(...)")
            return lambda records: _within_ball(query, records, resolution)
        case BitsInput():
            return _bits(query, kind)


def _require(query: VectorQuery, kinds: tuple[Kind, ...], length: int, such: str) -> None:
    if query.kind not in kinds:
        raise QueryRefused(f"this randomizer takes a query of kind {' or '.join(kinds)}, such as {such}")
    if query.length != length:
        what = "values" if query.kind == "category" else "entries"
        raise InvalidParameter(f"the query has {query.length} {what}, and the randomizer takes {length}")


def _on_grid(query: StatisticalQuery, resolution: int) -> Callable[[Records], Values]:
    if query.kind == "bit":
        return lambda records: (
            query.evaluate(records) if resolution == 1 else query.encode(records, resolution)
        )
    if resolution == 1:
        raise InvalidParameter("this query has values between 0 and 1: it needs a randomizer on a grid")
    return lambda records: query.encode(records, resolution)


def _fingerprinted(expression: Expression, schema: Schema) -> Callable[[Records], Values]:
    if not isinstance(expression, Column):
        raise QueryRefused(
            "this randomizer takes a bare column: a bit, a category or a bounded whole number"
        )
    size = category_size(expression, schema)  # refuses a column that is none of these
    domain = schema[expression.name]
    if isinstance(domain, CategoryDomain):
        return _labels(expression.name, domain)
    return _decimals(expression.name, domain.low if isinstance(domain, IntegerDomain) else 0, size)


def _labels(name: str, domain: CategoryDomain) -> Callable[[Records], Values]:
    """Of the labels: the same for the same label at every party."""
    known = cache(lambda: fingerprints(domain.labels))
    return lambda records: looked_up(known(), records.column(name))


def _decimals(name: str, low: int, size: int) -> Callable[[Records], Values]:
    """Of the numbers in decimal: from a table of the whole domain, unless it is cheaper to compute everybody's."""
    known = cache(lambda: fingerprints(str(number) for number in range(low, low + size)))

    def inputs(records: Records) -> Values:
        numbers = records.column(name).astype(np.int64, copy=False)
        if size <= max(SMALL_DOMAIN, records.people // 4):
            return looked_up(known(), numbers - low)
        return decimal_fingerprints(numbers)

    return inputs


def _rounded(query: VectorQuery, resolution: int) -> Callable[[Records], Values]:
    if resolution == 1 and not _conditions(query):
        raise InvalidParameter("this query has values between 0 and 1: it needs a randomizer on a grid")
    grid = np.int32 if resolution < 2**31 else np.int64
    return lambda records: _filled(
        query, records, lambda entries: np.rint(entries * float(resolution)), grid
    )


def _conditions(query: VectorQuery) -> bool:
    parts = query.expression.components if isinstance(query.expression, Vector) else ()
    return all(StatisticalQuery(part, query.schema).kind == "bit" for part in parts)


def _within_ball(query: VectorQuery, records: Records, resolution: int) -> Values:
    if query.kind == "ball":
        return _filled(query, records, lambda entries: np.trunc(entries * float(resolution)))
    scale = resolution / math.sqrt(query.length)
    return _filled(query, records, lambda entries: np.trunc((2 * entries - 1) * scale))


def _filled(
    query: VectorQuery,
    records: Records,
    placed: Callable[[Floats], Floats],
    grid: type[np.signedinteger] = np.int32,
) -> Values:
    """The vectors as integers, made from some people after the others."""
    values = np.empty((records.people, query.length), grid)
    for part, entries in query.blocks(records):
        values[part] = placed(entries)
    return values


def _bits(query: VectorQuery, kind: BitsInput) -> Callable[[Records], Values]:
    if isinstance(query.expression, Vector) and not kind.labelled:
        _require(query, ("cube",), kind.bits, "parities(...)")
        if not _conditions(query):
            raise QueryRefused("marginals are of bits: each component of the vector is a condition")
        bits = cast("tuple[Condition, ...]", query.expression.components)
        return lambda records: words(bits, records)
    _require(query, ("parities",), kind.parities, "parities(...)")
    if (query.bits + query.labelled, query.order, query.labelled) != (kind.bits, kind.order, kind.labelled):
        raise InvalidParameter("the query and the randomizer are of different parities")
    return query.evaluate
