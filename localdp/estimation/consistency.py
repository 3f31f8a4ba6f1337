"""Frequencies made consistent: none negative, all together one (Wang, Lopuhaa-Zwakenberg, Li, Skoric and Li 2020).

Unbiased estimates of frequencies are negative about as often as positive where nothing is, and their sum is not one.
Post-processing costs no privacy.  In the order of that paper, for values v and a total s:

    clip       max(v, 0)                                  not negative; the sum is biased upwards
    norm       v - c                                      the sum is s; still unbiased where s is the true total
    norm_mul   max(v, 0) s / sum max(v, 0)                both
    norm_cut   the largest values until they add up to s  not negative; the sum is at most s
    norm_sub   max(v - c, 0)                              both: the Euclidean projection on the simplex

Claim.  `norm_sub` is exact, by sorting: its result is the nearest point of the simplex.  On sparse histograms it is the
safe default.  Every function returns a new plain array and leaves the estimate as it was: after post-processing the
estimate is biased and its confidence intervals no longer hold, so those are always those of the raw estimate.
Checked in tests/unit/estimation/test_consistency.py, and for the gain in tests/statistical/test_structures.py.
"""

import math

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats, Numbers


def clip(values: Numbers) -> Floats:
    """Negative values raised to zero."""
    return np.maximum(_checked(values), 0.0)


def norm(values: Numbers, total: float = 1.0) -> Floats:
    """The same constant added to every value, so that they add up to the total."""
    checked = _checked(values)
    shifted: Floats = checked + (_checked_total(total) - checked.sum()) / len(checked)
    return shifted


def norm_mul(values: Numbers, total: float = 1.0) -> Floats:
    """Negative values raised to zero, the others scaled to add up to the total."""
    clipped = clip(values)
    mass = clipped.sum()
    if not mass:
        return np.full(len(clipped), _checked_total(total) / len(clipped))
    scaled: Floats = clipped / mass * _checked_total(total)
    return scaled


def norm_cut(values: Numbers, total: float = 1.0) -> Floats:
    """The largest values as they are until they reach the total, the last of them cut, the others zero."""
    clipped = clip(values)
    order = np.argsort(-clipped, kind="stable")
    before = np.concatenate(([0.0], np.cumsum(clipped[order])[:-1]))
    result = np.empty_like(clipped)
    result[order] = np.minimum(clipped[order], np.maximum(_checked_total(total) - before, 0.0))
    return result


def norm_sub(values: Numbers, total: float = 1.0) -> Floats:
    """A constant subtracted and negative values raised to zero, so that they add up to the total."""
    checked = _checked(values)
    descending = np.sort(checked)[::-1]
    # With the k largest values kept, the constant is the one that makes those k add up to the total; the right k
    # is the largest one whose smallest kept value stays positive (Held, Wolfe and Crowder 1974).
    constants = (np.cumsum(descending) - _checked_total(total)) / np.arange(1, len(checked) + 1)
    kept = int(np.flatnonzero(descending > constants)[-1])
    projected: Floats = np.maximum(checked - constants[kept], 0.0)
    return projected


def _checked(values: Numbers) -> Floats:
    floats = np.asarray(values, np.float64)
    if floats.ndim != 1 or not len(floats) or not np.isfinite(floats).all():
        raise InvalidParameter("frequencies are a list of at least one finite number")
    return floats


def _checked_total(total: float) -> float:
    if not (math.isfinite(total) and total > 0):
        raise InvalidParameter("the total of frequencies is a positive finite number")
    return total
