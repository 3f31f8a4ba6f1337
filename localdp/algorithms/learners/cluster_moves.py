"""Centres that move to where their people are, in units of the spread within a cluster.

Vectors are blocks by the nearest centre, `at(nearest(u, centres), ball(...))`: the sum over a cluster's people of where
they are, from a point, along some axes, in a unit that shortens whoever is further out.  Noise is in proportion to it.

- Across the axes that hold the clusters: all clusters are around one point there, and one query serves all of them.
- Along axes: each cluster is asked around its own centre, and only its own block of the answer is read.

A move is drawn back by as much as noise lengthened it (James and Stein 1961).  Masses come from the histogram before.
Checked in tests/unit/algorithms/learners/test_k_means.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localdp.algorithms.learners.noisy_moments import shortened
from localdp.algorithms.learners.scaling import Scaling, called
from localdp.algorithms.texts import point
from localdp.oracles.definition import StatisticalQueryOracle, VectorAnswer
from localdp.randomness.source import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Along these axes, in this unit."""

    axes: Floats  # rows, of length 1, at right angles
    unit: float

    def across(
        self,
        oracle: StatisticalQueryOracle,
        units: Scaling,
        origin: Floats,
        centres: Floats,
        masses: Floats,
        rounds: int,
    ) -> Floats:
        """The centres, moved away from the origin by one query for all of them."""
        query = self._query(units, centres, origin)
        answers = [oracle.answer_vectors([query])[0] for _ in range(rounds)]
        return np.stack(
            [
                centre + self._move(answers, number, len(centres), masses[number])
                for number, centre in enumerate(centres)
            ]
        )

    def along(
        self, oracle: StatisticalQueryOracle, units: Scaling, centres: Floats, masses: Floats, rounds: int
    ) -> Floats:
        """The centres, each moved by a query of its own."""
        answers = [oracle.answer_vectors(self.queries(units, centres)) for _ in range(rounds)]
        return np.stack(
            [
                centre
                + self._move([several[number] for several in answers], number, len(centres), masses[number])
                for number, centre in enumerate(centres)
            ]
        )

    def queries(self, units: Scaling, centres: Floats) -> list[str]:
        """Around each centre."""
        return [self._query(units, centres, centre) for centre in centres]

    def _query(self, units: Scaling, centres: Floats, origin: Floats) -> str:
        nearest = called("nearest", [called("ball", units.forms()), *map(point, centres)])
        around = units.moved(origin)
        forms = [_form(around, axis / self.unit) for axis in self.axes]
        return f"at({nearest}, {called('ball', forms)})"

    def _move(self, answers: Sequence[VectorAnswer], number: int, clusters: int, mass: float) -> Floats:
        """Of one cluster, in the space of the features."""
        values = np.mean([answer.values for answer in answers], axis=0).reshape(clusters, -1)[number]
        variance = float(np.mean([answer.variance_empirical.mean() for answer in answers])) / len(answers)
        moved: Floats = self.unit * shortened(values / mass, np.sqrt(variance) / mass) @ self.axes
        return moved


def _form(around: Scaling, weights: Floats) -> str:
    terms = zip(around.terms(weights), weights, strict=True)
    return " + ".join(term for term, weight in terms if weight)
