"""Packing (section 8.2): queries of sensitivity 1 that no pure mechanism answers with little noise (Theorem 8.8; De 2012).

Databases are histograms over d kinds of records: `height` records of every kind that is in a word of a code.  Two of them
are at least `height` times the distance of the code apart, so balls of a third of that about them do not meet.  A query
looks at the ball that a histogram lies in, and tells how deep in it with a random sign: it changes by at most 1 where
one record comes or goes, and is plus or minus the radius at the databases themselves.

Claim.  At two databases of the code the k answers differ by twice the radius somewhere.  So by Lemma 8.4 whoever
keeps all errors below the radius with probability one half has an epsilon of ln 2 (s - 1) / D at least, for 2^s words and
databases at most D apart: of order 1 / error times min(k, d), as Theorem 8.8 says.
Checked by every histogram about a small code in tests/unit/attacks/test_packed_queries.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from localdp.attacks.subset_sums import random_subsets
from localdp.errors import InvalidParameter
from localdp.randomness.source import Bits, Floats, Integers, RandomSource

MOST_KINDS = 12  # the code is found by trying all words
_NEIGHBOURS = 2  # how far two balls are apart that one record cannot cross


def greedy_code(kinds: int, distance: int) -> Bits:
    """Words of so many bits that differ in at least `distance` places, each the first that fits."""
    if not 1 <= distance <= kinds <= MOST_KINDS:
        raise InvalidParameter(f"a code is of 1 to {MOST_KINDS} bits, and its words differ in at least one")
    words: list[int] = []
    for word in range(1 << kinds):
        if all((word ^ other).bit_count() >= distance for other in words):
            words.append(word)
    found: Bits = (np.array(words)[:, None] >> np.arange(kinds) & 1).astype(np.bool_)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class PackedQueries:
    """k queries about histograms, and the databases that they tell apart."""

    databases: Integers  # rows of counts
    radius: int
    signs: Integers  # of each query (rows) in each ball

    @classmethod
    def drawn(cls, code: Bits, height: int, queries: int, source: RandomSource) -> PackedQueries:
        """With random signs, no two columns alike: drawn again until it is so."""
        databases = height * code.astype(np.int64)
        apart = min(int(np.abs(a - b).sum()) for a, b in combinations(databases, 2))
        radius = (apart - _NEIGHBOURS) // 3
        if radius < 1 or len(code) > 1 << queries:
            raise InvalidParameter("such balls would meet, or so few queries could not tell them apart")
        while True:
            signs = 2 * random_subsets(queries, len(code), source).astype(np.int64) - 1
            if len(np.unique(signs, axis=1).T) == len(code):
                return cls(databases, radius, signs)

    def depths(self, histogram: Integers) -> Integers:
        """How deep a histogram lies in each ball."""
        depth: Integers = np.maximum(self.radius - np.abs(self.databases - histogram).sum(axis=1), 0)
        return depth

    def answers(self, histogram: Integers) -> Integers:
        """The exact answers."""
        told: Integers = self.signs @ self.depths(histogram)
        return told

    def epsilon_at_least(self) -> float:
        """What errors below the radius cost, with probability one half each time."""
        furthest = max(int(np.abs(a - b).sum()) for a, b in combinations(self.databases, 2))
        return math.log(2) * (math.log2(len(self.databases)) - 1) / furthest

    def nearest(self, told: Floats) -> int:
        """The database whose answers are nearest to these."""
        exact = np.array([self.answers(one) for one in self.databases])
        return int(np.abs(exact - told).max(axis=1).argmin())
