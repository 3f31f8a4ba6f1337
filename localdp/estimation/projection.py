"""The nearest answers that some data could have: Euclidean projection by Frank and Wolfe (1956), with away steps.

Answers to k linear queries about n people, each of one of several types, are A w with w >= 0 and sum w = n: they lie
in n times the convex hull of the columns of A.  Noisy answers z do not; the nearest point of the hull is what z says
once it is known that answers belong to people (Algorithm 18).  This looks at released numbers only, so that it costs
no privacy.

A step moves w towards the best column, or away from the worst one in use, by exact line search (Guelat and Marcotte
1986), which converges geometrically (Lacoste-Julien and Jaggi 2015).  Only A'A and A'z take part, so that a step
costs as much as there are columns, however many queries there are.

Claim.  With g the gradient A'(A w - z), the gap <g, w> - n min g is at least (||A w - z||^2 - ||a - z||^2) / 2 for
the nearest a, hence at least ||A w - a||^2 / 2: `gap` certifies the result.
Checked in tests/unit/estimation/test_projection.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats, Numbers

MOST_COLUMNS = 4096
_MOST_STEPS = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """The nearest point, as a mixture of columns."""

    answers: Floats  # A w
    weights: Floats  # w >= 0, of sum n
    gap: float  # at least half the squared distance between `answers` and the nearest point
    steps: int


def project(answers: Numbers, columns: Numbers, total: float, tolerance: float = 1e-3) -> Projection:
    """The point of total * (convex hull of the columns) nearest to the answers, each within about `tolerance` of its place.

    The root mean square distance from the exact projection is at most `tolerance`, unless 100,000 steps did not suffice.
    """
    target, matrix = np.asarray(answers, np.float64), np.asarray(columns, np.float64)
    if matrix.ndim != 2 or target.shape != matrix.shape[:1] or not 1 <= matrix.shape[1] <= MOST_COLUMNS:
        raise InvalidParameter(f"queries have one answer each, and 1 to {MOST_COLUMNS} columns")
    if not total > 0 or not tolerance > 0 or not (np.isfinite(target).all() and np.isfinite(matrix).all()):
        raise InvalidParameter("answers and columns are finite, and the total and the tolerance positive")
    enough = len(target) * tolerance**2 / 2
    weights, gap, steps = _frank_wolfe(matrix.T @ matrix, matrix.T @ target, total, enough)
    return Projection(matrix @ weights, weights, gap, steps)


def _frank_wolfe(gram: Floats, linear: Floats, total: float, enough: float) -> tuple[Floats, float, int]:
    """Minimise w'Gw / 2 - c'w over w >= 0 of the given sum; returns w, its gap and the number of steps."""
    first = int(np.argmin(np.diag(gram) * total / 2 - linear))
    weights = np.zeros(len(linear))
    weights[first] = total
    image = gram[:, first] * total  # G w
    for step in range(_MOST_STEPS):
        gradient = image - linear
        mean = float(gradient @ weights)
        towards, away = int(np.argmin(gradient)), int(np.argmax(np.where(weights > 0, gradient, -np.inf)))
        gap, back = mean - total * gradient[towards], total * gradient[away] - mean
        if gap <= enough:
            return weights, float(gap), step
        if gap >= back:
            column, sign, most = towards, 1.0, 1.0
        else:
            column, sign = away, -1.0
            most = weights[away] / (total - weights[away]) if weights[away] < total else 1.0
        direction = sign * (total * gram[:, column] - image)
        # d'Gd for d = sign (total e_column - w)
        curvature = sign * (total * direction[column] - float(weights @ direction))
        length = most if curvature <= 0 else min(most, max(gap, back) / curvature)
        weights *= 1 - sign * length
        weights[column] += sign * length * total
        weights[column] = max(0.0, weights[column]) if length < most or sign > 0 else 0.0
        image = image + length * direction
    return weights, float(gap), _MOST_STEPS
