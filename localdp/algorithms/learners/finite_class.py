"""Any finite class, learned by a private choice: the hypothesis that agrees with nearly the most examples (section 11.1).

People are labelled examples (Definition 11.1), and a hypothesis is a condition on their columns.  Its score is how many
people have the label that it predicts: n times one less its error (Definition 11.2).  Replacing one example moves each
score by at most 1, so an oracle that selects does so at a price that does not grow with how many hypotheses there are; any
other one answers how often each agrees.

Claim.  Agnostic: whatever the examples, with n of them the hypothesis errs by at most alpha above the best of the class,
but for a probability of beta, under an oracle that selects (`learnable`; Definitions 11.3 and 12.7).
Checked in tests/unit/algorithms/test_learnable.py and tests/unit/algorithms/learners/test_finite_class.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localdp.algorithms.definition import TARGET
from localdp.algorithms.learnable import PACLearnable
from localdp.algorithms.learners.classifier import Classifier, require_bit
from localdp.algorithms.tables import Features
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.queries.statistical import StatisticalQuery
from localdp.randomizers.definition import Floats

MOST_HYPOTHESES = 4096


class FiniteClass(Classifier):
    """Finds the hypothesis that predicts the target best, of any list of conditions.

    Parameters
    ----------
    hypotheses : list of str
        Conditions, such as "age >= 65 and smoker": the target is predicted where the condition holds.
    target : str, default="target"
        The column to predict, a bit.
    signal : float, default=0.5
        How much more often than the best one the choice may err that is not worth asking for.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if the choice would drown in the noise. False asks all the same.

    Attributes
    ----------
    hypothesis_ : str
        The condition that was found.
    place_ : int
        Its place in the list.
    misses_by_ : float
        How much more often than the best one it errs on these people at most, but for 5 %.
    classes_ : array
        False and true.
    features_ : tuple of str
        The columns that hypotheses look at.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        How far the choice may miss the best, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> people = {"age": list(range(100)), "target": [age >= 60 for age in range(100)]}
    >>> schema = {"age": {"kind": "integer", "low": 0, "high": 99}, "target": {"kind": "bit"}}
    >>> learner = FiniteClass([f"age >= {age}" for age in range(0, 100, 10)])
    >>> with ldp.simulate(people, schema) as all_of_them:
    ...     learner = all_of_them.fit(learner, model="exact")
    >>> learner.hypothesis_
    'age >= 60'
    """

    hypothesis_: str
    place_: int

    def __init__(
        self,
        hypotheses: Sequence[str],
        target: str = TARGET,
        *,
        signal: float = 0.5,
        check_signal: bool = True,
    ) -> None:
        super().__init__(target, None, check_signal)
        self.hypotheses = hypotheses
        self.signal = signal

    @staticmethod
    def learnable(hypotheses: int) -> PACLearnable:
        """What is promised about so many hypotheses, where an oracle selects."""
        return PACLearnable(hypotheses)

    def _rounds(self) -> int:
        if isinstance(self.hypotheses, str) or not 1 <= len(self.hypotheses) <= MOST_HYPOTHESES:
            raise InvalidParameter(f"a class is a list of 1 to {MOST_HYPOTHESES} conditions")
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        schema = oracle.schema
        require_bit(schema, self.target)
        conditions = [StatisticalQuery.parse(one, schema) for one in self.hypotheses]
        columns = frozenset().union(*(one.columns for one in conditions))
        if self.target in columns or any(one.kind != "bit" for one in conditions):
            raise InvalidParameter("a hypothesis is a condition on other columns than the target")
        self.classes_, self._schema = np.array([False, True]), schema
        self.features_ = tuple(name for name in schema.names if name in columns)
        agreements = [f"not parity({one.text}, {self.target})" for one in conditions]
        self.plan_ = oracle.plan_select(agreements)
        self._require_signal(self.signal, self.plan_.rows[0].standard_error, "the lead of a hypothesis")
        told = oracle.select(agreements)
        self.place_, self.misses_by_ = told.place, told.shortfall
        self.hypothesis_ = conditions[told.place].text

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """0 or 1, whether the condition holds."""
        records = self._records(X)
        holds = StatisticalQuery.parse(self.hypothesis_, records.schema).evaluate(records)
        return np.column_stack([~holds, holds]).astype(np.float64)
