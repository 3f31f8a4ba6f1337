"""Naive Bayes from one round of histograms: one table of (value, class) for each feature.

A person answers about one feature, drawn by public coins; all cells of its table are one report, and the d tables one
round.  With q_j(b, c) = Pr[x_j = b and y = c], the class of a person is the one that maximises

    log Pr[y = c] + sum over j of log (q_j(b_j, c) + s_j) / (sum over b of q_j(b, c) + k_j s_j)

over c, where k_j is the number of values of feature j.  Noise is handled afterwards, at no cost in privacy: every table
is projected on the simplex (norm-sub), the class probabilities are averaged over all tables by their variances, and the
pseudo-frequency s_j is that of `smoothing` people plus `caution` standard errors of a cell, so that a cell that noise
made empty does not decide alone.

Claims.  With answers without error this is scikit-learn's `CategoricalNB` with alpha = `smoothing`.  With every cell off
by at most tau, the projections bring the cells within 2 tau and the classes within 2 k tau of the truth, and with
a = (2 + caution) tau, no cell below q and no class below Q, the joint log-likelihood of a person and a class is off by at
most d (r(a / q) + r(k a / Q)) + r(2 k tau / Q), r(t) = -ln(1 - t).  Whoever is decided by more than twice that is decided
the same.
Checked in tests/unit/algorithms/learners/test_naive_bayes.py; the numbers in tests/statistical/test_learners_a.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.at_hand.labels import Classes
from localdp.algorithms.definition import TARGET
from localdp.algorithms.learners.binning import Edges, binned
from localdp.algorithms.learners.classifier import Classifier
from localdp.algorithms.learners.splits import weighted_mean
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features
from localdp.errors import InvalidParameter
from localdp.estimation.consistency import norm_sub
from localdp.oracles.definition import StatisticalQueryOracle, VectorAnswer
from localdp.oracles.models import ModelName
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.definition import Floats


class NaiveBayes(Classifier):
    """Every feature votes by itself, with the logarithm of how often its value occurs in each class.

    Parameters
    ----------
    target : str, default="target"
        The column to predict. With arrays, the name that `y` gets.
    features : list of str, optional
        The columns to learn from. Default: all, but not the target.
    edges : mapping from names to lists of numbers, optional
        Where a number is cut, by column. They are public: not to be read off the data.
    bins : int, default=4
        In how many bins of equal width a number without edges is cut.
    smoothing : float, default=1.0
        People that are added to every cell of a table, so that no value is impossible.
    caution : float, default=0.5
        Standard errors of a cell that are added to it as well: a cell that noise made empty does not decide alone.
    contrast : float, default=0.2
        The signal: a feature whose values differ in frequency by so much between two classes should show.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if what is looked for would drown in the noise. False asks all the same.
    epsilon : float, optional
        Arrays only: what each person spends in a fit, in nats. Every model but "exact" needs it.
    model : {"exact", "curator", "local", "shuffled", "shared"}, optional
        Arrays only: whom people have to trust. There is no default: a fit without it raises.
    bounds : (low, high), list of pairs, or mapping from names to pairs, optional
        Arrays only: what the features can hold, from what is known about them. Every model but "exact" needs them for
        numbers, and "exact" takes the data's own. Data that do not fit are refused, and nothing is spent.
    classes : list, optional
        Arrays only: the labels that `y` can have. Not needed for truth values and for 0 and 1, nor by "exact", which takes
        those that occur.

    Attributes
    ----------
    tables_ : list of arrays
        For each feature, the frequencies of (value, class).
    class_prior_ : array
        The frequency of each class.
    feature_log_prob_ : list of arrays
        For each feature, the logarithm of the frequency of each value within each class.
    classes_ : array
        The classes, in rising order.
    features_ : tuple of str
        The columns that it learned from, in the order of what was learned.
    n_features_in_, feature_names_in_ : int, array of str
        How many features there were, and their names if they had some.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        The error that was to be expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import numpy as np
    >>> symptoms = (np.arange(20_000)[:, None] >> np.arange(5)) % 2 == 1
    >>> ill = symptoms.sum(axis=1) > 2
    >>> learner = NaiveBayes(model="local", epsilon=2.0).fit(symptoms, ill)
    >>> learner.score(symptoms, ill) > 0.8
    True
    """

    tables_: list[Floats]  # of each feature: frequencies of (value, class)
    class_prior_: Floats
    _nature = Nature("classifier", many_classes=True, categories=True)

    def __init__(
        self,
        target: str = TARGET,
        features: Sequence[str] | None = None,
        edges: Edges | None = None,
        bins: int = 4,
        smoothing: float = 1.0,
        caution: float = 0.5,
        contrast: float = 0.2,
        check_signal: bool = True,
        *,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
        classes: Classes | None = None,
    ) -> None:
        super().__init__(target, features, check_signal, epsilon, model, bounds, classes)
        self.edges = edges
        self.bins = bins
        self.smoothing = smoothing
        self.caution = caution
        self.contrast = contrast

    def _rounds(self) -> int:
        if not self.smoothing > 0 or not self.caution >= 0 or not 0 < self.contrast <= 1:
            raise InvalidParameter(
                "smoothing is positive, caution is not negative, and a contrast lies between 0 and 1"
            )
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        self._study(oracle.schema)
        self._binned = binned(oracle.schema, self.features_, self.edges, self.bins)
        queries = [f"cells({feature.text}, {self.target})" for feature in self._binned]
        self.plan_ = oracle.plan(queries)
        # Between two equally frequent classes, two cells differ by half of what the shares within a class differ by.
        self._require_signal(self.contrast / 2, self.plan_.tolerance(), "a difference of frequencies")
        answers = oracle.answer_vectors(queries)
        self.class_prior_ = class_frequencies(answers, len(self.classes_))
        self.tables_ = [norm_sub(answer.values).reshape(-1, len(self.classes_)) for answer in answers]
        self.feature_log_prob_ = [
            np.log(conditional(table, self._pseudo(answer)))
            for table, answer in zip(self.tables_, answers, strict=True)
        ]

    def _pseudo(self, answer: VectorAnswer) -> float:
        noise = float(np.sqrt(answer.variance_empirical.mean()))
        return self.smoothing / answer.people + self.caution * noise

    def joint_log_likelihood(self, X: Features) -> Floats:  # noqa: N803
        """Of each person and class, up to a constant for each person."""
        records = self._records(X)
        with np.errstate(divide="ignore"):  # a class that nobody is in
            total = np.tile(np.log(self.class_prior_), (records.people, 1))
        for feature, logs in zip(self._binned, self.feature_log_prob_, strict=True):
            total += logs[VectorQuery.parse(feature.text, records.schema).evaluate(records)]
        return total

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """The probability of every class, a row for each person."""
        logs = self.joint_log_likelihood(X)
        odds = np.exp(logs - logs.max(axis=1, keepdims=True))
        probabilities: Floats = odds / odds.sum(axis=1, keepdims=True)
        return probabilities


def class_frequencies(answers: Sequence[VectorAnswer], classes: int) -> Floats:
    """The frequency of each class: every table says it, the one with the least noise says it best."""
    sums = [answer.values.reshape(-1, classes).sum(axis=0) for answer in answers]
    return norm_sub(weighted_mean(sums, [float(answer.variance_empirical.sum()) for answer in answers]))


def conditional(table: Floats, pseudo: float) -> Floats:
    """The frequency of each value within each class, with a pseudo-frequency added to every cell."""
    raised = table + pseudo
    shares: Floats = raised / raised.sum(axis=0)
    return shares
