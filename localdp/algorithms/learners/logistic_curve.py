"""Slope and shift of a logistic curve, from a noisy table of margins and labels (Platt 1999).

A direction says who is more likely than whom; how likely, the table says: the shares of people by margin, in public
bins, and label.  Slope and shift are those of the largest likelihood of the shares, made consistent; the slope is
positive, and no steeper than the bins can tell.  A shift that noise explains is left out: the direction has a constant
of its own.

Checked in tests/unit/algorithms/learners/test_logistic_curve.py.
"""

from __future__ import annotations

import numpy as np

from localdp.algorithms.learners.scaling import called
from localdp.algorithms.texts import decimal
from localdp.estimation.consistency import norm_sub
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomness.source import Floats

_EDGES = (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)  # of margins, for labels at -1 and 1
_MIDDLES = np.array([-1.75, -1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1.75])
_FLATTEST, _STEEPEST = 0.1, 20.0
_STEPS = 50
_PRIOR = 1e-3  # of each cell: no share is 0
_SURE = 3.0  # standard errors that a shift is away from none


def curve_query(margin: str, target: str) -> str:
    """In which bin the margin is, and which label a person has."""
    bins = called("which", [f"{margin} <= {decimal(edge)}" for edge in _EDGES])
    return called("cells", [bins, target])


def fitted_curve(
    oracle: StatisticalQueryOracle, margin: str, target: str, rounds: int
) -> tuple[float, float]:
    """The slope, and what is added, that make a margin the logarithm of the odds."""
    query = curve_query(margin, target)
    answers = [oracle.answer_vectors([query])[0] for _ in range(rounds)]
    shares = norm_sub(np.mean([answer.values for answer in answers], axis=0)).reshape(-1, 2)
    variance = float(np.mean([answer.variance_empirical.mean() for answer in answers])) / rounds
    slope, shift = most_likely_curve(shares)
    if abs(shift) > _SURE * _error_of_shift(shares, slope, shift, variance):
        return slope, shift
    return most_likely_curve(shares, shifted=False)


def most_likely_curve(shares: Floats, *, shifted: bool = True) -> tuple[float, float]:
    """By Newton's steps, from the shares of the bins without and with the label; perhaps through 0."""
    table = shares + _PRIOR
    totals, positive = table.sum(axis=1), table[:, 1]
    slope, shift = 1.0, 0.0
    for _ in range(_STEPS):
        odds = _odds(slope, shift)
        away = positive - totals * odds
        gradient = np.array([away @ _MIDDLES, away.sum() if shifted else 0.0])
        step = np.clip(np.linalg.solve(_hessian(totals, odds, shifted), gradient), -1, 1)
        slope = float(np.clip(slope + step[0], _FLATTEST, _STEEPEST))
        shift = float(np.clip(shift + step[1], -_STEEPEST, _STEEPEST))
    return slope, shift


def _odds(slope: float, shift: float) -> Floats:
    found: Floats = 1 / (1 + np.exp(-np.clip(slope * _MIDDLES + shift, -30, 30)))
    return found


def _hessian(totals: Floats, odds: Floats, shifted: bool = True) -> Floats:
    curved = totals * odds * (1 - odds)
    first = float(curved @ _MIDDLES) if shifted else 0.0
    return np.array([[float(curved @ _MIDDLES**2), first], [first, float(curved.sum())]]) + 1e-9 * np.eye(2)


def _error_of_shift(shares: Floats, slope: float, shift: float, variance: float) -> float:
    """The standard error of a shift, from the variance of a share."""
    odds = _odds(slope, shift)
    each = np.square(odds) + np.square(1 - odds)  # what a share without, and one with the label move away
    first = float(each @ _MIDDLES)
    noise = variance * np.array([[float(each @ _MIDDLES**2), first], [first, float(each.sum())]])
    inverse = np.linalg.inv(_hessian((shares + _PRIOR).sum(axis=1), odds))
    return float(np.sqrt((inverse @ noise @ inverse)[1, 1]))
