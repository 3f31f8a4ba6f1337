"""A decision tree, grown level by level from histograms (ID3, Quinlan 1986; in the SQ model, Kearns 1998).

For every level, each feature j has one query, the table of (leaf, value of x_j, class) over all people:

    cells(which(conditions of the leaves), x_j, y)

A person answers about one feature of one level.  The level that chooses the last splits also says what the classes of
their branches are, so depth D takes D levels and not D + 1; the levels below the first have smaller leaves, and get
`repeats` rounds of people each, the first one gets one round.  Tables that speak of the same leaf are made to agree, with
what the level above said of it too (`splits.py`), and a leaf is split only where the gain is more than noise makes.

Signal.  A leaf at the last level has about 2**-(D - 1) of the people, and a split into halves whose shares of a class
differ by `contrast` moves each of its cells by contrast / 4 of that.  With cells off by e, that move is known up to e / 2.
With `depth=None`, the depth is the largest one, up to `MOST_PLANNED_DEPTH`, that leaves this signal.

Claims.  With answers without error the tree is that of ID3 with the given splits: on bits, scikit-learn's with
criterion="entropy".  With every cell off by at most tau, two values and two classes, the cells of the tables that were
made to agree are off by at most 4 tau, and all gains by at most 9 eta(8 tau), eta(t) = -t ln t; so the tree is the same if
in every leaf one split leads by twice that.  That is for the worst answers.  With those of every strategy of the
adversarial oracle, and with random signs, a tree of three levels with 5 % of the labels wrong is found at tau = 0.02.
Checked in tests/unit/algorithms/learners/test_decision_tree.py; the numbers in tests/statistical/test_learners_a.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.at_hand.labels import Classes
from localdp.algorithms.definition import TARGET
from localdp.algorithms.learners.binning import Edges, binned
from localdp.algorithms.learners.classifier import Classifier
from localdp.algorithms.learners.splits import best_split, candidate_splits, consistent
from localdp.algorithms.learners.tree_nodes import TreeNode, as_text
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle, VectorAnswer
from localdp.oracles.models import ModelName
from localdp.oracles.plans import Plan
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.definition import Floats

MOST_DEPTH = 8
MOST_PLANNED_DEPTH = 4


class DecisionTree(Classifier):
    """Asks one feature after the other, the one that says most about the class first.

    Parameters
    ----------
    target : str, default="target"
        The column to predict. With arrays, the name that `y` gets.
    features : list of str, optional
        The columns to learn from. Default: all, but not the target.
    depth : int, optional
        How many features it asks in a row at most, up to 8. Default: the most, up to 4, that the noise allows.
    edges : mapping from names to lists of numbers, optional
        Where a number is cut, by column. They are public: not to be read off the data.
    bins : int, default=4
        In how many bins of equal width a number without edges is cut.
    repeats : int, default=2
        Rounds of people that a level below the first gets.
    contrast : float, default=0.5
        The signal: by how much the shares of a class differ between the branches of a split that should be seen.
    caution : float, default=1.0
        A split is made if its gain is above that of so many standard deviations of noise. Little is enough: a split too
        many costs next to nothing, as both its branches mostly keep the class of the leaf.
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
    tree_ : str
        The tree, to read.
    root_ : TreeNode
        The tree, as data.
    depth_ : int
        The depth that was asked for, or chosen.
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
    >>> y = np.where(X[:, 0], X[:, 1], X[:, 2])
    >>> learner = DecisionTree(depth=3, model="curator", epsilon=1.0).fit(X, y)
    >>> learner.score(X, y) > 0.99
    True
    """

    root_: TreeNode
    tree_: str  # to read
    _nature = Nature("classifier", many_classes=True, categories=True)

    def __init__(
        self,
        target: str = TARGET,
        features: Sequence[str] | None = None,
        depth: int | None = None,
        edges: Edges | None = None,
        bins: int = 4,
        repeats: int = 2,
        contrast: float = 0.5,
        caution: float = 1.0,
        check_signal: bool = True,
        *,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
        classes: Classes | None = None,
    ) -> None:
        super().__init__(target, features, check_signal, epsilon, model, bounds, classes)
        self.depth = depth
        self.edges = edges
        self.bins = bins
        self.repeats = repeats
        self.contrast = contrast
        self.caution = caution

    def _rounds(self) -> int:
        if self.depth is not None and not 1 <= self.depth <= MOST_DEPTH:
            raise InvalidParameter(f"a tree has 1 to {MOST_DEPTH} levels")
        if self.repeats < 1 or not 0 < self.contrast <= 1 or not self.caution >= 0:
            raise InvalidParameter(
                "repeats are at least 1, a contrast lies between 0 and 1, caution is not negative"
            )
        return self._rounds_of(self.depth or MOST_PLANNED_DEPTH)

    def _rounds_of(self, depth: int) -> int:
        return 1 + (depth - 1) * self.repeats

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        """The rounds of the depth that was asked for, or of the largest one that leaves a signal."""
        self._rounds()
        self._study(oracle.schema)
        self._binned = binned(oracle.schema, self.features_, self.edges, self.bins)
        self.depth_ = self.depth or self._deepest(oracle)
        return self._rounds_of(self.depth_)

    def _deepest(self, oracle: StatisticalQueryOracle) -> int:
        for depth in range(MOST_PLANNED_DEPTH, 1, -1):
            view = oracle.in_rounds(self._rounds_of(depth))
            if self._error(self._last_plan(view, depth), depth) < self._signal(depth):
                return depth
        return 1

    def _last_plan(self, view: StatisticalQueryOracle, depth: int) -> Plan:
        """Of a round of the last level, with conditions of the same number in place of those not known yet."""
        parts = [TreeNode((self._binned[0].bins[0],), np.zeros(len(self.classes_)))] * 2 ** (depth - 1)
        return view.plan(self._queries(parts, True))

    def _error(self, plan: Plan, depth: int) -> float:
        """How far off the move of a cell may be, after all rounds of the last level."""
        rounds = 1 if depth == 1 or all(row.certain for row in plan.rows) else self.repeats
        return plan.tolerance() / (2 * math.sqrt(rounds))

    def _signal(self, depth: int) -> float:
        return self.contrast / (4 << (depth - 1))

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        classes = len(self.classes_)
        self.root_ = TreeNode((), np.full(classes, 1 / classes))
        self.plan_ = oracle.plan(self._queries([self.root_], True))
        error = self._error(self._last_plan(oracle, self.depth_), self.depth_)
        self._require_signal(self._signal(self.depth_), error, "a split of the last level")
        growing = [self.root_]
        for level in range(self.depth_):
            growing = self._grown(oracle, growing, self.repeats if level else 1)
            if not growing:
                break
        self.tree_ = as_text(self.root_, self.classes_)

    def _queries(self, leaves: Sequence[TreeNode], everybody: bool) -> list[str]:
        """One table for each feature: of leaves, values and classes."""
        conditions = [leaf.text for leaf in leaves]
        if everybody:
            conditions.pop()  # whoever is in none of the others is in the last leaf
        where = f"which({', '.join(conditions)}), " if conditions else ""
        return [f"cells({where}{feature.text}, {self.target})" for feature in self._binned]

    def _grown(self, oracle: StatisticalQueryOracle, leaves: list[TreeNode], rounds: int) -> list[TreeNode]:
        """Split these leaves where it pays; the new leaves."""
        everybody = len(leaves) == len(list(self.root_.leaves()))
        queries = self._queries(leaves, everybody)
        asked = [oracle.answer_vectors(queries) for _ in range(rounds)]
        tables, noise = averaged(asked)
        shaped = [
            table.reshape(-1, feature.size, len(self.classes_))
            for table, feature in zip(tables, self._binned, strict=True)
        ]
        return [
            child
            for number, leaf in enumerate(leaves)
            for child in self._split(leaf, [table[number] for table in shaped], noise)
        ]

    def _split(self, leaf: TreeNode, tables: list[Floats], noise: list[float]) -> list[TreeNode]:
        """Give a leaf its best split, unless noise alone could have made the gain; its children."""
        left = [feature.reachable(leaf.conditions) for feature in self._binned]
        narrowed = [feature.narrowed(places) for feature, places in zip(self._binned, left, strict=True)]
        possible = [table[places] for table, places in zip(tables, left, strict=True)]
        agreed = consistent(possible, noise, leaf.classes, leaf.variance)
        leaf.learn(agreed[0].sum(axis=0), len(agreed[0]) * noise[0])
        splits = [
            split
            for feature, table, variance in zip(narrowed, agreed, noise, strict=True)
            for split in candidate_splits(feature, table, variance)
        ]
        best = best_split(splits, self.caution)
        return [] if best is None else leaf.grow(best.conditions, best.classes, best.variance)

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """The probability of every class, a row for each person: its shares in the person's leaf."""
        records = self._records(X)
        leaves = list(self.root_.leaves())
        shares = np.array([leaf.shares for leaf in leaves])
        if len(leaves) == 1:
            return np.repeat(shares, records.people, axis=0)
        where = f"which({', '.join(leaf.text for leaf in leaves[:-1])})"
        found: Floats = shares[VectorQuery.parse(where, records.schema).evaluate(records)]
        return found


def averaged(rounds: Sequence[Sequence[VectorAnswer]]) -> tuple[list[Floats], list[float]]:
    """The same tables asked in several rounds: their means, and the variance of a cell of each."""
    by_table = list(zip(*rounds, strict=True))
    means = [np.mean([answer.values for answer in answers], axis=0) for answers in by_table]
    cells = [np.mean([answer.variance_empirical for answer in answers]) for answers in by_table]
    return means, [float(cell) / len(rounds) for cell in cells]
