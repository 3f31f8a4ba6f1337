"""Parity in the SQ model: all 2**d correlations at once, the best that statistical queries allow.

A concept is c_r(x) = <r, x> modulo 2, for uniform x in {0, 1}**d.  Distinct parities are uncorrelated, so a query says
something about at most 1 / tau**2 of them, and 2**d tau**2 queries are needed (Kearns 1998).  The best local protocol asks
everybody about one random parity: the signal of the true one is 1, the noise of each is C sqrt(2**d / n), and the
largest of 2**d noises is about sqrt(2 ln 2**d) times that.  So n must grow like 2**d.

Claim.  With every answer within tau < 1/2 of the truth, the learner is right.
Checked in tests/unit/algorithms/test_parity.py; the numbers in tests/statistical/test_separations.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.algorithms.learnable import SQLearnable
from localdp.algorithms.learners.classifier import Classifier, require_bit
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features
from localdp.domains import BitDomain
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomizers.parts.walsh import parity
from localdp.randomness.source import Floats

MOST_FEATURES = 20
SIGNAL = 1.0


class ParityLearner(Classifier):
    """Finds the parity that the target is, from one query about all of them.

    It learns from bits. Of numbers in arrays it takes whether they are above the middle of their bounds.

    Parameters
    ----------
    target : str, default="target"
        The column to predict. With arrays, the name that `y` gets.
    features : list of str, optional
        The columns to learn from. Default: all bits, 20 at most, but not the target.
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
    mask_ : int
        The parity, a bit for each feature.
    support_ : tuple of str
        The features that it is the parity of.
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
    >>> learner = ParityLearner(model="local", epsilon=2.0).fit(bits, bits[:, 0] ^ bits[:, 2])
    >>> learner.support_
    ('x0', 'x2')
    """

    mask_: int
    support_: tuple[str, ...]
    _nature = Nature("classifier", over_bits=True, poor_score=True)

    @staticmethod
    def learnable(bits: int) -> SQLearnable:
        """One of all parities of so many uniform bits: the true one has a signal of 1 and all others have none."""
        return SQLearnable(queries=2**bits, tolerance=SIGNAL / 4, alpha=0.0)

    def _rounds(self) -> int:
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        self._study(oracle.schema, (BitDomain,))
        require_bit(oracle.schema, self.target)
        names = self.features_
        if len(names) > MOST_FEATURES:
            raise InvalidParameter(f"all parities of more than {MOST_FEATURES} bits are too many to ask")
        query = f"parities({len(names)}, {', '.join(names)}; {self.target})"
        self.plan_ = oracle.plan([query])
        self._require_signal(SIGNAL, 2 * self.plan_.tolerance(), "a correlation")
        signs = oracle.answer_vectors([query])[0].values
        self.mask_ = int(np.argmax(signs))
        self.support_ = tuple(name for place, name in enumerate(names) if self.mask_ >> place & 1)

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """0 or 1, the parity of each person's bits: there is no doubt about it."""
        records = self._records(X)
        rows = np.column_stack([records.column(name) for name in self.features_])
        odd = parity_of(rows, self.mask_)
        return np.column_stack([~odd, odd]).astype(np.float64)


def parity_of(rows: NDArray[np.bool_], mask: int) -> NDArray[np.bool_]:
    """Whether each row has an odd number of ones within the mask."""
    if rows.ndim != 2:
        raise InvalidParameter("features are rows of bits")
    chosen = np.array([mask >> place & 1 for place in range(rows.shape[1])], np.bool_)
    return parity(np.count_nonzero(rows & chosen, axis=1) & 1)
