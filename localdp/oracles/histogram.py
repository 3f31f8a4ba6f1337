"""A histogram in the local model: the frequencies of all values of a column, from one report of each person.

Instead of a column it may be any query with a list of values: `which(age < 20, age < 40)` has three of them.

The randomizer is the one of least exact error for the number of values, epsilon and people (`localdp.selection`), or one
that the caller names.  All frequencies come from the same reports, so a histogram costs what one count costs.  Where the
noise would drown them it is refused before anybody is asked: where an even share of the people is less than its own
standard error.

Checked in tests/unit/oracles/test_histogram.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import cast

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.domains import CategoryDomain, Domain, IntegerDomain, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.lr import LROracle, tally_of
from localdp.party.party import Request
from localdp.queries.expressions import Cells, Column, Expression, Nearest, Which
from localdp.queries.text import to_text
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.definition import Frequencies, FrequencyRandomizer
from localdp.randomness.source import RandomSource
from localdp.selection import choose

MOST_VALUES = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Estimated frequencies of the values of a query."""

    query: str
    values: tuple[str, ...]  # what the frequencies are of, in the order of the domain
    frequencies: Frequencies
    randomizer: FrequencyRandomizer
    people: int


def ask_histogram(
    reports: LROracle,
    query: str,
    epsilon: Epsilon,
    source: RandomSource,
    *,
    cohort: Cohort | None = None,
    randomizer: FrequencyRandomizer | None = None,
    check_signal: bool = True,
) -> Histogram:
    """One round: everybody in the cohort reports the value of a query; `source` makes the request's identifier."""
    cohort = cohort or Cohort(0, reports.people)
    asked = VectorQuery.parse(query, reports.schema)
    if asked.kind != "category" or not 2 <= asked.length <= MOST_VALUES:
        raise InvalidParameter(
            f"a histogram is of a column, which(...), cells(...) or nearest(...), with 2 to {MOST_VALUES} values"
        )
    people = cohort.size()
    if randomizer is None:
        chosen = choose(asked.length, Epsilon.requested(epsilon), people).randomizer
        randomizer = cast(FrequencyRandomizer, chosen)
    if check_signal:
        _require_signal(asked.length, randomizer, people)
    tally = tally_of(reports, Request.fresh(asked.text, randomizer, source), cohort)
    names = value_names(asked.expression, reports.schema, asked.length)
    return Histogram(asked.text, names, randomizer.estimate(tally), randomizer, people)


def _require_signal(size: int, randomizer: FrequencyRandomizer, people: int) -> None:
    error, share = math.sqrt(randomizer.variance(1 / size) / people), 1 / size
    if error > share:
        raise SignalTooWeak(
            f"frequencies would be off by {error:.2g}, and an even share of {size} values is {share:.2g}; ask for fewer "
            "values, such as which(age < 20, age < 40), or of more people, or at a larger epsilon"
        )


def value_names(expression: Expression, schema: Schema, size: int) -> tuple[str, ...]:
    """What the values of a query are called, in their order."""
    match expression:
        case Column(name):
            return _names_in(schema[name], size)
        case Which(conditions):
            return (*map(to_text, conditions), "otherwise")
        case Cells(parts):
            queries = [VectorQuery(part, schema) for part in parts]
            names = (value_names(one.expression, schema, one.length) for one in queries)
            return tuple(", ".join(several) for several in product(*names))
        case Nearest():
            return tuple(map(str, range(size)))
    return ("false", "true")


def _names_in(domain: Domain, size: int) -> tuple[str, ...]:
    match domain:
        case CategoryDomain(labels):
            return labels
        case IntegerDomain(low, _):
            return tuple(str(low + place) for place in range(size))
    return ("false", "true")
