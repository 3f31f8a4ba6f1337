"""Reconstruction from n sums of a Hadamard matrix: no more queries than people, and a bound without chance (section 8.2).

Query i weighs person j with the sign H_ij = (-1)^<i, j>: the difference of two subset sums.  With answers y = H x + e, the
estimate H y / n = x + H e / n has a squared error of |e|^2 / n <= E^2 if every answer is within E, and each bit that
rounding gets wrong contributes at least 1/4 to it.  So at most 4 E^2 bits are wrong, whatever the errors are.

Checked, with errors chosen against it, in tests/unit/attacks/test_reconstruction.py.
"""

from __future__ import annotations

import numpy as np

from localdp.estimation.sign_transform import sign_transform
from localdp.randomizers.definition import Floats
from localdp.randomness.source import Bits


def signed_sums(bits: Bits) -> Floats:
    """The true answers; n is a power of two."""
    return sign_transform(bits.astype(np.float64))


def hadamard(answers: Floats) -> Bits:
    """The rounded inverse transform."""
    return sign_transform(answers) / len(answers) > 0.5


def most_wrong(error: float, people: int) -> int:
    """How many bits may be wrong at most."""
    return min(people, int(4 * error * error))
