"""LOLOHA: local hashing over time (Arcolezi, Pinzon, Palamidessi and Gambs 2023).

A person keeps one hash function for an epoch, and one permanent answer for each of its g buckets: the own bucket with
probability T / 2**64, another one otherwise.  A report is the permanent answer of the bucket of the present value
after a second k-ary response that keeps it with probability U / 2**64.  With the permanent supports p and q = (1 - p)
/ (g - 1), a report names the own bucket with probability p' = p U + q (1 - U) (U as a share) and each other with (1 -
p') / (g - 1).

Claim.  One report is epsilon-local with exp(epsilon) = p' (g - 1) / (1 - p'); U is the largest that keeps to the
request. Any number of reports about a value that stays costs at most epsilon_permanent; the g epsilon_permanent that
the source claims for values that change is not claimed here (memoised.py says why). It is a pure protocol with supports
p' and 1 / g, and g is chosen as the one of least variance at f = 0, by the exact formula: then it is that of a fresh
optimal local hashing of `epsilon`.

**Deviation** from the source, whose U solves (p U + q V) / (p V + q U) = exp(epsilon), V = (1 - U) / (g - 1).  That
leaves out the ways through a third bucket, so that for g > 2 its report costs less than was asked for: at
epsilon_permanent = 2 and epsilon = 1 it finds g = 3 best, with n Var = 4.199; the exact law allows 3.692 at g = 4,
and 3.770 at g = 3.
Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_memoised.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import DrawCost, Frequencies, Reports, Values
from localdp.randomizers.local_hashing import REPORT, OptimalLocalHashing
from localdp.randomizers.memoised import PermanentCoins, exceeds_nowhere, smallest
from localdp.randomizers.parts.construction import OfFingerprints
from localdp.randomizers.parts.pure_protocol import PureProtocol, Support
from localdp.randomizers.parts.universal_hash import bucket_of, checked_fingerprints
from localdp.randomness.source import WORD_RANGE, Integers, RandomSource

MOST_BUCKETS_TRIED = 1 << 12


@dataclass(frozen=True, slots=True)
class MemoisedHashing(OfFingerprints, PureProtocol):
    """Reports a seed, the same for an epoch, and the bucket of the present value after two rounds.

    `requested` is for one report, `requested_permanent` for all reports of one bucket.
    """

    draw_cost: ClassVar[DrawCost] = DrawCost(700, 520, 16)
    memoised: ClassVar[bool] = True
    requested: Epsilon
    requested_permanent: Epsilon
    buckets: int | None = None  # g; the one of least variance, if none is given
    permanent: OptimalLocalHashing = field(init=False, repr=False, compare=False)
    # U: an answer is kept with probability U / 2**64.
    keep: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        Epsilon.requested(self.requested_permanent)
        if self.requested >= self.requested_permanent:
            raise InvalidParameter("one report costs less than the permanent answer")
        if self.buckets is None:
            object.__setattr__(self, "buckets", best_buckets(self.requested_permanent, self.requested))
        permanent = OptimalLocalHashing(self.requested_permanent, self.buckets)
        object.__setattr__(self, "permanent", permanent)
        object.__setattr__(self, "keep", _second_keep(permanent, self.requested))
        if self.support.own <= self.support.other:
            raise InvalidParameter("this epsilon is too small for a 64-bit threshold")

    @property
    def number(self) -> int:
        """g."""
        return self.permanent.number

    @property
    def support(self) -> Support:
        """Of one report, both rounds together."""
        return Support(_first_report(self.permanent, self.keep), Fraction(1, self.number))

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        own = self.support.own
        return Epsilon.of_ratio(own * (self.number - 1) / (1 - own))

    @property
    def epsilon_permanent(self) -> Epsilon:
        return self.permanent.epsilon

    @property
    def report_bits(self) -> int:
        """Size of one packed report: the seed and the bucket."""
        return self.permanent.report_bits

    @property
    def canonical(self) -> str:
        """Name and parameters as text."""
        return f"memoised(epsilon={self.requested},permanent={self.permanent.canonical})"

    def randomize(self, values: Values, source: RandomSource) -> Reports:
        """The first report of each value, seed and both rounds from one source."""
        return self.renew(self.permanent.randomize(values, source), source)

    def permanent_answers(self, people: Integers, values: Values, coins: PermanentCoins) -> Reports:
        """Each person's seed, and the answer that it keeps for the bucket of its value."""
        nobody = np.zeros(len(people), np.int64)
        seeds = coins.source(people, nobody, 1).raw(np.uint64, len(people))
        words = checked_fingerprints(values)
        own = bucket_of(seeds, words, self.number)
        return self.permanent.respond(seeds, words, coins.source(people, own, self.number))

    def renew(self, answers: Reports, source: RandomSource) -> Reports:
        """Each answer kept with probability U / 2**64, or moved to one of the other buckets."""
        kept = source.bernoulli(self.keep, len(answers))
        steps = source.below(self.number - 1, len(answers)) + np.uint64(1)
        moved = answers["bucket"] + steps * ~kept
        reports = np.empty(len(answers), REPORT)
        reports["seed"] = answers["seed"]
        reports["bucket"] = moved - np.uint64(self.number) * (moved >= self.number)
        return reports

    def law(self, value: int, seed: int = 0) -> dict[Hashable, Fraction]:
        """The exact law of the bucket of one report, given the seed."""
        own = int(bucket_of(np.array([seed], np.uint64), np.array([value], np.uint64), self.number)[0])
        kept = self.support.own
        return {b: kept if b == own else (1 - kept) / (self.number - 1) for b in range(self.number)}

    def pack(self, reports: Reports) -> bytes:
        """All seeds, then all buckets."""
        return self.permanent.pack(reports)

    def unpack(self, data: bytes, count: int) -> Reports:
        """The reports again."""
        return self.permanent.unpack(data, count)

    def support_counts(self, reports: Reports, candidates: Values) -> Integers:
        """How many of the reports support each candidate."""
        return self.permanent.support_counts(reports, candidates)

    def estimate(self, reports: Reports, candidates: Values) -> Frequencies:
        """Frequencies of the candidates, unbiased up to 2**-32 / (p' - 1 / g)."""
        return self.support.estimate(self.support_counts(reports, candidates), len(reports))


def best_buckets(permanent: Epsilon, first: Epsilon) -> int:
    """The number of buckets of least variance at f = 0; the variance falls and then rises with it."""
    best, least = 2, _variance(permanent, first, 2)
    while best < MOST_BUCKETS_TRIED:
        variance = _variance(permanent, first, best + 1)
        if variance >= least:
            break
        best, least = best + 1, variance
    return best


def _variance(permanent: Epsilon, first: Epsilon, number: int) -> Fraction:
    hashing = OptimalLocalHashing(permanent, number)
    own, other = _first_report(hashing, _second_keep(hashing, first)), Fraction(1, number)
    return other * (1 - other) / (own - other) ** 2


def _second_keep(permanent: OptimalLocalHashing, first: Epsilon) -> int:
    """U: the largest that keeps one report to its epsilon."""

    def allowed(moved: int) -> bool:
        own = _first_report(permanent, WORD_RANGE - moved)
        return exceeds_nowhere(own * (permanent.number - 1) / (1 - own), first)

    return WORD_RANGE - smallest(allowed, WORD_RANGE)


def _first_report(permanent: OptimalLocalHashing, keep: int) -> Fraction:
    """p': how often one report names the own bucket."""
    own, kept = Fraction(permanent.keep, WORD_RANGE), Fraction(keep, WORD_RANGE)
    return own * kept + (1 - own) / (permanent.number - 1) * (1 - kept)
