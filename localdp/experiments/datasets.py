"""Made-up people by name, each set with something known to find: nobody's records, so that everything may be shown.

A set is made from a source of coins and a number of people; where it has a dimension, of that many features x0, x1, ...
The label, where there is one, is the column `target`.

| set | features | what is there to find |
|---|---|---|
| made-up | smoker, age, region, bmi | three in ten smoke |
| bits | fair bits | every conjunction of k literals has frequency 2**-k |
| conjunction | fair bits | the target is x0 and x1 and x2 |
| parity | fair bits | the target is the parity of every second bit, from x0 |
| gaussian-halfspace | standard normals, cut off at 5 | the target is the side of a hyperplane through 0 |
| gaussian-line | standard normals, cut off at 5 | the target is a linear form of length 1, with noise of deviation 1/2 |
| clusters | points of the unit square (or cube, ...) | four groups of deviation 0.06 around fixed centres |

Checked in tests/unit/experiments/test_datasets.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localdp.domains import BitDomain, Domain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.experiments.population import made_up_people
from localdp.randomness.source import RandomSource

MOST_FEATURES = 256
TARGET = "target"
_REACH = 5.0  # standard deviations at which a normal feature is cut off
_LITERALS = 3
_NOISE = 0.5
_SPREAD = 0.06
_GROUPS = 4

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SyntheticSet:
    """A recipe for made-up people."""

    about: str
    make: Callable[[int, int, RandomSource], Records]  # of people and dimension
    dimension: int | None = None  # unless another one is asked for; None: the set has none
    fewest: int = 1  # features that it needs


def synthetic(name: str, people: int, source: RandomSource, dimension: int | None = None) -> Records:
    """The named set, with so many people."""
    made = SYNTHETIC.get(name)
    if made is None:
        raise InvalidParameter(f"no set is called {name!s:.40}; there are {', '.join(SYNTHETIC)}")
    if people < 1:
        raise InvalidParameter("a set has at least one person")
    if made.dimension is None:
        if dimension is not None:
            raise InvalidParameter(f"the set {name} has no dimension")
        return made.make(people, 0, source)
    chosen = made.dimension if dimension is None else dimension
    if not made.fewest <= chosen <= MOST_FEATURES:
        raise InvalidParameter(f"the dimension of {name} lies between {made.fewest} and {MOST_FEATURES}")
    return made.make(people, chosen, source)


def fair_bits(source: RandomSource, people: int, dimension: int) -> Bits:
    """A table of fair coins, eight from a byte."""
    count = people * dimension
    bits = np.unpackbits(source.raw(np.uint8, -(-count // 8)), count=count).view(np.bool_)
    return bits.reshape(people, dimension)


def normals(source: RandomSource, count: int) -> Floats:
    """Standard normals, by Box and Muller (1958): data to be measured, never noise that hides anybody."""
    pairs = -(-count // 2)
    words = source.raw(np.uint64, 2 * pairs).astype(np.float64)
    uniform = (words + 0.5) / 2.0**64
    radius, angle = np.sqrt(-2 * np.log(uniform[:pairs])), 2 * math.pi * uniform[pairs:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]


def _table(features: NDArray[np.generic], domain: Domain, target: object, label: Domain) -> Records:
    columns: dict[str, object] = {f"x{place}": features[:, place] for place in range(features.shape[1])}
    schema = Schema({**dict.fromkeys(columns, domain), TARGET: label})
    return Records(schema, {**columns, TARGET: target})


def _bits(people: int, dimension: int, source: RandomSource) -> Records:
    rows = fair_bits(source, people, dimension)
    columns = {f"x{place}": rows[:, place] for place in range(dimension)}
    return Records(Schema(dict.fromkeys(columns, BitDomain())), columns)


def _conjunction(people: int, dimension: int, source: RandomSource) -> Records:
    rows = fair_bits(source, people, dimension)
    return _table(rows, BitDomain(), rows[:, :_LITERALS].all(axis=1), BitDomain())


def _parity(people: int, dimension: int, source: RandomSource) -> Records:
    rows = fair_bits(source, people, dimension)
    return _table(rows, BitDomain(), np.bitwise_xor.reduce(rows[:, ::2], axis=1), BitDomain())


def _direction(source: RandomSource, dimension: int) -> Floats:
    drawn = normals(source, dimension)
    direction: Floats = drawn / np.linalg.norm(drawn)
    return direction


def _gaussians(people: int, dimension: int, source: RandomSource) -> Floats:
    return np.clip(normals(source, people * dimension), -_REACH, _REACH).reshape(people, dimension)


def _halfspace(people: int, dimension: int, source: RandomSource) -> Records:
    direction, rows = _direction(source, dimension), _gaussians(people, dimension, source)
    return _table(rows, RealDomain(-_REACH, _REACH), rows @ direction > 0, BitDomain())


def _line(people: int, dimension: int, source: RandomSource) -> Records:
    direction, rows = _direction(source, dimension), _gaussians(people, dimension, source)
    values = rows @ direction + _NOISE * normals(source, people)
    reach = RealDomain(-_REACH, _REACH)
    return _table(rows, reach, np.clip(values, -_REACH, _REACH), reach)


def _clusters(people: int, dimension: int, source: RandomSource) -> Records:
    group = source.below(_GROUPS, people).astype(np.int64)
    # Coordinate j of group g is 1/4 or 3/4, by bit j mod 2 of g: four corners in the plane, and copies of it beyond.
    corner = (group[:, None] >> (np.arange(dimension) % 2)) & 1
    rows = 0.25 + 0.5 * corner + _SPREAD * normals(source, people * dimension).reshape(people, dimension)
    columns = {f"x{place}": np.clip(rows[:, place], 0.0, 1.0) for place in range(dimension)}
    return Records(Schema(dict.fromkeys(columns, RealDomain(0.0, 1.0))), columns)


SYNTHETIC: dict[str, SyntheticSet] = {
    "made-up": SyntheticSet(
        "smoker, age, region and bmi of made-up people",
        lambda people, _, source: made_up_people(people, source),
    ),
    "bits": SyntheticSet("fair bits", _bits, 8),
    "conjunction": SyntheticSet("fair bits; the target is x0 and x1 and x2", _conjunction, 10, _LITERALS),
    "parity": SyntheticSet("fair bits; the target is a parity", _parity, 8),
    "gaussian-halfspace": SyntheticSet("normals; the target is a side of a hyperplane", _halfspace, 10),
    "gaussian-line": SyntheticSet("normals; the target is a linear form with noise", _line, 5),
    "clusters": SyntheticSet("four groups of points in the unit square", _clusters, 2),
}
