"""The people of a cell: made up, or drawn from the rows of a table by public coins.

A synthetic set is made with as many people as the cell has.  Of a table the cell has all rows, in order; or so many of
them, drawn without replacement; or, with `resample`, drawn with replacement.  The coins depend on the keyring, the set,
the number of people and the dimension, so every trust model and every epsilon meets the same people.

Checked in tests/unit/parties/experiments/test_experiment_populations.py.
"""

from __future__ import annotations

import functools

import numpy as np

from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.experiments.datasets import SYNTHETIC, synthetic
from localdp.randomness.keyring import Keyring
from parties.agent.data import load_table
from parties.experiments.bundled import BUNDLED, bundled
from parties.experiments.definition import DataSource

SETS = (*SYNTHETIC, *BUNDLED)


def is_synthetic(data: DataSource) -> bool:
    """Whether there are as many people as one likes."""
    return data.name in SYNTHETIC


@functools.lru_cache(maxsize=2)
def table_of(data: DataSource) -> Records:
    """All rows of a file or of a bundled set."""
    if data.name is not None:
        return bundled(data.name)
    assert data.path is not None and data.schema is not None
    return load_table(data.path, data.schema)[0]


def schema_of(data: DataSource, dimension: int | None) -> Schema:
    """What queries may be about."""
    if is_synthetic(data):
        return population(data, 1, dimension, Keyring(bytes(32))).schema
    return table_of(data).schema


@functools.lru_cache(maxsize=2)
def population(data: DataSource, people: int, dimension: int | None, keyring: Keyring) -> Records:
    """The people of a cell."""
    source = keyring.source("population", data.about, str(people), str(dimension))
    if is_synthetic(data):
        assert data.name is not None
        return synthetic(data.name, people, source, dimension)
    table = table_of(data)
    if data.resample:
        return table.take(source.below(table.people, people).astype(np.int64))
    if people > table.people:
        raise InvalidParameter(
            f"the table has {table.people} rows; resample = true in [data] draws them with replacement"
        )
    if people == table.people:
        return table
    order = np.argsort(source.raw(np.uint64, table.people), kind="stable")
    return table.take(np.sort(order[:people]))
