"""What the learners share that say where people stand: `transform`, and the verbs of scikit-learn around it.

Checked in tests/contract/test_scikit_learn.py.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localdp.algorithms.definition import Learner
from localdp.algorithms.tables import Features
from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats


class Transformer(Learner):
    """A learner that turns the features of a person into other numbers."""

    _outputs: str  # the attribute with a row for each number that comes out

    @abstractmethod
    def transform(self, X: Features) -> Floats:  # noqa: N803
        """The numbers of each person."""

    def fit_transform(self, X: Features, y: ArrayLike | None = None) -> Floats:  # noqa: N803
        """Fit, then the numbers of each person."""
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """The names of what comes out: that of the learner in small letters, and a number."""
        self._require_fitted(self._outputs)
        if input_features is not None and len(np.asarray(input_features)) != self.n_features_in_:
            raise InvalidParameter(
                f"input_features should have length equal to the {self.n_features_in_} features"
            )
        name = type(self).__name__.lower()
        return np.array([f"{name}{place}" for place in range(len(getattr(self, self._outputs)))], object)
