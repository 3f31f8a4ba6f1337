"""Many linear queries with little error on average, through an oracle (Algorithm 18, Theorem 12.8).

All queries are answered in one round, as one vector, and the noisy answers are projected onto those that people can have:
the hull of the columns of the matrix of queries and types of people (`estimation/projection.py`).  That is done to what was
told, so it costs nothing, under every trust model.  Whoever sees records adds noise for how far one person can really move
all answers together (`mechanisms/projected_laplace.py`); elsewhere the noise is that of the vector.

Checked in tests/unit/algorithms/release/test_projected.py and, for every trust model, in tests/contract/test_algorithms.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Self

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.definition import Learner, Measures, measures_of_errors
from localdp.algorithms.release.synthetic import Distribution, rows_of
from localdp.algorithms.release.universe import Columns, Universe
from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.estimation.projection import Projection, project
from localdp.mechanisms.adder import TrustedCurator
from localdp.mechanisms.projected_laplace import ProjectedLaplace
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.plans import PlannedQuery
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.source import Floats, Integers, RandomSource

_GRID = 1 << 10  # of the value of a query that is no condition
_MOST_ENTRIES = 1 << 22


class ProjectedRelease(Learner):
    """Answers to a list of queries, as those of a distribution over a small universe.

    Parameters
    ----------
    queries : list of str
        Conditions or clipped numbers about the columns.
    columns : list of str, optional
        The columns of the universe. Default: all bits and categories.
    signal : float, default=0.25
        The error of an answer that is not worth asking for.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if the answers would drown in the noise. False asks all the same.

    Attributes
    ----------
    answers_ : array
        One for each query.
    distribution_ : Distribution
        That has these answers: marginals, and synthetic records.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        The error of an answer before it is projected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> schema = {"a": {"kind": "bit"}, "b": {"kind": "bit"}}
    >>> table = {"a": [True, False] * 200, "b": [True, True, True, False] * 100}
    >>> with ldp.simulate(table, schema) as people:
    ...     release = people.release(ldp.ProjectedRelease(["a", "b", "a and b"]), model="exact")
    >>> [round(float(one), 6) for one in release.answers_]
    [0.5, 0.75, 0.5]
    """

    def __init__(
        self,
        queries: Sequence[str],
        columns: Columns | None = None,
        *,
        signal: float = 0.25,
        check_signal: bool = True,
    ) -> None:
        self.queries = queries
        self.columns = columns
        self.signal = signal
        self.check_signal = check_signal

    distribution_: Distribution
    answers_: Floats

    def _rounds(self) -> int:
        if isinstance(self.queries, str) or not len(self.queries):
            raise InvalidParameter("a release is about a list of queries")
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        columns = list(self.columns) if self.columns is not None else None
        universe = Universe.of(oracle.schema, columns)
        universe.require_small()
        if universe.cells * len(self.queries) > _MOST_ENTRIES:
            raise InvalidParameter(f"a release has at most {_MOST_ENTRIES} values of queries in cells")
        rows = rows_of(self.queries, universe)
        projected = (
            self._on_records(oracle, universe, rows) if oracle.sees_records else self._asked(oracle, rows)
        )
        self.answers_ = projected.answers
        self.distribution_ = Distribution(universe, np.maximum(projected.weights, 0))

    def _asked(self, oracle: StatisticalQueryOracle, rows: Floats) -> Projection:
        query = f"vector({', '.join(self.queries)})"
        self.plan_ = oracle.plan([query])
        error = self.plan_.rows[0].standard_error
        self._require_signal(self.signal, error, "an answer")
        (answer,) = oracle.answer_vectors([query])
        return project(answer.values, rows, 1.0, max(1e-9, 0.01 * error))

    def _on_records(self, oracle: StatisticalQueryOracle, universe: Universe, rows: Floats) -> Projection:
        mechanism = ProjectedQueries.of(tuple(self.queries), universe.query(), rows)
        plan = oracle.plan(["which(true)"])
        error = mechanism.error(plan.epsilon) / oracle.people
        how = (
            f"noise for a sensitivity of {mechanism.sensitivity / mechanism.resolution:g}, then projection"
        )
        row = PlannedQuery(mechanism.text, len(rows), how, oracle.people, error)
        self.plan_ = replace(plan, rows=(row,), resizing=None)
        self._require_signal(self.signal, error, "an answer")
        return oracle.on_records(mechanism)

    def measures(self, truth: Self, records: Records) -> Measures:
        """The errors of what is released."""
        exact = ExactOracle(records).answer(list(self.queries))
        return measures_of_errors(self.answers_ - np.array([answer.value for answer in exact]))


@dataclass(frozen=True, slots=True, eq=False)
class ProjectedQueries:
    """Algorithm 18, by whoever sees records."""

    queries: tuple[str, ...]
    cells: str  # the query for a person's type
    matrix: Integers
    resolution: int
    delta: Fraction = field(default=Fraction(0))

    instead = ""  # elsewhere the queries are asked as a vector

    @classmethod
    def of(cls, queries: tuple[str, ...], cells: str, rows: Floats) -> ProjectedQueries:
        """The queries on whole numbers."""
        resolution = 1 if np.isin(rows, (0, 1)).all() else _GRID
        return cls(queries, cells, np.rint(rows * resolution).astype(np.int64), resolution)

    @property
    def text(self) -> str:
        """What is computed, in words."""
        return f"projected answers to {len(self.queries)} queries about {self.cells}"

    @property
    def sensitivity(self) -> int:
        """How far one person moves all answers together, on whole numbers."""
        return self._laplace(Epsilon.requested(1)).sensitivity

    def require(self, schema: Schema, people: int, epsilon: Epsilon) -> None:
        """Refuse what are no types of people."""
        VectorQuery.parse(self.cells, schema)

    def error(self, epsilon: Epsilon) -> float:
        """Of one answer, in people, before it is projected."""
        if not epsilon.nanonats:
            return 0.0
        return float(np.sqrt(self._laplace(epsilon).noise.variance())) / self.resolution

    def release(self, records: Records, epsilon: Epsilon, source: RandomSource) -> Projection:
        """The projected answers, as means over the people."""
        found = self._laplace(epsilon, source).release(self._types(records))
        whole = self.resolution * records.people
        return Projection(found.answers / whole, found.weights / records.people, found.gap, found.steps)

    def truth(self, records: Records) -> Projection:
        """The true answers, and the shares of the types."""
        types = np.bincount(self._types(records), minlength=self.matrix.shape[1]) / records.people
        return Projection(self.matrix @ types / self.resolution, types, 0.0, 0)

    def _laplace(self, epsilon: Epsilon, source: RandomSource | None = None) -> ProjectedLaplace:
        return ProjectedLaplace(self.matrix, epsilon, TrustedCurator(source))  # type: ignore[arg-type]

    def _types(self, records: Records) -> Integers:
        return VectorQuery.parse(self.cells, records.schema).evaluate(records).astype(np.int64)
