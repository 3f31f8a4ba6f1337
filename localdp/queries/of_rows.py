"""Rows of a person brought down to one value: any, all, count, sum, mean, max, min, first, last.

| written | of each row | value of a person |
|---|---|---|
| any(visit: c), all(visit: c) | a condition | a bit |
| count(visit), count(visit: c) | a condition | how many rows there are, or of these |
| sum(visit: x), mean(visit: x) | a number or a bit | a number |
| max(visit: x), min(visit: x) | a number or a bit | one of the same domain |
| first(visit: x), last(visit: x) | anything | one of the same domain, of the first or the last row |

A value of rows stands wherever a column does.  Everybody has a row, so there is always a value.

Claim.  What `domain_of` says holds of every value, and the work is the same however many rows anybody has and whatever
stands in them: all places are looked at, taken or free, and choices are arithmetic.
Checked in tests/unit/queries/test_of_rows.py, and for time in tests/unit/queries/test_silence.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain, Records, Schema
from localdp.domains.columns import ColumnArray
from localdp.domains.rows import RowsDomain
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter, QueryRefused
from localdp.queries.expressions import columns_of
from localdp.queries.nodes import Node
from localdp.queries.scalars import Column, Condition, How, OfRows, Term
from localdp.queries.selecting import looked_up

BLOCK_ROWS = 1 << 20  # that are looked at at a time
Number = IntegerDomain | RealDomain
Rows = NDArray[np.bool_]


def domain_of(term: Term, schema: Schema) -> Domain:
    """What a column, or a value of rows, may be."""
    if isinstance(term, str):
        return schema[term]
    most = rows_of(term, schema).most
    match term.how:
        case "any" | "all":
            return BitDomain()
        case "count":
            return IntegerDomain(0, most)
    each = schema.of_one_row[cast(Column, term.of).name]
    if term.how in ("first", "last"):
        return each
    if isinstance(each, CategoryDomain):
        raise QueryRefused(f"`{term.how}` is of numbers or bits; a category has a first and a last one")
    match term.how:
        case "sum":
            return _sums(_number(each), most)
        case "mean":
            number = _number(each)
            return RealDomain(number.low, number.high)
    return each


def rows_of(term: OfRows, schema: Schema) -> RowsDomain:
    """The rows that a value is of, or a refusal."""
    domain = schema.columns.get(term.rows)
    if isinstance(domain, RowsDomain) and domain.of is None:
        return domain
    if schema.rows is None:
        raise QueryRefused(
            f"people have one row here, so there is nothing to take `{term.how}` of; every answer is a mean over people: "
            "ask for a condition, or for a column as clip(column / bound)"
        )
    told = f"the rows are called {schema.rows!r}{suggestion(term.rows, [schema.rows])}"
    raise QueryRefused(f"there are no rows {term.rows!r}; {told}")


def _number(each: Domain) -> Number:
    return each if isinstance(each, Number) else IntegerDomain(0, 1)


def _sums(each: Number, most: int) -> Number:
    """From 1 to `most` of them."""
    low, high = min(each.low, most * each.low), max(each.high, most * each.high)
    try:
        return type(each)(low, high)  # type: ignore[arg-type]
    except InvalidParameter as error:
        raise QueryRefused(f"the sum of {most} rows may be too large: {error}") from None


def is_whole(node: Node, schema: Schema) -> bool:
    """Whether a query adds up whole numbers alone."""
    if isinstance(node, OfRows) and node.how == "mean":
        return False
    columns = (schema.of_one_row[name] for name in columns_of(node))
    below = all(is_whole(child, schema) for child in node.children)
    return below and not any(isinstance(domain, RealDomain) for domain in columns)


def smaller_by(term: Term, schema: Schema) -> float:
    """By how many powers of two a value of rows can be smaller than the least that stands in a row (`smallness`)."""
    if isinstance(term, str) or term.how not in ("sum", "mean"):
        return 0.0
    return 53.0 + (math.log2(rows_of(term, schema).most) if term.how == "mean" else 0.0)


def value_of(term: Term, records: Records, condition: Callable[[Condition, Records], Rows]) -> ColumnArray:
    """One value for each person; `condition` evaluates what is asked of each row."""
    if isinstance(term, str):
        return records.column(term)
    most = rows_of(term, records.schema).most
    step = max(1, BLOCK_ROWS // most)
    parts = [
        _brought_down(term, records.slice(start, min(start + step, records.people)), most, condition)
        for start in range(0, max(1, records.people), step)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _brought_down(
    term: OfRows, records: Records, most: int, condition: Callable[[Condition, Records], Rows]
) -> ColumnArray:
    taken: Rows = np.ascontiguousarray(records.column(term.rows).T)  # a line for each place
    if term.how in ("any", "all", "count"):
        if term.of is None:
            return _counted(taken)
        held = condition(term.of, records.rows(columns_of(term))).reshape(records.people, most)
        return _of_conditions(term.how, taken, np.ascontiguousarray(held.T))
    column = records.column(cast(Column, term.of).name)
    values = column.T if column.ndim > 1 else np.broadcast_to(column, taken.shape)
    return _of_values(term.how, taken, np.ascontiguousarray(values), domain_of(term, records.schema))


def _counted(held: Rows) -> ColumnArray:
    counts: NDArray[np.int64] = held.sum(axis=0, dtype=np.int64)
    return counts


def _of_conditions(how: How, taken: Rows, held: Rows) -> ColumnArray:
    if how == "all":
        return _joined(np.logical_and, list(np.logical_or(held, np.logical_not(taken))))
    held = np.logical_and(held, taken)
    return _joined(np.logical_or, list(held)) if how == "any" else _counted(held)


def _of_values(how: How, taken: Rows, values: ColumnArray, domain: Domain) -> ColumnArray:
    first, places = values[0], list(zip(taken, values, strict=True))
    match how:
        case "first":
            copied: ColumnArray = first.copy()
            return copied
        case "last":
            last: ColumnArray = first
            for there, one in places:
                last = _chosen(there, one, last)
            return last
        case "max" | "min":
            join = np.maximum if how == "max" else np.minimum
            # A free place is read as the first row's.
            return _joined(join, [_chosen(there, one, first) for there, one in places])
    number: type[np.int64 | np.float64] = np.int64 if isinstance(domain, IntegerDomain) else np.float64
    sums: ColumnArray = _joined(np.add, [one.astype(number) * there for there, one in places])
    return sums if how == "sum" else _shared_out(sums, _counted(taken), len(taken), domain)


def _shared_out(sums: ColumnArray, counts: ColumnArray, most: int, domain: Domain) -> ColumnArray:
    """Sums over counts: a product with a share that is looked up, within the bounds."""
    assert isinstance(domain, RealDomain)
    shares = np.array([0.0, *(1 / rows for rows in range(1, most + 1))])
    means = sums * looked_up(shares.view(np.uint64), counts).view(np.float64)
    within: ColumnArray = np.clip(means, domain.low, domain.high)
    return within


def _joined(join: np.ufunc, places: Sequence[ColumnArray]) -> ColumnArray:
    """All places of everybody, from the first to the last, whatever is in them."""
    joined: ColumnArray = places[0].copy()
    for one in places[1:]:
        join(joined, one, out=joined)
    return joined


def _chosen(mask: Rows, then: ColumnArray, otherwise: ColumnArray) -> ColumnArray:
    """The one value where the mask is true, and the other elsewhere: a choice among bits, in a time that does not tell."""
    width = np.dtype(f"i{then.dtype.itemsize}")
    one, other = then.view(width), otherwise.view(width)
    chosen: ColumnArray = other ^ ((one ^ other) & -mask.astype(width))
    return chosen.view(then.dtype)
