"""Votes: the option that most people, or most blocks of people, have, where it is far ahead (Algorithm 13, Algorithm 14).

A_dist for votes.  With g the lead of the winner, replacing one record moves g by at most 2 r, where a person is in r
blocks at most (1 where people vote themselves, or a partition does): so max(0, ceil(g / 2 r) - 1) records can be
replaced, whichever they are, before somebody's replacement changes the winner (Definition 7.2, Definition 7.3).  Far
enough, by a test, the winner is told as it is, at no further cost (Proposition 7.2); (epsilon, delta) in all.

A_samp.  A function of a subsample of the people, each in it with probability q, is computed of m subsamples, and what
most of them say is told by the same test (Theorem 7.3, Lemma 7.4).  Who is in which is decided by public coins, so
that r is known to all, and too large an r costs nothing but the answer.  `blocks_needed` has the m of a Chernoff
bound, 570 times less than the book's; of a partition, where r = 1, 38 blocks that agree suffice, and that is the
default.

**Deviation**: whole noise and its own threshold (`mechanisms/propose_test_release.py`); q and m as corrected.

Claim.  `lead_needed` is the least lead at which the winner is told with probability 1 - beta.  With few options
something simpler needs less of a lead, and no delta: the noisy maximum (`select`), or a noisy histogram. Checked in
tests/unit/algorithms/stability/test_votes.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter, QueryRefused
from localdp.mechanisms.noisy_maximum import NoisyMaximum, first_largest
from localdp.mechanisms.propose_test_release import ProposeTestRelease, StabilityTest
from localdp.queries.blocks import BlockEstimate
from localdp.queries.encoded import encoded_sums
from localdp.queries.estimators import Blocking
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.source import Floats, Integers, RandomSource
from localdp.randomness.uniform import below_each

MOST_SAMPLES = 1 << 17
MOST_ROWS = 1 << 25  # of all subsamples together


def lead_of(counts: Integers) -> int:
    """How far the largest count is ahead of the second."""
    second, first = np.partition(np.append(counts, 0), -2)[-2:]
    return int(first - second)


def distance_of(lead: int, times: int = 1) -> int:
    """How many records can be replaced before somebody's replacement changes the winner; each is in `times` votes."""
    return max(0, -(-lead // (2 * times)) - 1)


def lead_needed(test: StabilityTest, failure: float, times: int = 1) -> int:
    """The least lead at which the winner is told but for the failure."""
    distance = test.distance_for(failure)
    return 2 * times * distance + 1 if distance else 0


def lead_for_select(epsilon: Epsilon, options: int, failure: float) -> int:
    """The same of the noisy maximum, which tells some option whatever the lead is."""
    return math.ceil(NoisyMaximum.within(epsilon, 1).shortfall(options, failure))


@dataclass(frozen=True, slots=True)
class StableVote:
    """A_dist for the values of a category, by whoever holds records."""

    query: str
    delta: Fraction
    anyway: bool = False  # also where no lead would be enough

    @property
    def instead(self) -> str:
        """What needs no test."""
        return (
            "ask for a histogram and look for its fullest bin, or select: StableWinner(query, by='select')"
        )

    @property
    def text(self) -> str:
        """What is computed, in words."""
        return f"the winner, if it is stable, of {self.query}"

    def require(self, schema: Schema, people: int, epsilon: Epsilon) -> None:
        """Refuse what are no votes, and too few of them."""
        if VectorQuery.parse(self.query, schema).kind != "category":
            raise QueryRefused("votes are the values of one category")
        if epsilon.nanonats and not self.anyway:
            StabilityTest(epsilon, self.delta).require_reachable(distance_of(people), "a winner")

    def error(self, epsilon: Epsilon) -> float:
        """None: a winner is told as it is."""
        return 0.0

    def release(self, records: Records, epsilon: Epsilon, source: RandomSource) -> int | None:
        """The place of the winner, or None."""
        test = StabilityTest(epsilon, self.delta)
        vote = ProposeTestRelease[Integers, int](
            lambda counts: distance_of(lead_of(counts)), lambda counts, _: first_largest(counts), test
        )
        return vote.run(self._counts(records), source)

    def truth(self, records: Records) -> int | None:
        """The place of the winner."""
        return first_largest(self._counts(records))

    def _counts(self, records: Records) -> Integers:
        return encoded_sums(VectorQuery.parse(self.query, records.schema), records)


def sampling_rate(epsilon: Epsilon, delta: Fraction) -> float:
    """q: with what probability a person is in a subsample; 1 / (16 (1 + 2 ln(1 / delta) / epsilon))."""
    return 1 / (16 * (1 + 2 * math.log(1 / delta) / float(epsilon)))


def blocks_needed(people: int, epsilon: Epsilon, delta: Fraction) -> int:
    """m: how many subsamples suffice, by Chernoff bounds; max(3 ln(n / delta) / q, 32 ln(1 / delta))."""
    rate = sampling_rate(epsilon, delta)
    return math.ceil(max(3 * math.log(people / delta) / rate, 32 * math.log(1 / delta)))


def blocks_of_book(people: int, epsilon: Epsilon, delta: Fraction) -> int:
    """The m of Algorithm 14 as printed: ln(n / delta) / q^2 with q = epsilon / (64 ln(1 / delta))."""
    rate = float(epsilon) / (64 * math.log(1 / delta))
    return math.ceil(math.log(people / delta) / rate**2)


def require_samples(samples: int, people: int, epsilon: Epsilon, delta: Fraction) -> None:
    """Refuse more subsamples than anybody needs, and fewer than the test can tell anything from."""
    enough = blocks_needed(people, epsilon, delta)
    if samples > max(MOST_SAMPLES, 2 * enough):
        raise InvalidParameter(
            f"{samples:,} subsamples are more than anybody needs: {enough:,} suffice, by Chernoff bounds on how often a "
            f"person is in one of them (the book prints {blocks_of_book(people, epsilon, delta):,}); and of a partition, "
            "in which everybody is in one block, a few dozen that agree"
        )
    if samples < 2:
        raise InvalidParameter("there are at least two subsamples")


@dataclass(frozen=True, slots=True)
class SampledVote:
    """A_samp: what most of many subsamples say, by whoever holds records."""

    estimate: str
    bins: int  # of a number; one that chooses has its own
    low: float | None
    high: float | None
    delta: Fraction
    samples: int | None = None  # None: as many as are needed
    anyway: bool = False

    @property
    def instead(self) -> str:
        """What needs no subsamples."""
        return "take a partition, of which parties compute their own blocks: SampleAndVote(..., repeated=False)"

    @property
    def text(self) -> str:
        """What is computed, in words."""
        return f"what most subsamples say {self.estimate} is"

    def require(self, schema: Schema, people: int, epsilon: Epsilon) -> None:
        """Refuse what cannot be computed."""
        BlockEstimate.parse(self.estimate, schema, self.low, self.high)
        if epsilon.nanonats:
            samples = self._samples(people, epsilon)
            require_samples(samples, people, epsilon, self.delta)
            require_rows(samples, size_of(people, epsilon, self.delta))

    def error(self, epsilon: Epsilon) -> float:
        """None: a winner is told as it is."""
        return 0.0

    def release(self, records: Records, epsilon: Epsilon, source: RandomSource) -> int | None:
        """The bin or the choice that most subsamples agree on, or None."""
        samples, size = self._samples(records.people, epsilon), size_of(records.people, epsilon, self.delta)
        blocking, times = subsamples(records.people, samples, size, source)
        counts = np.bincount(self._binned(records, blocking), minlength=2)
        vote = ProposeTestRelease[Integers, int](
            lambda votes: distance_of(lead_of(votes), times),
            lambda votes, _: first_largest(votes),
            StabilityTest(epsilon, self.delta),
        )
        return vote.run(counts, source)

    def _samples(self, people: int, epsilon: Epsilon) -> int:
        return self.samples or blocks_needed(people, epsilon, self.delta)

    def truth(self, records: Records) -> int | None:
        """The same of everybody at once."""
        whole = Blocking(np.arange(records.people), np.array([records.people]))
        return int(self._binned(records, whole)[0])

    def _binned(self, records: Records, blocking: Blocking) -> Integers:
        estimate = BlockEstimate.parse(self.estimate, records.schema, self.low, self.high)
        found = estimate.of(records, blocking)
        if estimate.estimator.kind == "choice":
            return found.astype(np.int64)
        return binned(found, estimate.low, estimate.high, self.bins)


def binned(values: Floats, low: float, high: float, bins: int) -> Integers:
    """The bins of equal width in which numbers lie."""
    places = np.floor((values - low) / (high - low) * bins).astype(np.int64)
    return np.clip(places, 0, bins - 1)


def size_of(people: int, epsilon: Epsilon, delta: Fraction) -> int:
    """How many people are in a subsample."""
    return max(1, round(sampling_rate(epsilon, delta) * people))


def require_rows(samples: int, size: int) -> None:
    """Refuse more than is computed at once."""
    if size * samples > MOST_ROWS:
        raise InvalidParameter(
            f"{samples:,} subsamples of {size:,} people are more than is computed at once: take fewer, or a partition"
        )


def subsamples(people: int, samples: int, size: int, source: RandomSource) -> tuple[Blocking, int]:
    """Subsamples of one size, drawn without looking at a record, and in how many of them a person is at most."""
    bounds = np.tile(np.arange(people - size + 1, people + 1, dtype=np.uint64), samples)
    drawn = below_each(source, bounds).astype(np.int64).reshape(samples, size)
    order = _distinct(drawn, people - size).ravel()
    times = int(np.bincount(order, minlength=people).max())
    return Blocking(order, np.full(samples, size, np.int64)), times


def _distinct(drawn: Integers, first: int) -> Integers:
    """Floyd's subsets: draw number j is below first + j + 1, and where it is taken, first + j takes its place."""
    chosen = drawn.copy()
    for place in range(1, chosen.shape[1]):
        taken = (chosen[:, :place] == chosen[:, place, None]).any(axis=1)
        chosen[taken, place] = first + place
    return chosen
