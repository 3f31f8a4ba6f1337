"""A decision tree, grown level by level from histograms (ID3, Quinlan 1986; in the SQ model, Kearns 1998).

For every level, each feature j has one query, the table of (leaf, value of x_j, class) over all people:

    cells(which(conditions of the leaves), x_j, y)

A person answers about one feature of one level.  The level that chooses the last splits also says what the classes of
their branches are, so depth D takes D levels and not D + 1.  Tables that speak of the same leaf are made to agree, with
what the level above said of it too (`splits.py`), and a leaf is split only where the gain is more than noise makes.

How deep, and who is asked what, follows from what was measured.  Where rounds divide people, there are `ROUNDS` of them,
and a level asks round after round until its splits are decided, each time only about the features that may still have the
best split of some leaf: easy levels leave their people to the others.  Before each level the plan says how many levels the
rounds that are left can carry: one carries a level if a split into pure halves of a leaf of average size stands out by
`SEEN` standard errors.  A level takes no more than its share of the rounds, unless it has found nothing to grow on.  Where
rounds divide epsilon, more of them cost accuracy: then every level has one, and `depth=None` is the largest depth, up to
`MOST_PLANNED_DEPTH`, at which the plan shows a split of `contrast` in a leaf of average size.

Signal.  A split of everybody into halves whose shares of a class differ by `contrast` moves each cell by contrast / 4.
With cells off by e, that move is known up to e / 2.  If all rounds together would not show it, nobody is asked.

Claims.  With answers without error the tree is that of ID3 with the given splits: on bits, scikit-learn's with
criterion="entropy".  With every cell off by at most tau, two values and two classes, the cells of the tables that were
made to agree are off by at most 4 tau, and all gains by at most 9 eta(8 tau), eta(t) = -t ln t; so the tree is the same if
in every leaf one split leads by twice that.  That is for the worst answers.  With those of every strategy of the
adversarial oracle, and with random signs, a tree of three levels with 5 % of the labels wrong is found at tau = 0.02.
Checked in tests/unit/algorithms/learners/test_decision_tree.py; the numbers in tests/statistical/test_learners_a.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.at_hand.labels import Classes
from localdp.algorithms.definition import TARGET
from localdp.algorithms.learners.binning import Edges, binned
from localdp.algorithms.learners.classifier import Classifier
from localdp.algorithms.learners.free_rounds import rounds_are_free
from localdp.algorithms.learners.level_tables import LevelTables
from localdp.algorithms.learners.splits import Judgement, judged
from localdp.algorithms.learners.tree_nodes import TreeNode, as_text
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.definition import Floats

MOST_DEPTH = 8
MOST_PLANNED_DEPTH = 4
ROUNDS = 16  # where they cost nothing
SEEN = 4.0  # standard errors by which a split into pure halves stands out at a level that is worth growing


class DecisionTree(Classifier):
    """Asks one feature after the other, the one that says most about the class first.

    Parameters
    ----------
    target : str, default="target"
        The column to predict. With arrays, the name that `y` gets.
    features : list of str, optional
        The columns to learn from. Default: all, but not the target.
    depth : int, optional
        How many features it asks in a row at most, up to 8. Default: at most 4. It asks fewer where noise hides the rest.
    edges : mapping from names to lists of numbers, optional
        Where a number is cut, by column. They are public: not to be read off the data.
    bins : int, default=4
        In how many bins of equal width a number without edges is cut.
    contrast : float, default=0.5
        The signal: by how much the shares of a class differ between the branches of a first split that has to be seen for
        anybody to be asked.
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
        How many features it asks in a row at most, by what was measured.
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
        self.contrast = contrast
        self.caution = caution

    def _rounds(self) -> int:
        if self.depth is not None and not 1 <= self.depth <= MOST_DEPTH:
            raise InvalidParameter(f"a tree has 1 to {MOST_DEPTH} levels")
        if not 0 < self.contrast <= 1 or not self.caution >= 0:
            raise InvalidParameter("a contrast lies between 0 and 1, and caution is not negative")
        return ROUNDS

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        """Many rounds, for the levels to share, where that costs nothing; or else one for each level."""
        self._rounds()
        self._study(oracle.schema)
        self._binned = binned(oracle.schema, self.features_, self.edges, self.bins)
        self._levels = self.depth or MOST_PLANNED_DEPTH
        self._shared = rounds_are_free(oracle, self._queries(self._everything, [], True), ROUNDS)
        if not self._shared:
            self._levels = self.depth or self._deepest(oracle)
        self._left = ROUNDS if self._shared else self._levels
        return self._left

    @property
    def _everything(self) -> list[int]:
        return list(range(len(self._binned)))

    def _deepest(self, oracle: StatisticalQueryOracle) -> int:
        """The most levels, with a round for each, of which the last one would still show a split."""
        one = TreeNode((self._binned[0].bins[0],), np.zeros(len(self.classes_)))  # for those not known yet
        for depth in range(MOST_PLANNED_DEPTH, 1, -1):
            queries = self._queries(self._everything, [one] * 2 ** (depth - 1), True)
            error = oracle.in_rounds(depth).plan(queries).tolerance() / 2
            if error < self.contrast / (4 << (depth - 1)):
                return depth
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        classes = len(self.classes_)
        self.root_ = TreeNode((), np.full(classes, 1 / classes))
        self.plan_ = oracle.plan(self._queries(self._everything, [], True))
        rounds = self._left if self._shared else 1
        self._require_signal(self.contrast / 4, self.plan_.tolerance() / (2 * math.sqrt(rounds)), "a split")
        growing = [self.root_]
        for level in range(self._levels):
            if growing and self._left:
                growing = self._grown(oracle, growing, self._carried(level))
        self.depth_ = max(len(leaf.conditions) for leaf in self.root_.leaves())
        self.tree_ = as_text(self.root_, self.classes_)

    def _carried(self, level: int) -> int:
        """How many levels the rounds that are left can carry from this one on, at least one."""
        if not self._shared:
            return self._levels - level
        error, left = max(row.standard_error for row in self.plan_.rows), float(self._left)
        for below in range(level, self._levels):
            left -= (SEEN * 2 * error * 2**below) ** 2  # rounds until it stands out
            if left < 0:
                return max(1, below - level)
        return self._levels - level

    def _queries(self, places: Iterable[int], leaves: Sequence[TreeNode], everybody: bool) -> list[str]:
        """One table for each of these features: of leaves, values and classes."""
        conditions = [leaf.text for leaf in leaves]
        if everybody and conditions:
            conditions.pop()  # whoever is in none of the others is in the last leaf
        where = f"which({', '.join(conditions)}), " if conditions else ""
        return [f"cells({where}{self._binned[place].text}, {self.target})" for place in places]

    def _grown(self, oracle: StatisticalQueryOracle, leaves: list[TreeNode], levels: int) -> list[TreeNode]:
        """Split these leaves where it pays, with so many levels to go; the new leaves."""
        everybody = len(leaves) == len(list(self.root_.leaves()))
        tables = LevelTables(self._binned, len(leaves), len(self.classes_))
        places, spare = self._everything, self._left - self._left // levels
        judgements: list[Judgement] = []
        # Nothing is kept for the levels below while there is nothing to grow on.
        while places and self._left > (spare if any(one.best for one in judgements) else 0):
            tables.add(places, oracle.answer_vectors(self._queries(places, leaves, everybody)))
            self._left -= 1
            judgements = [self._judged(leaf, tables, number) for number, leaf in enumerate(leaves)]
            places = sorted({place for one in judgements for place in one.contenders})
        grown = [self._split(leaf, one) for leaf, one in zip(leaves, judgements, strict=True)]
        return [child for children in grown for child in children]

    def _judged(self, leaf: TreeNode, tables: LevelTables, number: int) -> Judgement:
        """What the tables say about a leaf, made to agree."""
        reachable = [feature.reachable(leaf.conditions) for feature in self._binned]
        narrowed = [feature.narrowed(left) for feature, left in zip(self._binned, reachable, strict=True)]
        possible = [table[left] for table, left in zip(tables.of_leaf(number), reachable, strict=True)]
        return judged(narrowed, possible, tables.noise, (leaf.classes, leaf.variance), self.caution)

    def _split(self, leaf: TreeNode, judgement: Judgement) -> list[TreeNode]:
        """What is known of a leaf now, and its branches if it has some."""
        leaf.learn(judgement.classes, judgement.variance)
        best = judgement.best
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
