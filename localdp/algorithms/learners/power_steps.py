"""A first component that is turned towards its people, step by step: the power method with noise of a known kind.

A step asks for E[sign(<a, u>) u / |u|] at an axis a.  With u of an elliptical law and a close to the first component c, it
is L (c + R (a - c)) up to terms of second order: L is its length along a, and R, in the axes of the second moments of
directions, is about r_j = lambda_j / lambda_1.  So c = a + (1 - R)^-1 (what the step has at right angles to a) / L: every
step is an estimate of c with the same noise, wherever it was asked, and the mean of all of them is the result, together
with the first axis of the moments, which is worth some steps.

**Deviation** from the power method itself, where the axis of each step is what the last one gave: then the noise of early
steps is carried along, by r_j each time, and one fit in fifteen or so was far off.
Checked in tests/unit/algorithms/learners/test_power_steps.py; the numbers in tests/statistical/test_defaults.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from localdp.randomness.source import Floats

_LARGEST_RATIO = 0.8  # of eigenvalues: a step is stretched at most five times
_LEAST_LENGTH = 0.05  # of a step along its axis: that of directions at random in a hundred dimensions or so


@dataclass(slots=True, eq=False)
class Turning:
    """An axis, and what the steps said of it."""

    first: Floats
    stretch: Floats  # the inverse of 1 - R
    worth: float  # of the first axis, in steps
    asked: list[Floats] = field(default_factory=list)
    answers: list[Floats] = field(default_factory=list)

    @classmethod
    def of(cls, values: Floats, axes: Floats, worth: float) -> Self:
        """From eigenvalues, falling, and eigenvectors of the second moments of directions."""
        ratios = np.clip(values / max(float(values[0]), 1e-300), 0.0, _LARGEST_RATIO)
        return cls(axes[0], axes.T @ (axes / (1 - ratios)[:, None]), worth)

    def add(self, answer: Floats) -> None:
        """One more step, asked at the present axis."""
        at = self.axis
        self.asked.append(at)
        self.answers.append(answer)

    @property
    def axis(self) -> Floats:
        """The estimate so far, of length 1."""
        if not self.asked:
            return self.first
        asked, answers = np.array(self.asked), np.array(self.answers)
        along = (asked * answers).sum(axis=1)
        across = (answers - along[:, None] * asked).sum(axis=0)
        length = max(float(along.mean()), _LEAST_LENGTH)
        mean: Floats = self.worth * self.first + asked.sum(axis=0) + self.stretch @ across / length
        return mean / float(np.linalg.norm(mean))
