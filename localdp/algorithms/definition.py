"""What every learner is: parameters, a `fit` that asks an oracle, and an account of what that cost.

Conventions of scikit-learn: `__init__` stores its arguments under their names and does nothing else; `fit` checks them;
what was learned ends in an underscore; `get_params` and `set_params` speak of the arguments.  Two ways to fit:

    learner.fit(oracle)                       federated data, under any trust model
    learner.fit(X, y, epsilon=1.0)            arrays at hand: the local model in this process (`quick_start.py`)

After a fit, `cost_` says what was asked, `claim_` what is promised, and `plan_` what error was expected.
A learner announces its rounds (`in_rounds`) and its plan before it asks, and raises `SignalTooWeak` when what it looks
for would drown in the noise; `check_signal=False` asks all the same.

Checked for every learner in tests/contract/test_algorithms.py.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.quick_start import Bounds, oracle_of_arrays
from localdp.algorithms.tables import Features
from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain, Records, Schema
from localdp.domains.columns import ColumnArray
from localdp.errors import InvalidParameter
from localdp.oracles.definition import Cost, StatisticalQueryOracle
from localdp.oracles.models import DEFAULT_MODEL, ModelName, model_named
from localdp.oracles.plans import Plan, require_signal
from localdp.randomness.source import Floats

TARGET = "target"  # the column of labels that a quick start makes


Measures = Mapping[str, float]


class NotFitted(InvalidParameter):
    """A learner was asked for what it has not learned yet."""


class Learner(ABC):
    """An algorithm with parameters, fitted by asking an oracle."""

    cost_: Cost
    claim_: PrivacyClaim
    plan_: Plan
    _predicts_classes = False  # whether labels at hand are classes, or numbers

    def fit(
        self,
        oracle: StatisticalQueryOracle | Features,
        labels: ArrayLike | None = None,
        *,
        epsilon: Epsilon | float | None = None,
        trust: ModelName = DEFAULT_MODEL,
        bounds: Bounds = (-1.0, 1.0),
    ) -> Self:
        """Learn from an oracle, or from a table of features and labels, whose people then spend epsilon each."""
        if _is_oracle(oracle):
            if labels is not None or epsilon is not None:
                raise InvalidParameter("an oracle has its labels and its epsilon already")
            return self._fitted(oracle)
        if epsilon is None and model_named(trust).spends:
            raise InvalidParameter("say what each person may spend: fit(X, y, epsilon=1.0)")
        made = oracle_of_arrays(oracle, labels, epsilon, trust, bounds, classes=self._predicts_classes)
        return self._fitted(made)

    def _fitted(self, oracle: StatisticalQueryOracle) -> Self:
        view = oracle.in_rounds(self._announced(oracle))
        self._learn(view)
        self.cost_, self.claim_ = view.cost, view.claim
        return self

    @abstractmethod
    def _rounds(self) -> int:
        """How many rounds `_learn` asks at most; also the place to refuse bad parameters."""

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        """The rounds to announce to this oracle; a learner may choose them by what the oracle plans."""
        return self._rounds()

    @abstractmethod
    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        """Ask, and set what was learned; `plan_` first."""

    def measures(self, truth: Self, records: Records) -> Measures:
        """What was learned, beside what the truth would have taught, on records at hand: for experiments."""
        return {"score": self._scored(records), "score_of_truth": truth._scored(records)}

    def _scored(self, records: Records) -> float:
        """What was learned is worth so much on these records."""
        raise InvalidParameter(
            f"{type(self).__name__} does not say what it is worth: it needs a method measures"
        )

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The arguments of the constructor, by name."""
        return {name: getattr(self, name) for name in _arguments(type(self))}

    def set_params(self, **parameters: object) -> Self:
        """Change arguments of the constructor."""
        for name, value in parameters.items():
            if name not in _arguments(type(self)):
                raise InvalidParameter(f"{type(self).__name__} has no parameter {name!r:.60}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({shown})"

    def _require_fitted(self, attribute: str) -> None:
        if not hasattr(self, attribute):
            raise NotFitted(f"this {type(self).__name__} is not fitted yet: call fit first")

    def _require_signal(self, signal: float, error: float, looks_for: str) -> None:
        """Refuse to start when the error that `plan_` expects is not below the signal."""
        if getattr(self, "check_signal", True):
            require_signal(signal, error, looks_for, self.plan_)


def labels_of(records: Records, target: str) -> ColumnArray:
    """A column as it is predicted: categories are kept by number and predicted by label."""
    domain, values = records.schema[target], records.column(target)
    return np.array(domain.labels)[values] if isinstance(domain, CategoryDomain) else values


def measures_of_errors(errors: Floats) -> Measures:
    """What experiments measure of the errors of several numbers."""
    return {
        "root_mean_square_error": float(np.sqrt(np.mean(np.square(errors)))),
        "largest_error": float(np.abs(errors).max()),
    }


def _is_oracle(candidate: object) -> TypeGuard[StatisticalQueryOracle]:
    return hasattr(candidate, "answer_vectors") and hasattr(candidate, "in_rounds")


def _arguments(kind: type) -> list[str]:
    return list(inspect.signature(kind).parameters)


def features_of(
    schema: Schema,
    features: Sequence[str] | None,
    target: str | None,
    kinds: tuple[type[Domain], ...] = (BitDomain, IntegerDomain, RealDomain),
) -> tuple[str, ...]:
    """The columns that a learner looks at: those it was told, or all of these kinds but the target."""
    if target is not None and target not in schema:
        raise InvalidParameter(f"there is no column {target!r:.60} to learn")
    if features is None:
        names = tuple(name for name in schema.names if name != target and isinstance(schema[name], kinds))
    else:
        names = tuple(features)
    if not names or len(set(names)) < len(names) or target in names:
        raise InvalidParameter("a learner needs different columns to learn from, the target not among them")
    missing = [name for name in names if name not in schema]
    if missing:
        raise InvalidParameter(f"there is no column {missing[0]!r:.60} to learn from")
    return names
