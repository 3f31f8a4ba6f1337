"""Slope and shift of a logistic curve, from a noisy table of margins and labels (after Platt 1999).

A direction says who is more likely than whom; how likely, people of their own say, in two steps:

1. where margins are: the shares of people in public bins, to which a bell is fitted, its middle and its spread;
2. the table of bins and labels, the bins laid over the bell.  Its cells have noise of one size, so slope and threshold are
   those of least squares: the best pair of a grid of both, with margins even within a bin.

The slope is positive, and no steeper than the bins can tell.  A threshold that noise explains is left out: the direction
has a constant of its own.  Where a class is rare that constant is far from its people, and the table is what finds them.

Checked in tests/unit/algorithms/learners/test_logistic_curve.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from localdp.algorithms.learners.scaling import called
from localdp.algorithms.texts import decimal
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomness.source import Floats

_OF_BELL = 30  # percent of the rounds
_REACH, _BINS = 2.0, 12  # of margins, for labels at -1 and 1
_SPREADS = np.geomspace(0.05, 2.0, 24)  # that a bell may have
_PLACES = np.linspace(-_REACH, _REACH, 81)  # and where its middle may be
_WIDE = 2.7  # spreads from the middle to the outermost edge
_COARSE, _FINE = 8, 40  # bins of the table; the finer ones where it is clear all the same
_CLEAR = 0.1  # root of the sum of the squared errors of its cells
_SLOPES = np.geomspace(0.2, 20.0, 32)  # times the spread
_THRESHOLDS = np.linspace(-3.0, 3.0, 121)  # in spreads from the middle
_PARTS = 5  # of a bin
_LOGISTIC = np.sqrt(3) / np.pi  # the scale of a logistic law of spread 1
_SHARES = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5)  # of a class
_CUTS = (-1.0, -0.923, -0.816, -0.515, -0.191, -0.052, -0.006, 0.0)  # the margins where labels are even
_SURE_OF_SHARE = 3.0  # standard errors that classes are uneven
_EVEN = 0.02  # from a half: so uneven classes count as even
_REFINED = 2  # grids, each finer than the last
_SURE = 6.0  # squared standard errors that a threshold is away from none


@dataclass(frozen=True, slots=True)
class Curve:
    """The logarithm of the odds is `slope` times the margin, and `shift`."""

    slope: float
    shift: float


@dataclass(frozen=True, slots=True)
class Bell:
    """Where margins are: their middle and their spread."""

    middle: float
    spread: float

    def edges(self, bins: int) -> Floats:
        """Between so many bins, the outer ones open."""
        return self.middle + self.spread * np.linspace(-_WIDE, _WIDE, bins - 1)


def class_share(oracle: StatisticalQueryOracle, target: str, rounds: int) -> float:
    """The share of people with the label; a half, unless it is further from that than noise explains."""
    answers = [oracle.answer([target])[0] for _ in range(rounds)]
    share = float(np.mean([answer.value for answer in answers]))
    variance = float(np.mean([answer.variance_empirical for answer in answers])) / rounds
    return share if abs(share - 0.5) > max(_SURE_OF_SHARE * math.sqrt(variance), _EVEN) else 0.5


def threshold_of(share: float) -> float:
    """Where a descent on labels at -1 and 1 should be cut, so many of them 1: where they are even, if margins are normal.

    Least squares within 1, as `Descent` asks them with shifts, of z and labels that z and noise decide, with a correlation
    of 0.8.  Classes that are even are cut at 0, and a rare one nearer to the others than that.
    """
    cut = float(np.interp(min(share, 1 - share), _SHARES, _CUTS))
    return cut if share < 0.5 else -cut


def bins_query(margin: str, edges: Floats) -> str:
    """In which bin the margin is."""
    return called("which", [f"{margin} <= {decimal(float(edge))}" for edge in edges])


def curve_query(margin: str, target: str, edges: Floats) -> str:
    """In which bin the margin is, and which label a person has."""
    return called("cells", [bins_query(margin, edges), target])


def fitted_curve(
    oracle: StatisticalQueryOracle, margin: str, target: str, rounds: int, own: float = 0.0
) -> Curve:
    """Slope and shift that make a margin the logarithm of the odds, from at least two rounds."""
    first = max(1, rounds * _OF_BELL // 100)
    bell = fitted_bell(oracle, margin, first)
    fine = curve_query(margin, target, bell.edges(_FINE))
    bins = _FINE if oracle.plan([fine]).vector_error <= _CLEAR else _COARSE
    query = curve_query(margin, target, bell.edges(bins))
    shares, variance = _asked(oracle, query, rounds - first)
    return best_curve(shares.reshape(-1, 2), bell, variance, own)


def fitted_bell(oracle: StatisticalQueryOracle, margin: str, rounds: int) -> Bell:
    """Where margins are, from so many rounds."""
    edges = np.linspace(-_REACH, _REACH, _BINS - 1)
    return bell_of(_asked(oracle, bins_query(margin, edges), rounds)[0], edges)


def _asked(oracle: StatisticalQueryOracle, query: str, rounds: int) -> tuple[Floats, float]:
    """Shares, and the variance of each."""
    answers = [oracle.answer_vectors([query])[0] for _ in range(rounds)]
    variance = float(np.mean([answer.variance_empirical.mean() for answer in answers])) / rounds
    return np.mean([answer.values for answer in answers], axis=0), variance


def bell_of(shares: Floats, edges: Floats) -> Bell:
    """The bell whose shares are nearest to these."""
    away = (edges - _PLACES[:, None, None]) / (_LOGISTIC * _SPREADS[:, None])
    below = _odds(away)
    ends = np.zeros((*below.shape[:2], 1)), np.ones((*below.shape[:2], 1))
    expected = np.diff(np.concatenate([ends[0], below, ends[1]], axis=2), axis=2)
    place, spread = _least(np.square(expected - shares).sum(axis=2))
    return Bell(float(_PLACES[place]), float(_SPREADS[spread]))


def best_curve(table: Floats, bell: Bell, variance: float, own: float = 0.0) -> Curve:
    """By least squares, from a share for each bin and label; at the own threshold if that is not clearly worse."""
    at = (own - bell.middle) / bell.spread
    slopes, thresholds, least = _SLOPES, _THRESHOLDS, math.inf
    for _ in range(_REFINED):
        losses = _losses(table, slopes, thresholds)
        slope, threshold = _least(losses)
        least, best = float(losses.min()), (float(slopes[slope]), float(thresholds[threshold]))
        thresholds = best[1] + np.linspace(-1, 1, 21) * float(thresholds[1] - thresholds[0])
    there = _losses(table, _SLOPES, np.array([at]))
    if float(there.min()) - least <= _SURE * variance:
        best = float(_SLOPES[_least(there)[0]]), at
    steepness = best[0] / bell.spread
    return Curve(steepness, -steepness * (bell.middle + bell.spread * best[1]))


def _losses(table: Floats, slopes: Floats, thresholds: Floats) -> Floats:
    """The squared distance of every curve of a grid from a table."""
    ends = np.linspace(-_WIDE, _WIDE, len(table) - 1)
    width = ends[1] - ends[0]
    starts = np.concatenate([[ends[0] - width], ends])
    places = starts[:, None] + width * (np.arange(_PARTS) + 0.5) / _PARTS
    odds = _odds(slopes[:, None, None, None] * (places - thresholds[:, None, None])).mean(axis=3)
    losses: Floats = np.square(table[:, 1] - np.maximum(table.sum(axis=1), 0.0) * odds).sum(axis=2)
    return losses


def _least(losses: Floats) -> tuple[int, int]:
    row, column = np.unravel_index(int(losses.argmin()), losses.shape)
    return int(row), int(column)


def _odds(logarithms: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-np.clip(logarithms, -30, 30)))
    return found
