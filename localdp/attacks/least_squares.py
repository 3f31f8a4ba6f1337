"""Reconstruction by least squares and rounding, from random subset sums (chapter 8; Dwork and Yekhanin 2008).

m > n random subsets A, answers y = A x + noise of standard deviation s.  The least-squares estimate has, for each bit, an
error of standard deviation about 2 s / sqrt(m - n), and is rounded at one half:

    Pr[a bit is right] = Phi( sqrt(m - n) / (4 s) ).

So answers must be off by order sqrt(n) for anything to stay hidden, if there are a few times n of them.
Checked in tests/unit/attacks/test_reconstruction.py.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Floats
from localdp.randomness.source import Bits

_RIDGE = 1e-9  # makes a system that has many solutions have one


def least_squares(subsets: Bits, answers: Floats) -> Bits:
    """The rounded least-squares solution."""
    if subsets.ndim != 2 or len(subsets) != len(answers):
        raise InvalidParameter("an attack needs one answer for each query")
    matrix = subsets.astype(np.float64)
    gram = matrix.T @ matrix + _RIDGE * np.eye(matrix.shape[1])
    return np.linalg.solve(gram, matrix.T @ answers) > 0.5


def expected_fraction(queries: int, people: int, deviation: float) -> float:
    """What least squares gets right, by the formula above."""
    if queries <= people or deviation <= 0:
        raise InvalidParameter("the formula is for more queries than people, and noise above zero")
    return NormalDist().cdf(math.sqrt(queries - people) / (4 * deviation))
