"""What the values of a query are called: those of a column, or of which, cells, nearest or road, in their order.

Checked in tests/unit/asking/test_local_histograms.py.
"""

from __future__ import annotations

from itertools import product

from localdp.domains import CategoryDomain, Domain, IntegerDomain, Schema
from localdp.queries.expressions import Cells, Column, Expression, Nearest, OfRows, Road, Which
from localdp.queries.of_rows import domain_of
from localdp.queries.text import to_text
from localdp.queries.vector_query import VectorQuery

MOST_VALUES = 1 << 20


def value_names(expression: Expression, schema: Schema, size: int) -> tuple[str, ...]:
    """What the values of a query are called, in their order."""
    match expression:
        case Column(name):
            return _names_in(schema[name], size)
        case OfRows():
            return _names_in(domain_of(expression, schema), size)
        case Which(conditions):
            return (*map(to_text, conditions), "otherwise")
        case Cells(parts):
            queries = [VectorQuery(part, schema) for part in parts]
            names = (value_names(one.expression, schema, one.length) for one in queries)
            return tuple(", ".join(several) for several in product(*names))
        case Nearest() | Road():
            return tuple(map(str, range(size)))
    return ("false", "true")


def _names_in(domain: Domain, size: int) -> tuple[str, ...]:
    match domain:
        case CategoryDomain(labels):
            return labels
        case IntegerDomain(low, _):
            return tuple(str(low + place) for place in range(size))
    return ("false", "true")
