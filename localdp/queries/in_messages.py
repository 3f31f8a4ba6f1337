"""Queries as messages: what each person adds to the sums of a flooded round (`accounting/flooding.py`).

A message is +1 or -1 of one of the query's entries, so an entry of a person is a small whole number: so many messages +1.

| query | entries | of a person | moved by another record |
|---|---|---|---|
| bit | 1 | 0 or 1 | one by 1 |
| unit, of whole numbers with a common denominator k that is small enough | 1 | 0 .. k, exact | one by k |
| unit, any other | 1 | 0 .. steps, rounded at random | one by `steps` |
| category of k values | k | a one among zeros | one up by 1, one down by 1 |
| vector of conditions | d | bits | all by 1 |
| any other vector of d entries | d | bits, rounded at random | all by 1 |
| parities | 1 where the sign is negative | bits | as many as two records differ in |

What is rounded at random is right in the mean: a number between two steps goes up with the probability of what is above the
lower one, by whole numbers and the person's own coins.  That adds a variance of at most 1/4 for each person, which the
curator's error does not have: it is nothing for counts, histograms and whole numbers up to k.

Claim.  `Moved` bounds what one record moves: where bits of a vector change, that all of them rise is the worst, because
each that falls leaves the others more of epsilon than a rising one takes.
Checked in tests/unit/queries/test_in_messages.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from localdp.accounting.flood_plan import Flooded
from localdp.accounting.flooding import LARGEST_CHANGE, Moved
from localdp.errors import InvalidParameter
from localdp.queries.encoded import Query, denominator_of, encoding_of, most_differing, unit_of
from localdp.queries.statistical import StatisticalQuery
from localdp.randomizers.definition import Values
from localdp.randomness.source import Floats, Integers, RandomSource

DEFAULT_STEPS = 16
MOST_ENTRIES = 1 << 16


@dataclass(frozen=True, slots=True)
class InMessages:
    """How the encoded answers to a query become sums of messages."""

    flooded: Flooded
    fine: int  # units of the encoding in which an entry is measured, from its smallest value to its largest
    bound: int  # the most messages of one entry, of one person
    rounded: bool  # at random
    one_hot: bool

    @classmethod
    def of(cls, query: Query, steps: int = DEFAULT_STEPS) -> InMessages:
        """The encoding of a query; numbers that are no whole numbers get so many steps."""
        if not 1 <= steps <= LARGEST_CHANGE:
            raise InvalidParameter(f"numbers are sent in 1 to {LARGEST_CHANGE} steps")
        if encoding_of(query).length > MOST_ENTRIES:
            raise InvalidParameter(f"a flooded round is about at most {MOST_ENTRIES} sums")
        return _of(query, steps)

    def sums(self, measured: Values, source: RandomSource) -> Integers:
        """The messages +1 of each entry, of all these people; the source has a lane for each of them."""
        if self.one_hot:
            counts: Integers = np.bincount(measured.reshape(-1), minlength=self.flooded.entries)
            return counts.astype(np.int64)
        if not self.rounded:
            whole: Integers = measured.astype(np.int64).sum(axis=0) * self.bound // self.fine
            return whole
        scaled = measured.astype(np.int64).reshape(-1) * self.bound
        above = source.below(self.fine, scaled.size).astype(np.int64) < scaled % self.fine
        rounded: Integers = (scaled // self.fine + above).reshape(measured.shape).sum(axis=0)
        return rounded

    @property
    def rounding_variance(self) -> float:
        """Of an entry of one person, at most."""
        return 0.25 if self.rounded else 0.0

    def means(self, query: Query, sums: Floats | Integers, people: int) -> Floats:
        """What sums of messages say about the means of a query's own entries."""
        low, unit = (-1.0 if query.kind == "ball" else 0.0), self.unit(query)
        if query.kind == "parities":
            low, unit = 1.0, -unit
        means: Floats = low + unit * np.asarray(sums, np.float64) / people
        return means

    def unit(self, query: Query) -> float:
        """How much of a query's own value one message is, regardless of sign."""
        return unit_of(query) * self.fine / self.bound


@lru_cache(maxsize=256)
def _of(query: Query, steps: int) -> InMessages:
    encoding = encoding_of(query)
    length, fine = encoding.length, encoding.bound
    if isinstance(query, StatisticalQuery) and query.kind == "unit":
        exact = denominator_of(query)
        bound = exact if exact is not None and exact <= max(steps, 1) else steps
        return InMessages(Flooded(1, Moved(bound), bound), fine, bound, bound != exact, one_hot=False)
    if query.kind == "category":
        # A category of one value is always that one: nothing moves, and a bound that is too large does no harm.
        return InMessages(
            Flooded(length, Moved(1, 1, min(1, length - 1)), 1), 1, 1, rounded=False, one_hot=True
        )
    if not isinstance(query, StatisticalQuery) and query.kind == "parities":
        moved = most_differing(query.bits, query.order, query.labelled)
        return InMessages(Flooded(length, Moved(1, moved), length), 1, 1, rounded=False, one_hot=False)
    flooded = Flooded(length, Moved(1, length), length)
    return InMessages(flooded, fine, 1, rounded=fine > 1, one_hot=False)
