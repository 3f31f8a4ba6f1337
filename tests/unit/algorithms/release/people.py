"""Small tables for the tests of releases."""

import numpy as np
from numpy.typing import NDArray

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema

MIXED = Schema(
    {
        "smoker": BitDomain(),
        "region": CategoryDomain(("north", 'so"uth', "east")),
        "children": IntegerDomain(-1, 3),
        "married": BitDomain(),
        "income": RealDomain(0.0, 10.0),
    }
)
FINITE = ("smoker", "region", "children", "married")


def mixed_people(people: int, seed: int = 1) -> Records:
    """Correlated values of every kind."""
    generator = np.random.default_rng(seed)
    married = generator.random(people) < 0.6
    return Records(
        MIXED,
        {
            "smoker": generator.random(people) < np.where(married, 0.2, 0.5),
            "region": generator.choice(3, people, p=[0.5, 0.2, 0.3]),
            "children": np.where(married, generator.integers(-1, 4, people), -1),
            "married": married,
            "income": generator.beta(2, 5, people) * 10,
        },
    )


def bit_people(bits: int, people: int, seed: int = 1) -> Records:
    """Bits that have one cause in common."""
    generator = np.random.default_rng(seed)
    cause = generator.normal(size=(people, 1))
    noise = generator.normal(size=(people, bits))
    table = np.linspace(-1.2, 0.8, bits) + np.linspace(0.2, 1.5, bits) * cause + noise > 0
    schema = Schema({f"b{place}": BitDomain() for place in range(bits)})
    return Records(schema, {f"b{place}": table[:, place] for place in range(bits)})


def table_of(records: Records, *names: str) -> NDArray[np.float64]:
    """The true marginal, counted one person at a time by numpy."""
    codes, sizes = [], []
    for name in names:
        domain, column = records.schema[name], records.column(name).astype(np.int64)
        match domain:
            case IntegerDomain(low, high):
                codes.append(column - low)
                sizes.append(high - low + 1)
            case CategoryDomain(labels):
                codes.append(column)
                sizes.append(len(labels))
            case _:
                codes.append(column)
                sizes.append(2)
    table = np.zeros(sizes)
    np.add.at(table, tuple(codes), 1 / records.people)
    return table
