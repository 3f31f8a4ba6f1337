"""Conjunctions of literals, learned from how often each fails among the positives (Kearns 1998, after Valiant 1984).

The target is y = l_1 and l_2 and ... over bits, each l a bit or (with `negations`) its negation.  A literal l belongs to
the target only if nu(l) = Pr[not l and y] is 0.  So ask all nu(l), and keep the literals whose answer is below half of a
violation, the least nu that matters.

How large a violation is depends on the target, so it is measured.  A literal that has nothing to do with the target fails
as often among the positives as among everybody: nu(l) = Pr[y] Pr[not l].  The first rounds ask Pr[y], of a tenth of the
people, and then all Pr[not l], of another tenth; none is taken as less than `RAREST`.  Under fair bits and a target of k
literals, the violation is 2**-(k + 1).

Each further round asks only about literals that are in doubt.  With t half a violation, an answer a of variance v speaks
for one of nu = 0 and nu = 2 t against the other by 2 t |a - t| / v, in logarithms of likelihoods.  At log(d / FAILURE) a
literal is decided (Wald's sequential test, 1945: the chance that any is decided wrongly is at most FAILURE), but not while
a is within `APART` standard errors of t: labels may be wrong and bits correlated, and nu be neither of the two.

Refusals.  Nobody is asked if noise would hide half of the largest violation that fair bits can have.  Once Pr[y] is known,
nobody is asked any further if it hides half of that violation.  And nothing is claimed if a literal is still in doubt at
the end.

Claims.  Given `violation`, with every answer within tau < violation / 2, the hypothesis has every literal of the target
and none with nu(l) >= violation: it errs only on positives, and with d literals with probability below d violation.  If no
literal outside the target has 0 < nu(l) < violation, it is the target, and whatever else holds for all positives.
Without it, over fair bits with Pr[y] at most 1/4, the target is found with every answer within tau < Pr[y] / 6.
Checked in tests/unit/algorithms/learners/test_conjunction.py; the numbers in tests/statistical/test_defaults_of_bits.py.

Only one of a bit and its negation can be in the target, and both are asked at once: which(not y, x) says of a positive
whether x holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.at_hand.labels import Classes
from localdp.algorithms.definition import TARGET
from localdp.algorithms.learnable import SQLearnable
from localdp.algorithms.learners.classifier import Classifier, require_bit
from localdp.algorithms.learners.free_rounds import rounds_are_free
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features
from localdp.algorithms.texts import conjunction
from localdp.domains import BitDomain
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName
from localdp.queries.statistical import StatisticalQuery
from localdp.randomizers.definition import Floats

ROUNDS = 20  # where they cost nothing: a few for the scale, the others for the violations
ROUNDS_OF_TARGET, ROUNDS_OF_FEATURES = 2, 2
FAILURE = 0.01  # the chance that any literal is taken for what it is not
APART = 1.75  # standard errors that an answer is off half a violation, whatever the true one is
LARGEST = 1 / 4  # violation of a literal over fair bits
RAREST = 1 / 8  # a literal is taken to fail for no fewer people, among all
BEARABLE = 0.65  # of the error of asking about all literals: what asking about the doubtful ones leaves
LEAST = 1e-9  # share of positives, where there seem to be none
WANTED = "half a violation"
Measured = tuple[float, float, int]  # an answer, its variance, and how many people gave it


class AveragedAnswer:
    """The mean of the answers of several rounds, by how many people gave each."""

    def __init__(self) -> None:
        self._sum, self._square, self._reports = 0.0, 0.0, 0

    def add(self, value: float, variance: float, reports: int) -> None:
        """Another round."""
        self._sum += reports * value
        self._square += reports**2 * variance
        self._reports += reports

    @property
    def value(self) -> float:
        """The mean."""
        return self._sum / max(self._reports, 1)

    @property
    def error(self) -> float:
        """Standard error."""
        return math.sqrt(self._square) / max(self._reports, 1)


class ConjunctionLearner(Classifier):
    """Finds the literals that hold for (almost) everybody whose target holds.

    It learns from bits. Of numbers in arrays it takes whether they are above the middle of their bounds.

    Parameters
    ----------
    target : str, default="target"
        The column to predict. With arrays, the name that `y` gets.
    features : list of str, optional
        The columns to learn from. Default: all bits, but not the target.
    negations : bool, default=False
        Whether a literal may also be the negation of a bit. Both are asked at once.
    violation : float, optional
        The least share of people who have the target and not the literal that rules a literal out. A target of k literals
        over fair bits needs 2**-(k + 1). Default: what it would be of a literal that has nothing to do with the target, by
        what is measured first.
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
    literals_ : tuple of str
        The literals that were found: the target is predicted where all of them hold.
    violations_ : dict
        For each literal that was considered, the share of people who have the target and not the literal.
    thresholds_ : dict
        For each of them, the share from which on it was ruled out.
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
    >>> bits = (np.arange(20_000)[:, None] >> np.arange(5)) % 2 == 1
    >>> learner = ConjunctionLearner(model="curator", epsilon=1.0).fit(bits, bits[:, 0] & bits[:, 3])
    >>> learner.literals_
    ('x0', 'x3')
    """

    literals_: tuple[str, ...]
    violations_: dict[str, float]  # of each literal that was considered: the answer about nu
    thresholds_: dict[str, float]
    _nature = Nature("classifier", over_bits=True, poor_score=True)

    def __init__(
        self,
        target: str = TARGET,
        features: Sequence[str] | None = None,
        negations: bool = False,
        violation: float | None = None,
        check_signal: bool = True,
        *,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
        classes: Classes | None = None,
    ) -> None:
        super().__init__(target, features, check_signal, epsilon, model, bounds, classes)
        self.negations = negations
        self.violation = violation

    @staticmethod
    def learnable(bits: int, violation: float) -> SQLearnable:
        """Of conjunctions of so many bits, given the violation that matters: one query for each bit."""
        return SQLearnable(queries=bits, tolerance=violation / 2, alpha=bits * violation)

    def _rounds(self) -> int:
        if self.violation is not None and not 0 < self.violation <= 1:
            raise InvalidParameter("the violation that matters is a probability, and not 0")
        return 1 if self.violation is not None else ROUNDS

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        """One for the violations, or as many as it takes to give the scale a small part of the people before them."""
        rounds = self._rounds()
        require_bit(oracle.schema, self.target)
        self._study(oracle.schema, (BitDomain,))
        self._of_target = self._of_features = int(self.violation is None)
        if rounds > 1 and rounds_are_free(oracle, self._queries(self.features_), rounds):
            self._of_target, self._of_features = ROUNDS_OF_TARGET, ROUNDS_OF_FEATURES
        else:
            rounds = 1 + self._of_target + self._of_features
        self._of_violations = rounds - self._of_target - self._of_features
        return rounds

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        self.plan_ = oracle.plan(self._queries(self.features_))
        rounds = 1 if self.plan_.certain else self._of_violations
        error = self.plan_.tolerance() / math.sqrt(rounds)
        if self.violation is not None:
            self._require_signal(self.violation / 2, error, WANTED)
            self.thresholds_ = dict.fromkeys(self._literals(self.features_), self.violation / 2)
        else:
            self._require_signal(LARGEST / 2, error, WANTED)
            self.thresholds_ = self._measured(oracle)
            bearable = error if self.plan_.certain else BEARABLE * error
            self._require_signal(min(self.thresholds_.values()), bearable, WANTED)
        self._decide(oracle)
        self.literals_ = tuple(
            literal for literal, found in self.violations_.items() if found < self.thresholds_[literal]
        )

    def _decide(self, oracle: StatisticalQueryOracle) -> None:
        """Ask until no literal is in doubt, or no round is left: then refuse, unless the violation was given."""
        measured = {literal: AveragedAnswer() for literal in self._literals(self.features_)}
        doubtful = list(self.features_)
        for _ in range(self._of_violations):
            if doubtful:
                for literal, answer in self._asked(oracle, doubtful).items():
                    measured[literal].add(*answer)
                doubtful = [
                    name
                    for name in doubtful
                    if any(self._evidence(one, measured[one]) < 1 for one in self._literals([name]))
                ]
        self.violations_ = {literal: one.value for literal, one in measured.items()}
        refuses = self.violation is None and not self.plan_.certain
        for literal in self._literals(doubtful) if refuses else ():
            one = measured[literal]
            signal = math.sqrt(self._evidence(literal, one)) * one.error
            self._require_signal(signal, one.error, f"what tells whether {literal} belongs")

    def _evidence(self, literal: str, one: AveragedAnswer) -> float:
        """For or against a literal, in units of what decides."""
        if one.error == 0:
            return math.inf
        half, apart = self.thresholds_[literal], abs(one.value - self.thresholds_[literal])
        likelihoods = 2 * half * apart / one.error**2
        return min(likelihoods / math.log(len(self.features_) / FAILURE), (apart / one.error / APART) ** 2)

    def _measured(self, oracle: StatisticalQueryOracle) -> dict[str, float]:
        """Of each literal, half of the violation that it would have if it had nothing to do with the target."""
        positive = self._means(oracle, [self.target], self._of_target)[0]
        holds = self._means(oracle, self.features_, self._of_features)
        shares = np.column_stack([1 - holds, holds]) if self.negations else 1 - holds
        halves = max(float(positive), LEAST) * np.clip(shares, RAREST, 1.0).ravel() / 2
        return dict(zip(self._literals(self.features_), halves.tolist(), strict=True))

    @staticmethod
    def _means(oracle: StatisticalQueryOracle, queries: Sequence[str], rounds: int) -> Floats:
        """How often these hold, over so many rounds."""
        answers = [[one.value for one in oracle.answer(list(queries))] for _ in range(rounds)]
        means: Floats = np.mean(answers, axis=0)
        return means

    def _literals(self, names: Sequence[str]) -> list[str]:
        signs = ("", "not ") if self.negations else ("",)
        return [sign + name for name in names for sign in signs]

    def _queries(self, names: Sequence[str]) -> list[str]:
        return [
            f"which(not {self.target}, {name})" if self.negations else f"not {name} and {self.target}"
            for name in names
        ]

    def _asked(self, oracle: StatisticalQueryOracle, names: Sequence[str]) -> dict[str, Measured]:
        """One round: the violation of every literal of these features."""
        if not self.negations:
            answers = oracle.answer(self._queries(names))
            return {
                name: (one.value, one.variance_empirical, one.reports)
                for name, one in zip(names, answers, strict=True)
            }
        found: dict[str, Measured] = {}
        for name, several in zip(names, oracle.answer_vectors(self._queries(names)), strict=True):
            _, holds, fails = zip(
                several.values.tolist(),
                several.variance_empirical.tolist(),
                [several.reports] * 3,
                strict=True,
            )
            found |= {name: fails, f"not {name}": holds}
        return found

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """0 or 1, whether all literals hold: a conjunction has no doubts."""
        records = self._records(X)
        holds = StatisticalQuery.parse(conjunction(self.literals_), records.schema).evaluate(records)
        return np.column_stack([~holds, holds]).astype(np.float64)
