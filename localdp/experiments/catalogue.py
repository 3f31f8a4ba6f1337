"""What an experiment can run: one query, a learner or a release of the library, against any oracle.

A task plans (nobody is asked), knows the truth of records at hand, and measures one trial: what an oracle's answers are
worth beside that truth.

| task | measures |
|---|---|
| a number | estimate, truth, error, standard error, and the error as a number of people |
| a histogram, a vector, parities | root mean square error and largest error over the entries |
| a classifier or a regression | its score on the records, and that of the same learner on the truth |
| k-means | minus the mean squared distance to the nearest centre, and that of the truth |
| pca | the part of the variance that the directions found capture, that of the truth, and how far they are the true ones |
| an equilibrium | what people would gain by another road on average and at most, their regret, and the error of loads |
| ranges, marginals, a construction, a stream | root mean square error and largest error of what is released |

A trial that is refused, because the signal drowns or a budget is spent, is no failure of the experiment: it is counted, by
reason.  Checked in tests/unit/experiments/test_catalogue.py.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.claim import PrivacyClaim
from localdp.algorithms.definition import OF_ARRAYS, Learner, Measures, measures_of_errors
from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.experiments.outlook import Outlook, outlook_of
from localdp.oracles.account import Cost
from localdp.oracles.definition import Answer, StatisticalQueryOracle, VectorAnswer
from localdp.oracles.exact import ExactOracle
from localdp.queries.asked import checked_plan
from localdp.queries.statistical import StatisticalQuery

# Where each is, below localdp.algorithms: imported when it is named, because workers that only count need none of them.
LEARNERS: dict[str, str] = {
    "boosting": "learners.boosting:StumpBooster",
    "conjunction": "learners.conjunction:ConjunctionLearner",
    "decision-tree": "learners.decision_tree:DecisionTree",
    "halfspace": "learners.halfspace:HalfspaceLearner",
    "k-means": "learners.k_means:KMeans",
    "linear-regression": "learners.linear_regression:LinearRegression",
    "logistic-regression": "learners.logistic:LogisticRegression",
    "naive-bayes": "learners.naive_bayes:NaiveBayes",
    "parity": "parity.learner:ParityLearner",
    "pca": "learners.pca:PCA",
}
RELEASES: dict[str, str] = {
    "construction": "release.iterative:IterativeConstruction",
    "auction": "games.auction:AuctionPrice",
    "equilibrium": "games.equilibrium:EquilibriumSelection",
    "facilities": "games.facilities:TruthfulFacilities",
    "finite-class": "learners.finite_class:FiniteClass",
    "experts": "online.experts:FollowedExperts",
    "factorised-stream": "streams.factorised_count:FactorisedCount",
    "projected": "release.projected:ProjectedRelease",
    "simplex": "online.experts:SimplexPoint",
    "marginals": "release.marginals:MarginalRelease",
    "ranges": "release.ranges:RangeRelease",
    "blocks": "stability.sample_and_aggregate:SampleAndAggregate",
    "winner": "stability.winners:StableWinner",
    "blocks-winner": "stability.winners:SampleAndVote",
    "scale": "stability.stable:StableScale",
    "stable-median": "stability.stable:StableMedian",
    "stable-mean": "stability.stable:StableMean",
    "stream": "streams.continual_count:ContinualCount",
    "two-outcomes": "games.two_outcomes:TwoOutcomes",
}
_OBJECTS = {"update", "distinguisher"}  # parameters that no file can write down

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measured:
    """One trial: its measures, what it cost, and what is promised about it."""

    measures: Measures
    cost: Cost
    claim: PrivacyClaim
    reports: int | None  # of how many people, where the answer says so


class Task(Protocol):
    """What is tried."""

    trials_per_block: int  # how many trials a worker runs at a time, at most

    def check(self, schema: Schema) -> None:
        """Refuse what cannot be asked about such records."""
        ...

    def outlook(self, oracle: StatisticalQueryOracle) -> Outlook:
        """What the first round would yield; nobody is asked."""
        ...

    def truth(self, records: Records) -> Any:
        """What a trial is compared with, computed once for all trials on these records."""
        ...

    def measured(self, oracle: StatisticalQueryOracle, records: Records, truth: Any) -> Measured:
        """One trial."""
        ...

    def to_data(self) -> dict[str, Any]:
        """As an experiment's file says it."""
        ...


@dataclass(frozen=True, slots=True)
class QueryTask:
    """One statistical query: a number, a histogram, a vector or parities."""

    trials_per_block = 25

    text: str

    def check(self, schema: Schema) -> None:
        """Parse and type-check it."""
        checked_plan([self.text], schema)

    def outlook(self, oracle: StatisticalQueryOracle) -> Outlook:
        """The plan of the one round."""
        row = oracle.plan([self.text]).rows[0]
        return Outlook(1, row.standard_error, row.how)

    def truth(self, records: Records) -> Answer | VectorAnswer:
        """The exact answer."""
        return self._answer(ExactOracle(records))

    def measured(self, oracle: StatisticalQueryOracle, records: Records, truth: Any) -> Measured:
        """The answer beside the exact one."""
        told = self._answer(oracle)
        measures = (
            _number(told, truth)
            if isinstance(told, Answer)
            else measures_of_errors(told.values - truth.values)
        )
        return Measured(measures, oracle.cost, oracle.claim, told.reports)

    def to_data(self) -> dict[str, Any]:
        return {"query": self.text}

    def _answer(self, oracle: StatisticalQueryOracle) -> Answer | VectorAnswer:
        query = checked_plan([self.text], oracle.schema)[0]
        if isinstance(query, StatisticalQuery):
            return oracle.answer([query])[0]
        return oracle.answer_vectors([query])[0]


@dataclass(frozen=True, slots=True)
class CountTask(QueryTask):
    """One count, of which there is only the error, in people."""

    trials_per_block = 50  # which are answered by one oracle, with coins of its own

    def measured(self, oracle: StatisticalQueryOracle, records: Records, truth: Any) -> Measured:
        """The count beside the exact one."""
        told = oracle.answer([self.text])[0]
        return Measured({"error": told.count - truth.count}, oracle.cost, oracle.claim, told.reports)


@dataclass(frozen=True, slots=True)
class LearnerTask:
    """A learner or a release of the library, with its parameters."""

    trials_per_block = 1  # which may take seconds

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        accepted = parameters_of(learner_named(self.name))
        for name in self.parameters:
            if name not in accepted:
                raise InvalidParameter(
                    f"{self.name} has no parameter {name!s:.40}; it has {', '.join(accepted)}"
                )

    def learner(self, **changed: Any) -> Learner:
        """A fresh one."""
        kind = learner_named(self.name)
        try:
            return kind(**{**self.parameters, **changed})
        except TypeError as error:
            raise InvalidParameter(f"{self.name} needs {', '.join(_needed(kind))}") from error

    def check(self, schema: Schema) -> None:
        """Refuse columns that are not there; everything else is refused when it is fitted."""
        learner = self.learner()
        for key in ("target", "column"):
            name = getattr(learner, key, None)
            if isinstance(name, str) and name not in schema:
                raise InvalidParameter(
                    f"{key} {name!r:.60} is no column; there are {', '.join(schema.names)}"
                )
        for key in ("features", "columns"):
            missing = [name for name in getattr(learner, key, None) or () if name not in schema]
            if missing:
                raise InvalidParameter(
                    f"{missing[0]!r:.60} of {key} is no column; there are {', '.join(schema.names)}"
                )

    def outlook(self, oracle: StatisticalQueryOracle) -> Outlook:
        """What the learner plans for its first round."""
        with _plain_words(self.name):
            return outlook_of(lambda planning: self.learner().fit(planning), oracle)

    def truth(self, records: Records) -> Any:
        """The same, learned from the truth."""
        with _plain_words(self.name):
            return self.learner(check_signal=False).fit(ExactOracle(records))

    def measured(self, oracle: StatisticalQueryOracle, records: Records, truth: Any) -> Measured:
        """What was learned, beside what the truth would have taught."""
        with _plain_words(self.name):
            learner = self.learner().fit(oracle)
        return Measured(learner.measures(truth, records), learner.cost_, learner.claim_, None)

    def to_data(self) -> dict[str, Any]:
        """As an experiment's file says it, the parameters as text."""
        kind = "release" if self.name in RELEASES else "learner"
        return {kind: self.name, "parameters": {name: str(one) for name, one in self.parameters.items()}}


class _plain_words:  # noqa: N801
    """A parameter of the wrong type fails somewhere inside: say of which learner, and nothing else."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, TypeError | AttributeError):
            raise InvalidParameter(f"a parameter of {self._name} is of the wrong type") from error


def learner_named(name: str) -> type[Learner]:
    """A learner or a release of the library, or one of somebody's own: `module:Class`, where Python finds the module."""
    known = {**LEARNERS, **RELEASES}
    module, colon, attribute = (f"localdp.algorithms.{known[name]}" if name in known else name).partition(
        ":"
    )
    if not colon:
        raise InvalidParameter(
            f"nothing is called {name!s:.40}; there are {', '.join(known)}; one's own is module:Class"
        )
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidParameter(f"{name!s:.80} cannot be imported: {error!s:.80}") from error
    if not (isinstance(kind, type) and issubclass(kind, Learner)):
        raise InvalidParameter(f"{name!s:.80} is no Learner (localdp.algorithms.definition)")
    return kind


def parameters_of(kind: type[Learner]) -> tuple[str, ...]:
    """The parameters that a file may give."""
    others = _OBJECTS | set(OF_ARRAYS)  # an experiment has records, whose oracle it makes itself
    return tuple(name for name in inspect.signature(kind).parameters if name not in others)


def _needed(kind: type[Learner]) -> list[str]:
    required = inspect.Parameter.empty
    return [name for name, one in inspect.signature(kind).parameters.items() if one.default is required]


def _number(told: Answer, truth: Answer) -> Measures:
    error = told.value - truth.value
    return {
        "estimate": told.value,
        "truth": truth.value,
        "error": error,
        "count_error": error * truth.people,
        "standard_error": told.standard_error,
    }
