"""What a person types: the verbs of a federation, each under any trust model, through one oracle.

`Federation` is made of this and of what its parties need.  A verb makes the oracle of a trust model and asks it one round
(`localdp.asking.verbs`); `fit` and `release` hand it to a learner or a release.

Checked in tests/contract/test_verbs.py, and each example in tests/unit/test_front_door.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.definition import Learner
from localdp.algorithms.streams.running_count import Layout
from localdp.asking import verbs
from localdp.asking.statistic import Statistic
from localdp.asking.tabulation import Tabulation
from localdp.errors import InvalidParameter
from localdp.oracles.definition import LEVEL, StatisticalQueryOracle
from localdp.oracles.models import DEFAULT_MODEL, ModelName
from localdp.oracles.plans import Plan
from localdp.queries.asked import Asked, AskedVector
from parties.streams.stream import CountedStream
from parties.streams.terms import Wanted

EpsilonLike = Epsilon | Fraction | float | str
_Fitted = TypeVar("_Fitted", bound=Learner)


class ModelOptions(TypedDict, total=False):
    """The options of the trust models; each has a default in `localdp.oracles.models`."""

    noise_plan: str  # shared: who adds which noise: "each-server", "divided", "joint" or "proved"
    minimum_batch: int  # shared: nothing is released from fewer reports
    tier: str  # shared: "prio3", answers with proofs, or "additive"
    delta: float  # shuffled: the probability that the promise does not hold
    divide: str  # local: what the queries of a round share, "people" or "epsilon"
    quorum: float  # local: the share of the people who must answer
    deadline_seconds: float  # local, with a quorum: how long each request waits
    journal: str | Path  # local, with a quorum: where a round is kept that was cut off


class Verbs(ABC):
    """Questions about people, asked of whoever holds their records."""

    @abstractmethod
    def oracle(
        self, model: str, epsilon: EpsilonLike | None = None, **options: Any
    ) -> StatisticalQueryOracle:
        """The statistical-query oracle of a trust model; a round of it costs each person epsilon."""

    def count(
        self,
        query: str,
        *,
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        level: float = LEVEL,
        **options: Unpack[ModelOptions],
    ) -> Statistic:
        """How many people meet a condition.

        Parameters
        ----------
        query: a condition on the columns, such as "smoker and age >= 65".
        epsilon: what each person spends, in nats; smaller is more private and less exact.
        model: whom the people have to trust: "local", "shuffled", "shared", "curator" or "exact".
        level: how sure the interval is.
        options: those of the model (`ModelOptions`).

        Example
        -------
        >>> import localdp as ldp
        >>> with ldp.simulate({"smoker": [True, False] * 50}, {"smoker": {"kind": "bit"}}) as people:
        ...     print(people.count("smoker", model="exact"))
        50 of 100 people
        """
        return verbs.count(self.oracle(model, epsilon, **options), query, level)

    def share(
        self,
        query: str,
        *,
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        level: float = LEVEL,
        **options: Unpack[ModelOptions],
    ) -> Statistic:
        """Which share of the people meets a condition, from 0 to 1.

        Parameters are those of `count`.

        Example
        -------
        >>> import localdp as ldp
        >>> with ldp.simulate({"smoker": [True, False] * 50}, {"smoker": {"kind": "bit"}}) as people:
        ...     print(people.share("smoker", model="exact"))
        50 % of 100 people
        """
        return verbs.share(self.oracle(model, epsilon, **options), query, level)

    def mean(
        self,
        number: str,
        *,
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        level: float = LEVEL,
        **options: Unpack[ModelOptions],
    ) -> Statistic:
        """The mean of a column, or of a sum of columns such as "2*age - bmi", on its own scale.

        Parameters are those of `count`.  The bounds are those that the schema declares.

        Example
        -------
        >>> import localdp as ldp
        >>> age = {"age": {"kind": "integer", "low": 0, "high": 100}}
        >>> with ldp.simulate({"age": [20, 30, 40]}, age) as people:
        ...     print(people.mean("age", model="exact"))
        30 for 3 people
        """
        return verbs.mean(self.oracle(model, epsilon, **options), number, level)

    def sum(
        self,
        number: str,
        *,
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        level: float = LEVEL,
        **options: Unpack[ModelOptions],
    ) -> Statistic:
        """The sum of a column over the people, or of a sum of columns.

        Parameters are those of `mean`.

        Example
        -------
        >>> import localdp as ldp
        >>> age = {"age": {"kind": "integer", "low": 0, "high": 100}}
        >>> with ldp.simulate({"age": [20, 30, 40]}, age) as people:
        ...     print(people.sum("age", model="exact"))
        90 for 3 people
        """
        return verbs.total(self.oracle(model, epsilon, **options), number, level)

    def quantile(
        self,
        column: str,
        at: float = 0.5,
        *,
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        level: float = LEVEL,
        check_signal: bool = True,
        **options: Unpack[ModelOptions],
    ) -> Statistic:
        """Where a share `at` of the people lies below, in a column of numbers.

        Parameters are those of `count`, and `at`, a share between 0 and 1.  Where noise would drown the distribution it
        raises before anybody is asked, unless `check_signal` is False.

        Example
        -------
        >>> import localdp as ldp
        >>> age = {"age": {"kind": "integer", "low": 0, "high": 100}}
        >>> with ldp.simulate({"age": list(range(101))}, age) as people:
        ...     print(people.quantile("age", 0.9, model="exact"))
        90 for 101 people
        """
        oracle = self.oracle(model, epsilon, **options)
        return verbs.quantile(oracle, column, at, level, check_signal=check_signal)

    def median(
        self,
        column: str,
        *,
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        level: float = LEVEL,
        check_signal: bool = True,
        **options: Unpack[ModelOptions],
    ) -> Statistic:
        """Where half of the people lie below: `quantile` at 0.5."""
        return self.quantile(
            column, epsilon=epsilon, model=model, level=level, check_signal=check_signal, **options
        )

    def histogram(
        self,
        of: str,
        *,
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        level: float = LEVEL,
        bins: verbs.Bins | None = None,
        check_signal: bool = True,
        **options: Unpack[ModelOptions],
    ) -> Tabulation:
        """How many people have each value of a column, or of a query with a list of values.

        Parameters are those of `count`, and `bins`: into how many parts a column of numbers is cut, or where.

        Example
        -------
        >>> import localdp as ldp
        >>> ward = {"ward": {"kind": "category", "labels": ["north", "south"]}}
        >>> with ldp.simulate({"ward": ["north", "north", "south"]}, ward) as people:
        ...     print(people.histogram("ward", model="exact")["north"])
        2.0
        """
        oracle = self.oracle(model, epsilon, **options)
        return verbs.histogram(oracle, of, level, bins=bins, check_signal=check_signal)

    def crosstab(
        self,
        *of: str,
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        level: float = LEVEL,
        check_signal: bool = True,
        **options: Unpack[ModelOptions],
    ) -> Tabulation:
        """How many people have each combination of values of several columns or queries.

        Parameters are those of `count`.

        Example
        -------
        >>> import localdp as ldp
        >>> bit = {"kind": "bit"}
        >>> with ldp.simulate({"a": [1, 1, 0], "b": [1, 0, 0]}, {"a": bit, "b": bit}) as people:
        ...     print(people.crosstab("a", "b", model="exact")["true", "false"])
        1.0
        """
        oracle = self.oracle(model, epsilon, **options)
        return verbs.crosstab(oracle, of, level, check_signal=check_signal)

    def top(
        self,
        of: str,
        most: int = 10,
        *,
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        level: float = LEVEL,
        bins: verbs.Bins | None = None,
        check_signal: bool = True,
        **options: Unpack[ModelOptions],
    ) -> Tabulation:
        """The values that most people have, in falling order.

        Parameters are those of `histogram`, and `most`, how many values are wanted.

        Example
        -------
        >>> import localdp as ldp
        >>> ward = {"ward": {"kind": "category", "labels": ["north", "south"]}}
        >>> with ldp.simulate({"ward": ["north", "south", "south"]}, ward) as people:
        ...     print(people.top("ward", 1, model="exact").labels)
        (('south',),)
        """
        oracle = self.oracle(model, epsilon, **options)
        return verbs.top(oracle, of, most, level, bins=bins, check_signal=check_signal)

    def fit(
        self,
        learner: _Fitted,
        *,
        features: Sequence[str] | None = None,
        target: str | None = None,
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        **options: Unpack[ModelOptions],
    ) -> _Fitted:
        """Fit a learner to the people's records, where they are, and return it.

        Parameters
        ----------
        learner: such as LogisticRegression(); it is fitted in place.
        features: the columns to learn from; all that it can use, unless told.
        target: the column to predict, for learners that predict one.
        epsilon, model, options: as in `count`; all rounds together cost each person epsilon.

        Example
        -------
        >>> import localdp as ldp
        >>> ages = {"age": {"kind": "integer", "low": 0, "high": 100}, "old": {"kind": "bit"}}
        >>> table = {"age": list(range(100)), "old": [age >= 50 for age in range(100)]}
        >>> with ldp.simulate(table, ages) as people:
        ...     tree = people.fit(ldp.DecisionTree(depth=1), target="old", model="exact")
        >>> bool(tree.predict([[90]])[0])
        True
        """
        given = {"features": features, "target": target}
        chosen = {name: value for name, value in given.items() if value is not None}
        unknown = [name for name in chosen if name not in learner.get_params()]
        if unknown:
            raise InvalidParameter(f"{type(learner).__name__} has no {unknown[0]}: leave it out")
        return learner.set_params(**chosen).fit(self.oracle(model, epsilon, **options))

    def release(
        self,
        release: _Fitted,
        *,
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        **options: Unpack[ModelOptions],
    ) -> _Fitted:
        """Make a release of the people's records, such as MarginalRelease or RangeRelease, and return it.

        Parameters are those of `fit`.

        Example
        -------
        >>> import localdp as ldp
        >>> age = {"age": {"kind": "integer", "low": 0, "high": 99}}
        >>> with ldp.simulate({"age": list(range(100))}, age) as people:
        ...     ages = people.release(ldp.RangeRelease("age", bins=100), model="exact")
        >>> round(float(ages.ranges([20], [40]).values[0]), 3)
        0.2
        """
        return release.fit(self.oracle(model, epsilon, **options))

    @abstractmethod
    def _stream(self, journal: Path, wanted: Wanted | None) -> CountedStream:
        """The stream of a journal, begun if it is new."""

    def stream(
        self,
        path: str | Path,
        query: str | None = None,
        *,
        steps: int = 64,
        layout: Layout = "best",
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        **options: Unpack[ModelOptions],
    ) -> CountedStream:
        """A count that goes on step by step, for what one answer costs a person, and outlives this process.

        Parameters
        ----------
        path: the file of its journal; whoever opens it again goes on where it stopped, without a query on its terms.
        query, steps, layout: as in `ContinualCount`.
        epsilon, model, options: as in `count`; all steps together cost each person epsilon.

        Example
        -------
        >>> import localdp as ldp, tempfile
        >>> ill = {"ill": {"kind": "bit"}}
        >>> with tempfile.TemporaryDirectory() as files, ldp.simulate({"ill": [1, 0] * 40}, ill) as people:
        ...     weeks = people.stream(f"{files}/weeks", "ill", steps=8, model="exact")
        ...     [int(weeks.next().values[0]) for _ in range(3)]
        [5, 10, 15]
        """
        spent = None if epsilon is None else Epsilon.requested(epsilon)
        wanted = None if query is None else Wanted(query, model, options, spent, steps, layout)
        return self._stream(Path(path), wanted)

    def plan(
        self,
        queries: Sequence[Asked | AskedVector],
        *,
        epsilon: EpsilonLike | None = None,
        model: ModelName = DEFAULT_MODEL,
        **options: Unpack[ModelOptions],
    ) -> Plan:
        """What a round of these queries would yield and cost; nobody is asked.

        Parameters
        ----------
        queries: those of one round, such as ["smoker", "cells(ward)"].
        epsilon, model, options: as in `count`.

        Example
        -------
        >>> import localdp as ldp
        >>> with ldp.simulate({"smoker": [True, False] * 50}, {"smoker": {"kind": "bit"}}) as people:
        ...     planned = people.plan(["smoker"], epsilon=1, model="curator")
        >>> planned.people
        100
        """
        return self.oracle(model, epsilon, **options).plan(queries)
