"""Queries on the whole numbers: what a curator, trusted or shared, adds up.

| query | entries | encoding |
|---|---|---|
| bit | 1 | count |
| unit | phi times at most 2**16, rounded; exact where columns are whole numbers (`resolution_of`) | sum |
| category of k values | one-hot | histogram of k |
| cube | u times 2**16, rounded; bits, where all entries are conditions | vector, sensitivity length * bound |
| ball | (v + 1) times 2**16, rounded | vector, sensitivity floor(2 sqrt(d) 2**16) + d |
| parities | 1 where the sign is negative | vector of bits, sensitivity the most signs that two records differ in |

Claim.  `encoding_of(query).sensitivity` bounds the distance, in the sum of absolute values, of any two rows of
`encoded`: two vectors of length at most 1 are at most 2 apart, and the sum of absolute values of d entries is at most
sqrt(d) times their length; rounding moves each of the d entries by at most 1/2 on either side.
Checked in tests/unit/queries/test_encoded.py.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.queries.checking import type_of
from localdp.queries.expressions import Expression, Vector
from localdp.queries.kinds import BitType
from localdp.queries.of_rows import is_whole
from localdp.queries.scalars import Clip, Linear, Number, UnitDecisionList
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.marginals import parity_masks
from localdp.randomizers.parts.walsh import parity, walsh_hadamard
from localdp.randomness.source import Floats, Integers, Numbers
from localdp.sharing.encoding import Encoding

GRID = 1 << 16  # finest resolution on which a number between 0 and 1, or between -1 and 1, is encoded
BLOCK_ENTRIES = 1 << 22  # of a matrix of people and entries that is made at a time
_MOST_TRANSFORMED_BITS = 20

Query = StatisticalQuery | VectorQuery


def encoding_of(query: Query) -> Encoding:
    """The shape of a query's encoded answers."""
    match query.kind:
        case "bit":
            return Encoding.count()
        case "unit":
            return Encoding.sum(resolution_of(query))
        case "category":
            return Encoding.histogram(query.length)
        case "cube":
            resolution = resolution_of(query)
            return Encoding.vector(query.length, resolution, query.length * resolution)
        case "ball":
            reach = math.isqrt(4 * query.length * GRID**2) + query.length
            return Encoding.vector(query.length, 2 * GRID, min(reach, 2 * GRID * query.length))
    return Encoding.vector(query.length, 1, most_differing(query.bits, query.order, query.labelled))


def resolution_of(query: Query) -> int:
    """How many units of the encoding a number from 0 to 1 has.

    Of whole numbers it is a multiple of all denominators, where there is one up to 2**16: then nothing is rounded.  Where
    something is, an answer is off by at most half a unit: more than noise, where more than 100,000 people have the same.
    """
    if isinstance(query, VectorQuery) and _has_conditions_alone(query):
        return 1
    denominator = denominator_of(query)
    return GRID if denominator is None else denominator * (GRID // denominator)


def denominator_of(query: Query) -> int | None:
    """The least number of units that makes all values of a number whole; None if there is none up to 2**16."""
    if not isinstance(query, StatisticalQuery) or not _is_whole(query):
        return None
    denominator = math.lcm(*(number.denominator for number in _numbers_in(query.expression)))
    return denominator if denominator <= GRID else None


@lru_cache(maxsize=256)
def _has_conditions_alone(query: VectorQuery) -> bool:
    """Whether a vector's entries are bits."""
    return isinstance(query.expression, Vector) and all(
        isinstance(type_of(entry, query.schema), BitType) for entry in query.expression.components
    )


def _is_whole(query: StatisticalQuery) -> bool:
    """Whether all columns that it adds up hold whole numbers."""
    return is_whole(query.expression, query.schema)


def _numbers_in(expression: Expression) -> list[Fraction]:
    """The numbers that a value is made of: coefficients and constants."""
    match expression:
        case Clip(operand):
            return _numbers_in(operand)
        case Linear(constant, terms):
            return [constant, *(coefficient for coefficient, _ in terms)]
        case UnitDecisionList(rules, otherwise):
            return [
                one for value in (*(value for _, value in rules), otherwise) for one in _numbers_in(value)
            ]
        case Number(value):
            return [value]
    return []


def encoded(query: Query, records: Records) -> Integers:
    """One row of entries for each person."""
    return encoding_of(query).rows(measured(query, records))


def measured(query: Query, records: Records) -> NDArray[np.unsignedinteger]:
    """What the rows of entries are made of, as short as it is for every record: the number of a category, or the rows."""
    narrow = encoding_of(query).narrow
    if isinstance(query, StatisticalQuery):
        return query.encode(records, encoding_of(query).bound)[:, None].astype(narrow)
    values = query.evaluate(records)
    entries: Numbers
    match query.kind:
        case "category":
            entries = values[:, None]
        case "cube":
            entries = np.rint(values * resolution_of(query))
        case "ball":
            entries = np.rint(values * GRID) + GRID
        case _:
            entries = parity(values[:, None].astype(np.uint64) & masks_of(query))
    return entries.astype(narrow)


def encoded_sums(query: Query, records: Records) -> Integers:
    """The sums of the entries over all people."""
    if query.kind == "bit":
        return np.array([np.count_nonzero(query.evaluate(records))], np.int64)
    if isinstance(query, VectorQuery) and query.kind == "category":
        counts = np.bincount(query.evaluate(records), minlength=query.length)
        return counts.astype(np.int64)
    if isinstance(query, VectorQuery) and query.kind == "parities":
        return _negative_signs(query, records)
    length = encoding_of(query).length
    sums = np.zeros(length, np.int64)
    for start, stop in blocks(records.people, length):
        sums += encoded(query, records.slice(start, stop)).sum(axis=0)
    return sums


def means_of(query: Query, sums: NDArray[np.float64] | Integers, people: int) -> Floats:
    """What sums over so many people say about the means of a query's own entries."""
    means: Floats = np.asarray(sums, np.float64) / people
    match query.kind:
        case "bit" | "category":
            return means
        case "unit" | "cube":
            return means / resolution_of(query)
        case "ball":
            return means / GRID - 1
    return 1 - 2 * means


def unit_of(query: Query) -> float:
    """How much of a query's own value one unit of its encoding is, regardless of sign."""
    return {"bit": 1.0, "category": 1.0, "parities": 2.0}.get(query.kind, 1 / resolution_of(query))


def spread_of(query: Query) -> float:
    """Largest variance of an entry among people, on average over the entries, with uniform frequencies."""
    match query.kind:
        case "category":
            return (1 - 1 / query.length) / query.length
        case "ball":
            return 1 / query.length
        case "parities":
            return 1.0
    return 0.25


def entries_of(query: Query) -> int:
    """How many numbers an answer has."""
    return 1 if isinstance(query, StatisticalQuery) else query.length


def masks_of(query: VectorQuery) -> NDArray[np.uint64]:
    """The bits of each parity of a query, the label's bit included, in order."""
    if query.kind != "parities":
        raise InvalidParameter("only parities have masks")
    if not query.labelled:
        return parity_masks(query.bits, query.order)
    without = parity_masks(query.bits, min(query.order, query.bits))
    label = np.uint64(1 << query.bits)
    return np.concatenate([np.zeros(1, np.uint64), without]) | label


def blocks(people: int, length: int) -> list[tuple[int, int]]:
    """Ranges of people whose matrix of entries is of bounded size."""
    step = max(1, BLOCK_ENTRIES // length)
    return [(start, min(start + step, people)) for start in range(0, people, step)]


@lru_cache(maxsize=64)
def most_differing(bits: int, order: int, labelled: bool) -> int:
    """The most parities of these that two records can differ in.

    Records that differ in w of the d bits differ in the parities that meet those w in an odd number; if the labels
    differ as well, in the others.
    """
    if labelled:
        return sum(math.comb(bits, weight) for weight in range(order + 1))
    return max(_odd_meetings(bits, order, changed) for changed in range(1, bits + 1))


def _odd_meetings(bits: int, order: int, changed: int) -> int:
    return sum(
        math.comb(changed, inside) * math.comb(bits - changed, weight - inside)
        for weight in range(1, order + 1)
        for inside in range(1, min(weight, changed) + 1, 2)
    )


def _negative_signs(query: VectorQuery, records: Records) -> Integers:
    """How many people have a negative sign, for each parity: by one transform where the words are short."""
    words = query.evaluate(records).astype(np.uint64)
    asked = masks_of(query)
    width = query.bits + query.labelled
    if width <= _MOST_TRANSFORMED_BITS:
        counts = np.bincount(words.astype(np.int64), minlength=1 << width).astype(np.int64)
        signs = walsh_hadamard(counts)[asked.astype(np.int64)]
        return (records.people - signs) // 2
    return np.array([np.count_nonzero(parity(words & mask)) for mask in asked], np.int64)
