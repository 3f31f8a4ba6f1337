"""All marginals over a few attributes at once, from parities (Cormode, Kulkarni and Srivastava 2018; section 12.1).

One query `parities(k, b1, ..., bd)`: the means of the signs (-1)**<S, x> of all sets S of at most k of the d bits that
the attributes have.  A marginal over attributes with m <= k bits is 2**-m times the Hadamard transform of the 2**m
parities inside them, so that all marginals are consistent: summing an attribute out of one gives the other.

Claim.  With every parity off by at most tau, every cell of a marginal over m bits is off by at most (1 - 2**-m) tau.
The variance of a cell is 4**-m times the sum of the variances of its parities, exactly so where their noises are
independent.  In the local model it is 4**-m (2**m - 1) T C**2 / n, for T parities, but for a term of at most 1 / n
(`HadamardMarginals`).

`distribution` fits a distribution over all combinations to the parities.  Three ways, all post-processing:

| way | what it minimises | average cell error, times that of the raw tables |
|---|---|---|
| entropy | squares, and the divergence from independent attributes | 0.73 to 0.82 |
| least-squares | squares: the projection of Algorithm 18 | 0.76 to 0.86 |
| multiplicative-weights | steps on the worst parity until none is off by 2 standard errors (section 5.2) | 0.4 to 1.05 |

The numbers are for 10 bits, order 3, n = 10**5 and epsilon = 1 in the local model, on the four tables of
docs/release.md.
Checked in tests/unit/algorithms/release/test_marginals.py, and for the errors in tests/statistical/test_release.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.definition import Learner, Measures, measures_of_errors
from localdp.algorithms.release.synthetic import Distribution
from localdp.algorithms.release.universe import Columns, Universe
from localdp.algorithms.scikit_learn import Nature
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.estimation.multiplicative_weights import fit_least_squares, fit_worst_first
from localdp.estimation.sign_transform import sign_transform
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName
from localdp.randomizers.marginals import parity_masks
from localdp.randomness.source import Floats

Way = Literal["entropy", "least-squares", "multiplicative-weights"]
_ORDER = 2  # unless another one is asked for, or needed
_PULL = (
    10.0  # against squares in units of their variance; chosen on other tables than those of docs/release.md
)
_RELATIVE_GAP = 1e-3
_LEAST_GAP = 1e-13
_LEAST_TOLERANCE = 1e-4
_STEPS = 400
_STEPS_WITHOUT_NOISE = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """The frequency of every combination of some attributes, with one axis for each, and standard errors."""

    attributes: tuple[str, ...]
    values: Floats
    standard_errors: Floats  # about the frequencies of these people


class MarginalRelease(Learner):
    """Marginals over any attributes that have at most `order` bits together: those that are wanted, at least.

    Parameters
    ----------
    columns : list of str, or mapping from names to conditions, optional
        The attributes: bits, categories and short integers, or conditions. Default: all columns that are finite.
    order : int, optional
        How many bits a table may have. A bit counts as one, a category of k labels as ceil(log2 k). Default: what is wanted
        needs, and 2 if nothing is wanted. An order that does not contain what is wanted is refused before anybody is asked.
    wanted : list of names, or of lists of names, default=()
        The tables that will be asked for, each by the names of its attributes.
    signal : float, optional
        The standard error of a cell that is not worth asking for. Default: 2**-order, a cell's share of uniform data.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if what is looked for would drown in the noise. False asks all the same.
    epsilon : float, optional
        Data frames only: what each person spends in a fit, in nats. Every model but "exact" needs it.
    model : {"exact", "curator", "local", "shuffled", "shared"}, optional
        Data frames only: whom people have to trust. There is no default: a fit without it raises.
    bounds : (low, high), list of pairs, or mapping from names to pairs, optional
        Data frames only: what numbers can hold, from what is known about them. Every model but "exact" needs them, and
        "exact" takes the data's own. Data that do not fit are refused, and nothing is spent.

    Attributes
    ----------
    order_ : int
        The order that was released.
    parities_, variances_ : array
        The mean of every parity of at most `order_` bits, and its variance.
    universe_ : Universe
        The attributes, and what they may hold.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        The error that was to be expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import numpy as np
    >>> smoker = np.arange(20_000) % 10 < 3
    >>> release = MarginalRelease(model="curator", epsilon=1.0).fit({"smoker": smoker, "ill": smoker})
    >>> release.marginal("smoker").values.round(1).tolist()
    [0.7, 0.3]
    """

    def __init__(
        self,
        columns: Columns | None = None,
        order: int | None = None,
        *,
        wanted: Sequence[str | Sequence[str]] = (),
        signal: float | None = None,
        check_signal: bool = True,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.columns = columns
        self.order = order
        self.wanted = wanted
        self.signal = signal
        self.check_signal = check_signal
        self.epsilon, self.model, self.bounds = epsilon, model, bounds

    universe_: Universe
    order_: int
    parities_: Floats  # in the order of `parity_masks`
    variances_: Floats
    _nature = Nature(categories=True)

    def _rounds(self) -> int:
        if self.order is not None and (not isinstance(self.order, int) or self.order < 1):
            raise InvalidParameter("the order of marginals is a whole number from 1")
        if self.signal is not None and not self.signal > 0:
            raise InvalidParameter("a signal is positive")
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        universe = Universe.of(oracle.schema, self.columns)
        order = self._order(universe)
        query = f"parities({order}, {', '.join(universe.conditions())})"
        self.plan_ = oracle.plan([query])
        least = 0.5**order
        error = (least * (1 - least)) ** 0.5 * self.plan_.rows[0].standard_error
        self._require_signal(self.signal or least, error, "a cell")
        answer = oracle.answer_vectors([query])[0]
        self.universe_, self.order_ = universe, order
        self.parities_, self.variances_ = answer.values, answer.variance_empirical

    def _order(self, universe: Universe) -> int:
        """The order that was asked for, or what is wanted needs; refused if it does not contain what is wanted."""
        tables = [(one,) if isinstance(one, str) else tuple(one) for one in self.wanted]
        needed = [len(_bits(universe, universe.places(names))) for names in tables]
        order = self.order or max(needed, default=_ORDER)
        if order > universe.bits:
            raise InvalidParameter(f"these attributes have {universe.bits} bits; the order is at most that")
        for names, bits in zip(tables, needed, strict=True):
            _require_within(order, names, bits)
        return order

    def marginal(self, *names: str) -> Marginal:
        """The marginal over these attributes, unbiased, so not always positive."""
        self._require_fitted("parities_")
        places = self.universe_.places(names)
        sizes = [self.universe_.attributes[place].size for place in places]
        bits, numbers = _bits(self.universe_, places), np.zeros(sizes, np.int64)
        _require_within(self.order_, names, len(bits))
        shift = 0
        for axis, place in enumerate(places):
            along = [1] * axis + [-1] + [1] * (len(places) - axis - 1)
            numbers = numbers | (np.arange(sizes[axis]) << shift).reshape(along)
            shift += self.universe_.attributes[place].width
        values, variance = self._cells(bits)
        return Marginal(tuple(names), values[numbers], np.full(numbers.shape, variance**0.5))

    def distribution(self, way: Way = "entropy") -> Distribution:
        """A distribution over all combinations that fits the parities."""
        self._require_fitted("parities_")
        self.universe_.require_small()
        if way not in get_args(Way):
            raise InvalidParameter(f"a way to fit a distribution is one of {', '.join(get_args(Way))}")
        words = self.universe_.words()
        start = np.zeros(1 << self.universe_.bits)  # and zero stays what is no combination
        start[words] = self._independent() if way == "entropy" else 1.0
        return Distribution(self.universe_, self._fitted_masses(start, way)[words])

    def _fitted_masses(self, start: Floats, way: Way) -> Floats:
        masks, noise = self._masks().astype(np.int64), float(self.variances_.mean())
        if way == "multiplicative-weights":
            tolerance = max(2 * noise**0.5, _LEAST_TOLERANCE)
            return fit_worst_first(start, masks, self.parities_, tolerance).masses
        return fit_least_squares(
            start,
            masks,
            self.parities_,
            pull=_PULL * noise / len(masks) if way == "entropy" else 0.0,
            most_steps=_STEPS if noise else _STEPS_WITHOUT_NOISE,
            least_gap=max(_RELATIVE_GAP * noise, _LEAST_GAP),
        ).masses

    def _masks(self) -> NDArray[np.uint64]:
        return parity_masks(self.universe_.bits, self.order_)

    def _cells(self, bits: Sequence[int]) -> tuple[Floats, float]:
        """The frequency of every word of these bits, and the variance of each of them."""
        words = np.arange(1 << len(bits), dtype=np.uint64)
        masks = np.zeros(len(words), np.uint64)
        for place, bit in enumerate(bits):
            masks |= (words >> np.uint64(place) & np.uint64(1)) << np.uint64(bit)
        places = np.searchsorted(self._masks(), masks[1:])
        values = sign_transform(np.append(1.0, self.parities_[places])) / len(words)
        return values, float(self.variances_[places].sum()) / len(words) ** 2

    def _independent(self) -> Floats:
        """The distribution of independent attributes, from the marginals over single ones where there are any."""
        masses = np.ones(1)
        for attribute in self.universe_.attributes:
            own = np.ones(attribute.size)
            if attribute.width <= self.order_:
                own = np.clip(self.marginal(attribute.name).values, 0.02 / attribute.size, 1.0)
            masses = np.multiply.outer(masses, own / own.sum()).ravel()
        return masses

    def measures(self, truth: Self, records: Records) -> Measures:
        """The errors of what is released."""
        return measures_of_errors(self.parities_ - truth.parities_)


def _bits(universe: Universe, places: Sequence[int]) -> list[int]:
    """The bits of these attributes, in the attributes' order."""
    widths = [attribute.width for attribute in universe.attributes]
    return [sum(widths[:place]) + bit for place in places for bit in range(widths[place])]


def _require_within(order: int, names: Sequence[str], bits: int) -> None:
    """Refuse a table that a release of this order does not contain."""
    if bits > order:
        table = ", ".join(repr(name) for name in names)
        raise InvalidParameter(
            f"the table of {table} has {bits} bits, and a release of order {order} does not contain it: say what you "
            f"will ask for before the fit, wanted=[({table})], or order={bits}"
        )
