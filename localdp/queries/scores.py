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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter, QueryRefused
from localdp.framing import digest
from localdp.queries.asked import Asked, AskedVector, checked_round, checked_vectors
from localdp.queries.encoded import GRID, Query, encoded_sums
from localdp.queries.expressions import Vector
from localdp.queries.scalars import Component
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.value_names import value_names
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.source import Floats, Integers
from localdp.sharing.selection import MOST_CANDIDATES, Selection, SelectionRule

_LEAST_GUESS, _MOST_GUESS = -1.0, 2.0  # beyond these every guess at a mean is as wrong


@dataclass(frozen=True, slots=True, eq=False)
class WeightRows:
    """Rows of weights between 0 and 1 on the values of a category, on whole numbers: a candidate each."""

    numbers: Integers  # in units of 1 / resolution
    resolution: int
    sensitivity: int  # how far one person's value moves the sum of a row at most
    mark: str  # a few letters that tell other rows apart

    @classmethod
    def of(cls, weights: ArrayLike | WeightRows) -> WeightRows:
        """The rows on the grid."""
        if isinstance(weights, WeightRows):
            return weights
        rows = np.asarray(weights, np.float64)
        if not (rows.ndim == 2 and rows.size and ((rows >= 0) & (rows <= 1)).all()):
            raise InvalidParameter("weights are rows of numbers between 0 and 1, one for each value")
        resolution = 1 if np.isin(rows, (0, 1)).all() else GRID
        numbers = np.rint(rows * resolution).astype(np.int64)
        moved = max(1, int((numbers.max(axis=1) - numbers.min(axis=1)).max()))
        return cls(numbers, resolution, moved, _marked(rows))

    @property
    def shares(self) -> Floats:
        """The weights, as far as the grid has them."""
        return self.numbers / self.resolution


def _marked(numbers: Floats) -> str:
    return digest(np.ascontiguousarray(numbers).tobytes()).hex()[:8]


class Rule(Protocol):
    """What makes a candidate good."""

    @property
    def kind(self) -> SelectionRule:
        """What share servers know the rule by."""
        ...

    def offsets(self, whole: int) -> tuple[int, ...]:
        """What they take off the sums, where everybody together would add up to `whole`."""
        ...

    @property
    def rows(self) -> WeightRows | None:
        """Weights on the values of a category; None: each value by itself."""
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


class Largest:
    """The candidate of the largest sum."""

    kind: SelectionRule = "largest"

    def __init__(self, rows: ArrayLike | WeightRows | None = None) -> None:
        self.rows = None if rows is None else WeightRows.of(rows)

    @property
    def words(self) -> str:
        """The largest, by weights if there are any."""
        return "largest" if self.rows is None else f"largest by rows {self.rows.mark}"

    def offsets(self, whole: int) -> tuple[int, ...]:
        """Nothing."""
        return ()

    def scored(self, sums: Integers, whole: int) -> Integers:
        """The sums."""
        return sums

    def estimated(self, means: Floats) -> Floats:
        """The means."""
        return means


class Furthest:
    """The candidate whose mean is furthest from a guess at it."""

    kind: SelectionRule = "furthest"

    def __init__(self, guess: ArrayLike, rows: ArrayLike | WeightRows | None = None) -> None:
        self.guess = np.clip(np.asarray(guess, np.float64), _LEAST_GUESS, _MOST_GUESS)
        self.rows = None if rows is None else WeightRows.of(rows)
        if self.guess.ndim != 1 or not np.isfinite(self.guess).all():
            raise InvalidParameter("a guess is one number for each candidate")

    @property
    def words(self) -> str:
        """Furthest from this guess."""
        by = "" if self.rows is None else f" by rows {self.rows.mark}"
        return f"furthest from guess {_marked(self.guess)}{by}"

    def offsets(self, whole: int) -> tuple[int, ...]:
        """The guess at each sum, on whole numbers."""
        return tuple(np.rint(self.guess * whole).astype(np.int64).tolist())

    def scored(self, sums: Integers, whole: int) -> Integers:
        """How far the sums are from the guess, on whole numbers."""
        return np.abs(sums - np.array(self.offsets(whole), np.int64))

    def estimated(self, means: Floats) -> Floats:
        """How far the means are from the guess."""
        return np.abs(means - self.guess)


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value that a share `at` of the people lies below, of values in their order."""

    at: float
    rows: None = None
    kind: ClassVar[SelectionRule] = "quantile"

    def __post_init__(self) -> None:
        if not 0 <= self.at <= 1:
            raise InvalidParameter("a quantile is at a share between 0 and 1; the median is at 0.5")

    @property
    def words(self) -> str:
        """At which share."""
        return f"quantile at {self.at:g}"

    def offsets(self, whole: int) -> tuple[int, ...]:
        """How many people are wanted below it."""
        return (round(self.at * whole),)

    def scored(self, sums: Integers, whole: int) -> Integers:
        """0 for the value that holds the quantile; as many people below 0 as there are in between for the others."""
        upto: Integers = np.cumsum(sums)
        (wanted,) = self.offsets(whole)
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

    numbers: tuple[StatisticalQuery, ...]  # one for each candidate, or none
    category: VectorQuery | None  # whose values, or rows of weights on them, are the candidates
    rule: Rule

    @classmethod
    def checked(cls, of: Sequence[Asked] | AskedVector, rule: Rule, schema: Schema) -> Scores:
        """Those of a list of numbers, or of one category."""
        if isinstance(of, str | VectorQuery):
            made = cls((), checked_vectors([of], schema)[0], rule)
        else:
            made = cls(tuple(checked_round(of, schema)), None, rule)
        made._require_fitting()
        return made

    def _require_fitting(self) -> None:
        """Refuse a rule that is not about these candidates."""
        rows, category = self.rule.rows, self.category
        if category is None and (rows is not None or isinstance(self.rule, Quantile)):
            raise QueryRefused(
                f"{self.rule.words} is of the values of one category, not of a list of queries"
            )
        if category is not None and category.kind != "category":
            raise QueryRefused("candidates are a list of queries, or the values of one category")
        if category is not None and rows is not None and rows.numbers.shape[1] != category.length:
            raise InvalidParameter(f"rows of weights have one for each of the {category.length} values")
        if not 1 <= len(self) <= MOST_CANDIDATES:
            raise InvalidParameter(f"there are 1 to {MOST_CANDIDATES:,} candidates")
        if isinstance(self.rule, Furthest) and len(self.rule.guess) != len(self):
            raise InvalidParameter("a guess is one number for each candidate")

    def __len__(self) -> int:
        """How many candidates there are."""
        if self.category is None:
            return len(self.numbers)
        return self.category.length if self.rule.rows is None else len(self.rule.rows.numbers)

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
        if self.rule.rows is not None:
            return f"row {place}"
        return value_names(self.category.expression, self.category.schema, self.category.length)[place]

    @property
    def resolution(self) -> int:
        """The units of a sum that one person of value 1 is."""
        if self.rule.rows is not None:
            return self.rule.rows.resolution
        return 1 if all(query.kind == "bit" for query in self.numbers) else GRID

    @property
    def sensitivity(self) -> int:
        """How far replacing one record moves a score at most."""
        return self.resolution if self.rule.rows is None else self.rule.rows.sensitivity

    @property
    def collected(self) -> VectorQuery:
        """One query whose sums have all scores in them."""
        if self.category is not None:
            return self.category
        return _listed(self.numbers)

    def selection(self, people: int) -> Selection:
        """The same rule, for share servers that add up what so many people answer to `collected`."""
        rows = self.rule.rows
        weights = b"" if rows is None else Selection.packed_weights(rows.numbers)
        return Selection(self.rule.kind, len(self), self.rule.offsets(self.resolution * people), weights)

    def scored(self, added: Callable[[Query], Integers], people: int) -> Integers:
        """The scores, from whoever adds up the entries of a query over the people."""
        return self.rule.scored(self._sums(added), self.resolution * people)

    def of(self, records: Records) -> Integers:
        """The scores of these records."""
        return self.scored(partial(encoded_sums, records=records), records.people)

    def estimated(self, means: Floats) -> Floats:
        """The scores, from the means of the queries or the shares of the values."""
        rows = self.rule.rows
        return self.rule.estimated(means if rows is None else rows.shares @ means)

    def reach(self, *, independent: bool) -> float:
        """How many times as far off as one share a score is, where shares are off independently, or all the same way."""
        power = 2 if independent else 1
        if isinstance(self.rule, Quantile):  # half of the values lie below the middle one
            return float((len(self) / 2) ** (1 / power))
        rows = self.rule.rows
        return 1.0 if rows is None else float((rows.shares**power).sum(axis=1).max() ** (1 / power))

    def _sums(self, added: Callable[[Query], Integers]) -> Integers:
        if self.category is not None:
            counts, rows = added(self.category), self.rule.rows
            return counts if rows is None else rows.numbers @ counts
        return np.array([self._summed(one, added) for one in self.numbers], np.int64)

    def _summed(self, query: StatisticalQuery, added: Callable[[Query], Integers]) -> int:
        """The sum of a query in the units of the scores: conditions are counted, and numbers put on the one grid."""
        if query.kind == "bit":
            return self.resolution * int(added(query)[0])
        return int(added(_listed((query,)))[0])


def _listed(queries: Sequence[StatisticalQuery]) -> VectorQuery:
    """Several queries as one: a vector."""
    return VectorQuery(
        Vector(tuple(cast(Component, query.expression) for query in queries)), queries[0].schema
    )
