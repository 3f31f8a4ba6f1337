"""Optimal composition of unequal pure mechanisms, enclosed: losses convolved on a grid.

Murtagh and Vadhan (2016): the composition of epsilon_i-private mechanisms is (total, delta)-private if the randomized
responses at epsilon_i are, that is if E[(1 - e^(total - L))_+] <= delta for the sum L of their losses, and no smaller total
will do for all mechanisms; to compute it exactly is #P-hard.  Equal epsilons form groups, whose losses (k - 2 l) epsilon
have the weights of `binomial_window`; here the laws of the groups are convolved on a grid of whole nanonats.

Where the grid holds every loss (its step divides each 2 epsilon_i), nothing is rounded.  Elsewhere:
- above: an atom between two grid points is split among them so that its probability under both inputs is kept
  (Doroshenko et al. 2022, "connect the dots").  Merging the parts gives the atom back, so the composition that was split
  reveals at least as much.  The excess is of second order in the step.
- below: the atom moves to the lower of the two grid points.

Rounding of floats.  Every number that is added or multiplied is positive, so n operations err by a factor within
(1 + u)**(2 n), with u = 2**-53, in whatever order.  Losses are whole nanonats, so that their differences are exact, and
1 - e^(-x) is no less accurate, relatively, than x.  Mass that is cut off counts as an infinite loss above, as none below.
delta must be at least 1e-200, so that underflow stays beneath 2**-48 delta.

Claim.  `heterogeneous` returns low <= smallest epsilon <= high.  Checked in tests/unit/accounting/test_convolution.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.binomial_window import BinomialWindow, binomial_window, fits
from localdp.accounting.epsilon import NANONATS_PER_NAT, Epsilon
from localdp.accounting.events import PrivacyEvent, merged
from localdp.accounting.optimal import Bracket, cut_bits

Masses = NDArray[np.float64]

SMALLEST_DELTA = Fraction(1, 10**200)
LARGEST_POINTS = 1 << 17
_LARGEST_TOTAL = 1 << 60  # nanonats, so that losses fit a machine word
_CELLS_AT_MOST, _CELLS_AT_LEAST, _WORK = 1 << 15, 1 << 11, 1 << 27
_UNIT = 2.0**-52


@dataclass(frozen=True, slots=True)
class _Law:
    """The law of a loss on a grid: mass r is at the loss top - r * step, in nanonats."""

    top: int
    step: int
    mass: Masses
    lost: float  # at least the probability of what was cut off
    operations: int  # how many roundings a mass has gone through


@dataclass(frozen=True, slots=True)
class _Plan:
    """The groups to convolve, the grid to do it on, and the delta to solve for."""

    windows: list[BinomialWindow]
    step: int  # nanonats
    delta: float

    def convolved(self, spread: Callable[[BinomialWindow, int], Masses]) -> _Law:
        """The law of the whole loss, with the atoms of each group put on the grid by `spread`."""
        law = _Law(0, self.step, np.ones(1), 0.0, 0)
        for window in self.windows:
            law = _trimmed(_added(law, window, spread(window, self.step)), self.cut)
        return law

    @property
    def cut(self) -> float:
        """What may be cut off at each end for each group."""
        return self.delta * 2.0**-48 / len(self.windows)


def heterogeneous(events: Sequence[PrivacyEvent], delta: Fraction) -> Bracket | None:
    """Bounds on the optimal total of the pure parts of the events at delta; None when that is too large to compute."""
    plan = _planned(merged(events), delta)
    if plan is None:
        return None
    high, below = _high(plan), plan.convolved(_moved_down)
    low = _first(lambda total: _delta_below(below, total) <= plan.delta * (1 + 4 * _UNIT), high)
    return Bracket(Epsilon(max(0, low - 1)), Epsilon(high))


def heterogeneous_above(events: Sequence[PrivacyEvent], delta: Fraction) -> Epsilon | None:
    """The upper end of `heterogeneous` alone, in half the time."""
    plan = _planned(merged(events), delta)
    return None if plan is None else Epsilon(_high(plan))


def _planned(uses: Sequence[tuple[Epsilon, int]], delta: Fraction) -> _Plan | None:
    if not SMALLEST_DELTA <= delta < 1 or not uses or _sum(uses) > _LARGEST_TOTAL:
        return None
    bits = cut_bits(delta, uses[-1][0]) + len(uses).bit_length()
    if not all(fits(epsilon, count, bits) for epsilon, count in uses):
        return None
    windows = [binomial_window(epsilon, count, bits) for epsilon, count in uses]
    points = sum(len(window.weights) for window in windows)
    if points > LARGEST_POINTS:
        return None
    step = _step(windows, bits, min(_CELLS_AT_MOST, max(_CELLS_AT_LEAST, _WORK // points)))
    return _Plan(windows, step, float(delta))


def _high(plan: _Plan) -> int:
    law = plan.convolved(_split)
    basic = _sum([(window.epsilon, window.count) for window in plan.windows])
    return _first(lambda total: _delta_above(law, total) <= plan.delta * (1 - 4 * _UNIT), basic)


def _sum(uses: Sequence[tuple[Epsilon, int]]) -> int:
    return sum(epsilon.nanonats * count for epsilon, count in uses)


def _step(windows: list[BinomialWindow], bits: int, cells: int) -> int:
    """The step of the grid: exact if that is fine enough to afford, otherwise the range that matters over `cells`."""
    exact = math.gcd(*(2 * window.epsilon.nanonats for window in windows))
    whole = sum(2 * window.epsilon.nanonats * (len(window.weights) - 1) for window in windows)
    # Hoeffding: beyond this range to either side of its mean the sum has less than 2**-bits of its mass.
    squares = sum(window.count * window.epsilon.nanonats**2 for window in windows)
    likely = 2 * math.isqrt(2 * squares * bits)
    return exact if min(whole, likely) <= exact * cells else max(1, min(whole, likely) // cells)


def _added(law: _Law, window: BinomialWindow, atoms: Masses) -> _Law:
    """The law of the loss with one more group."""
    mass = np.zeros(len(law.mass) + len(atoms) - 1)
    nonzero = np.flatnonzero(atoms)
    for place in nonzero:
        mass[place : place + len(law.mass)] += atoms[place] * law.mass
    lost = law.lost + 2 * float(Fraction(window.below + window.beyond, window.total[0]))
    top = law.top + (window.count - 2 * window.first) * window.epsilon.nanonats
    return _Law(top, law.step, mass, lost, law.operations + len(nonzero) + 64)


def _trimmed(law: _Law, cut: float) -> _Law:
    """Without the ends that weigh less than `cut` each."""
    first = int(np.searchsorted(np.cumsum(law.mass), cut))
    last = len(law.mass) - int(np.searchsorted(np.cumsum(law.mass[::-1]), cut))
    if first == 0 and last == len(law.mass):
        return law
    lost = law.lost + 4 * cut
    return _Law(law.top - first * law.step, law.step, law.mass[first:last], lost, law.operations)


def _places(window: BinomialWindow, step: int) -> tuple[NDArray[np.int64], Masses, Masses]:
    """Where the losses of a group fall: the cell above, what is left over of a step, and the probability."""
    lies = np.arange(len(window.weights), dtype=np.int64)
    cells, rest = np.divmod(lies * (2 * window.epsilon.nanonats), step)
    total = window.total[0]  # the window's own mass; it differs from 1 by less than the slack for roundings
    probabilities = np.array([float(Fraction(low, total)) for low, _ in window.weights])
    return cells, rest.astype(np.float64), probabilities


def _split(window: BinomialWindow, step: int) -> Masses:
    """Each atom on the two grid points around it, with its probability under both inputs kept."""
    cells, rest, probability = _places(window, step)
    width, offset = step / NANONATS_PER_NAT, rest / NANONATS_PER_NAT
    # (e^width - e^offset) / (e^width - 1) stays on the larger loss; rounded up, for that reveals more.
    upper = np.where(
        rest == 0, 1.0, np.exp(offset) * np.expm1(width - offset) / np.expm1(width) + 64 * _UNIT
    )
    upper = np.minimum(1.0, upper)
    masses = np.bincount(cells, probability * upper, minlength=int(cells[-1]) + 2)
    lower = np.bincount(cells + 1, probability * (1 - upper), minlength=len(masses))
    return (masses + lower).astype(np.float64)


def _moved_down(window: BinomialWindow, step: int) -> Masses:
    """Each atom on the grid point at or below its loss."""
    cells, rest, probability = _places(window, step)
    return np.bincount(cells + (rest > 0), probability).astype(np.float64)


def _gaps(law: _Law, total: int) -> Masses:
    """Loss minus total, in nats, of the masses whose loss is larger; exact integers until the last division."""
    larger = max(0, min(len(law.mass), -((total - law.top) // law.step)))
    return (law.top - total - law.step * np.arange(larger, dtype=np.int64)) / NANONATS_PER_NAT


def _delta_above(law: _Law, total: int) -> float:
    """At least delta(total)."""
    gaps = _gaps(law, total)
    value = float(np.sum(law.mass[: len(gaps)] * -np.expm1(-gaps)))
    return value * (1 + _relative_error(law)) + law.lost * (1 + 2.0**-20)


def _delta_below(law: _Law, total: int) -> float:
    """At most delta(total)."""
    gaps = _gaps(law, total)
    value = float(np.sum(law.mass[: len(gaps)] * -np.expm1(-gaps)))
    return value * (1 - _relative_error(law))


def _relative_error(law: _Law) -> float:
    return (law.operations + len(law.mass) + 64) * 4 * _UNIT


def _first(holds: Callable[[int], bool], high: int) -> int:
    """The smallest number up to `high` for which a property holds that stays true; `high` if for none below."""
    low = 0
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return high
