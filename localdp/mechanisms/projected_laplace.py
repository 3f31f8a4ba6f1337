"""Projected Laplace: many linear queries with little error on average (Algorithm 18; Nikolov, Talwar and Zhang 2013).

People are of one of several types; a query gives each type a number in 0 .. resolution, and its answer is the sum
over all people.  The answers to all queries get discrete Laplace noise and are then projected onto the answers that n
people can have (`estimation/projection.py`).  The noise grows like the number k of queries, the error after
projection at most like k^(1/4), and never beyond the size of the hull: it is nearly flat in k.

Claim.  Replacing one person's type x by y moves the answers by the L1 distance of the columns x and y, at most the
`sensitivity`; the noisy answers are epsilon-private, and so is what is made of them (Theorem 12.7, at delta = 0).

Error (Theorem 12.8).  With noise v the nearest point a' to a + v obeys ||a' - a||^2 <= <a' - a, v> <= n max over x, y of
<A_x - A_y, v>.  Read as that of Gaussian noise of the same variance, the mean of the maximum is at most 2 sd max ||A_x -
centre|| sqrt(2 ln |X|): `predicted_error`.  `error_bound` is for all but a failure: each of the |X|^2 - |X| sums is within
what Corollary 12.3 has for its scales.

**Deviation** from Algorithm 18: the hull of the columns, not of the columns and their negatives, because no type has
fewer than no people; the whole L1 sensitivity at delta = 0, and not k uses of sensitivity 1 at delta > 0.
Checked in tests/unit/mechanisms/test_projected_laplace.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, InvalidRecord
from localdp.estimation.projection import MOST_COLUMNS, Projection, project
from localdp.mechanisms.adder import CELLS_PER_BLOCK, Adder, Block
from localdp.randomness.source import Numbers
from localdp.sharing.encoding import LARGEST_BOUND, LARGEST_LENGTH
from localdp.sharing.summed_noise import SummedNoise

_MOST_COMPARISONS = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class ProjectedLaplace:
    """The answers to the rows of `queries`, which has a column for each type of person."""

    queries: Numbers
    epsilon: Epsilon  # of all answers together, per person, in nats, replace-one neighbours
    adder: Adder
    sensitivity: int = field(init=False)

    def __post_init__(self) -> None:
        queries = self.queries
        if queries.ndim != 2 or queries.dtype.kind not in "biu" or not queries.size:
            raise InvalidParameter("queries are a matrix of whole numbers, a row for each")
        if queries.shape[0] > LARGEST_LENGTH or queries.shape[1] > MOST_COLUMNS:
            raise InvalidParameter(f"there are at most {LARGEST_LENGTH} queries about {MOST_COLUMNS} types")
        if queries.min() < 0 or queries.max() > LARGEST_BOUND:
            raise InvalidParameter(f"a query gives each type a number of 0 to {LARGEST_BOUND}")
        whole = queries.astype(np.int64)
        object.__setattr__(self, "queries", whole)
        object.__setattr__(self, "sensitivity", max(1, widest_distance(whole)))

    @property
    def claim(self) -> PrivacyClaim:
        """What one release promises."""
        return self.adder.claim(self.epsilon)

    @property
    def noise(self) -> SummedNoise:
        """The law of the noise in each answer before projection."""
        return self.adder.noise(self.sensitivity, self.epsilon)

    def predicted_error(self, people: int) -> float:
        """About the largest root mean square error over the queries, for so many people."""
        spread = sqrt(self.noise.variance())
        radius = float(
            np.sqrt(((self.queries - self.queries.mean(axis=1, keepdims=True)) ** 2).sum(axis=0)).max()
        )
        width = 2 * spread * radius * sqrt(2 * log(max(2, self.queries.shape[1])))
        return min(
            spread, sqrt(people * width / len(self.queries)), 2 * people * radius / sqrt(len(self.queries))
        )

    def error_bound(self, people: int, failure: float) -> float:
        """What the root mean square error over the queries does not exceed, but for the failure (Theorem 12.8)."""
        queries, types = self.queries.shape
        if not 0 < failure < 1:
            raise InvalidParameter("a failure is a probability between 0 and 1")
        squared, longest = farthest_columns(self.queries)
        root = sqrt(log(2 * types * max(1, types - 1) / failure))
        scale = 1 / float(self.noise.parameter)
        spread = max(sqrt(float(self.noise.shape) * squared), longest * root) * scale
        widest = spread * sqrt(8) * root
        return min(sqrt(people * widest / queries), people * sqrt(squared / queries))

    def release(self, types: Numbers) -> Projection:
        """The projected answers, and the weights of the types that they belong to."""
        _require_codes(types, self.queries.shape[1])
        noisy = self.adder.noisy_sums(self._rows(types), self.sensitivity, self.epsilon)
        # A hundredth of the predicted error is nothing beside the error itself.
        return project(noisy, self.queries, len(types), max(1e-9, 0.01 * self.predicted_error(len(types))))

    def _rows(self, types: Numbers) -> Iterator[Block]:
        people = max(1, CELLS_PER_BLOCK // len(self.queries))
        for start in range(0, max(1, len(types)), people):
            yield self.queries.T[types[start : start + people]]


def widest_distance(queries: NDArray[np.int64]) -> int:
    """The largest L1 distance of two columns; for very large matrices at least that."""
    if queries.shape[1] ** 2 * len(queries) > _MOST_COMPARISONS:
        return int((queries.max(axis=1) - queries.min(axis=1)).sum())
    return max(
        int(np.abs(queries - queries[:, [column]]).sum(axis=0).max()) for column in range(queries.shape[1])
    )


def farthest_columns(queries: Numbers) -> tuple[float, int]:
    """The largest squared distance of two columns, and the largest difference in one query."""
    table = queries.astype(np.float64)
    products, squares = table.T @ table, (table**2).sum(axis=0)
    distances = squares[:, None] + squares[None, :] - 2 * products
    return float(distances.max()), int((queries.max(axis=1) - queries.min(axis=1)).max())


def _require_codes(codes: Numbers, values: int) -> None:
    """Refuse what is no list of codes."""
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise InvalidRecord("codes are a list of whole numbers, one for each person")
    if codes.size and not (codes.min() >= 0 and codes.max() < values):
        raise InvalidRecord(f"a code is outside of 0 to {values - 1}")
