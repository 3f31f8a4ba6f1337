"""What made-up people are drawn with: normals, coins, directions and rotations.  Data to be measured, never noise.

Checked in tests/unit/experiments/test_datasets.py.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from localdp.domains import Domain, Records, Schema
from localdp.randomness.source import RandomSource

TARGET = "target"

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]


def uniforms(source: RandomSource, count: int) -> Floats:
    """Numbers between 0 and 1, both left out."""
    uniform: Floats = (source.raw(np.uint64, count).astype(np.float64) + 0.5) / 2.0**64
    return uniform


def normals(source: RandomSource, count: int) -> Floats:
    """Standard normals, by Box and Muller (1958)."""
    pairs = -(-count // 2)
    uniform = uniforms(source, 2 * pairs)
    radius, angle = np.sqrt(-2 * np.log(uniform[:pairs])), 2 * math.pi * uniform[pairs:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]


def bernoulli(source: RandomSource, chances: Floats) -> Bits:
    """A coin for each of these chances."""
    return uniforms(source, chances.size).reshape(chances.shape) < chances


def direction(source: RandomSource, dimension: int) -> Floats:
    """A uniform vector of length 1."""
    drawn = normals(source, dimension)
    unit: Floats = drawn / np.linalg.norm(drawn)
    return unit


def rotation(source: RandomSource, dimension: int) -> Floats:
    """Orthonormal columns, turned at random."""
    turned, _ = np.linalg.qr(normals(source, dimension * dimension).reshape(dimension, dimension))
    return turned


def table(features: NDArray[np.generic], domain: Domain, target: object, label: Domain) -> Records:
    """Columns x0, x1, ... and a target."""
    columns: dict[str, object] = {f"x{place}": features[:, place] for place in range(features.shape[1])}
    schema = Schema({**dict.fromkeys(columns, domain), TARGET: label})
    return Records(schema, {**columns, TARGET: target})


def untold(features: NDArray[np.generic], domain: Domain) -> Records:
    """Columns x0, x1, ... without a target."""
    columns = {f"x{place}": features[:, place] for place in range(features.shape[1])}
    return Records(Schema(dict.fromkeys(columns, domain)), columns)
