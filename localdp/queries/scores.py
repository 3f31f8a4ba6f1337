"""Scores to select from: one whole number for each candidate, which replacing one record moves by a bounded amount.

| candidates | rule | score of a candidate |
|---|---|---|
| queries, each a number | `Largest()` | the sum of the query over the people |
| queries, each a number | `Furthest(guess)` | how far the sum is from a guess at it, up or down |
| the values of a category | `Largest()` | how many people have the value |
| rows of weights in [0, 1] on these values | `Largest(rows)`, `Furthest(guess, rows)` | the same, of the sum of weights |
| the values in their order | `Quantile(at)` | minus how many people lie between the value and the quantile |

A sum is of bits, or of numbers on a grid of 2**-16.  Every rule moves a score by no more than the sums behind it move, also
where somebody has shifted those sums: so it does not matter to the promise who adds them up.

Claim.  `sensitivity`, which is read off the whole numbers that are summed, bounds how far replacing one record moves any
score.
Checked by replacing records in tests/unit/queries/test_scores.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter, QueryRefused
from localdp.framing import digest
from localdp.mechanisms.noisy_maximum import MOST_CANDIDATES
from localdp.queries.asked import Asked, AskedVector, checked_round, checked_vectors
from localdp.queries.encoded import GRID, encoded_sums
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.value_names import value_names
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.source import Floats, Integers

_LEAST_GUESS, _MOST_GUESS = -1.0, 2.0  # beyond these every guess at a mean is as wrong


class Rule(Protocol):
    """What makes a candidate good."""

    @property
    def weights(self) -> Floats | None:
        """Rows of weights between 0 and 1 on the values of a category; None: each value by itself."""
        ...

    @property
    def words(self) -> str:
        """Which candidate is wanted."""
        ...

    def scored(self, sums: Integers, whole: int) -> Integers:
        """The scores, where everybody together would add up to `whole`."""
        ...

    def estimated(self, means: Floats) -> Floats:
        """The same from estimated means, whose whole is 1."""
        ...


class _Weighing:
    """Rules that score each sum by itself."""

    weights: Floats | None

    def _require_weights(self) -> None:
        rows = self.weights
        if rows is not None and not (rows.ndim == 2 and ((rows >= 0) & (rows <= 1)).all()):
            raise InvalidParameter("weights are rows of numbers between 0 and 1, one for each value")

    def _marked(self, *numbers: Floats) -> str:
        """A few letters that tell other numbers apart."""
        return digest(*(np.ascontiguousarray(one).tobytes() for one in numbers)).hex()[:8]


class Largest(_Weighing):
    """The candidate of the largest sum."""

    def __init__(self, weights: ArrayLike | None = None) -> None:
        self.weights = None if weights is None else np.asarray(weights, np.float64)
        self._require_weights()

    @property
    def words(self) -> str:
        """The largest, by weights if there are any."""
        return "largest" if self.weights is None else f"largest by weights {self._marked(self.weights)}"

    def scored(self, sums: Integers, whole: int) -> Integers:
        """The sums."""
        return sums

    def estimated(self, means: Floats) -> Floats:
        """The means."""
        return means


class Furthest(_Weighing):
    """The candidate whose mean is furthest from a guess at it."""

    def __init__(self, guess: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.guess = np.clip(np.asarray(guess, np.float64), _LEAST_GUESS, _MOST_GUESS)
        self.weights = None if weights is None else np.asarray(weights, np.float64)
        self._require_weights()
        if self.guess.ndim != 1 or not np.isfinite(self.guess).all():
            raise InvalidParameter("a guess is one number for each candidate")

    @property
    def words(self) -> str:
        """Furthest from this guess."""
        numbers = (self.guess,) if self.weights is None else (self.guess, self.weights)
        return f"furthest from guess {self._marked(*numbers)}"

    def scored(self, sums: Integers, whole: int) -> Integers:
        """How far the sums are from the guess, on whole numbers."""
        return np.abs(sums - np.rint(self.guess * whole).astype(np.int64))

    def estimated(self, means: Floats) -> Floats:
        """How far the means are from the guess."""
        return np.abs(means - self.guess)


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value that a share `at` of the people lies below, of values in their order."""

    at: float
    weights: None = None

    def __post_init__(self) -> None:
        if not 0 <= self.at <= 1:
            raise InvalidParameter("a quantile is at a share between 0 and 1; the median is at 0.5")

    @property
    def words(self) -> str:
        """At which share."""
        return f"quantile at {self.at:g}"

    def scored(self, sums: Integers, whole: int) -> Integers:
        """0 for the value that holds the quantile; as many people below 0 as there are in between for the others."""
        upto: Integers = np.cumsum(sums)
        wanted = round(self.at * whole)
        missed: Integers = np.maximum(upto - sums - wanted, wanted - upto)
        return -np.maximum(missed, 0)

    def estimated(self, means: Floats) -> Floats:
        """The same with shares of the people."""
        upto = np.cumsum(means)
        return -np.maximum(np.maximum(upto - means - self.at, self.at - upto), 0.0)


LARGEST = Largest()


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Candidates and the rule, checked before anything is asked or charged."""

    numbers: tuple[
        StatisticalQuery, ...
    ]  # one for each candidate; none if the candidates are of a category
    category: VectorQuery | None
    rule: Rule
    weights: Integers | None  # of each candidate on the values, in units of 1 / resolution
    resolution: int

    @classmethod
    def checked(cls, of: Sequence[Asked] | AskedVector, rule: Rule, schema: Schema) -> Scores:
        """Those of a list of numbers, or of one category."""
        if isinstance(of, str | VectorQuery):
            return cls._of_category(checked_vectors([of], schema)[0], rule)
        numbers = tuple(checked_round(of, schema))
        if rule.weights is not None or isinstance(rule, Quantile):
            raise QueryRefused(f"{rule.words} is of the values of one category, not of a list of queries")
        bits = all(query.kind == "bit" for query in numbers)
        return cls(numbers, None, rule, None, 1 if bits else GRID)._fitting()

    @classmethod
    def _of_category(cls, query: VectorQuery, rule: Rule) -> Scores:
        if query.kind != "category":
            raise QueryRefused("candidates are a list of queries, or the values of one category")
        rows = rule.weights
        if rows is None:
            return cls((), query, rule, None, 1)._fitting()
        if rows.shape[1] != query.length:
            raise InvalidParameter(f"rows of weights have one for each of the {query.length} values")
        resolution = 1 if np.isin(rows, (0, 1)).all() else GRID
        return cls((), query, rule, np.rint(rows * resolution).astype(np.int64), resolution)._fitting()

    def _fitting(self) -> Scores:
        if not 1 <= len(self) <= MOST_CANDIDATES:
            raise InvalidParameter(f"there are 1 to {MOST_CANDIDATES:,} candidates")
        if isinstance(self.rule, Furthest) and len(self.rule.guess) != len(self):
            raise InvalidParameter("a guess is one number for each candidate")
        return self

    def __len__(self) -> int:
        """How many candidates there are."""
        if self.category is None:
            return len(self.numbers)
        return self.category.length if self.weights is None else len(self.weights)

    @property
    def queries(self) -> list[StatisticalQuery] | list[VectorQuery]:
        """What answers would be asked for."""
        return list(self.numbers) if self.category is None else [self.category]

    @property
    def text(self) -> str:
        """The whole selection in words."""
        return f"{self.rule.words} of {'; '.join(query.text for query in self.queries)}"

    def name(self, place: int) -> str:
        """What a candidate is called."""
        if self.category is None:
            return self.numbers[place].text
        if self.weights is not None:
            return f"row {place}"
        return value_names(self.category.expression, self.category.schema, self.category.length)[place]

    @property
    def sensitivity(self) -> int:
        """How far replacing one record moves a score at most."""
        if self.weights is None:
            return self.resolution
        return max(1, int((self.weights.max(axis=1) - self.weights.min(axis=1)).max()))

    def of(self, records: Records) -> Integers:
        """The scores of these records."""
        return self.rule.scored(self._sums(records), self.resolution * records.people)

    def estimated(self, means: Floats) -> Floats:
        """The scores, from the means of the queries or the shares of the values."""
        return self.rule.estimated(means if self.weights is None else self._shares @ means)

    @property
    def reach(self) -> float:
        """By how many standard errors of one share a score is off, where shares are off independently."""
        if isinstance(self.rule, Quantile):
            return float(np.sqrt(len(self) / 2))  # half of the values lie below the middle one
        return 1.0 if self.weights is None else float(np.sqrt(np.square(self._shares).sum(axis=1).max()))

    @property
    def _shares(self) -> NDArray[np.float64]:
        assert self.weights is not None
        return self.weights / self.resolution

    def _sums(self, records: Records) -> Integers:
        if self.category is not None:
            counts = encoded_sums(self.category, records)
            return counts if self.weights is None else self.weights @ counts
        units = [self.resolution if query.kind == "bit" else 1 for query in self.numbers]
        sums = [int(encoded_sums(query, records)[0]) for query in self.numbers]
        return np.array([one * unit for one, unit in zip(sums, units, strict=True)], np.int64)
