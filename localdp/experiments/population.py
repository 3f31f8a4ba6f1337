"""A made-up population, for demonstrations: nobody's records, so that everything about them may be shown."""

import numpy as np

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.source import RandomSource

MOST_PEOPLE = 10**8  # that fit into this machine
REGIONS = ("north", "east", "south", "west")

SCHEMA = Schema(
    {
        "smoker": BitDomain(),
        "age": IntegerDomain(0, 120),
        "region": CategoryDomain(REGIONS),
        "bmi": RealDomain(10.0, 60.0),
    }
)


def made_up_people(people: int, source: RandomSource | None = None) -> Records:
    """Three in ten smoke; ages from 18 to 89; four regions; body-mass index between 18 and 40."""
    source = source or KeystreamSource.from_system()
    if people < 1:
        raise InvalidParameter("a population has at least one person")
    return Records.from_columns(
        SCHEMA,
        {
            "smoker": source.below(10, people) < 3,
            "age": 18 + source.below(72, people).astype(np.int64),
            "region": source.below(len(REGIONS), people).astype(np.int64),
            "bmi": 18.0 + source.below(2201, people).astype(np.float64) / 100.0,
        },
    )
