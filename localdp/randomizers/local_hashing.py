"""Optimal local hashing (Wang, Blocki, Li and Jha 2017), for open domains; with two buckets, that of Bassily and Smith.

The input is the 64-bit fingerprint of an item of any kind, and nobody needs to know the domain.  The party draws a seed,
hashes its item to one of g buckets, keeps the bucket with probability p = T / 2**64, reports one of the g - 1 others
otherwise, and sends (seed, bucket).  A report supports the items that its seed puts into its bucket.

Claim.  The randomizer is epsilon-local with exp(epsilon) = T (g - 1) / (2**64 - T), for T rounded down, for *every* hash
function, because the seed is independent of the item; it is tight for two items that some seed separates.  For universal
hashing it is a pure protocol with p and q = 1 / g; universal_hash.py says how far that holds.  The best number of buckets
is near exp(epsilon) + 1, where n Var(f = 0) is (e + g - 1)**2 / ((g - 1) (e - 1)**2).
Checked exactly for each seed, by enumerating the coins, in tests/unit/randomizers/test_local_hashing.py.

There is no tally: which items a report supports is only known when candidates are, so the aggregator keeps the reports.
Decoding hashes every pair of a report and a candidate (`support_counts`, additive over reports); for a closed domain
projective_geometry.py has the same variance and a decoder thousands of times faster.
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
from localdp.randomizers.parts.construction import OfFingerprints
from localdp.randomizers.parts.inputs import require_between
from localdp.randomizers.parts.packing import bits_below, pack_integers, packed_size, unpack_integers
from localdp.randomizers.parts.pure_protocol import PureProtocol, Support
from localdp.randomizers.parts.thresholds import keep_threshold
from localdp.randomizers.parts.universal_hash import HASH_RANGE, bucket_of, checked_fingerprints, hash_words
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.source import WORD_RANGE, Integers, RandomSource, Words

LARGEST_BUCKETS = 1 << 16
_BLOCK = 1 << 12  # reports that are decoded at a time: all their words stay in the cache
# A quarter of the people are served at a time, within these: the words of a block then take less than all the reports.
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 1 << 11, 1 << 14
_SEED_BITS = 64
_HALF = np.uint64(32)
_LOW = np.uint64(HASH_RANGE - 1)
REPORT = np.dtype([("seed", np.uint64), ("bucket", np.uint32)])


@dataclass(frozen=True, slots=True)
class OptimalLocalHashing(OfFingerprints, PureProtocol):
    """Reports a seed, and the item's bucket under it by randomized response."""

    name: ClassVar[str] = "local-hashing"
    draw_cost: ClassVar[DrawCost] = DrawCost(250, 42)
    requested: Epsilon
    buckets: int | None = None  # g; the integer nearest to exp(epsilon) + 1, if none is given
    number: int = field(init=False, repr=False, compare=False)  # g
    # T: the bucket is kept with probability T / 2**64.
    keep: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        if self.buckets is None:
            object.__setattr__(self, "buckets", nearest_buckets(self.requested))
        require_between("the number of buckets", self.buckets, 2, LARGEST_BUCKETS)
        object.__setattr__(self, "number", self.buckets)
        object.__setattr__(self, "keep", keep_threshold(self.requested, 1, self.number - 1))
        if self.support.own <= self.support.other:
            raise InvalidParameter("this epsilon is too small for a 64-bit threshold")

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        return Epsilon.of_ratio(Fraction(self.keep * (self.number - 1), WORD_RANGE - self.keep))

    @property
    def likely(self) -> Fraction:
        """Under each seed, the item's bucket."""
        return Fraction(1, self.number)

    @property
    def report_bits(self) -> int:
        """Size of one packed report: the seed and the bucket."""
        return _SEED_BITS + bits_below(self.number)

    def randomize(self, values: Values, source: RandomSource) -> Reports:
        """One seed and bucket for each fingerprint."""
        seeds: Words = source.raw(np.uint64, len(values))
        return self.respond(seeds, values, source)

    def respond(self, seeds: Words, values: Values, source: RandomSource) -> Reports:
        """Reports under given seeds, which must be uniform and independent of the items to be of any use."""
        items = checked_fingerprints(values)
        kept = source.bernoulli(self.keep, len(items))
        steps = source.below(self.number - 1, len(items))
        reports = np.empty(len(items), REPORT)
        reports["seed"] = seeds
        step = min(max(_FEWEST_AT_ONCE, len(items) // 4), _MOST_AT_ONCE)
        for start in range(0, len(items), step):
            part = slice(start, start + step)
            moved = (steps[part] + np.uint64(1)) * (~kept[part]).astype(np.uint64)
            moved += bucket_of(seeds[part], items[part], self.number)
            moved -= (moved >= self.number).astype(np.uint64) * np.uint64(self.number)
            reports["bucket"][part] = moved
        return reports

    def law(self, value: int, seed: int = 0) -> dict[Hashable, Fraction]:
        """The exact law of the bucket, given the seed."""
        own = int(bucket_of(np.array([seed], np.uint64), np.array([value], np.uint64), self.number)[0])
        other = Fraction(WORD_RANGE - self.keep, WORD_RANGE * (self.number - 1))
        return {b: Fraction(self.keep, WORD_RANGE) if b == own else other for b in range(self.number)}

    def pack(self, reports: Reports) -> bytes:
        """All seeds, then all buckets."""
        width = bits_below(self.number)
        return pack_integers(reports["seed"], _SEED_BITS) + pack_integers(reports["bucket"], width)

    def unpack(self, data: bytes, count: int) -> Reports:
        """The reports again."""
        cut = packed_size(count, _SEED_BITS)
        width = bits_below(self.number)
        reports = np.empty(count, REPORT)
        reports["seed"] = unpack_integers(data[:cut], count, _SEED_BITS, WORD_RANGE)
        reports["bucket"] = unpack_integers(data[cut:], count, width, self.number)
        return reports

    def support_counts(self, reports: Reports, candidates: Values) -> Integers:
        """How many of the reports support each candidate: a block of reports at a time, in bounded memory."""
        items = checked_fingerprints(candidates)
        counts = np.zeros(len(items), np.int64)
        for start in range(0, len(reports), _BLOCK):
            self._add_supports(reports[start : start + _BLOCK], items, counts)
        return counts

    def _add_supports(self, block: Reports, items: Words, counts: Integers) -> None:
        """Add those of one block; its words are gone when the next block makes its own."""
        first, second, third, width = self._words(block)
        left, right = np.empty_like(first), np.empty_like(first)
        for place, (low, high) in enumerate(zip(items & _LOW, items >> _HALF, strict=True)):
            np.add(first, low, out=left)
            np.add(second, high, out=right)
            left *= right
            left += third
            counts[place] += np.count_nonzero(left < width)

    def _words(self, block: Reports) -> tuple[Words, Words, Words, Words]:
        """Words (a, b, c', w): an item is supported when (a + low) (b + high) + c' < w, modulo 2**64.

        A bucket is an interval of hashes; its lower end is subtracted from c once, instead of finding buckets.
        """
        first, second, third = hash_words(block["seed"])
        bucket = block["bucket"].astype(np.uint64)
        low = self._lower_end(bucket)
        width = self._lower_end(bucket + np.uint64(1)) - low
        return first, second, third - (low << _HALF), width << _HALF

    def _lower_end(self, bucket: Words) -> Words:
        """The smallest hash in the bucket: bucket * 2**32 / g, rounded up."""
        return ((bucket << _HALF) + np.uint64(self.number - 1)) // np.uint64(self.number)

    def estimate(self, reports: Reports, candidates: Values) -> Frequencies:
        """Frequencies of the candidates, unbiased up to 2**-32 / (p - 1 / g)."""
        return self.estimate_from_counts(self.support_counts(reports, candidates), len(reports))

    def estimate_from_counts(self, counts: Integers, reports: int) -> Frequencies:
        """The same, from supports that were counted elsewhere and added up."""
        return self.support.estimate(counts, reports)

    @property
    def support(self) -> Support:
        """A report supports the items of its bucket."""
        return Support(Fraction(self.keep, WORD_RANGE), Fraction(1, self.number))


def nearest_buckets(requested: Epsilon) -> int:
    """The integer nearest to exp(epsilon) + 1, within the limits."""
    below, _ = exp_enclosure(requested.exact, _SEED_BITS)
    return min(LARGEST_BUCKETS, (2 * below + 3 * WORD_RANGE) // (2 * WORD_RANGE))


def binary_local_hashing(requested: Epsilon) -> OptimalLocalHashing:
    """Two buckets: one private bit."""
    return OptimalLocalHashing(requested, 2)
