"""Made-up people with every kind of column, for tests of planned and measured errors."""

import numpy as np

from localdp.domains import BitDomain, CategoryDomain, RealDomain, Records, Schema

KINDS = tuple(f"k{number}" for number in range(8))
SCHEMA = Schema(
    {
        "a": BitDomain(),
        "b": BitDomain(),
        "c": BitDomain(),
        "kind": CategoryDomain(KINDS),
        "x": RealDomain(-1.0, 1.0),
        "z": RealDomain(-1.0, 1.0),
        "w": RealDomain(-1.0, 1.0),
    }
)


def people(count: int) -> Records:
    """The same people every time: bits of mean 0.4, all kinds alike, numbers uniform."""
    generator = np.random.default_rng(17)
    bits = {name: generator.random(count) < 0.4 for name in "abc"}
    reals = {name: generator.uniform(-1, 1, count) for name in "xzw"}
    return Records(SCHEMA, {**bits, "kind": generator.integers(0, 8, count), **reals})
