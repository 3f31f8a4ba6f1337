"""How a round of queries is divided over people in the local model: which request answers which queries.

A slot is one request to one random part of the people.  Splitting the people over m slots costs a factor m in
variance, splitting epsilon would cost m squared, so people are split.  What can share a report shares a slot:

| queries | request | error of one entry, times n |
|---|---|---|
| one number | one bit (Duchi, Jordan and Wainwright) | about C**2 / 4 |
| several values of one column | a frequency oracle on the column, where that is better | about 4 e / (e - 1)**2 |
| a category of k values | a frequency oracle, the best for k | about 4 e / (e - 1)**2 |
| a vector in the unit ball | PrivUnit | sigma**2 |
| a vector in the cube | one coordinate of each person, or PrivUnit | d C**2 / 4 |
| T parities | one parity of each person | T C**2 |

Checked in tests/unit/oracles/test_slots.py; the errors in tests/statistical/test_plans.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.domains import CategoryDomain, IntegerDomain
from localdp.oracles.definition import Answer, VectorAnswer
from localdp.queries.encoded import GRID, Query, spread_of
from localdp.queries.expressions import Column, Compare, Label, Number
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.definition import Estimate, Floats, Frequencies, TalliedRandomizer, Tally
from localdp.randomizers.input_kinds import BallInput, BitsInput, CubeInput, GridInput
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from localdp.selection import choose


@dataclass(frozen=True, slots=True)
class Slot:
    """A request, and the queries of the round that its reports answer."""

    text: str  # the query as the parties are asked it
    randomizer: TalliedRandomizer
    places: tuple[int, ...]  # the queries' places in the round
    codes: tuple[int, ...] = ()  # of one-sparse queries: the value of the column that each asks about

    @property
    def variance(self) -> float:
        """n times the variance of one entry, for the empirical target, at the least favourable or typical data."""
        randomizer: Any = self.randomizer
        match randomizer.takes:
            case GridInput(resolution):
                return float(randomizer.variance((0, 1) if resolution == 1 else 0.5))
            case BallInput(dimension):
                return float(randomizer.mean_squared_error() / dimension)
            case CubeInput():
                return float(randomizer.variance(0.5))
            case BitsInput(parities=parities):
                return float(parities * randomizer.scale**2 - 1)
        return float(randomizer.variance(1 / randomizer.inputs))


def number_slots(queries: Sequence[StatisticalQuery], epsilon: Epsilon, people: int) -> list[Slot]:
    """The slots of a round of numbers: those about single values of one column are asked together if that pays."""
    alone: list[Slot] = []
    by_column: dict[str, list[tuple[int, int]]] = {}
    for place, query in enumerate(queries):
        if found := _single_value(query):
            by_column.setdefault(found[0], []).append((place, found[1]))
        else:
            alone.append(_number_slot(place, query, epsilon))
    for column, asked in by_column.items():
        alone += _together(column, asked, queries, epsilon, people)
    return sorted(alone, key=lambda slot: slot.places)


def vector_slot(place: int, query: VectorQuery, epsilon: Epsilon, people: int) -> Slot:
    """The slot of a category, a vector or parities."""
    return Slot(query.text, _vector_randomizer(query, epsilon, people), (place,))


def planned_slots(queries: Sequence[Query], epsilon: Epsilon, people: int) -> list[Slot]:
    """The slots of a round of either sort."""
    numbers = [query for query in queries if isinstance(query, StatisticalQuery)]
    if len(numbers) == len(queries):
        return number_slots(numbers, epsilon, people)
    return [
        _number_slot(place, query, epsilon)
        if isinstance(query, StatisticalQuery)
        else vector_slot(place, query, epsilon, people)
        for place, query in enumerate(queries)
    ]


def slot_error(slot: Slot, query: Query, reports: int, people: int) -> float:
    """Expected standard error of an entry about the mean of all people, when so many of them answer."""
    variance = slot.variance
    if query.kind == "cube" and isinstance(slot.randomizer.takes, BallInput):
        variance *= query.length / 4
    sampling = spread_of(query) * (1 - reports / people)
    return math.sqrt((variance + sampling) / reports)


def number_answers(slot: Slot, tally: Tally, texts: Sequence[str], people: int) -> list[Answer]:
    """The answers of a slot of a round of numbers, in the order of its places."""
    estimate: Any = cast(Any, slot.randomizer).estimate(tally)
    if isinstance(estimate, Estimate):
        return [extrapolated(texts[slot.places[0]], estimate, people)]
    pairs = zip(slot.places, slot.codes, strict=True)
    return [extrapolated(texts[place], _entry(estimate, code), people) for place, code in pairs]


def vector_answer(slot: Slot, query: VectorQuery, tally: Tally, people: int) -> VectorAnswer:
    """The answer of a slot of a round of vectors."""
    estimate = _entries(slot.randomizer, query, tally)
    empirical = extrapolated_variance(
        estimate.variance_empirical, estimate.variance_population, estimate.reports, people
    )
    return VectorAnswer(
        query.text, estimate.values, people, estimate.reports, empirical, estimate.variance_population
    )


def extrapolated(text: str, estimate: Estimate, people: int) -> Answer:
    """From those who answered to all the people that they are a random sample of."""
    reports, population = estimate.reports, estimate.variance_population
    variance = extrapolated_variance(
        np.asarray(estimate.variance_empirical), np.asarray(population), reports, people
    )
    return Answer(text, estimate.value, people, reports, float(variance), population)


def extrapolated_variance(empirical: Floats, population: Floats, reports: int, people: int) -> Floats:
    """Variance about the mean of all people, of whom `reports` answered: a sample without replacement.

    What the population target has on top is the sampling term; of a finite population only the part 1 - n/N of it
    remains.  Where noise makes the difference negative, or the spread cannot be told from the noise, it is taken as 0:
    the variance is never below that of the noise alone.
    """
    return empirical + (1 - reports / people) * np.maximum(population - empirical, 0.0)


def _number_slot(place: int, query: StatisticalQuery, epsilon: Epsilon) -> Slot:
    resolution = (
        1 if query.kind == "bit" else GRID
    )  # a power of two, as its coins are: noise hides what is rounded
    return Slot(query.text, OneBitRandomizer(epsilon, resolution), (place,))


def _together(
    column: str,
    asked: list[tuple[int, int]],
    queries: Sequence[StatisticalQuery],
    epsilon: Epsilon,
    people: int,
) -> list[Slot]:
    """One slot for all, if its error is below that of as many slots as there are queries."""
    separate = [_number_slot(place, queries[place], epsilon) for place, _ in asked]
    if len(asked) < 2:
        return separate
    size = VectorQuery.parse(column, queries[asked[0][0]].schema).length
    randomizer = _frequency_oracle(size, epsilon, people)
    places, codes = zip(*asked, strict=True)
    joint = Slot(column, randomizer, places, codes)
    sampling = spread_of(queries[places[0]]) * (len(asked) - 1)
    return [joint] if joint.variance <= separate[0].variance * len(asked) + sampling else separate


def _single_value(query: StatisticalQuery) -> tuple[str, int] | None:
    """The column, and the number of its value, if that is all that a query asks about."""
    match query.expression:
        case Compare("==", Column(name), Label(text)) | Compare("==", Label(text), Column(name)):
            domain = query.schema[name]
            return (name, domain.labels.index(text)) if isinstance(domain, CategoryDomain) else None
        case Compare("==", Column(name), Number(value)) | Compare("==", Number(value), Column(name)):
            whole = query.schema[name]
            if (
                isinstance(whole, IntegerDomain)
                and value.denominator == 1
                and whole.low <= value <= whole.high
            ):
                return name, int(value) - whole.low
    return None


def _vector_randomizer(query: VectorQuery, epsilon: Epsilon, people: int) -> TalliedRandomizer:
    match query.kind:
        case "category":
            return _frequency_oracle(query.length, epsilon, people)
        case "ball":
            return PrivUnit(epsilon, query.length)
        case "parities":
            return HadamardMarginals(epsilon, query.bits + query.labelled, query.order, query.labelled)
    whole, one = PrivUnit(epsilon, query.length), CoordinateSampling(epsilon, query.length)
    return whole if whole.mean_squared_error() / 4 < one.variance(0.5) else one


@lru_cache(maxsize=256)
def _frequency_oracle(size: int, epsilon: Epsilon, people: int) -> TalliedRandomizer:
    """The best for so many values; remembered, because a choice compares dozens of exact error formulas."""
    return cast(TalliedRandomizer, choose(size, epsilon, people).randomizer)


def _entry(estimate: Frequencies, code: int) -> Estimate:
    return Estimate(
        float(estimate.values[code]),
        estimate.reports,
        float(estimate.variance_empirical[code]),
        float(estimate.variance_population[code]),
    )


def _entries(randomizer: TalliedRandomizer, query: VectorQuery, tally: Tally) -> Frequencies:
    estimate = cast(Any, randomizer).estimate(tally)
    values: Frequencies = estimate.means() if isinstance(randomizer.takes, BitsInput) else estimate
    if query.kind != "cube" or not isinstance(randomizer.takes, BallInput):
        return values
    # It saw (2 u - 1) / sqrt(d).
    width, factor = math.sqrt(query.length), query.length / 4
    return Frequencies(
        (1 + width * values.values) / 2,
        values.reports,
        factor * values.variance_empirical,
        factor * values.variance_population,
    )
