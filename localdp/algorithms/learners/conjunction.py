"""Conjunctions of literals, learned from how often each fails among the positives (Kearns 1998, after Valiant 1984).

The target is y = l_1 and l_2 and ... over bits, each l a bit or (with `negations`) its negation.  A literal l belongs to
the target only if nu(l) = Pr[not l and y] is 0.  So ask all nu(l), and keep the literals whose answer is below half of
`violation`, the least nu that matters.

Claim.  With every answer within tau < violation / 2, the hypothesis has every literal of the target and none with
nu(l) >= violation: it errs only on positives, and with d literals with probability below d violation.  If no literal
outside the target has 0 < nu(l) < violation, it is the target, and whatever else holds for all positives.
Checked in tests/unit/algorithms/learners/test_conjunction.py; the numbers in tests/statistical/test_learners_a.py.

Under uniform bits and a target of k literals, nu is 2**-(k + 1) for a literal that does not belong.  Only one of a bit and
its negation can be in the target, and both are asked at once: which(not y, x) says of a positive whether x holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.at_hand.labels import Classes
from localdp.algorithms.definition import TARGET
from localdp.algorithms.learners.classifier import Classifier, require_bit
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features
from localdp.algorithms.texts import conjunction
from localdp.domains import BitDomain
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName
from localdp.queries.statistical import StatisticalQuery
from localdp.randomizers.definition import Floats


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
    violation : float, default=1/16
        The least share of people who have the target and not the literal that rules a literal out. A target of k literals
        over fair bits needs 2**-(k + 1).
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
    _nature = Nature("classifier", over_bits=True, poor_score=True)

    def __init__(
        self,
        target: str = TARGET,
        features: Sequence[str] | None = None,
        negations: bool = False,
        violation: float = 1 / 16,
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

    def _rounds(self) -> int:
        if not 0 < self.violation <= 1:
            raise InvalidParameter("the violation that matters is a probability, and not 0")
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        require_bit(oracle.schema, self.target)
        self._study(oracle.schema, (BitDomain,))
        queries = [self._query(name) for name in self.features_]
        self.plan_ = oracle.plan(queries)
        self._require_signal(self.violation / 2, self.plan_.tolerance(), "half a violation")
        ask = self._asked_with_negations if self.negations else self._asked
        self.violations_ = ask(oracle, queries)
        self.literals_ = tuple(
            literal for literal, found in self.violations_.items() if found < self.violation / 2
        )

    def _query(self, name: str) -> str:
        return f"which(not {self.target}, {name})" if self.negations else f"not {name} and {self.target}"

    def _asked(self, oracle: StatisticalQueryOracle, queries: list[str]) -> dict[str, float]:
        answers = oracle.answer(queries)
        return {name: answer.value for name, answer in zip(self.features_, answers, strict=True)}

    def _asked_with_negations(self, oracle: StatisticalQueryOracle, queries: list[str]) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, answer in zip(self.features_, oracle.answer_vectors(queries), strict=True):
            _, holds, fails = answer.values.tolist()
            found |= {name: fails, f"not {name}": holds}
        return found

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """0 or 1, whether all literals hold: a conjunction has no doubts."""
        records = self._records(X)
        holds = StatisticalQuery.parse(conjunction(self.literals_), records.schema).evaluate(records)
        return np.column_stack([~holds, holds]).astype(np.float64)
