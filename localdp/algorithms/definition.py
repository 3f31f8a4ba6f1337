"""What every learner is: parameters, a `fit` that asks an oracle, and an account of what that cost.

Conventions of scikit-learn: `__init__` stores its arguments under their names and does nothing else; `fit` checks them;
what was learned ends in an underscore; `get_params` and `set_params` speak of the arguments.  Two ways to fit:

    learner.fit(oracle)        federated data, under any trust model
    learner.fit(X, y)          arrays or data frames at hand: `model`, `epsilon` and `bounds` are arguments of the learner

Nothing is answered exactly in silence: arrays without a `model` are refused.  `at_hand/` reads them, by public rules.
After a fit, `cost_` says what was asked, `claim_` what is promised, and `plan_` what error was expected.
A learner announces its rounds (`in_rounds`) and its plan before it asks, and raises `SignalTooWeak` when what it looks
for would drown in the noise; `check_signal=False` asks all the same.

Checked for every learner in tests/contract/test_algorithms.py and tests/contract/test_scikit_learn.py.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Self, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localdp.accounting.claim import PrivacyClaim
from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.at_hand.reading import ArrayReading, Rules, read_arrays
from localdp.algorithms.quick_start import oracle_of_records
from localdp.algorithms.scikit_learn import Nature, not_fitted, tags_of
from localdp.algorithms.spending import record_departure, record_fit
from localdp.algorithms.tables import Features, numbers_for_prediction
from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain, Records, Schema
from localdp.domains.columns import ColumnArray
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.account import Cost
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName, model_named
from localdp.oracles.plans import NOTHING_ASKED, Plan, require_signal
from localdp.randomness.source import Floats

if TYPE_CHECKING:
    from sklearn.utils import Tags

TARGET = "target"  # the column that y becomes
OF_ARRAYS = ("epsilon", "model", "bounds", "classes", "target_bounds")  # parameters of a fit of arrays

Measures = Mapping[str, float]


class Learner(ABC):
    """An algorithm with parameters, fitted by asking an oracle."""

    epsilon: float | None = None  # of each person in a fit of arrays, in nats
    model: ModelName | None = None  # the trust model of a fit of arrays
    bounds: Bounds | None = None  # of the features of arrays
    cost_: Cost
    claim_: PrivacyClaim
    plan_: Plan
    features_: tuple[str, ...]  # the columns that it learns from, where it learns from columns
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    _nature: ClassVar[Nature] = Nature()
    _reading: ArrayReading | None = None  # how arrays were read; None: it was fitted with an oracle

    def fit(self, X: StatisticalQueryOracle | Features, y: ArrayLike | None = None) -> Self:  # noqa: N803
        """Learn from an oracle; or from a table of features at hand and labels, whose people then spend `epsilon` each."""
        if _is_oracle(X):
            self._refuse_what_an_oracle_has(y)
            self._reading = None
            return self._fitted(X)
        reading, records = read_arrays(cast(Features, X), y, self._rules())
        oracle = oracle_of_records(records, self.epsilon, self._model())
        self._reading = reading
        return self._fitted(oracle)

    def _refuse_what_an_oracle_has(self, y: ArrayLike | None) -> None:
        told = [name for name in OF_ARRAYS if getattr(self, name, None) is not None]
        if told or y is not None:
            raise InvalidParameter(
                f"{told[0] if told else 'y'} is for arrays at hand: an oracle has its labels, its epsilon, its model and "
                "its bounds already"
            )

    def _model(self) -> ModelName:
        name = type(self).__name__
        if "model" not in _arguments(type(self)):
            raise InvalidParameter(f"{name} is fitted with an oracle, and not with arrays: fit(oracle)")
        if self.model is None:
            raise InvalidParameter(
                f'say who may see the data: {name}(model="local", epsilon=1.0, bounds=(low, high)) trusts nobody, and '
                f'{name}(model="exact") answers without any privacy'
            )
        if self.epsilon is None and model_named(self.model).spends:
            raise InvalidParameter(
                f'say what each person may spend: {name}(model="{self.model}", epsilon=1.0)'
            )
        return self.model

    def _rules(self) -> Rules:
        """What is said about arrays before they are looked at."""
        own = not model_named(self._model()).spends
        supervised = self._nature.kind in ("classifier", "regressor")
        return Rules(
            type(self).__name__,
            own,
            self.bounds,
            self._wanted(),
            target=getattr(self, "target", None) if supervised else None,
            classes=getattr(self, "classes", None),
            target_bounds=getattr(self, "target_bounds", None),
            nature=self._nature,
        )

    def _wanted(self) -> Sequence[str] | None:
        """The columns that it looks at; None: all."""
        wanted: Sequence[str] | None = getattr(self, "features", None)
        return wanted

    def _fitted(self, oracle: StatisticalQueryOracle) -> Self:
        view = oracle.in_rounds(self._announced(oracle))
        try:
            self._learn(view)
        except SignalTooWeak as refusal:
            raise SignalTooWeak(f"{refusal}; {_said(view.cost)}") from refusal
        finally:
            if hasattr(self, "plan_"):
                self.plan_ = self.plan_.kept()  # the oracle is not for a learner to keep
            if view.cost.rounds:
                record_fit(oracle.people, view.cost.epsilon_promised)
        self.cost_, self.claim_ = view.cost, view.claim
        self._note_features()
        return self

    def _note_features(self) -> None:
        """Set what scikit-learn looks for: how many features there are, and their names if they have some."""
        names = getattr(self, "features_", ()) if self._reading is None else self._reading.shown
        vars(self).pop("feature_names_in_", None)
        self.n_features_in_ = len(names or ()) if self._reading is None else len(self._reading.names)
        if names:
            self.feature_names_in_ = np.array(names, object)

    def _as_fitted(self, X: Features) -> Features:  # noqa: N803
        """Rows to predict for, as they were read at the fit."""
        return X if self._reading is None else self._reading.columns(X)

    def _numbers(self, X: Features) -> Floats:  # noqa: N803
        """The features of rows to predict for, as a matrix of numbers."""
        return numbers_for_prediction(self._as_fitted(X), self.features_)

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

    def __getstate__(self) -> dict[str, object]:
        """What a copy in another process gets; one that is not fitted yet will spend what no account here can see."""
        if not hasattr(self, "cost_"):
            record_departure()
        return dict(vars(self))

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn should know: fits draw noise unless the model is exact."""
        return tags_of(self._nature, draws=self.model is not None and model_named(self.model).spends)

    def __repr__(self) -> str:
        defaults = {
            name: repr(one.default) for name, one in inspect.signature(type(self)).parameters.items()
        }
        told = {name: repr(value) for name, value in self.get_params().items()}
        shown = ", ".join(f"{name}={text}" for name, text in told.items() if text != defaults[name])
        return f"{type(self).__name__}({shown})"

    def _require_fitted(self, attribute: str) -> None:
        if not hasattr(self, attribute):
            raise not_fitted(f"this {type(self).__name__} is not fitted yet: call fit first")

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


def _said(cost: Cost) -> str:
    """What was spent when a learner gave up."""
    if not cost.rounds:
        return NOTHING_ASKED
    return f"found out after {cost.rounds} rounds, in which nobody spent more than epsilon {cost.epsilon_promised}"


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
