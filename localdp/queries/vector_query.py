"""Queries that ask for more than one number about each record, checked against a schema.

| kind | value of a record | length |
|---|---|---|
| category | a whole number below the length | how many values there are |
| cube | a vector with entries in [0, 1] | its dimension |
| ball | a vector of Euclidean norm at most 1 | its dimension |
| parities | bits, of which the signs of many parities follow | how many parities |

The answer to a query on n people is the frequency of each value, or the mean of each entry or sign.  The
parities of d conditions are the signs (-1)**(number of true ones in S), for all non-empty S of at most `order`
of them; with a label y, the label's sign times that, and S may be empty.  They stand in the order of the
numbers with the bits of S.

Claim.  A `VectorQuery` that exists is well typed on its schema, and a person's value depends on nobody else's.
Checked in tests/unit/queries/test_vector_query.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias, cast

import numpy as np

from localdp.domains import Records, Schema
from localdp.domains.columns import ColumnArray
from localdp.errors import InvalidParameter, QueryRefused
from localdp.queries.expressions import BallVector, Categorical, Expression, Parities, Vector, columns_of
from localdp.queries.kinds import BallType, CodeType, CubeType, ParitiesType, SeveralType
from localdp.queries.parser import parse
from localdp.queries.text import to_text
from localdp.queries.vector_checking import shape_of
from localdp.queries.vector_evaluate import codes, cube, rows, words

Kind: TypeAlias = Literal["category", "cube", "ball", "parities"]
BLOCK_ENTRIES = 1 << 20  # doubles in the vectors of the people who are evaluated at a time

_KINDS: dict[type[SeveralType], Kind] = {
    CodeType: "category",
    CubeType: "cube",
    BallType: "ball",
    ParitiesType: "parities",
}


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """An expression over the columns of a schema; two are equal when both of these are."""

    expression: Expression
    schema: Schema
    kind: Kind = field(init=False, compare=False)
    length: int = field(init=False, compare=False)
    entries: int = field(init=False, compare=False, repr=False)  # of all vectors made for one record
    columns: frozenset[str] = field(init=False, compare=False)
    text: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        shape = shape_of(self.expression, self.schema)
        object.__setattr__(self, "kind", _KINDS[type(shape.type)])
        object.__setattr__(self, "length", shape.type.length)
        object.__setattr__(self, "entries", shape.entries)
        object.__setattr__(self, "columns", columns_of(self.expression))
        object.__setattr__(self, "text", to_text(self.expression))

    @classmethod
    @lru_cache(maxsize=64)
    def parse(cls, text: str, schema: Schema) -> VectorQuery:
        """The query that a text means on a schema."""
        return cls(parse(text), schema)

    @property
    def bits(self) -> int:
        """How many conditions parities are of, the label not counted."""
        return len(self._parities.conditions)

    @property
    def order(self) -> int:
        """How many conditions one parity has at most."""
        return self._parities.order

    @property
    def labelled(self) -> bool:
        """Whether each parity is multiplied with the sign of a label."""
        return self._parities.label is not None

    @property
    def _parities(self) -> Parities:
        if not isinstance(self.expression, Parities):
            raise InvalidParameter(f"a query of kind {self.kind} has no parities")
        return self.expression

    def evaluate(self, records: Records) -> ColumnArray:
        """Each person's value: a number, a row of doubles, or a word.

        The bits of a word are the conditions, the first one lowest, and then the label.
        """
        if self.kind in ("cube", "ball"):
            values: ColumnArray = np.empty((records.people, self.length))
        else:
            values = np.empty(records.people, np.int64)
        for part, block in self.blocks(records):
            values[part] = block
        return values

    def blocks(self, records: Records) -> Iterator[tuple[slice, ColumnArray]]:
        """The values of some people after the others, so that no more than these take memory at a time."""
        if records.schema != self.schema:
            raise QueryRefused("the records are of another schema than the query")
        step = max(1, BLOCK_ENTRIES // max(1, self.entries))
        for start in range(0, records.people, step):
            stop = min(start + step, records.people)
            yield slice(start, stop), self._values(records.slice(start, stop))

    def _values(self, records: Records) -> ColumnArray:
        match self.expression:
            case Vector():
                return cube(self.expression, records).T
            case Parities(_, conditions, label):
                return words(conditions if label is None else (*conditions, label), records)
        if isinstance(self.expression, BallVector):
            return rows(self.expression, records).T
        return codes(cast(Categorical, self.expression), records)

    def __str__(self) -> str:
        return self.text
