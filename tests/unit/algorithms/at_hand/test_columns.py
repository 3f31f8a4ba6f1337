"""X as columns: what is read, and in which words the rest is refused."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from localdp.algorithms.at_hand.columns import read_columns, require_same_names
from localdp.errors import InvalidParameter

COLUMNS: dict[str, Any] = {"age": [30.5, 70.0], "smoker": [True, False], "visits": [1, 2]}


@pytest.mark.parametrize(
    "table",
    [COLUMNS, pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), pa.table(COLUMNS)],
    ids=["mapping", "pandas", "polars", "arrow"],
)
def test_columns_of_a_table_with_names_keep_their_names_and_types(table: Any) -> None:
    read = read_columns(table)
    assert read.names == ("age", "smoker", "visits")
    assert [column.dtype.kind for column in read.columns] == ["f", "b", "i"]
    assert read.people == 2


def test_an_array_and_lists_are_read_by_place() -> None:
    for table in (np.array([[1.0, 2.0], [3.0, 4.0]]), [[1.0, 2.0], [3.0, 4.0]]):
        read = read_columns(table)
        assert read.names is None
        assert [column.tolist() for column in read.columns] == [[1.0, 3.0], [2.0, 4.0]]


@pytest.mark.parametrize(
    "wards",
    [
        pd.Series(["b", "a"], dtype=pd.CategoricalDtype(["a", "b", "c"])),
        pl.Series(["b", "a"], dtype=pl.Enum(["a", "b", "c"])),
    ],
    ids=["pandas", "polars"],
)
def test_a_category_declares_its_labels_whether_they_occur_or_not(wards: Any) -> None:
    read = read_columns({"ward": wards, "age": [1.0, 2.0]})
    assert read.labels == (("a", "b", "c"), None)
    assert read.columns[0].tolist() == ["b", "a"]


def test_labels_that_are_numbers_are_labels_and_not_places_among_them() -> None:
    read = read_columns(pd.DataFrame({"ward": pd.Categorical([0, 2], categories=[2, 0])}))
    assert read.labels == (("2", "0"),)
    assert read.columns[0].tolist() == ["0", "2"]


def test_objects_are_numbers_or_truth_values_if_they_can_be() -> None:
    read = read_columns(pd.DataFrame({"bit": [True, False], "number": [1, 2.5]}, dtype=object))
    assert [column.dtype.kind for column in read.columns] == ["b", "f"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (np.ones(3), "Expected 2D array"),
        (np.ones((2, 2, 2)), "Expected 2D array"),
        (np.ones((0, 2)), "0 sample"),
        (np.ones((2, 0)), "0 feature"),
        ({}, "0 feature"),
        (np.array([[np.nan]]), "NaN"),
        (np.array([[np.inf]]), "infinity"),
        (np.array([[1j]]), "Complex"),
        (csr_array(np.eye(2)), "sparse"),
        (np.array([["a"]]), "should hold numbers"),
        (pd.DataFrame({"ward": ["north"]}), "'ward'.*category"),
        (np.array([[{}]]), "must be a string"),
        ({"x": [1.0], "y": [1.0, 2.0]}, "different lengths"),
        (pd.DataFrame([[1.0, 2.0]], columns=["x", "x"]), "one value for each person"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(table: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        read_columns(table)


def test_no_refusal_has_a_value_in_it() -> None:
    with pytest.raises(InvalidParameter) as refused:
        read_columns(pd.DataFrame({"ward": ["secret"]}))
    assert "secret" not in str(refused.value)


def test_names_must_be_those_of_the_fit_in_their_order() -> None:
    require_same_names(["a", "b"], ["a", "b"])
    for names, words in (
        (["b", "a"], "same order"),
        (["a"], "missing:\n- b"),
        (["a", "b", "c"], "unseen.*\n- c"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            require_same_names(names, ["a", "b"])
