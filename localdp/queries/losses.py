"""Losses of linear predictors, and what multiplies the features in their gradients.

The gradient at the public point w, for a record of features v (norm at most 1) and label t, is g v, where
with m = <w, v>, and s = 2 t - 1 for a label t that is true or false,

| loss | g |
|---|---|
| logistic: log(1 + exp(-s m)) | sigma(m) - t, where sigma(m) = 1 / (1 + exp(-m)) |
| hinge: max(0, 1 - s m) | -s if s m < 1, else 0 |
| squared: (m - t)**2 / 2, with linear tails | m - t, clipped to [-1, 1] |
| madaboost: 1 - s m if s m <= 0, else exp(-s m) | -s min(1, exp(-s m)) |

Claim.  |g| <= 1, so the gradient has norm at most 1.  Everything is made of the operations that IEEE 754
rounds correctly, in a fixed order, `exponential` too: the same record has the same gradient at every party.
Nothing branches on a value, and no slope other than 0 is below 2**-128, so that none makes a subnormal number
(`vector_smallness`).  Checked in tests/unit/queries/test_losses.py, test_smallness.py and test_silence.py.
"""

from __future__ import annotations

import numpy as np

from localdp.queries.vectors import Loss
from localdp.randomness.source import Floats

_PER_LOG2 = float.fromhex("0x1.71547652b82fep+0")  # 1 / log 2
_LOG2_HIGH = float.fromhex("0x1.62e42fefap-1")  # log 2 to 36 bits: its multiples below 2**11 are exact
_LOG2_LOW = float.fromhex("0x1.cf79abc9e3b3ap-40")  # the rest
_TERMS = 14  # of the series at |r| <= log(2) / 2: the next one is below 2**-57
_LEAST = -700.0  # exp of less is taken as exp of this, about 1e-304
FAINTEST = -87.0  # in a slope the same at about 2**-126: its product with an entry is not subnormal


def slope(loss: Loss, margin: Floats, target: Floats) -> Floats:
    """g for each person, in [-1, 1]."""
    sign = 2.0 * target - 1.0
    match loss:
        case "logistic":
            return sigmoid(margin) - target
        case "hinge":
            return -sign * (sign * margin < 1.0) + 0.0  # which makes 0.0 of -0.0
        case "squared":
            clipped: Floats = np.clip(margin - target, -1.0, 1.0)
            return clipped
        case "madaboost":
            return -sign * exponential(np.clip(-sign * margin, FAINTEST, 0.0))


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + exp(-x)), in [0, 1]."""
    small = exponential(np.maximum(-np.abs(values), FAINTEST))
    result: Floats = np.maximum(small, values >= 0) / (1.0 + small)
    return result


def exponential(values: Floats) -> Floats:
    """exp of numbers that are at most 0, to about one unit in the last place, and at most 1."""
    inside = np.maximum(values, _LEAST)
    halvings = np.rint(inside * _PER_LOG2)
    rest = (inside - halvings * _LOG2_HIGH) - halvings * _LOG2_LOW
    series = np.ones_like(rest)
    for term in range(_TERMS, 0, -1):
        series = 1.0 + series * rest / term
    powers: Floats = np.ldexp(series, halvings.astype(np.int64))
    return np.minimum(powers, 1.0)
