"""How much room noise needs beside values, so that what an agent sends has a size that tells nothing.

An agent that speaks for a part r of the people among whom noise is divided draws, for each of its sums, two negative
binomial numbers Z+, Z- of shape r and a Poisson number F of pairs; together they are X = sum of Z+ + Z- + 2 F messages.  It
sends as many messages as its people could have at most, and `room` more: dummies fill up what is left.  If X exceeds the
room, noise is left out, whatever the values are.  That happens with a probability of at most

    Pr[X > room] <= exp(-t room) E exp(t X)                                    for every 0 < t < rate (Chernoff)
    log E exp(t X) = entries (2 r log((1 - a) / (1 - a e^t)) + mean (e^(2t) - 1)),     a = exp(-rate)

Claim.  `room` is enough for the failure that is asked for: t is chosen by floats, and whatever it is, what follows from it
is rounded against us.
Checked against exact tails in tests/unit/accounting/test_flood_plan.py.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from localdp.accounting.flooding import Flood
from localdp.accounting.outward import exp_above, exp_below, log_above

_GRID = 1 << 24
_SLOPES = 64


@lru_cache(maxsize=1024)
def room(flood: Flood, entries: int, share: Fraction, failure: Fraction) -> int:
    """Messages that noise takes at most, but for this probability; `share`: the agent's part of those who draw it."""
    slopes = [float(flood.rate) * 2 ** (-step / 4) for step in range(1, _SLOPES)]
    scale, rare = entries * float(share), -math.log(failure)
    slope = min(slopes, key=lambda t: (scale * _growth(flood, t) + rare) / t)
    return _room(flood, entries * share, failure, Fraction(max(1, round(slope * _GRID)), _GRID))


def _growth(flood: Flood, slope: float) -> float:
    """log E exp(t X) of one entry and all people."""
    rate = float(flood.rate)
    geometric = math.log(math.expm1(-rate) / math.expm1(slope - rate))
    return 2 * geometric + flood.pairs * math.expm1(2 * slope)


def _room(flood: Flood, share: Fraction, failure: Fraction, slope: Fraction) -> int:
    base = exp_above(-flood.rate)
    ratio = (1 - exp_below(-flood.rate)) / (1 - base * exp_above(slope))
    growth = 2 * log_above(ratio) + flood.pairs * (exp_above(2 * slope) - 1)
    return math.ceil((share * growth + log_above(1 / failure)) / slope)
