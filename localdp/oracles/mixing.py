"""Mixing reports: an order, or a vector, that says no more than the multiset of reports does.

Reports that are single bits are mixed by counting them: a uniformly shuffled vector of bits is a function of its number of
ones and of fresh coins, so `mixed_bits` draws which places hold the ones and never looks at the order that came in.  It
draws every bit with a probability that is a multiple of 1/256 and a little too small, and then flips places drawn at random
until the number is right: a few milliseconds for a million.  Other reports are permuted by sorting random words.

Claim.  `mixed_bits` is uniform on the vectors with that many ones.  Proof: relabel the places.  Bits that are drawn alike
and places that are drawn uniformly have a law that no relabelling changes, and so has every step of the loop; the number of
ones at its end is fixed; and the only such law is the uniform one.
Checked, relabelling by relabelling, in tests/unit/oracles/test_mixing.py.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Reports
from localdp.randomness.source import Bits, Integers, RandomSource

_STRAY = 4  # standard deviations that the first draw stays below the number of ones: places to fill are found faster


def mixed_reports(reports: Reports, source: RandomSource) -> Reports:
    """The same reports in an order that says nothing; whatever belongs to a report stays with it."""
    if reports.ndim == 1 and reports.dtype == np.bool_:
        return mixed_bits(len(reports), int(np.count_nonzero(reports)), source)
    return reports[mixed(len(reports), source)]


def mixed(count: int, source: RandomSource) -> Integers:
    """A uniform permutation: the order of random 64-bit words, drawn again in the rare case of equal ones."""
    while True:
        words = source.raw(np.uint64, count)
        order = np.argsort(words, kind="stable")
        if count < 2 or (np.diff(words[order]) > 0).all():
            return order.astype(np.int64)


def mixed_bits(count: int, ones: int, source: RandomSource) -> Bits:
    """A uniform vector of `count` bits, `ones` of them one."""
    if not 0 <= ones <= count:
        raise InvalidParameter("a vector of bits has between none and all of them one")
    if 2 * ones > count:
        return ~mixed_bits(count, count - ones, source)
    bits = source.bernoulli(_first_threshold(count, ones), count)
    while excess := int(np.count_nonzero(bits)) - ones:
        places = source.below(count, abs(excess)).astype(np.int64)
        wrong = np.unique(places[bits[places] == (excess > 0)])
        bits[wrong] = excess < 0
    return bits


def _first_threshold(count: int, ones: int) -> int:
    """Of a probability that is a whole number of 256ths: such a draw compares bytes, and no two of them ever tie."""
    low = max(0, ones - _STRAY * isqrt(ones))
    return (low * 256 // max(1, count)) << 56
