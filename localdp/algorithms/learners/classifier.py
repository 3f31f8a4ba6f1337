"""What the learners of classes share: a target column, classes, `predict` and `score`.

The classes of a bit are false and true, those of a category its labels, those of a bounded whole number its values; those
of arrays at hand are the labels of y, two of them unless the learner can tell more apart.
Predictions are made by evaluating the expressions that were asked, on rows that never leave this process.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.at_hand.labels import MOST_CLASSES, Classes
from localdp.algorithms.definition import TARGET, Learner, features_of, labels_of
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features, records_for_prediction
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.domains.columns import ColumnArray
from localdp.errors import InvalidParameter
from localdp.oracles.models import ModelName
from localdp.randomizers.definition import Floats

EVERY_KIND = (BitDomain, CategoryDomain, IntegerDomain, RealDomain)


class Classifier(Learner):
    """A learner that predicts the class of a person."""

    classes_: ColumnArray
    _schema: Schema
    _nature = Nature("classifier")

    def __init__(
        self,
        target: str = TARGET,
        features: Sequence[str] | None = None,
        check_signal: bool = True,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
        classes: Classes | None = None,
    ) -> None:
        self.target = target
        self.features = features
        self.check_signal = check_signal
        self.epsilon = epsilon
        self.model = model
        self.bounds = bounds
        self.classes = classes

    def _study(self, schema: Schema, kinds: tuple[type, ...] = EVERY_KIND) -> None:
        """Set the features and the classes, from the public schema."""
        names = features_of(schema, self.features, self.target, kinds)
        if not all(isinstance(schema[name], kinds) for name in names):
            raise InvalidParameter(f"{type(self).__name__} cannot learn from columns of every kind given")
        told = None if self._reading is None else self._reading.classes
        self.classes_ = classes_of(schema, self.target) if told is None else told
        self.features_, self._schema = names, schema

    def predict(self, X: Features) -> ColumnArray:  # noqa: N803
        """The most likely class of each person; the lowest one among equals."""
        places = np.argmax(self.predict_proba(X), axis=1)
        predicted: ColumnArray = self.classes_[places]
        return predicted

    @abstractmethod
    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """The probability of every class, a row for each person."""

    def score(self, X: Features, y: ArrayLike) -> float:  # noqa: N803
        """The share of people whose class is predicted right."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def _scored(self, records: Records) -> float:
        return self.score(records, labels_of(records, self.target))

    def _records(self, X: Features) -> Records:  # noqa: N803
        self._require_fitted("claim_")
        return records_for_prediction(self._as_fitted(X), self._schema, self.features_)

    def _named(self, holds: NDArray[np.bool_]) -> ColumnArray:
        """The classes of people, from whether the target holds for them."""
        predicted: ColumnArray = self.classes_[holds.astype(np.int64)]
        return predicted


def classes_of(schema: Schema, target: str) -> ColumnArray:
    """The values that a target may take."""
    match schema[target]:
        case BitDomain():
            return np.array([False, True])
        case CategoryDomain(labels) if len(labels) <= MOST_CLASSES:
            return np.array(labels)
        case IntegerDomain(low, high) if high - low < MOST_CLASSES:
            return np.arange(low, high + 1)
    raise InvalidParameter(
        f"column {target!r:.60} has no classes: a target is a bit, or has at most {MOST_CLASSES} values"
    )


def require_bit(schema: Schema, target: str) -> None:
    """Refuse a target that is not a bit."""
    if not isinstance(schema[target], BitDomain):
        raise InvalidParameter(f"column {target!r:.60} should be a bit")
