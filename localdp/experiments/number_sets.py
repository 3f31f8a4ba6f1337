"""Made-up people of numbers: normal, correlated, skewed, with outliers; labels, targets, components and groups to find.

Where the features have several kinds, a set is a pair of a kind and of what is to be found:

| features | what they are | bounds |
|---|---|---|
| isotropic | standard normals | 5 on either side |
| correlated | Z A, A = Q diag(1.5 to 0.3, geometric) Q', Q a random rotation | 5 on either side |
| skewed | exp(Z), which is far from 0 and has a long tail on one side; of components exp(Z A) | 0 to 20 |
| with outliers | standard normals; of 2 % of the people every number is at one bound or the other | 5 on either side |

Targets are made before outliers are: w is a random direction and f = <x - centre, w>.  A label is f > 0, or where it is
rare f > 1.28 spreads.  A number is (sqrt(0.909) f / spread + sqrt(0.091) noise) / 3 within 1 on either side, so R**2 is
0.909 without privacy and outliers.

Checked in tests/unit/experiments/test_datasets.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.experiments.draws import Floats, direction, normals, rotation, table, uniforms, untold
from localdp.randomness.source import RandomSource

Make = Callable[[int, int, RandomSource], Records]

_REACH, _TAIL, _NEAR = RealDomain(-5.0, 5.0), RealDomain(0.0, 20.0), RealDomain(-3.0, 3.0)
_UNIT, _SIDES = RealDomain(0.0, 1.0), RealDomain(-1.0, 1.0)
_SPREADS = (1.5, 0.3)  # the largest and the smallest of correlated features
_OUTLIERS = 0.02  # of the people
_RARE = 1.2816  # spreads beyond which a tenth of normal people are
_EXPLAINED = 0.909  # part of the variance of a target
_TARGET_SCALE = 3.0
_FIRST, _OTHERS = 0.37, 0.07  # variances of components
_GROUPS, _SPREAD = 4, 0.06
_CORNER, _MOVED, _WIDE = 0.5, 0.1, 0.15  # of groups between -1 and 1
_SIZES = (0.7, 0.2, 0.07, 0.03)  # of groups that are not equal


@dataclass(frozen=True, slots=True)
class Features:
    """One kind of features."""

    draw: Callable[[RandomSource, int, int], Floats]
    domain: RealDomain = _REACH
    centre: float = 0.0  # the mean of each

    def drawn(self, source: RandomSource, people: int, dimension: int) -> Floats:
        """A row for each person, within the bounds."""
        rows = self.draw(source, people, dimension)
        return np.clip(rows, float(self.domain.low), float(self.domain.high))


def _isotropic(source: RandomSource, people: int, dimension: int) -> Floats:
    return normals(source, people * dimension).reshape(people, dimension)


def _correlated(source: RandomSource, people: int, dimension: int) -> Floats:
    turned = rotation(source, dimension)
    rows: Floats = (
        _isotropic(source, people, dimension) @ (turned * np.geomspace(*_SPREADS, dimension)) @ turned.T
    )
    return rows


def _skewed(source: RandomSource, people: int, dimension: int) -> Floats:
    return np.exp(_isotropic(source, people, dimension))


def _skewed_together(source: RandomSource, people: int, dimension: int) -> Floats:
    return np.exp(_correlated(source, people, dimension))


ISOTROPIC, CORRELATED = Features(_isotropic), Features(_correlated)
SKEWED, SKEWED_TOGETHER = Features(_skewed, _TAIL, math.exp(0.5)), Features(_skewed_together, _TAIL)


def halfspace(features: Features, *, rare: bool = False, outliers: bool = False) -> Make:
    """The target is on which side of a hyperplane people are."""

    def made(people: int, dimension: int, source: RandomSource) -> Records:
        normal, rows = direction(source, dimension), features.drawn(source, people, dimension)
        form = (rows - features.centre) @ normal
        shown = _with_outliers(rows, features, source) if outliers else rows
        return table(shown, features.domain, form > (_RARE * form.std() if rare else 0.0), BitDomain())

    return made


def line(features: Features, *, outliers: bool = False) -> Make:
    """The target is a linear form of the features, with noise."""

    def made(people: int, dimension: int, source: RandomSource) -> Records:
        normal, rows = direction(source, dimension), features.drawn(source, people, dimension)
        form = (rows - features.centre) @ normal
        spread = float(form.std()) or 1.0  # of a single person
        noise = math.sqrt(1 - _EXPLAINED) * normals(source, people)
        target = (math.sqrt(_EXPLAINED) * form / spread + noise) / _TARGET_SCALE
        shown = _with_outliers(rows, features, source) if outliers else rows
        return table(shown, features.domain, np.clip(target, -1.0, 1.0), _SIDES)

    return made


def _with_outliers(rows: Floats, features: Features, source: RandomSource) -> Floats:
    chosen = uniforms(source, len(rows)) < _OUTLIERS
    high = uniforms(source, rows.size).reshape(rows.shape) < 0.5
    ends = np.where(high, float(features.domain.high), float(features.domain.low))
    return np.where(chosen[:, None], ends, rows)


def components(people: int, dimension: int, source: RandomSource) -> Records:
    """One direction with a variance of 0.37, all others with 0.07."""
    variances = np.array([_FIRST] + [_OTHERS] * (dimension - 1))
    turned = rotation(source, dimension)
    rows = _isotropic(source, people, dimension) * np.sqrt(variances) @ turned.T
    return untold(np.clip(rows, float(_NEAR.low), float(_NEAR.high)), _NEAR)


def features_alone(features: Features) -> Make:
    """Nothing but the features."""
    return lambda people, dimension, source: untold(
        features.drawn(source, people, dimension), features.domain
    )


def drivers(people: int, roads: int, source: RandomSource) -> Records:
    """Costs of their own between 0 and 0.3 for each road, x0, x1, ..., and luck."""
    fine = 10**6
    columns = {f"x{road}": 0.3 * source.below(fine, people) / fine for road in range(roads)}
    columns["luck"] = source.below(fine, people) / fine
    return Records(Schema(dict.fromkeys(columns, RealDomain(0, 1))), columns)


def clusters(people: int, dimension: int, source: RandomSource) -> Records:
    """Four groups in the unit square; beyond two dimensions copies of it."""
    group = source.below(_GROUPS, people).astype(np.int64)
    # Coordinate j of group g is 1/4 or 3/4, by bit j mod 2 of g: four corners in the plane, and copies of it beyond.
    corner = (group[:, None] >> (np.arange(dimension) % 2)) & 1
    rows = 0.25 + 0.5 * corner + _SPREAD * _isotropic(source, people, dimension)
    return untold(np.clip(rows, 0.0, 1.0), _UNIT)


def groups(*, anywhere: bool = False, uneven: bool = False) -> Make:
    """Four groups around random corners of a cube, or anywhere in it; or of uneven sizes, with outliers."""

    def made(people: int, dimension: int, source: RandomSource) -> Records:
        centres = _anywhere(source, dimension) if anywhere else _corners(source, dimension)
        sizes = np.cumsum(_SIZES if uneven else np.full(_GROUPS, 1 / _GROUPS))
        group = np.minimum(np.searchsorted(sizes, uniforms(source, people)), _GROUPS - 1)
        rows = np.clip(centres[group] + _WIDE * _isotropic(source, people, dimension), -1.0, 1.0)
        shown = _with_outliers(rows, _CUBE, source) if uneven else rows
        return untold(shown, _SIDES)

    return made


_CUBE = Features(_isotropic, _SIDES)


def _anywhere(source: RandomSource, dimension: int) -> Floats:
    return 2 * uniforms(source, _GROUPS * dimension).reshape(_GROUPS, dimension) - 1


def _corners(source: RandomSource, dimension: int) -> Floats:
    """Corners that differ from one another, moved a little."""
    while True:
        signs = np.where(_anywhere(source, dimension) < 0, -1.0, 1.0)
        if len(np.unique(signs, axis=0)) == min(_GROUPS, 2**dimension):
            return _CORNER * signs + _MOVED * _anywhere(source, dimension)
