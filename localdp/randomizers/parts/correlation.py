"""How many reports fall into each shift of a set of integers modulo K: an exact correlation by fast Fourier transform.

Definition.  For counts c on 0 .. K - 1 and a set D, T(x) = sum over u of c(u) [(u + x) mod K in D], for x below `shifts`.

Claim.  T is exact.  The transform of length L works in float64, and the error of each T(x) is at most
24 log2(L) 2**-53 |c| |D|, norms being Euclidean: three transforms of relative error 7 log2(L) 2**-53 each (Higham 2002,
Theorem 24.2), and the product.  While that is below 1/4, rounding gives the integers; beyond (some billions of reports)
the counts are cut into digits of 20 bits, and each digit is correlated by itself.
Checked against the definition, and at 2**60 reports in one cell, in tests/unit/randomizers/test_projective_geometry.py.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from localdp.randomness.source import Integers

_DIGIT_BITS = 20
_ERROR_ALLOWED = 0.25


def correlate(counts: Integers, members: NDArray[np.int32], shifts: int) -> Integers:
    """T(0) .. T(shifts - 1), for a sorted list of the members of D."""
    points = len(counts)
    # Unrolled to K + shifts - 1 places the sum never wraps, so that any convenient length above will do: the
    # number of points itself often has large prime factors, which cost three times more.
    length = smooth_length(points + shifts - 1)
    unrolled = np.zeros(length)
    unrolled[members] = 1.0
    unrolled[points : points + shifts - 1] = unrolled[: shifts - 1]
    bound = 24 * math.log2(length) * 2.0**-53 * math.sqrt(np.count_nonzero(unrolled))
    spectrum = np.fft.rfft(unrolled)
    if bound * float(np.linalg.norm(counts)) < _ERROR_ALLOWED:
        return _correlated(counts, spectrum, length, shifts)
    return _by_digits(counts, spectrum, length, shifts)


def _correlated(counts: Integers, spectrum: NDArray[np.complex128], length: int, shifts: int) -> Integers:
    product = np.fft.rfft(counts, length)
    np.conjugate(product, out=product)
    product *= spectrum
    return np.rint(np.fft.irfft(product, length)[:shifts]).astype(np.int64)


def _by_digits(counts: Integers, spectrum: NDArray[np.complex128], length: int, shifts: int) -> Integers:
    total = np.zeros(shifts, np.int64)
    for shift in range(0, 64, _DIGIT_BITS):
        digit = (counts >> shift) & ((1 << _DIGIT_BITS) - 1)
        if digit.any():
            total += _correlated(digit, spectrum, length, shifts) << shift
    return total


def smooth_length(least: int) -> int:
    """The smallest length from `least` on that is a product of a power of two and small powers of 3 and 5."""
    best = 1 << (least - 1).bit_length()
    for odd in (3**threes * 5**fives for threes in range(6) for fives in range(5)):
        best = min(best, odd << max(0, (-(-least // odd) - 1).bit_length()))
    return best
