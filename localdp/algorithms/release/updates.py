"""Database update algorithms (Definitions 5.3 and 5.4): guesses of a database that get better with every mistake shown.

A guess D answers linear queries f, rows of values in [0, 1] over the cells of a universe X.  It is shown a query on
which it is wrong, |f(x) - f(D)| >= alpha, with a value v that tells the side, |f(x) - v| < alpha, and makes a better
guess.  An algorithm is a T(alpha)-database update algorithm when no such sequence is longer than T(alpha), whoever
chooses it.

| algorithm | guess | update | T(alpha) |
|---|---|---|---|
| `MultiplicativeWeights` (Theorem 4.10) | a distribution | times exp(-+ alpha f / 2) | 4 ln|X| / alpha**2 |
| the same, `tight` | a distribution | times exp(-+ 4 alpha f) | ln|X| / (2 alpha**2) |
| `MeasuredWeights` (MWEM) | a distribution | times exp(f (v - f(D)) / 2), old ones again | not proved |
| `Perceptron` | any vector | plus or minus alpha f / |f|**2 | |f|**2 / alpha**2 |
| `Halving` (the median mechanism) | the median of candidates | drops the wrong side | log2 of their number |

Sources: Hardt and Rothblum 2010; Hardt, Ligett and McSherry 2012; Novikoff 1962; Roth and Roughgarden 2010.

Why.  Multiplicative weights: the entropy of x relative to D is at most ln|X| at first, never negative, and a step of
rate r takes at least r alpha - r**2 / 8 off it (Hoeffding's lemma).  The book's proof bounds the last term by r**2, and
has r = alpha / 2 and T(alpha) = 4 ln|X| / alpha**2; the best rate is 4 alpha, with an eighth of the updates.
Perceptron: a step takes alpha**2 / |f|**2 off the squared distance of x and D, which is at most 1 - 1/|X|; f is taken
less its mean over X, because the sum of D is known.  Halving: the candidate nearest to x never goes, if it is nearer
than alpha in every query, and half of the others do.

Claim.  T(alpha) holds against every sequence.  Checked with adversaries that choose both the queries and the values in
tests/unit/algorithms/release/test_updates.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol, TypeAlias

import numpy as np

from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.estimation.consistency import norm_sub
from localdp.estimation.multiplicative_weights import stepped
from localdp.randomness.source import Floats

MOST_CANDIDATES = 1 << 16

Guess: TypeAlias = Any  # what each update makes its guesses of
_Measured = tuple[
    Floats, tuple[tuple[Floats, float], ...]
]  # the masses, and what was measured of which query


class DatabaseUpdate(Protocol):
    """U of Definition 5.4, with its T; the state is whatever a guess is made of."""

    def start(self, cells: int) -> Guess:
        """The first guess."""
        ...

    def answers(self, state: Guess, rows: Floats) -> Floats:
        """What the guess answers to these queries."""
        ...

    def update(self, state: Guess, row: Floats, value: float, alpha: float) -> Guess:
        """A better guess, from a query that it is off by at least alpha on."""
        ...

    def bound(self, alpha: float, rows: Floats) -> int:
        """T(alpha): the most updates that there can be about these queries."""
        ...

    def distribution(self, state: Guess) -> Floats:
        """The guess as a distribution over the cells."""
        ...


class _Weights:
    """What guesses that are distributions share."""

    __slots__ = ()

    def start(self, cells: int) -> Floats:
        """Every cell alike."""
        return np.full(cells, 1 / cells)

    def answers(self, state: Floats, rows: Floats) -> Floats:
        """The means of the queries."""
        result: Floats = rows @ state
        return result

    def distribution(self, state: Floats) -> Floats:
        """The guess itself."""
        return state


@dataclass(frozen=True, slots=True)
class MultiplicativeWeights(_Weights):
    """Uses the side of a mistake only."""

    tight: bool = False  # the best rate and its bound, in place of the book's

    def update(self, state: Floats, row: Floats, value: float, alpha: float) -> Floats:
        """More mass where the query is large if the guess is too small, less if it is too large."""
        rate = 4 * alpha if self.tight else alpha / 2
        return stepped(state, (rate if value > float(row @ state) else -rate) * row)

    def bound(self, alpha: float, rows: Floats) -> int:
        """4 ln|X| / alpha**2, or an eighth of it."""
        entropy = math.log(rows.shape[1])
        return math.floor(entropy / (2 * alpha**2) if self.tight else 4 * entropy / alpha**2)


@dataclass(frozen=True, slots=True)
class Perceptron:
    """Adds and subtracts queries; the guess may have negative cells."""

    def start(self, cells: int) -> Floats:
        """Every cell alike."""
        return np.full(cells, 1 / cells)

    def answers(self, state: Floats, rows: Floats) -> Floats:
        """The sums of the queries over the cells."""
        result: Floats = rows @ state
        return result

    def update(self, state: Floats, row: Floats, value: float, alpha: float) -> Floats:
        """A step along the query, less its mean."""
        centred = row - row.mean()
        square = float(centred @ centred)
        side = 1.0 if value > float(row @ state) else -1.0
        # A query that is the same everywhere teaches nothing.
        return state + side * alpha / square * centred if square else state

    def bound(self, alpha: float, rows: Floats) -> int:
        """(1 - 1/|X|) times the largest squared length of a query, less its mean, over alpha**2."""
        squares = ((rows - rows.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        return math.floor(float((1 - 1 / rows.shape[1]) * squares.max()) / alpha**2)

    def distribution(self, state: Floats) -> Floats:
        """The nearest distribution."""
        return norm_sub(state)


@dataclass(frozen=True, slots=True, eq=False)
class Halving:
    """Keeps the candidates that no mistake has ruled out; the guess is their median, query by query.

    `candidates` are distributions, one row each; with `small_databases` they are a net for all databases.
    """

    candidates: Floats

    def __post_init__(self) -> None:
        shape = self.candidates.shape
        if len(shape) != 2 or not 1 <= shape[0] <= MOST_CANDIDATES:
            raise InvalidParameter(f"candidates are 1 to {MOST_CANDIDATES} rows")

    def start(self, cells: int) -> Floats:
        """All candidates."""
        if self.candidates.shape[1] != cells:
            raise InvalidParameter("a candidate has a mass for every cell of the universe")
        return self.candidates

    def answers(self, state: Floats, rows: Floats) -> Floats:
        """The lower median of the candidates' answers to each query."""
        place = (len(state) - 1) // 2
        result: Floats = np.partition(rows @ state.T, place, axis=1)[:, place]
        return result

    def update(self, state: Floats, row: Floats, value: float, alpha: float) -> Floats:
        """The candidates on the right side of the median."""
        own = state @ row
        median = np.partition(own, (len(own) - 1) // 2)[(len(own) - 1) // 2]
        kept: Floats = state[own > median if value > median else own < median]
        if not len(kept):
            raise SignalTooWeak(
                "no candidate is left: the class has nothing near the answers at this alpha"
            )
        return kept

    def bound(self, alpha: float, rows: Floats) -> int:
        """log2 of the number of candidates."""
        return len(self.candidates).bit_length() - 1

    def distribution(self, state: Floats) -> Floats:
        """The average of the candidates that are left; what is claimed is about their median."""
        result: Floats = state.mean(axis=0)
        return result


def small_databases(cells: int, records: int) -> Floats:
    """All databases of so few records, as distributions: a net for all databases (Blum, Ligett and Roth 2008)."""
    if min(cells, records) < 1 or math.comb(cells + records - 1, records) > MOST_CANDIDATES:
        raise InvalidParameter(f"a net has at most {MOST_CANDIDATES} databases")
    # Bars among stars: the records of a cell are those between two bars.
    bars = np.array(list(combinations(range(cells + records - 1), cells - 1)), np.int64)
    ends = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, cells + records - 1)))
    result: Floats = (np.diff(ends, axis=1) - 1) / records
    return result


@dataclass(frozen=True, slots=True)
class MeasuredWeights:
    """Uses how far off the guess was, and shows it all earlier measurements again: MWEM."""

    repetitions: int = 20

    def start(self, cells: int) -> _Measured:
        """Every cell alike, and nothing measured."""
        return np.full(cells, 1 / cells), ()

    def answers(self, state: _Measured, rows: Floats) -> Floats:
        """The means of the queries."""
        result: Floats = rows @ state[0]
        return result

    def update(self, state: _Measured, row: Floats, value: float, alpha: float) -> _Measured:
        """Steps on all measurements in turn, each by half of what is missing."""
        masses, measured = state[0], (*state[1], (row, value))
        for _ in range(self.repetitions):
            for seen, wanted in reversed(measured):
                masses = stepped(masses, (wanted - float(seen @ masses)) / 2 * seen)
        return masses, measured

    def bound(self, alpha: float, rows: Floats) -> int:
        """What `MultiplicativeWeights` needs; with repetitions nothing is proved."""
        return MultiplicativeWeights(tight=True).bound(alpha, rows)

    def distribution(self, state: _Measured) -> Floats:
        """The last guess."""
        return state[0]
