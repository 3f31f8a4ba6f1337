"""Statistical queries (Definitions 11.4 and 12.4): phi from records into [0, 1], checked against a schema.

A query of kind "bit" is a condition, with values 0 and 1; one of kind "unit" is a clipped linear form, or a decision
list of numbers.  The
answer to a query on n people is the mean of phi over them.  Randomizers and shares take whole numbers, so
`encode` puts phi on the grid 0, 1/resolution, ..., 1: off by at most 1 / (2 resolution), or 0 for bits.

Claim.  A `StatisticalQuery` that exists is well typed on its schema: there is no way to build another.
Checked in tests/unit/queries/test_statistical.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from localdp.domains import Records, Schema
from localdp.domains.columns import ColumnArray
from localdp.errors import InvalidParameter, QueryRefused
from localdp.queries.checking import kind_of
from localdp.queries.evaluate import evaluate
from localdp.queries.expressions import Expression, Scalar, columns_of
from localdp.queries.kinds import Kind
from localdp.queries.parser import parse
from localdp.queries.text import to_text

LARGEST_RESOLUTION = 2**52  # every grid point and its neighbours are exact as doubles


@dataclass(frozen=True, slots=True)
class StatisticalQuery:
    """phi, as an expression over the columns of a schema; two are equal when both of these are."""

    expression: Expression
    schema: Schema
    kind: Kind = field(init=False, compare=False)
    columns: frozenset[str] = field(init=False, compare=False)
    text: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", kind_of(self.expression, self.schema))
        object.__setattr__(self, "columns", columns_of(self.expression))
        object.__setattr__(self, "text", to_text(self.expression))

    @classmethod
    @lru_cache(maxsize=64)
    def parse(cls, text: str, schema: Schema) -> StatisticalQuery:
        """The query that a text means on a schema."""
        return cls(parse(text), schema)

    def evaluate(self, records: Records) -> ColumnArray:
        """phi of each person: booleans for a bit, doubles in [0, 1] for a unit query."""
        if records.schema != self.schema:
            raise QueryRefused("the records are of another schema than the query")
        return evaluate(cast(Scalar, self.expression), records)

    def encode(self, records: Records, resolution: int) -> NDArray[np.int64]:
        """phi of each person times `resolution`, rounded to the nearest whole number, ties to even."""
        if not isinstance(resolution, int) or not 1 <= resolution <= LARGEST_RESOLUTION:
            raise InvalidParameter("the resolution must be a whole number from 1 to 2**52")
        values = self.evaluate(records)
        if self.kind == "bit":
            return values.astype(np.int64) * resolution if resolution > 1 else values.astype(np.int64)
        return np.rint(values * float(resolution)).astype(np.int64)

    def __str__(self) -> str:
        return self.text


def check(expression: Expression, schema: Schema) -> StatisticalQuery:
    """The statistical query that an expression is on a schema, or `QueryRefused`."""
    return StatisticalQuery(expression, schema)
