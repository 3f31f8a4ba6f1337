"""A histogram in the local model: the frequencies of all values of a column, from one report of each person.

The randomizer is the one of least exact error for the number of values, epsilon and people (`localdp.selection`), or one
that the caller names.  All frequencies come from the same reports, so a histogram costs what one count costs.

Checked in tests/unit/oracles/test_histogram.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.domains import CategoryDomain, Domain, IntegerDomain
from localdp.errors import InvalidParameter
from localdp.oracles.lr import LROracle, tally_of
from localdp.oracles.party import Request
from localdp.oracles.question import category_size
from localdp.queries.expressions import Column
from localdp.randomizers.definition import Frequencies, FrequencyRandomizer
from localdp.randomness.source import RandomSource
from localdp.selection import choose

MOST_VALUES = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Estimated frequencies of the values of a column."""

    column: str
    values: tuple[str, ...]  # what the frequencies are of, in the order of the domain
    frequencies: Frequencies
    randomizer: FrequencyRandomizer
    people: int


def ask_histogram(
    reports: LROracle,
    column: str,
    epsilon: Epsilon,
    source: RandomSource,
    *,
    cohort: Cohort | None = None,
    randomizer: FrequencyRandomizer | None = None,
) -> Histogram:
    """One round: everybody in the cohort reports the value of a column; `source` makes the request's identifier."""
    cohort = cohort or Cohort(0, reports.people)
    size = category_size(Column(column), reports.schema)
    if not 2 <= size <= MOST_VALUES:
        raise InvalidParameter(f"a histogram has 2 to {MOST_VALUES} values; this column has {size}")
    people = cohort.size()
    if randomizer is None:
        randomizer = cast(FrequencyRandomizer, choose(size, Epsilon.requested(epsilon), people).randomizer)
    tally = tally_of(reports, Request.fresh(column, randomizer, source), cohort)
    names = value_names(reports.schema[column], size)
    return Histogram(column, names, randomizer.estimate(tally), randomizer, people)


def value_names(domain: Domain, size: int) -> tuple[str, ...]:
    """What the values of a column are called."""
    match domain:
        case CategoryDomain(labels):
            return labels
        case IntegerDomain(low, _):
            return tuple(str(low + place) for place in range(size))
    return ("false", "true")
