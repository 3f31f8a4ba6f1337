"""Columns as categories: every value in exactly one bin, the bin that its condition says."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from localdp.algorithms.learners.binning import MOST_BINS, binned
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery

SCHEMA = Schema(
    {
        "bit": BitDomain(),
        "colour": CategoryDomain(("red", "green", "blue")),
        "few": IntegerDomain(1, 3),
        "age": IntegerDomain(0, 99),
        "mass": RealDomain(-1, 1),
    }
)
PEOPLE = 400
RECORDS = Records(
    SCHEMA,
    {
        "bit": np.arange(PEOPLE) % 2,
        "colour": np.arange(PEOPLE) % 3,
        "few": 1 + np.arange(PEOPLE) % 3,
        "age": np.arange(PEOPLE) % 100,
        "mass": np.linspace(-1, 1, PEOPLE),
    },
)


@pytest.mark.parametrize("edges", [None, {"age": [18, 65], "mass": [-0.1, 0.0, 0.3]}])
def test_the_conditions_of_the_bins_are_the_values_of_the_category(
    edges: Mapping[str, Sequence[float]] | None,
) -> None:
    for column in binned(SCHEMA, SCHEMA.names, edges, 5):
        query = VectorQuery.parse(column.text, SCHEMA)
        assert query.length == column.size
        codes = query.evaluate(RECORDS)
        for code, condition in enumerate(column.bins):
            holds = StatisticalQuery.parse(condition, SCHEMA).evaluate(RECORDS)
            assert np.array_equal(codes == code, holds)
        for code, condition in enumerate(column.thresholds):
            holds = StatisticalQuery.parse(condition, SCHEMA).evaluate(RECORDS)
            assert np.array_equal(codes <= code, holds)


def test_numbers_without_edges_get_bins_of_equal_width_from_the_public_bounds() -> None:
    by_name = {column.name: column for column in binned(SCHEMA, SCHEMA.names, None, 4)}
    assert by_name["mass"].thresholds == ("mass <= -0.5", "mass <= 0", "mass <= 0.5")
    assert by_name["few"].thresholds == ("few <= 1", "few <= 2")
    assert by_name["age"].size == 4


def test_stumps_are_one_for_a_bit_one_for_each_edge_and_one_for_each_label() -> None:
    stumps = [column.stumps for column in binned(SCHEMA, ["bit", "few", "colour"], None, 4)]
    assert [len(each) for each in stumps] == [1, 2, 3]
    assert stumps[0] == ("bit",)


@pytest.mark.parametrize(
    ("edges", "bins"),
    [
        ({"age": [2, 1]}, 4),
        ({"age": []}, 4),
        ({"age": [1, 1 + 1e-12]}, 4),
        ({"age": range(MOST_BINS)}, 4),
        ({"bit": [0.5]}, 4),
        ({"colour": [0.5]}, 4),
        ({"height": [1.0]}, 4),
        (None, 1),
        (None, MOST_BINS + 1),
    ],
)
def test_bad_edges_are_refused(edges: Mapping[str, Sequence[float]] | None, bins: int) -> None:
    with pytest.raises(InvalidParameter):
        binned(SCHEMA, SCHEMA.names, edges, bins)
