"""What scikit-learn and a constant reach on the people of a trial: the baselines of the learners' tables.

| learner | scikit-learn's | the constant |
|---|---|---|
| logistic regression, halfspace | `LogisticRegression`, features standardised | the larger class |
| linear regression | `LinearRegression` | the mean: R**2 is 0 |
| decision tree | `DecisionTreeClassifier(max_depth=4)` | the larger class |
| conjunction, parity | `DecisionTreeClassifier()` | the larger class |
| boosting | `HistGradientBoostingClassifier` of stumps | the larger class |
| naive Bayes | `BernoulliNB`, or `GaussianNB` if not all features are bits | the larger class |
| k-means | `KMeans`, the best of 3 starts | everybody's mean as the only centre |
| PCA | `PCA` | a direction at random |

Both learn from the records themselves, without privacy, and are scored on them like our learners.

Checked in tests/unit/parties/experiments/test_experiment_counterparts.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from localdp.algorithms.definition import TARGET, Learner, Measures, labels_of
from localdp.algorithms.tables import numbers_for_prediction
from localdp.domains import BitDomain, Records
from localdp.domains.columns import ColumnArray
from localdp.errors import InvalidParameter
from localdp.experiments.catalogue import LearnerTask, Task
from localdp.randomness.source import Floats

SCIKIT_LEARN, CONSTANT = "scikit_learn", "constant"  # the columns of the results
_DEPTH = 4  # that a decision tree of ours has at most, unless told otherwise
_STARTS = 3


class Estimator(Protocol):
    """What scikit-learn's classifiers have."""

    def fit(self, features: Floats, labels: ColumnArray) -> Self:
        """Learn."""
        ...

    def score(self, features: Floats, labels: ColumnArray) -> float:
        """The share that is predicted right."""
        ...


Made = Callable[[bool], Estimator]  # told whether all features are bits
Reached = Callable[[Learner, Records], tuple[float, float]]  # by scikit-learn and by a constant


@dataclass(frozen=True, slots=True)
class Counterpart:
    """Who stands beside a learner, and what is compared."""

    measure: str  # in words
    reached: Reached
    column: str = "score"  # of the results
    ratio: bool = False  # whether figures are divided by those of scikit-learn
    whole: bool = False  # whether what is looked for is found or not, so that it is counted how often

    def figure(self, row: Mapping[str, float], column: str) -> float:
        """What a table shows of a trial: of ours, or of a baseline."""
        return row[column] / row[SCIKIT_LEARN] if self.ratio else row[column]


def has_counterpart(task: Task) -> bool:
    """Whether there is something to put beside it."""
    return isinstance(task, LearnerTask) and task.name in COUNTERPARTS


def counterparts_of(task: Task, records: Records, truth: object) -> Measures:
    """What baselines reach on these people; `truth` is the learner fitted to them exactly."""
    assert isinstance(task, LearnerTask) and isinstance(truth, Learner)
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise InvalidParameter("baselines are scikit-learn's: pip install scikit-learn") from error
    learned, constant = COUNTERPARTS[task.name].reached(truth, records)
    return {SCIKIT_LEARN: learned, CONSTANT: constant}


def _features(truth: Learner, records: Records) -> Floats:
    return numbers_for_prediction(records, truth.features_)


def _accuracy(made: Made, *, whole: bool = False) -> Counterpart:
    def reached(truth: Learner, records: Records) -> tuple[float, float]:
        features, labels = _features(truth, records), labels_of(records, TARGET)
        bits = all(isinstance(records.schema[name], BitDomain) for name in truth.features_)
        learned = float(made(bits).fit(features, labels).score(features, labels))
        return learned, float(np.unique(labels, return_counts=True)[1].max() / len(labels))

    return Counterpart("accuracy", reached, whole=whole)


def _logistic(bits: bool) -> Estimator:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    made: Estimator = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return made


def _shallow_tree(bits: bool) -> Estimator:
    from sklearn.tree import DecisionTreeClassifier

    made: Estimator = DecisionTreeClassifier(max_depth=_DEPTH, random_state=0)
    return made


def _whole_tree(bits: bool) -> Estimator:
    from sklearn.tree import DecisionTreeClassifier

    made: Estimator = DecisionTreeClassifier(random_state=0)
    return made


def _stumps(bits: bool) -> Estimator:
    from sklearn.ensemble import HistGradientBoostingClassifier

    made: Estimator = HistGradientBoostingClassifier(max_leaf_nodes=2, random_state=0)
    return made


def _bayes(bits: bool) -> Estimator:
    from sklearn.naive_bayes import BernoulliNB, GaussianNB

    made: Estimator = BernoulliNB() if bits else GaussianNB()
    return made


def _least_squares(truth: Learner, records: Records) -> tuple[float, float]:
    from sklearn.linear_model import LinearRegression

    features, target = _features(truth, records), labels_of(records, TARGET)
    return float(LinearRegression().fit(features, target).score(features, target)), 0.0


def _clusters(truth: Learner, records: Records) -> tuple[float, float]:
    from sklearn.cluster import KMeans

    from localdp.algorithms.learners.k_means import KMeans as Ours

    assert isinstance(truth, Ours)
    features = _features(truth, records)
    found = KMeans(truth.n_clusters, n_init=_STARTS, random_state=0).fit(features)
    return -float(found.inertia_) / len(features), -float(features.var(axis=0).sum())


def _components(truth: Learner, records: Records) -> tuple[float, float]:
    from sklearn.decomposition import PCA

    from localdp.algorithms.learners.pca import PCA as Ours  # noqa: N811

    assert isinstance(truth, Ours)
    features = _features(truth, records)
    found = PCA(truth.n_components).fit(features).components_
    return float(np.square(found @ truth.components_.T).sum() / len(found)), len(found) / features.shape[1]


COUNTERPARTS: dict[str, Counterpart] = {
    "boosting": _accuracy(_stumps),
    "conjunction": _accuracy(_whole_tree, whole=True),
    "decision-tree": _accuracy(_shallow_tree),
    "halfspace": _accuracy(_logistic),
    "k-means": Counterpart("cost, as a multiple of scikit-learn's", _clusters, ratio=True),
    "linear-regression": Counterpart("R²", _least_squares),
    "logistic-regression": _accuracy(_logistic),
    "naive-bayes": _accuracy(_bayes),
    "parity": _accuracy(_whole_tree, whole=True),
    "pca": Counterpart("squared cosine with the true component", _components, "aligned"),
}
