"""Where people are and how far apart: centre and scale of the features, asked of a part of the people.

Bounds say what may be, and are often far wider than what is.  So before anything else is learned, a learner without a
radius asks, with u the features in units of their bounds, |u| <= 1:

1. the mean of u, a vector;
2. how large the projections z = <s, u - mean> on public vectors s of random signs are, in powers of two.  On average
   over s, z**2 is |u - mean|**2; the median of |z|, over the 0.67449 that it is for a normal z, tells the scale up to a
   factor that learners bear;
3. where noise is small and features have units of their own, how large each of them is;
4. the mean again, in units of that scale;
5. the mean square of such projections around it: a median says little of people who stand in a few places.

The first mean counts only if it is more than noise: otherwise the scale would be that of the noise, where bounds are wide.

A learned scale is as public as any answer.  What follows does not depend on it finely: descents (`descent.py`) find the
same within a factor of two.  Means are drawn towards the middle of the bounds by as much as noise explains
(`noisy_moments`).

Checked in tests/unit/algorithms/learners/test_learned_scale.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import shake_128

import numpy as np

from localdp.algorithms.learners.noisy_moments import is_more_than_noise, shortened
from localdp.algorithms.learners.scaling import Scaling, called
from localdp.algorithms.texts import decimal
from localdp.errors import TooFewReports
from localdp.estimation.consistency import norm_sub
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomness.source import Floats

_PERCENT = 9  # of the rounds, and so of the people
LEAST_ROUNDS = 5  # one for each step
_LEAST_WITH_SQUARES = 4  # with fewer there are no mean squares
_SQUARED = 2.0  # size of a projection that is not brought back, in learned ones
_BELIEVED = (0.25, 1.6)  # of the size found by squares, in that of the median
_CLEAR = 0.1  # error of a table of sizes, root of the sum of squares
_MOST_APART = 64  # features
_MEANS, _SIZES = 4, 2  # the first step takes a fourth of them, the second a half
_BINS = 14
_MOST_FEATURES = 64  # of one projection
_NORMAL_MEDIAN = 0.6744897501960817
MARGIN = 1.2  # of the radius over the root of the mean square
_LARGEST_RESIDUAL = 2.0  # in units of the target's spread
_LEAST = 2.0 ** -(_BINS - 2)


def rounds_of_scale(rounds: int) -> int:
    """How many of all rounds `learned` takes."""
    return max(LEAST_ROUNDS, rounds * _PERCENT // 100)


def learned(
    oracle: StatisticalQueryOracle, scaling: Scaling, rounds: int, *, apart: bool = False
) -> Scaling:
    """The scaling around where people are, at the scale of how far apart they are, from so many rounds, at least 3.

    With `apart` each feature gets a scale of its own, where noise is small enough to tell.
    """
    first, second = max(1, rounds // _MEANS), max(1, rounds // _SIZES)
    squares = second // 2 if rounds >= _LEAST_WITH_SQUARES else 0
    centred = scaling.moved(_mean(oracle, scaling, first, clear=True))
    scaled = resized(oracle, centred, second - squares)
    left = rounds - first - second
    if apart and left > 1 and tells_features_apart(oracle, scaled):
        scaled, left = _each_resized(oracle, scaled), left - 1
    moved = scaled.moved(_mean(oracle, scaled, left))
    return _resized_by_squares(oracle, moved, squares) if squares else moved


def resized(oracle: StatisticalQueryOracle, scaling: Scaling, rounds: int) -> Scaling:
    """The same centres, at the scale of how far people are from them, from so many rounds."""
    return scaling.stretched(MARGIN * _size(oracle, scaling, rounds))


def _resized_by_squares(oracle: StatisticalQueryOracle, scaling: Scaling, rounds: int) -> Scaling:
    """The same from the mean square of projections: where people stand in a few places, their median says little."""
    queries = [f"moments(ball({projection(scaling, number, 1 / _SQUARED)}))" for number in range(rounds)]
    squares = [float(oracle.answer_vectors([query])[0].values[0]) for query in queries]
    size = _SQUARED * math.sqrt(max(float(np.mean(squares)), 0.0))
    return scaling.stretched(MARGIN * float(np.clip(size, *_BELIEVED)))


def tells_features_apart(oracle: StatisticalQueryOracle, scaling: Scaling) -> bool:
    """Whether one round says how large each feature is."""
    queries = [sizes_query(form) for form in scaling.forms()]
    if len(queries) > _MOST_APART:
        return False
    try:
        return oracle.plan(queries).vector_error <= _CLEAR * math.sqrt(len(queries))
    except TooFewReports:  # to be mixed
        return False


def _each_resized(oracle: StatisticalQueryOracle, scaling: Scaling) -> Scaling:
    """Features of the same size; one that does not differ between people stays as it is."""
    size = len(scaling.names)
    sizes = learned_sizes(oracle, scaling, np.eye(size), 1) * math.sqrt(size) * MARGIN
    factors = np.where(sizes > 2 * _LEAST * MARGIN * math.sqrt(size) / _NORMAL_MEDIAN, sizes, 1.0)
    return Scaling.around(scaling.names, scaling.centres, scaling.widths * factors)


def _mean(oracle: StatisticalQueryOracle, scaling: Scaling, rounds: int, *, clear: bool = False) -> Floats:
    """The mean of the features in these units, after so many rounds; if `clear`, none unless it is more than noise."""
    query = called("ball", scaling.forms())
    answers = [oracle.answer_vectors([query])[0] for _ in range(rounds)]
    variance = float(np.mean([answer.variance_empirical.mean() for answer in answers])) / rounds
    mean: Floats = np.mean([answer.values for answer in answers], axis=0)
    if clear and not is_more_than_noise(mean, variance):
        return np.zeros(len(mean))
    return shortened(mean, math.sqrt(variance))


def _size(oracle: StatisticalQueryOracle, scaling: Scaling, rounds: int) -> float:
    """About the root of the mean square of the features in these units, after so many rounds."""
    asked = [projection_query(scaling, number) for number in range(rounds)]
    shares = np.mean([oracle.answer_vectors([query])[0].values for query in asked], axis=0)
    return median_of(shares) / _NORMAL_MEDIAN


def learned_sizes(oracle: StatisticalQueryOracle, scaling: Scaling, axes: Floats, rounds: int) -> Floats:
    """About the root of the mean square along each of these axes, from so many rounds."""
    queries = [sizes_query(" + ".join(scaling.terms(axis))) for axis in axes]
    answers = [oracle.answer_vectors(queries) for _ in range(rounds)]
    shares = np.mean([[answer.values for answer in several] for several in answers], axis=0)
    return np.array([median_of(one) / _NORMAL_MEDIAN for one in shares])


def learned_target(oracle: StatisticalQueryOracle, target: Scaling, rounds: int) -> Scaling:
    """A single number around its mean, in units of its spread, from so many rounds for each."""
    middle = target.moved(np.array([_scalar_mean(oracle, target.forms()[0], rounds, 1.0)[0]]))
    return middle.stretched(float(learned_sizes(oracle, middle, np.ones((1, 1)), rounds)[0]))


def learned_spread(oracle: StatisticalQueryOracle, form: str) -> float:
    """About the root of the mean square of a number around 0, from one round."""
    return median_of(oracle.answer_vectors([sizes_query(form)])[0].values) / _NORMAL_MEDIAN


def mean_residual(oracle: StatisticalQueryOracle, residual: str, rounds: int) -> float:
    """The mean of a residual of a target of spread 1, if it is more than noise explains, and else 0."""
    mean, error = _scalar_mean(oracle, residual, rounds, _LARGEST_RESIDUAL)
    return mean if abs(mean) > 2 * error else 0.0


def _scalar_mean(
    oracle: StatisticalQueryOracle, form: str, rounds: int, reach: float
) -> tuple[float, float]:
    """The mean of a number, clipped at this distance from 0, and its standard error."""
    query = f"clip(({form})/{decimal(2 * reach)} + 0.5)"
    answers = [oracle.answer([query])[0] for _ in range(rounds)]
    mean = float(np.mean([answer.value for answer in answers]))
    error = math.sqrt(float(np.mean([answer.variance_empirical for answer in answers])) / rounds)
    return 2 * reach * (mean - 0.5), 2 * reach * error


def projection_query(scaling: Scaling, number: int) -> str:
    """In which power of two the size of a projection on random signs is."""
    return sizes_query(projection(scaling, number))


def projection(scaling: Scaling, number: int, factor: float = 1.0) -> str:
    """On random signs that are public, times a factor: its mean square over all signs is that of the length."""
    size = len(scaling.names)
    words = np.frombuffer(shake_128(b"projection %d" % number).digest(2 * size), np.uint16)
    used = np.sort(np.argsort(words, kind="stable")[:_MOST_FEATURES])
    signs = np.zeros(size)
    signs[used] = (1.0 - 2.0 * (words[used] & 1)) * math.sqrt(size / len(used))
    terms = scaling.terms(factor * signs)
    return " + ".join(terms[place] for place in used)


def sizes_query(form: str) -> str:
    """In which power of two a form is, regardless of its sign."""
    ends = [decimal(end) for end in _ends()]
    return called("which", [f"{form} <= {end} and {form} >= -{end}" for end in ends])


def median_of(shares: Floats) -> float:
    """The median of a size, from the shares of its powers of two, on a line between two of them."""
    ends, below = _ends(), np.cumsum(norm_sub(shares))
    place = int(np.argmax(below >= 0.5))
    if place == 0:
        return ends[0]
    before = float(below[place - 1])
    part = (0.5 - before) / max(float(below[place]) - before, 1e-12)
    return float(ends[place - 1] * 2 ** min(part, 1.0))


def _ends() -> Sequence[float]:
    return [_LEAST * 2.0**place for place in range(_BINS - 1)]
