"""Tracing: whether somebody's record is among those behind published means (Dwork, Smith, Steinke, Ullman and Vadhan 2015).

Everybody has k attributes, of which the population's frequencies p are known.  Somebody publishes the means a of n records,
more or less.  Of a person with record x the attacker computes z = <x - p, a - p>, the score of Homer et al. (2008).  For
somebody who is not behind the means z has mean 0 and variance sum p (1 - p) (a - p)**2, whatever the answers are; so all
whose z is above the quantile of a normal law are accused, and one outsider in `1 / false_alarm` is accused wrongly.
Whoever is behind the means adds p (1 - p) / n in each attribute: sqrt(k / n) standard deviations in all, if the means
are exact.

It is the idea of traitor tracing (section 9.2.1) without cryptography: what is accurate about enough attributes names those
whom it was made from.

Claim (`traced_at_most`).  From (epsilon, delta)-private means, somebody in them is accused with a probability of at most
e^epsilon times that of an outsider, and delta.
Checked in tests/unit/attacks/test_tracing.py; the rates at full size in tests/statistical/test_attacks.py.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomness.source import Bits, Floats

FALSE_ALARM = 1e-3  # of the outsiders who are accused


def scores(rows: Bits, frequencies: Floats, means: Floats) -> Floats:
    """What the means say about each of these people."""
    if rows.ndim != 2 or frequencies.shape != means.shape or rows.shape[1:] != means.shape:
        raise InvalidParameter("there is a bit of everybody, a frequency and a mean for each attribute")
    told: Floats = (rows - frequencies) @ (means - frequencies)
    return told


def threshold(frequencies: Floats, means: Floats, false_alarm: float = FALSE_ALARM) -> float:
    """The score above which somebody is accused: an outsider is so with this probability."""
    if not 0 < false_alarm < 0.5:
        raise InvalidParameter("a probability of a false alarm is above 0 and below one half")
    variance = float((frequencies * (1 - frequencies)) @ (means - frequencies) ** 2)
    return NormalDist().inv_cdf(1 - false_alarm) * math.sqrt(variance)


def accused(rows: Bits, frequencies: Floats, means: Floats, false_alarm: float = FALSE_ALARM) -> Bits:
    """Who of these people is said to be behind the means."""
    over: Bits = scores(rows, frequencies, means) > threshold(frequencies, means, false_alarm)
    return over


def expected_fraction(
    people: int, attributes: int, deviation: float, false_alarm: float = FALSE_ALARM
) -> float:
    """Of the people behind means of fair bits that are off by so much: which fraction is accused."""
    lead = math.sqrt(attributes / people) / math.sqrt(1 + 4 * people * deviation**2)
    return NormalDist().cdf(lead - NormalDist().inv_cdf(1 - false_alarm))


def traced_at_most(epsilon: float, delta: float = 0.0, false_alarm: float = FALSE_ALARM) -> float:
    """The largest probability with which private means name somebody who is behind them."""
    return min(1.0, math.exp(epsilon) * false_alarm + delta)


def fair_frequencies(attributes: int) -> Floats:
    """One half of each."""
    return np.full(attributes, 0.5)
