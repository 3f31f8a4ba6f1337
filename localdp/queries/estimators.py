"""What can be computed of a block of people: estimators by name, with inputs from the query language (section 7.1).

| written | of a block | is |
|---|---|---|
| mean(x) | the mean | a number |
| median(x) | a value with as many people on either side, within 2**-40 of the bounds | a number |
| deviation(x) | the standard deviation | a number |
| slope(y, x, ...) | the coefficient of x in a linear regression on x and all that follow | a number |
| logistic(y, x, ...) | the same of a logistic regression of the condition y | a number |
| best(y, x, ...) | which of the conditions x, ... the condition y is most often equal or opposite to | one of them |

An estimator is a name and expressions, never code, so that it can be asked of somebody else's records.  A new one is a row
of `ESTIMATORS`.

Claim.  What is computed of a block depends on its own people alone, bit by bit: sums are made block by block, and every
matrix takes the same steps by itself.  Of any numbers there is an estimate: nothing is refused, raises, or overflows, since
a refusal would be an answer without noise.  The work follows from the numbers of people, inputs and blocks, and not from
values: medians halve an interval so many times, regressions take so many steps.
Checked in tests/unit/queries/test_estimators.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import numpy as np

from localdp.randomness.source import Floats, Integers

_HALVINGS = 40
_NEWTON_STEPS = 12
_RIDGE = 1e-9  # beside lines of size 1, so that every matrix can be solved
_LEAST_SIZE = 1e-3  # a line is of at least this size, person by person
_LEAST_INPUT, _LARGEST_INPUT = 1e-100, 1e100  # in absolute value; what is less is 0
_LARGEST_SOLUTION = 1e120  # which none reaches whose inputs are no larger than that
_ENTRIES_AT_ONCE = 1 << 20  # of the matrices of blocks
_LARGEST_STEP, _LARGEST_COEFFICIENT = 2.0, 1e6


@dataclass(frozen=True, eq=False)
class Blocking:
    """Rows block by block; a row may be in several blocks."""

    order: Integers  # of the rows
    sizes: Integers  # of the blocks, none of them empty

    @cached_property
    def starts(self) -> Integers:
        """Where each block begins."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.sizes)[:-1]])

    def sums(self, values: Floats) -> Floats:
        """Of each block by itself: along the last axis."""
        added: Floats = np.add.reduceat(values, self.starts, axis=-1)
        return added

    def spread(self, of_blocks: Floats) -> Floats:
        """Each block's number, for each of its people."""
        return np.repeat(of_blocks, self.sizes, axis=-1)

    def pieces(self, blocks: int) -> Iterator[tuple[slice, Blocking]]:
        """So many blocks at a time: where their people are, and they by themselves."""
        for first in range(0, len(self.sizes), blocks):
            start, sizes = int(self.starts[first]), self.sizes[first : first + blocks]
            rows = slice(start, start + int(sizes.sum()))
            yield rows, replace(self, order=self.order[rows], sizes=sizes)


@dataclass(frozen=True, eq=False)
class BlockInputs:
    """The inputs of an estimator, each a number for every person, in the order of the blocks."""

    column: Callable[[int], Floats]  # the values of an input, person by person
    number: int  # of inputs
    blocking: Blocking
    low: float
    high: float

    def __getitem__(self, place: int) -> Floats:
        values = np.clip(self.column(place)[self.blocking.order], -_LARGEST_INPUT, _LARGEST_INPUT)
        return values * (np.abs(values) >= _LEAST_INPUT)

    def table(self, first: int) -> Floats:
        """The inputs from a place on, and ones: a line for each."""
        lines = [self[place] for place in range(first, self.number)]
        return np.stack([*lines, np.ones(len(self.blocking.order))])


@dataclass(frozen=True, slots=True)
class BlockEstimator:
    """A row: what it takes, what it yields, what it costs."""

    name: str
    least_inputs: int
    most_inputs: int
    of_blocks: Callable[[BlockInputs], Floats]
    passes: Callable[[int], int]  # how often all people are gone through, by the number of inputs
    kind: Literal["number", "choice"] = "number"
    conditions: int = 0  # so many of the first inputs are conditions; -1: all are
    solves: int = 0  # how often a matrix is solved for each block, of a line for each input


def _mean(inputs: BlockInputs) -> Floats:
    return inputs.blocking.sums(inputs[0]) / inputs.blocking.sizes


def _deviation(inputs: BlockInputs) -> Floats:
    values, blocking = inputs[0], inputs.blocking
    from_mean = values - blocking.spread(_mean(inputs))
    return np.sqrt(blocking.sums(from_mean**2) / blocking.sizes)


def _median(inputs: BlockInputs) -> Floats:
    """Halve the interval in which half of a block's people, or more, are at or below the upper end."""
    values, blocking = inputs[0], inputs.blocking
    low, high = (np.full(len(blocking.sizes), end) for end in (inputs.low, inputs.high))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = blocking.sums((values <= blocking.spread(middle)).astype(np.float64))
        enough = (2 * below >= blocking.sizes).astype(np.float64)
        low, high = enough * low + (1 - enough) * middle, enough * middle + (1 - enough) * high
    return high


def _regression(of_piece: Callable[[Floats, Floats, Blocking], Floats]) -> Callable[[BlockInputs], Floats]:
    """Of the target, the lines and their blocks; of some blocks at a time, since their matrices take memory."""

    def of_blocks(inputs: BlockInputs) -> Floats:
        target, table = inputs[0], inputs.table(1)
        pieces = inputs.blocking.pieces(blocks_at_once(len(table)))
        return np.concatenate([of_piece(target[rows], table[:, rows], piece) for rows, piece in pieces])

    return of_blocks


def blocks_at_once(lines: int) -> int:
    """Of how many blocks matrices of so many lines are made at a time."""
    return _ENTRIES_AT_ONCE // lines**2


def _slope(target: Floats, table: Floats, blocking: Blocking) -> Floats:
    slopes: Floats = _solved(_products(table, blocking), blocking.sums(table * target), blocking)[0]
    return slopes


def _logistic(target: Floats, table: Floats, blocking: Blocking) -> Floats:
    """Newton's method from 0, a fixed number of steps of bounded length."""
    weights = np.zeros((len(table), len(blocking.sizes)))
    for _ in range(_NEWTON_STEPS):
        lines = zip(table, weights, strict=True)
        scores = sum((line * blocking.spread(one) for line, one in lines), np.zeros(len(target)))
        chance = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
        gradient = blocking.sums(table * (target - chance)) - _RIDGE * weights
        step = _solved(_products(table, blocking, chance * (1 - chance)), gradient, blocking)
        step = np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
        weights = np.clip(weights + step, -_LARGEST_COEFFICIENT, _LARGEST_COEFFICIENT)
    slopes: Floats = weights[0]
    return slopes


def _best(inputs: BlockInputs) -> Floats:
    blocking, signs = inputs.blocking, 2 * inputs[0] - 1
    agreements = [
        np.abs(blocking.sums(signs * (2 * inputs[place] - 1))) for place in range(1, inputs.number)
    ]
    best: Floats = np.argmax(np.stack(agreements), axis=0).astype(np.float64)
    return best


def _products(table: Floats, blocking: Blocking, weights: Floats | None = None) -> Floats:
    """The matrix of each block, which is the last axis: sums of products of two lines."""
    size = len(table)
    matrices = np.empty((size, size, len(blocking.sizes)))
    for one in range(size):
        line = table[one] if weights is None else table[one] * weights
        for other in range(one + 1):
            matrices[one, other] = matrices[other, one] = blocking.sums(line * table[other])
    return matrices


def _solved(matrices: Floats, right: Floats, blocking: Blocking) -> Floats:
    """One solution for each block, whatever its matrix is: lines are brought to size 1, and then a ridge is added.

    Cholesky's method, the same steps for all blocks, entry by entry.  No pivot is smaller than the ridge, and no entry of a
    factor is larger than 1 but for rounding, so that the bounds below change nothing that is not rounding.
    """
    size = range(len(matrices))
    scale = np.sqrt(matrices[size, size]) + _LEAST_SIZE * np.sqrt(blocking.sizes)
    factor, solved = matrices / scale[:, None] / scale, right / scale
    for one in size:
        factor[one, one] = pivot = np.sqrt(np.maximum(factor[one, one], 0) + _RIDGE)
        factor[one + 1 :, one] = below = np.clip(factor[one + 1 :, one] / pivot, -2, 2)
        factor[one + 1 :, one + 1 :] -= below[:, None] * below
        solved[one] = _bounded(solved[one] / pivot)
        solved[one + 1 :] -= below * solved[one]
    for one in reversed(size):
        solved[one] = _bounded(solved[one] / factor[one, one])
        solved[:one] -= factor[one, :one] * solved[one]
    return solved / scale


def _bounded(values: Floats) -> Floats:
    return np.clip(values, -_LARGEST_SOLUTION, _LARGEST_SOLUTION)


def _newton_passes(inputs: int) -> int:
    return _NEWTON_STEPS * (inputs * (inputs + 1) // 2 + 2 * inputs + 6)


_MOST_REGRESSORS = 33  # with the target
_ROWS = (
    BlockEstimator("mean", 1, 1, _mean, lambda inputs: 2),
    BlockEstimator("median", 1, 1, _median, lambda inputs: 1 + 4 * _HALVINGS),
    BlockEstimator("deviation", 1, 1, _deviation, lambda inputs: 6),
    BlockEstimator(
        "slope",
        2,
        _MOST_REGRESSORS,
        _regression(_slope),
        lambda inputs: 3 * inputs + inputs * (inputs + 1),
        solves=1,
    ),
    BlockEstimator(
        "logistic",
        2,
        _MOST_REGRESSORS,
        _regression(_logistic),
        _newton_passes,
        conditions=1,
        solves=_NEWTON_STEPS,
    ),
    BlockEstimator("best", 3, 1025, _best, lambda inputs: 5 * inputs, "choice", conditions=-1),
)
ESTIMATORS: Mapping[str, BlockEstimator] = MappingProxyType({row.name: row for row in _ROWS})
