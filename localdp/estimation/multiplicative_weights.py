"""Distributions that fit noisy answers: multiplicative weights (section 4.2, Algorithm 5) and exponentiated gradients.

Definition.  A step against a query f with values in [0, 1] multiplies the mass of every cell x by exp(-rate f(x)) and
normalises; a step the other way, by exp(rate f(x)).  The entropy relative to the true distribution falls by at least
rate * gap - rate**2 / 8 when the answers differ by at least `gap` (Hoeffding's lemma).

`fit_least_squares` looks for the distribution p over words of bits whose parities are nearest to the noisy ones m, with
weights w that add up to 1, and that is not far from the start q:

    minimise  (1/2) sum over S of w_S (parity_S(p) - m_S)**2  +  pull * divergence(p, q)        over the simplex.

With pull = 0 that is the projection of Algorithm 18 (the projected Laplace mechanism) with another way to the same point:
mirror descent by multiplicative steps, whose length grows while the squares keep below their model, and halves where
they do not (Beck and Teboulle 2003).  It stops when the dual gap g.p + pull (divergence(p, q) + log sum q exp(-g / pull)),
for the gradient g of the squares at p, is small: no distribution is better by more than that.

`fit_worst_first` is the book's way: the parity that is furthest off, a multiplicative step, until none is off by more
than its tolerance.

Claim.  Zeros of the start stay zeros: what cannot be is given as a start without it.  Post-processing: no privacy cost.
Checked in tests/unit/estimation/test_multiplicative_weights.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.errors import InvalidParameter
from localdp.estimation.sign_transform import sign_transform
from localdp.randomness.source import Floats, Integers

_LONGEST_STEP = 1e9
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A distribution, and how far the fit went."""

    masses: Floats
    steps: int
    gap: float  # how much better the best fit may be, in the objective; for `fit_worst_first` the largest misfit


def stepped(masses: Floats, exponents: Floats) -> Floats:
    """The masses times exp(exponents), normalised."""
    with np.errstate(divide="ignore"):
        return normalised(np.log(masses) + exponents)


def fit_least_squares(
    start: Floats,
    masks: Integers,
    means: Floats,
    weights: Floats | None = None,
    *,
    pull: float = 0.0,
    most_steps: int = 400,
    least_gap: float = 1e-6,
) -> Fit:
    """The distribution over words of bits whose parities `masks` are nearest to `means`, pulled towards the start."""
    problem = _LeastSquares.checked(start, masks, means, weights, pull)
    state = _State(problem.start, *problem.at(problem.start), 1.0)
    for step in range(most_steps):
        gap = problem.gap(state)
        if gap <= least_gap:
            return Fit(state.masses, step, gap)
        state = _descended(problem, state)
    return Fit(state.masses, most_steps, problem.gap(state))


def fit_worst_first(
    start: Floats, masks: Integers, means: Floats, tolerance: float, *, most_steps: int = 2000
) -> Fit:
    """Multiplicative steps on the parity that is furthest off, until none is off by more than the tolerance."""
    masses = _LeastSquares.checked(start, masks, means, None, 0.0).start
    if not tolerance > 0:
        raise InvalidParameter("a tolerance is positive")
    words = np.arange(len(start))
    for step in range(most_steps):
        gaps = means - sign_transform(masses)[masks]
        worst = int(np.argmax(np.abs(gaps)))
        if abs(gaps[worst]) <= tolerance:
            return Fit(masses, step, float(abs(gaps[worst])))
        signs = 1.0 - 2.0 * (np.bitwise_count(words & masks[worst]) & 1)
        # A sign has values of width 2: the entropy falls by rate gap - rate**2 / 2, most for a rate of the gap.
        masses = stepped(masses, gaps[worst] * signs)
    return Fit(masses, most_steps, float(np.abs(means - sign_transform(masses)[masks]).max()))


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    masses: Floats
    squares: float
    gradient: Floats
    length: float  # of the next step


@dataclass(frozen=True, slots=True, eq=False)
class _LeastSquares:
    start: Floats
    masks: Integers
    means: Floats
    weights: Floats  # add up to 1: then the squares are 1-smooth, and a step of length 1 never fails
    pull: float

    @classmethod
    def checked(
        cls, start: Floats, masks: Integers, means: Floats, weights: Floats | None, pull: float
    ) -> _LeastSquares:
        cells, share = len(start), np.ones(len(means)) if weights is None else weights
        if cells & (cells - 1) or not start.min() >= 0 or not 0 < start.sum() < np.inf or not pull >= 0:
            raise InvalidParameter(
                "a start is a distribution over all words of some bits, and a pull not negative"
            )
        if not len(masks) == len(means) == len(share) or not len(masks) or not share.min() > 0:
            raise InvalidParameter("every parity has a mean and a positive weight, and there is one")
        if masks.min() < 0 or masks.max() >= cells or len(np.unique(masks)) < len(masks):
            raise InvalidParameter("parities are different masks of the bits")
        if not np.isfinite(means).all():
            raise InvalidParameter("the means of parities are finite numbers")
        return cls(start / start.sum(), masks.astype(np.int64), means, share / share.sum(), pull)

    def at(self, masses: Floats) -> tuple[float, Floats]:
        """The squares and their gradient."""
        misfits = sign_transform(masses)[self.masks] - self.means
        spread = np.zeros(len(masses))
        spread[self.masks] = self.weights * misfits
        return float(self.weights @ misfits**2) / 2, sign_transform(spread)

    def gap(self, state: _State) -> float:
        """How much better than this the best distribution may be."""
        inside = self.start > 0
        lead = float(state.gradient @ state.masses)
        least = float(state.gradient[inside].min())
        if not self.pull:
            return lead - least
        rest = self.start[inside] @ np.exp((least - state.gradient[inside]) / self.pull)
        return lead - least + self.pull * (divergence(state.masses, self.start) + float(np.log(rest)))

    def step(self, state: _State, length: float) -> Floats:
        """The minimiser of the model of this length."""
        share = 1 / (1 + length * self.pull)
        with np.errstate(divide="ignore"):
            logarithms = np.log(state.masses) * share
            pulled = (
                np.log(self.start) * (1 - share) if self.pull else np.where(self.start > 0, 0.0, -np.inf)
            )
        return normalised(logarithms + pulled - length * share * state.gradient)


def divergence(masses: Floats, start: Floats) -> float:
    """The entropy of a distribution relative to another: sum of p log(p / q)."""
    inside = masses > 0
    return float(masses[inside] @ np.log(masses[inside] / start[inside]))


def normalised(logarithms: Floats) -> Floats:
    """The distribution with these logarithms, up to a constant."""
    masses = np.exp(logarithms - logarithms.max())
    result: Floats = masses / masses.sum()
    return result


def _descended(problem: _LeastSquares, state: _State) -> _State:
    """One step that keeps the squares below their model: value + g.(p' - p) + divergence(p', p) / length."""
    length = state.length
    while True:
        tried = problem.step(state, length)
        squares, gradient = problem.at(tried)
        model = float(state.gradient @ (tried - state.masses)) + divergence(tried, state.masses) / length
        if squares <= state.squares + model + _ROUNDING or length <= 1.0:
            return _State(tried, squares, gradient, min(2 * length, _LONGEST_STEP))
        length /= 2
