"""Tables of a level, over rounds that asked about different features of different numbers of people."""

import numpy as np
import pytest

from localdp.algorithms.learners.binning import binned
from localdp.algorithms.learners.level_tables import LevelTables
from localdp.domains import BitDomain, Schema
from localdp.oracles.definition import VectorAnswer

SCHEMA = Schema({"x": BitDomain(), "z": BitDomain()})
FEATURES = binned(SCHEMA, SCHEMA.names, None, 4)


def answer(value: float, reports: int, variance: float, cells: int = 4) -> VectorAnswer:
    each = np.full(cells, variance)
    return VectorAnswer("q", np.full(cells, value), 9, reports, each, each)


def test_rounds_weigh_as_much_as_people_answered_them() -> None:
    tables = LevelTables(FEATURES, 1, 2)
    tables.add([0, 1], [answer(0.2, 10, 0.4), answer(0.5, 10, 0.4)])
    tables.add([0], [answer(0.4, 30, 0.1)])
    first, second = tables.of_leaf(0)
    assert first.tolist() == [[pytest.approx(0.35)] * 2] * 2
    assert second.tolist() == [[0.5] * 2] * 2
    assert tables.noise == [pytest.approx((100 * 0.4 + 900 * 0.1) / 1600), pytest.approx(0.4)]


def test_people_in_none_of_the_leaves_are_left_out() -> None:
    tables = LevelTables(FEATURES, 1, 2)
    values = np.arange(8.0)
    tables.add([1], [VectorAnswer("q", values, 9, 9, values, values)])
    assert tables.of_leaf(0)[1].tolist() == [[0.0, 1.0], [2.0, 3.0]]
