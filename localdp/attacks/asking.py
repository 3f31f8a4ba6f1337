"""Subset sums asked of a statistical-query oracle: the attack as an analyst would make it, in the query language.

Everybody has a public name (`who`) and a secret bit.  A subset is the query `secret and who in {"p3", "p17", ...}`: a
condition that looks at public names, and counts a secret.  The oracle may be any: exact, a curator, local reports.

Checked in tests/unit/attacks/test_asking.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from localdp.domains import BitDomain, CategoryDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.queries.expressions import And, Column, Member, Truth
from localdp.queries.statistical import StatisticalQuery
from localdp.randomizers.definition import Floats
from localdp.randomness.source import Bits

MOST_PEOPLE = 1024


def named_people(bits: Bits) -> Records:
    """People with names p0, p1, ... and these secrets."""
    if not 2 <= len(bits) <= MOST_PEOPLE:
        raise InvalidParameter(f"between 2 and {MOST_PEOPLE} people have names")
    schema = Schema({"who": CategoryDomain(tuple(map(_name, range(len(bits))))), "secret": BitDomain()})
    return Records.from_columns(schema, {"who": np.arange(len(bits)), "secret": bits})


def subset_queries(subsets: Bits, schema: Schema) -> Iterator[StatisticalQuery]:
    """The subsets as queries; an empty one is true of nobody."""
    for row in subsets:
        members = tuple(_name(int(person)) for person in np.flatnonzero(row))
        chosen = Member("who", members) if members else Truth(False)
        yield StatisticalQuery(And((Column("secret"), chosen)), schema)


def asked_sums(oracle: StatisticalQueryOracle, subsets: Bits, rounds: int) -> Floats:
    """Every subset's count as the oracle tells it, asked in so many rounds."""
    queries = list(subset_queries(subsets, oracle.schema))
    if not 1 <= rounds <= len(queries):
        raise InvalidParameter("every round has at least one query")
    told = [
        answer.count
        for places in np.array_split(np.arange(len(queries)), rounds)
        for answer in oracle.answer([queries[place] for place in places])
    ]
    return np.array(told)


def _name(person: int) -> str:
    return f"p{person}"
