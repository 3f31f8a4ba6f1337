"""Second moments with noise of a known size, and what can be solved with them.

A matrix A of second moments arrives as its upper triangle, row by row, off-diagonal entries times sqrt(2), every entry
with an independent error of standard deviation s.  As a matrix E the error has independent entries of deviation s on the
diagonal and s / sqrt(2) beside it, so its expected sum of squares is s**2 d (d + 1) / 2, and its largest eigenvalue is
about s sqrt(2 d) (Wigner 1958).  Neither needs data; both follow from the plan.

- `shrunk`: the covariance is drawn towards the nearest multiple of the identity by as much as the noise alone would have
  moved it away, to a = max(0, 1 - E|E|**2 / |A - m I|**2) of the distance (Ledoit and Wolf 2004; here the noise is known).
- `combined`: of two solutions of one problem, a noisy one that is right and a clear one that may be biased, the first is
  drawn towards the second by as much as noise explains what is between them (after Green and Strawderman 1991).
- `Regressors`: its inverse, with every eigenvalue raised to at least what is left of the noise, so that a step with it
  hardly goes further than one with the true inverse.

Claim.  Without noise nothing is changed: least squares by these moments are least squares.
All of it happens after the answers were given: post-processing (Proposition 2.1).
Checked in tests/unit/algorithms/learners/test_noisy_moments.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from localdp.randomness.source import Floats

_LEAST_SHARE = 0.8  # of the mean eigenvalue: lower ones are raised to it, unless the noise is smaller still
_BIASES = np.geomspace(0.01, 1e8, 100)  # squared, in units of the noise
_SURE = 3.0  # standard deviations of the squared length of noise
_NUMERICAL = 1e-12  # of the mean eigenvalue: what doubles cannot tell from zero, and nothing is divided by


def symmetric(triangle: Floats, size: int) -> Floats:
    """The matrix whose upper triangle this is, as `moments(...)` writes it."""
    rows, columns = np.triu_indices(size)
    matrix = np.zeros((size, size))
    matrix[rows, columns] = triangle / np.where(rows == columns, 1.0, math.sqrt(2))
    matrix[columns, rows] = matrix[rows, columns]
    return matrix


def wigner(error: float, size: int) -> float:
    """What the largest eigenvalue of the error is about."""
    return error * math.sqrt(2 * size)


def shrunk(matrix: Floats, error: float) -> tuple[Floats, float]:
    """The matrix drawn towards a multiple of the identity, and the part of the distance that was kept."""
    size = len(matrix)
    middle = np.eye(size) * max(np.trace(matrix) / size, 0.0)
    away = matrix - middle
    distance, noise = float(np.square(away).sum()), error**2 * size * (size + 1) / 2
    kept = max(0.0, 1 - noise / distance) if distance > 0 else 1.0
    return middle + kept * away, kept


def shortened(vector: Floats, error: float) -> Floats:
    """A noisy vector drawn towards zero by as much as the noise lengthened it (James and Stein 1961)."""
    length = float(vector @ vector)
    factor = max(0.0, 1 - len(vector) * error**2 / length) if length > 0 else 1.0
    return vector * factor


def is_more_than_noise(vector: Floats, variance: float) -> bool:
    """Whether a vector is longer than noise of this variance in every entry explains."""
    size = len(vector)
    return float(vector @ vector) > variance * (size + _SURE * math.sqrt(2 * size))


def mean_weight(measured: float, error: float) -> float:
    """The mean square of a constant 1 that is shortened with its people: 1, unless that is more than noise explains."""
    return measured if 0 < measured < 1 - 3 * error else 1.0


def combined(clear: Floats, right: Floats, second: Floats, of_clear: float, of_right: float) -> Floats:
    """The right solution, drawn towards the clear one; its length along that one and its last entry stay.

    Solutions are of equations with these second moments M, whose errors have such variances in each entry.  What is
    between them is the bias of the clear one, taken to be normal with a covariance of b times the inverse of M, and both
    errors; b is the likeliest one.
    """
    plane = np.stack([clear, np.eye(len(clear))[-1]], axis=1)
    fitted = plane @ np.linalg.lstsq(plane.T @ second @ plane, plane.T @ second @ right, rcond=None)[0]
    values, axes = np.linalg.eigh(second)
    values, noise = np.maximum(values, 0.0), of_clear + of_right
    if noise <= 0 or values.max() <= _NUMERICAL:
        return right  # nothing is explained by noise
    between = axes.T @ (right - fitted)
    biases = noise / float(values.mean()) * np.concatenate([[0.0], _BIASES])
    variances = values * biases[:, None] + noise
    unlikely = (np.log(variances) + np.square(values * between) / variances).sum(axis=1)
    kept = 1 - of_right / variances[int(unlikely.argmin())]
    drawn: Floats = fitted + axes @ (kept * between)
    return drawn


@dataclass(frozen=True, slots=True, eq=False)
class Regressors:
    """The features u of a regression: their means, their covariance, and a safe inverse of it."""

    means: Floats
    covariance: Floats
    inverse: Floats

    @classmethod
    def of(cls, second: Floats, means: Floats, error: float, error_of_means: float) -> Self:
        """From noisy second moments E[u u'] and means."""
        drawn = shortened(means, error_of_means)
        covariance, kept = shrunk(second - np.outer(drawn, drawn), error)
        size = len(means)
        mean, noise = float(np.trace(covariance)) / size, wigner(error, size)
        of_mean = error / math.sqrt(size)  # below it nothing is known of any eigenvalue
        least = max(kept * noise, min(_LEAST_SHARE * mean, noise), of_mean)
        values, axes = np.linalg.eigh(covariance)
        raised = np.maximum(values, least)
        told = raised > max(_NUMERICAL * mean, 1e-300)
        inverse = (axes * np.where(told, 1 / np.where(told, raised, 1.0), 0.0)) @ axes.T
        return cls(drawn, covariance, inverse)

    def solve(self, products: Floats, mean: float) -> tuple[Floats, float]:
        """The weights and the constant of least squares, from E[t u] and E[t]."""
        weights: Floats = self.inverse @ (products - self.means * mean)
        return weights, float(mean - weights @ self.means)
