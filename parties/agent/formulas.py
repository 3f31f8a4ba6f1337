"""Columns that stand in no table: what they are in terms of those that do, in the query language (docs/queries.md).

| kind | formula | such as |
|---|---|---|
| bit | a condition | `age >= 65 and not smoker` |
| integer, real | a linear form, or a number clipped to [0, 1] | `discharged - admitted` |
| category | one of as many values as there are labels | `which(age < 18, age < 65)` |

A formula looks at columns that are read, in one row of the table, after empty cells were filled and numbers clipped; of a
person's rows each has its value, before they are brought down to one.  A number beyond a bound is clipped or refused, as
one that is read.

Checked in tests/unit/parties/agent/test_formulas.py.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain, Records, Schema
from localdp.domains.columns import ColumnArray
from localdp.errors import QueryRefused
from localdp.queries.checking import type_of
from localdp.queries.comparing import real_values
from localdp.queries.evaluate import evaluate, term_value
from localdp.queries.expressions import (
    Clip,
    Column,
    Expression,
    Linear,
    Number,
    OfRows,
    Several,
    UnitDecisionList,
)
from localdp.queries.kinds import NumberType, UnitType
from localdp.queries.parser import parse
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery
from parties.agent.reading import Reading
from parties.agent.verdicts import Read
from parties.agent.within_domain import bounded


def check_formula(text: str, schema: Schema, domain: Domain) -> None:
    """Refuse a formula that has no value, or one of another kind, on rows of this schema."""
    if isinstance(domain, CategoryDomain):
        query = VectorQuery.parse(text, schema)
        if query.kind != "category" or query.length != len(domain.labels):
            raise QueryRefused(
                f"is one of {query.length} values, and there are {len(domain.labels)} labels"
            )
    elif isinstance(domain, BitDomain):
        if StatisticalQuery.parse(text, schema).kind != "bit":
            raise QueryRefused("is no condition")
    else:
        _number(text, schema)


def computed(columns: Mapping[str, ColumnArray], schema: Schema, domain: Domain, reading: Reading) -> Read:
    """The value in each row, from the columns that were read."""
    records = Records(schema, columns)
    said = np.zeros(records.people, np.uint8)
    if isinstance(domain, CategoryDomain):
        return Read(VectorQuery.parse(reading.formula, schema).evaluate(records).astype(np.int32), said)
    if isinstance(domain, BitDomain):
        return Read(np.array(StatisticalQuery.parse(reading.formula, schema).evaluate(records)), said)
    assert isinstance(domain, IntegerDomain | RealDomain)
    expression = _number(reading.formula, schema)
    if isinstance(expression, Clip | UnitDecisionList):
        return bounded(np.array(evaluate(expression, records)), said, domain, reading)
    assert isinstance(expression, Column | OfRows | Number | Linear)
    values = np.broadcast_to(real_values(expression, records, term_value), records.people)
    return bounded(np.array(values, np.float64), said, domain, reading)


def _number(text: str, schema: Schema) -> Expression:
    expression = parse(text)
    if isinstance(expression, Several) or not isinstance(
        type_of(expression, schema), NumberType | UnitType
    ):
        raise QueryRefused("is no number")
    return expression
