"""A database of bits, attacked through sums over subsets: what every reconstruction attack of chapter 8 starts from.

n people have a secret bit each.  A query is a set of people, its answer the number of ones in it, more or less.  An attack
sees queries and answers, and guesses the bits; it is judged by the fraction that it gets right.

Claim (`guess_bound`).  From an epsilon-differentially private view (replace one) a uniform bit is guessed with probability
at most e^epsilon / (1 + e^epsilon), whatever is computed: the posterior odds of a bit are at most e^epsilon.
Checked in tests/unit/attacks/test_reconstruction.py.
"""

from __future__ import annotations

import math

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Floats
from localdp.randomness.source import Bits, RandomSource

MOST_ENTRIES = 1 << 26  # of a matrix of queries


def random_bits(people: int, source: RandomSource) -> Bits:
    """A secret for everybody."""
    return source.bernoulli(1 << 63, people)


def random_subsets(queries: int, people: int, source: RandomSource) -> Bits:
    """Queries as rows: everybody is in each of them with probability one half."""
    if queries < 1 or people < 1 or queries * people > MOST_ENTRIES:
        raise InvalidParameter(
            f"an attack has at least one query and person, and {MOST_ENTRIES} entries at most"
        )
    return source.bernoulli(1 << 63, queries * people).reshape(queries, people)


def subset_sums(subsets: Bits, bits: Bits) -> Floats:
    """The true answers."""
    return subsets.astype(np.float64) @ bits.astype(np.float64)


def recovered(guess: Bits, bits: Bits) -> float:
    """The fraction of the bits that an attack got right; one half is what a coin gets."""
    if guess.shape != bits.shape:
        raise InvalidParameter("a guess has as many bits as there are")
    return float(np.mean(guess == bits))


def guess_bound(epsilon: float) -> float:
    """The best that anybody does about one uniform bit against epsilon-differential privacy."""
    return 1 / (1 + math.exp(-epsilon))
