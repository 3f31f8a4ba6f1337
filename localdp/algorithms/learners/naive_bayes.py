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

from localdp.algorithms.definition import TARGET
from localdp.algorithms.learners.binning import Edges, binned
from localdp.algorithms.learners.classifier import Classifier
from localdp.algorithms.learners.splits import weighted_mean
from localdp.algorithms.tables import Features
from localdp.errors import InvalidParameter
from localdp.estimation.consistency import norm_sub
from localdp.oracles.definition import StatisticalQueryOracle, VectorAnswer
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.definition import Floats


class NaiveBayes(Classifier):
    """Every feature votes by itself, with the logarithm of how often its value occurs in each class."""

    tables_: list[Floats]  # of each feature: frequencies of (value, class)
    class_prior_: Floats

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
    ) -> None:
        """Numbers are put into bins by public `edges`, or into `bins` of equal width.

        `contrast` is the signal: a feature whose values differ in frequency by so much between two classes should show.
        """
        self.target = target
        self.features = features
        self.edges = edges
        self.bins = bins
        self.smoothing = smoothing
        self.caution = caution
        self.contrast = contrast
        self.check_signal = check_signal

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
