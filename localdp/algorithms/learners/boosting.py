"""Boosting of decision stumps by statistical queries, with the bounded weights of MadaBoost (Domingo and Watanabe 2000).

A stump is a condition, h_j(x) = +1 where it holds and -1 where not; h_0 = 1 always; s = +1 or -1 is the target.  With D
stumps, h_0 among them, the vote is F(x) = <w, v(x)>, v = h / sqrt(D), and a person's weight is min(1, exp(-s F(x))).  One
round asks for the edges of all stumps under these weights at once, as one vector of the unit ball,

    g = -E[s min(1, exp(-s F)) v],     gradient(madaboost, [w], ball(h), y),

and moves all weights by -`step` g: the parallel update of Collins, Schapire and Singer (2002).

**Deviation** from boosting one stump a round: the best one of D noisy edges is chosen too well by noise, and a round that
updates one weight throws away what it says about the others.  Majority of 5 among 10 bits at n = 1e5, epsilon = 1: 0.90
with one stump a round for 8 rounds, 1.00 so.  In the first round all weights are 1 and s h_j are signs, so it is asked as
labelled parities, with a noise of C sqrt(D / n) instead of PrivUnit's.  A condition that is no bit column takes two
entries, itself and its negation: exactly one of them is 1, which keeps the length of h at sqrt(D) for everybody.

Claim.  The loss is convex and, with lambda the largest eigenvalue of E[v v'], at most 1, lambda-smooth; so a step of at
most 2 / lambda brings no two points further apart, and with every entry of every answer within tau, w is after T rounds
within 2 T step tau sqrt(D) of what exact answers give.  Whoever has a vote |F| above that is decided the same.
Checked in tests/unit/algorithms/learners/test_boosting.py; the numbers in tests/statistical/test_learners_a.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.at_hand.labels import Classes
from localdp.algorithms.definition import TARGET
from localdp.algorithms.learners.binning import Edges, binned
from localdp.algorithms.learners.classifier import Classifier, require_bit
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features
from localdp.algorithms.texts import point, rounded
from localdp.domains.columns import ColumnArray
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName
from localdp.queries.encoded import blocks
from localdp.queries.vector_query import VectorQuery
from localdp.queries.vectors import MOST_CONDITIONS
from localdp.randomizers.definition import Floats

MOST_BOOSTING_ROUNDS = 64
MOST_STUMPS = 512


class StumpBooster(Classifier):
    """A weighted vote of conditions on single features.

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
    rounds : int, default=8
        How often the weights are moved. People or epsilon are divided over the rounds.
    step : float, default=4.0
        How far a round moves the weights. Less for features that are strongly correlated.
    edge : float, default=0.25
        The signal: the correlation of the best condition with the target that one round should see.
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
    stumps_ : tuple of str
        The conditions that vote.
    weights_ : array
        The weight of the constant vote, then of each condition.
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
    >>> X = (np.arange(20_000)[:, None] >> np.arange(5)) % 2 == 1
    >>> y = X[:, :3].sum(axis=1) >= 2
    >>> learner = StumpBooster(model="curator", epsilon=1.0).fit(X, y)
    >>> learner.score(X, y) > 0.99
    True
    """

    stumps_: tuple[str, ...]
    weights_: Floats  # of the constant vote, then of each stump
    _nature = Nature("classifier", categories=True)

    def __init__(
        self,
        target: str = TARGET,
        features: Sequence[str] | None = None,
        edges: Edges | None = None,
        bins: int = 4,
        rounds: int = 8,
        step: float = 4.0,
        edge: float = 0.25,
        check_signal: bool = True,
        *,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
        classes: Classes | None = None,
    ) -> None:
        super().__init__(target, features, check_signal, epsilon, model, bounds, classes)
        self.rounds = rounds
        self.step = step
        self.edge = edge
        self.edges = edges
        self.bins = bins

    def _rounds(self) -> int:
        if not 1 <= self.rounds <= MOST_BOOSTING_ROUNDS:
            raise InvalidParameter(f"boosting has 1 to {MOST_BOOSTING_ROUNDS} rounds")
        if not self.step > 0 or not 0 < self.edge <= 1:
            raise InvalidParameter("a step is positive, and an edge lies between 0 and 1")
        return self.rounds

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        require_bit(oracle.schema, self.target)
        self._study(oracle.schema)
        columns = binned(oracle.schema, self.features_, self.edges, self.bins)
        self.stumps_ = tuple(stump for column in columns for stump in column.stumps)
        if len(self.stumps_) > MOST_STUMPS:
            raise InvalidParameter(f"boosting takes at most {MOST_STUMPS} stumps")
        self.weights_ = np.zeros(1 + len(self.stumps_))
        query = self._first_query()
        self.plan_ = oracle.plan([query])
        self._require_signal(self.edge, self._expected_error(), "an edge")
        for _ in range(self.rounds):
            edges = self._edges(query, oracle.answer_vectors([query])[0].values)
            moved = self.weights_ + self.step / np.sqrt(len(self.weights_)) * edges
            self.weights_ = np.array([rounded(weight) for weight in moved])
            query = self._gradient_query()

    def _first_query(self) -> str:
        if len(self.stumps_) > MOST_CONDITIONS:
            return self._gradient_query()
        return f"parities(1, {', '.join(self.stumps_)}; {self.target})"

    def _gradient_query(self) -> str:
        return f"gradient(madaboost, {point(self._point())}, {self._vector()}, {self.target})"

    def _expected_error(self) -> float:
        """By how much an edge may be off in the first round."""
        tolerance = self.plan_.tolerance()
        if len(self.stumps_) <= MOST_CONDITIONS:
            return tolerance
        return tolerance * float(np.sqrt(2 * len(self.weights_)))

    def _edges(self, query: str, values: Floats) -> Floats:
        """E[s weight h], of the constant and of every stump, from the answer to a query."""
        if query.startswith("parities"):
            return np.concatenate(
                [-values[:1], values[1:]]
            )  # the sign of true is -1, for the target as well
        edges: Floats = -np.sqrt(len(self.weights_)) * (values @ self._signs())
        return edges

    def _signs(self) -> Floats:
        """A row for each entry of the vector: +1 at the stump that it is, -1 at the one whose negation it is."""
        identity = np.eye(1 + len(self.stumps_))
        rows = [identity[:1]]
        for number, stump in enumerate(self.stumps_, start=1):
            row = identity[number]
            rows.append(np.array([row] if stump in self.features_ else [row, -row]))
        return np.concatenate(rows)

    def _point(self) -> Floats:
        weights: Floats = self._signs() @ self.weights_
        return weights

    def _vector(self) -> str:
        """The vector v of a person."""
        entries = ["1"]
        for stump in self.stumps_:
            entries += [f"2*{stump} - 1"] if stump in self.features_ else [stump, f"not ({stump})"]
        return f"ball({', '.join(entries)})"

    def decision_function(self, X: Features) -> Floats:  # noqa: N803
        """The vote F of each person."""
        records = self._records(X)
        query, weights = VectorQuery.parse(self._vector(), records.schema), self._point()
        parts = blocks(records.people, query.length)
        votes = [query.evaluate(records.slice(start, stop)) @ weights for start, stop in parts]
        return np.concatenate([np.zeros(0), *votes])

    def predict(self, X: Features) -> ColumnArray:  # noqa: N803
        """The class that the vote is for; without a majority, the lower one."""
        return self._named(self.decision_function(X) > 0)

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """exp(F) / (1 + exp(F)): F is the logarithm of the odds where the loss is least."""
        positive = 1 / (1 + np.exp(-np.clip(self.decision_function(X), -500, 500)))
        return np.column_stack([1 - positive, positive])
