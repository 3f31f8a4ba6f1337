"""Broken twins of the functions that evaluate queries: they give the right values, in a time that tells them.

The first five are what the functions once were.  The others are the functions of today with one masked assignment, one
`np.where` or one scatter put back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.domains import Records
from localdp.queries.evaluate import condition, evaluate
from localdp.queries.expressions import Condition, Point
from localdp.randomizers.parts.universal_hash import fingerprints

Array = NDArray[Any]


def first_by_masks(conditions: tuple[Condition, ...], records: Records) -> Array:
    """`vector_evaluate._first`, as it was."""
    result = np.full(records.people, len(conditions), np.int64)
    for number in reversed(range(len(conditions))):
        result[condition(conditions[number], records)] = number
    return result


def nearest_by_masks(vectors: Array, centres: tuple[Point, ...]) -> Array:
    """`vector_evaluate._nearest`, as it was."""
    people = vectors.shape[1]
    number, least = np.zeros(people, np.int64), np.full(people, np.inf)
    for candidate, centre in enumerate(centres):
        distance = _distance(vectors, centre)
        nearer = distance < least
        number[nearer] = candidate
        np.minimum(least, distance, out=least)
    return number


def decided_by_masks(rules: Any, result: Array, records: Records) -> Array:
    """`evaluate._decided`, as it was."""
    result = result.copy()
    for when, value in reversed(rules):
        np.copyto(result, evaluate(value, records), where=condition(when, records))
    return result


def fingerprints_of_distinct(name: str, low: int, size: int) -> Callable[[Records], Array]:
    """`question._decimals`, as it was: a loop over the distinct values."""

    def inputs(records: Records) -> Array:
        numbers, places = np.unique(records.column(name).astype(np.int64), return_inverse=True)
        return np.take(fingerprints(str(number) for number in numbers), places)

    return inputs


def shortened_by_masks(vectors: Array, wide: bool, least: float) -> Array:
    """`vector_evaluate._shortened`, as it was."""
    largest = np.maximum(np.abs(vectors).max(axis=0), least)
    largest[largest == 0] = 1.0
    vectors /= largest
    squares = np.zeros(vectors.shape[1])
    for row in vectors:
        squares += np.square(row)
    vectors /= np.sqrt(np.maximum(squares, 1.0))
    return vectors


def first_counted_by_masks(conditions: tuple[Condition, ...], records: Records) -> Array:
    """`_first` with a masked assignment."""
    failed, count = np.ones(records.people, np.bool_), np.zeros(records.people, np.uint8)
    for when in conditions:
        failed &= np.logical_not(condition(when, records))
        count[failed] += 1
    return count.astype(np.int64)


def nearest_of_small_numbers(vectors: Array, centres: tuple[Point, ...]) -> Array:
    """`_nearest` with a masked assignment."""
    people = vectors.shape[1]
    number, least = np.zeros(people, np.uint8), np.full(people, np.inf)
    for candidate, centre in enumerate(centres):
        distance = _distance(vectors, centre)
        number[distance < least] = candidate
        np.minimum(least, distance, out=least)
    return number.astype(np.int64)


def selected_by_masks(mask: Array, then: Array, otherwise: Array) -> Array:
    """`selecting.selected` with a masked assignment."""
    result = np.array(otherwise)
    result[mask] = then[mask]
    return result


def selected_by_where(mask: Array, then: Array, otherwise: Array) -> Array:
    """`selecting.selected` by a branch for each person."""
    return np.where(mask, then, otherwise)


def looked_up_by_masks(table: Array, places: Array) -> Array:
    """`selecting.looked_up` with a masked assignment."""
    result = np.zeros(len(places), table.dtype)
    for start in range(0, len(table), 4096):
        mask = places >> 12 == start >> 12
        result[mask] = table[places[mask]]
    return result


def placed_by_masks(numbers: Array, size: int, vectors: Array) -> Array:
    """`vector_evaluate._placed` with a masked assignment."""
    length, people = vectors.shape
    blocks = np.zeros((size, length, people))
    for number, block in enumerate(blocks):
        mask = numbers == number
        block[:, mask] = vectors[:, mask]
    return blocks.reshape(size * length, people)


def slope_by_where(loss: Any, margin: Array, target: Array) -> Array:
    """`losses.slope` of the hinge, by a branch for each person."""
    sign = 2.0 * target - 1.0
    return np.where(sign * margin < 1.0, -sign, 0.0)


def _distance(vectors: Array, centre: Point) -> Array:
    distance = np.zeros(vectors.shape[1])
    for entry, coordinate in zip(vectors, centre, strict=True):
        distance += np.square(entry - float(coordinate))
    return distance


CROWD, GREAT_CROWD = 10_000, 50_000  # a processor learns a short row of branches by heart


# What it stands for, itself, and the case and the number of people that find it.
def of_rows_by_masks(how: Any, taken: Array, held: Array) -> Array:
    """`of_rows._of_conditions` that stops where it knows the answer."""
    held = np.logical_and(held, taken)
    if how == "count":
        return np.asarray(held.sum(axis=0, dtype=np.int64))
    result = np.zeros(held.shape[1], np.bool_)
    for place in held:
        left = np.flatnonzero(~result)
        result[left] = place[left]
    return result


def chosen_by_masks(mask: Array, then: Array, otherwise: Array) -> Array:
    """`of_rows._chosen` with a masked assignment."""
    chosen = otherwise.copy()
    chosen[mask] = then[mask]
    return chosen


TWINS: list[tuple[str, Callable[..., Any], str, int]] = [
    ("localdp.queries.vector_evaluate._first", first_by_masks, "Which", CROWD),
    ("localdp.queries.vector_evaluate._nearest", nearest_by_masks, "ever nearer", CROWD),
    ("localdp.queries.evaluate._decided", decided_by_masks, "DecisionList", CROWD),
    ("localdp.party.question._decimals", fingerprints_of_distinct, "fingerprints of numbers", CROWD),
    ("localdp.queries.vector_evaluate._shortened", shortened_by_masks, "the shortening of vectors", CROWD),
    ("localdp.queries.vector_evaluate._first", first_counted_by_masks, "Which", CROWD),
    ("localdp.queries.vector_evaluate._nearest", nearest_of_small_numbers, "ever nearer", CROWD),
    ("localdp.queries.evaluate.selected", selected_by_masks, "DecisionList", CROWD),
    ("localdp.queries.evaluate.selected", selected_by_where, "DecisionList", GREAT_CROWD),
    ("localdp.queries.evaluate.looked_up", looked_up_by_masks, "one of many labels", CROWD),
    ("localdp.party.question.looked_up", looked_up_by_masks, "fingerprints of many labels", CROWD),
    ("localdp.queries.vector_evaluate._placed", placed_by_masks, "At", CROWD),
    ("localdp.queries.of_rows._of_conditions", of_rows_by_masks, "OfRows", CROWD),
    ("localdp.queries.of_rows._chosen", chosen_by_masks, "the last of rows", CROWD),
    ("localdp.queries.losses.slope", slope_by_where, "the slope of a hinge", GREAT_CROWD),
]
