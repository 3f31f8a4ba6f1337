"""How predictions read features: by name or by place, and never silently wrong."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from localdp.algorithms.tables import columns_for_prediction, numbers_for_prediction, records_for_prediction
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, LocalDpError

SCHEMA = Schema(
    {
        "bit": BitDomain(),
        "colour": CategoryDomain(("red", "green", "blue")),
        "age": IntegerDomain(0, 99),
        "mass": RealDomain(0, 1),
    }
)
COLUMNS = {
    "bit": np.array([True, False]),
    "colour": np.array(["blue", "red"]),
    "age": np.array([7, 120]),
    "mass": np.array([0.5, -3.0]),
}
EXPECTED = Records(SCHEMA, {"bit": [1, 0], "colour": [2, 0], "age": [7, 99], "mass": [0.5, 0.0]})


@pytest.mark.parametrize(
    "table",
    [COLUMNS, pd.DataFrame(COLUMNS), {name: list(column) for name, column in COLUMNS.items()}],
    ids=["mapping", "data frame", "lists"],
)
def test_named_columns_become_records_within_the_bounds(table: Any) -> None:
    assert records_for_prediction(table, SCHEMA, SCHEMA.names).fingerprint() == EXPECTED.fingerprint()


def test_records_are_read_by_name() -> None:
    again = records_for_prediction(EXPECTED, SCHEMA, SCHEMA.names)
    assert again.fingerprint() == EXPECTED.fingerprint()


def test_an_array_is_read_by_place_and_may_hold_whole_numbers_as_floats() -> None:
    table = np.array([[1, 2, 7, 0.5], [0, 0, 99, 0.0]])
    assert records_for_prediction(table, SCHEMA, SCHEMA.names).fingerprint() == EXPECTED.fingerprint()


def test_the_order_of_names_is_that_of_the_learner_and_further_columns_are_ignored() -> None:
    columns = columns_for_prediction(COLUMNS, ["mass", "bit"])
    assert list(columns) == ["mass", "bit"]
    assert numbers_for_prediction(COLUMNS, ["mass", "bit"]).tolist() == [[0.5, 1.0], [-3.0, 0.0]]


@pytest.mark.parametrize(
    "table",
    [
        np.zeros(4),
        np.zeros((2, 3)),
        {"bit": [1], "colour": ["red"], "age": [1]},
        {**COLUMNS, "age": np.array([7])},
        {**COLUMNS, "bit": np.array([0, 2])},
        {**COLUMNS, "age": np.array([0.5, 1.0])},
        {**COLUMNS, "mass": np.array([0.5, np.nan])},
        {**COLUMNS, "mass": np.array(["a", "b"])},
        {**COLUMNS, "mass": np.zeros((2, 2))},
        {**COLUMNS, "colour": np.array(["blue", "pink"])},
    ],
    ids=["flat", "narrow", "missing", "ragged", "no bit", "no whole", "nan", "text", "square", "label"],
)
def test_what_is_not_a_table_of_the_features_is_refused(table: Any) -> None:
    with pytest.raises(LocalDpError):
        records_for_prediction(table, SCHEMA, SCHEMA.names)


def test_a_refusal_names_the_column_and_no_value() -> None:
    with pytest.raises(InvalidParameter, match="'age'") as refused:
        records_for_prediction({**COLUMNS, "age": np.array([41.25, 1.0])}, SCHEMA, SCHEMA.names)
    assert "41" not in str(refused.value)
