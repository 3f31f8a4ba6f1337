"""Evaluation of checked categories, vectors and parities on whole tables.

A vector of d entries is made as d rows, one entry of everybody in each.  Sums over entries are added row by
row, from the first entry to the last: what a person's value is does not depend on who else is evaluated.
Doubles throughout; `losses` has the functions that are not correctly rounded by themselves.

Claim.  Vectors that are at most 1 long are at most 1 + 1e-12 long in doubles: a norm is the root of at most
2**12 rounded squares, and 2**12 units in the last place are less.
Checked against an interpreter of single rows in tests/unit/queries/test_vector_evaluate.py.

Claim.  The same work is done whatever the values are: every condition, centre and block is computed for everybody, nothing
branches, and no number is subnormal (`vector_smallness`).
Checked for every kind of node in tests/unit/queries/test_silence.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from localdp.domains import IntegerDomain, Records
from localdp.queries.evaluate import condition, evaluate, term_value
from localdp.queries.expressions import (
    At,
    Ball,
    BallVector,
    Categorical,
    Cells,
    Column,
    Condition,
    Gradient,
    Moments,
    Nearest,
    OfRows,
    Point,
    Road,
    Scalar,
    Signed,
    Sphere,
    Term,
    Vector,
    Which,
)
from localdp.queries.losses import FAINTEST, exponential, slope
from localdp.queries.of_rows import domain_of
from localdp.queries.smallness import FLUSHED, is_wide
from localdp.queries.vector_checking import term_size
from localdp.randomness.source import Floats, Integers


def codes(category: Categorical, records: Records) -> Integers:
    """The number of each person's value."""
    return _numbered(category, records)[0]


def _numbered(category: Categorical, records: Records) -> tuple[Integers, int]:
    """The number of each person's value, and how many values there are."""
    match category:
        case Which(conditions):
            return _first(conditions, records), len(conditions) + 1
        case Cells(parts):
            return _cells(parts, records)
        case Nearest(vector, centres):
            return _nearest(rows(vector, records), centres), len(centres)
        case Road():
            return _road(category, records), category.game.roads
        case Column() | OfRows():
            term = category.name if isinstance(category, Column) else category
            return _term_codes(term, records), term_size(term, records.schema)
        case _:
            return condition(category, records).astype(np.int64), 2


def _term_codes(term: Term, records: Records) -> Integers:
    column, domain = term_value(term, records), domain_of(term, records.schema)
    return column - domain.low if isinstance(domain, IntegerDomain) else column.astype(np.int64)


def cube(vector: Vector, records: Records) -> Floats:
    """The components, one row for each."""
    return _stacked(vector.components, records)


def rows(vector: BallVector, records: Records) -> Floats:
    """The entries of a vector of norm at most 1, one row for each."""
    match vector:
        case Ball(forms):
            return _shortened(_stacked(forms, records), _any_wide(forms, records), least=1.0)
        case Sphere(forms):
            return _shortened(_stacked(forms, records), _any_wide(forms, records), least=0.0)
        case Signed(when, inner):
            return rows(inner, records) * (2.0 * condition(when, records) - 1.0)
        case Moments(inner, target):
            entries = rows(inner, records)
            return _moments(entries) if target is None else _augmented(entries, _target(target, records))
        case Gradient(loss, point, inner, target):
            features = rows(inner, records)
            return features * slope(loss, _dot(point, features), _target(target, records))
        case At(category, inner):
            return _placed(*_numbered(category, records), rows(inner, records))


def words(conditions: Iterable[Condition], records: Records) -> Integers:
    """The conditions of each person as the bits of a word, the first one lowest."""
    result = np.zeros(records.people, np.int64)
    for place, when in enumerate(conditions):
        result |= condition(when, records).astype(np.int64) << place
    return result


def _first(conditions: tuple[Condition, ...], records: Records) -> Integers:
    """How many conditions fail before the first that holds."""
    failed, count = np.ones(records.people, np.bool_), np.zeros(records.people, _small(len(conditions)))
    for when in conditions:
        failed &= np.logical_not(condition(when, records))
        count += failed
    return count.astype(np.int64)


def _cells(parts: tuple[Categorical, ...], records: Records) -> tuple[Integers, int]:
    result, size = np.zeros(records.people, np.int64), 1
    for part in parts:
        numbers, values = _numbered(part, records)
        result = result * values + numbers
        size *= values
    return result, size


def _nearest(vectors: Floats, centres: tuple[Point, ...]) -> Integers:
    people = vectors.shape[1]
    small = _small(len(centres))
    number, least = np.zeros(people, small), np.full(people, np.inf)
    for candidate, centre in enumerate(centres):
        distance = np.zeros(people)
        for entry, coordinate in zip(vectors, centre, strict=True):
            distance += np.square(entry - float(coordinate))
        nearer = distance < least  # strictly: the lowest number wins among equals
        # The greatest number wins of those that were the nearest so far.
        np.maximum(number, nearer * small.type(candidate), out=number)
        np.minimum(least, distance, out=least)
    return number.astype(np.int64)


def _road(move: Road, records: Records) -> Integers:
    costs = _stacked(move.own, records) * float(move.seen)
    costs += np.array([[float(cost)] for cost in move.costs])
    costs -= costs.min(axis=0)
    weights = exponential(np.maximum(costs * -float(move.game.step), FAINTEST))
    up_to = weights.cumsum(axis=0)  # road by road
    drawn = evaluate(move.luck, records) * up_to[-1]
    number = np.zeros(records.people, _small(len(weights)))
    for reached in up_to[:-1]:
        number += drawn >= reached
    return number.astype(np.int64)


def _small(most: int) -> np.dtype[np.unsignedinteger]:
    """The shortest whole numbers that hold so many."""
    return np.min_scalar_type(most)


def _stacked(forms: tuple[Scalar, ...], records: Records) -> Floats:
    stacked = np.empty((len(forms), records.people))
    for row, form in zip(stacked, forms, strict=True):
        row[:] = evaluate(form, records)
    return stacked


def _any_wide(forms: tuple[Scalar, ...], records: Records) -> bool:
    return any(is_wide(form, records.schema) for form in forms)


def _shortened(vectors: Floats, wide: bool, least: float) -> Floats:
    """The vectors divided by their norm, or by `least` if that is more; the zero vector stays."""
    largest = np.maximum(np.abs(vectors).max(axis=0), least)
    if least == 0:
        largest += largest == 0
    if wide:
        vectors *= np.abs(vectors) >= largest * FLUSHED
    vectors /= largest  # first, so that no square overflows, nor vanishes with all others
    squares = np.zeros(vectors.shape[1])
    for row in vectors:
        squares += np.square(row)
    # The norm is now at least 1 wherever the vector was longer than `least`.
    vectors /= np.sqrt(np.maximum(squares, 1.0))
    return vectors


def _moments(vectors: Floats) -> Floats:
    length, people = vectors.shape
    products = np.empty((length * (length + 1) // 2, people))
    start = 0
    for place in range(length):
        stop = start + length - place
        np.multiply(vectors[place:], vectors[place], out=products[start:stop])
        products[start + 1 : stop] *= math.sqrt(2.0)
        start = stop
    return products


def _augmented(vectors: Floats, target: Floats) -> Floats:
    both = np.concatenate([_moments(vectors), vectors * target])
    both *= math.sqrt(0.5)
    return both


def _target(target: Scalar, records: Records) -> Floats:
    values: Floats = np.clip(evaluate(target, records).astype(np.float64), -1.0, 1.0)
    return values


def _dot(point: Point, vectors: Floats) -> Floats:
    sums = np.zeros(vectors.shape[1])
    for coordinate, row in zip(point, vectors, strict=True):
        sums += float(coordinate) * row
    return sums


def _placed(numbers: Integers, size: int, vectors: Floats) -> Floats:
    """Every block is made for everybody: the bits of the entries, under a mask of ones or of zeros."""
    length, people = vectors.shape
    blocks = np.empty((size, length, people))
    for number, block in enumerate(blocks):
        mask = (numbers != number) - np.int64(1)  # -1 has all bits
        np.bitwise_and(vectors.view(np.int64), mask, out=block.view(np.int64))
    return blocks.reshape(size * length, people)
