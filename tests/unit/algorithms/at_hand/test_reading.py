"""Arrays as records: kinds of columns by public rules, names that queries can write, and the same rules to predict."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from localdp.algorithms.at_hand.reading import Rules, read_arrays, records_of_arrays
from localdp.algorithms.scikit_learn import Nature
from localdp.domains import BitDomain, CategoryDomain, RealDomain
from localdp.errors import InvalidParameter

CLASSIFIER = Rules("Tree", bounds=(-1, 1), target="target", nature=Nature("classifier"))
X = np.array([[0.5, -1.0], [1.0, 0.25]])


def test_features_become_columns_and_y_the_target() -> None:
    _, records = read_arrays(X, [True, False], CLASSIFIER)
    assert records.schema.names == ("x0", "x1", "target")
    assert records.schema["x0"] == RealDomain(-1, 1)
    assert records.schema["target"] == BitDomain()
    assert records.column("x1").tolist() == [-1.0, 0.25]


@pytest.mark.parametrize("values", [[0, 1, 1], [0, 1, -1]])
def test_the_kind_of_a_column_does_not_depend_on_its_values(values: list[int]) -> None:
    records = records_of_arrays(np.array(values)[:, None], bounds=(-1, 1))
    assert records.schema["x0"] == RealDomain(-1, 1)


def test_a_frame_has_bits_numbers_and_categories_beside_each_other() -> None:
    ward = pd.Categorical(["a", "b"], categories=["a", "b", "c"])
    frame = pd.DataFrame({"age": [30, 70], "smoker": [True, False], "ward": ward})
    records = records_of_arrays(frame, bounds={"age": (0, 100)})
    assert [records.schema[name] for name in records.schema.names] == [
        RealDomain(0, 100),
        BitDomain(),
        CategoryDomain(("a", "b", "c")),
    ]
    assert records.column("ward").tolist() == [0, 1]


def test_columns_that_are_not_learned_from_need_no_bounds() -> None:
    frame = pd.DataFrame({"age": [30.0], "income": [1e9]})
    rules = replace(CLASSIFIER, bounds={"age": (0, 100)}, wanted=["age"])
    assert read_arrays(frame, [True], rules)[1].schema.names == ("age", "target")
    with pytest.raises(InvalidParameter, match="'agee'; did you mean 'age'"):
        read_arrays(frame, [True], replace(rules, wanted=["agee"]))


def test_a_category_is_refused_by_who_cannot_learn_from_it_and_not_left_out_in_silence() -> None:
    frame = pd.DataFrame({"age": [30.0], "ward": pd.Categorical(["a"])})
    with pytest.raises(InvalidParameter, match="Tree cannot learn from column 'ward'"):
        read_arrays(frame, [True], replace(CLASSIFIER, bounds=(0, 100)))


def test_names_that_queries_cannot_write_are_replaced_and_stay_different() -> None:
    frame = pd.DataFrame([[1.0, 1.0, 1.0, 1.0]], columns=["Größe", "target", "x0", "in"])
    reading, records = read_arrays(frame, [True], replace(CLASSIFIER, bounds=(0, 1)))
    assert records.schema.names == ("x0_", "x1", "x0", "x3", "target")
    assert reading.shown == ("Größe", "target", "x0", "in")


def test_a_learner_over_bits_takes_what_is_above_the_middle_of_the_bounds_at_a_fit_and_to_predict() -> None:
    rules = replace(CLASSIFIER, bounds=(0, 4), nature=Nature("classifier", over_bits=True))
    reading, records = read_arrays([[1.0], [2.0], [3.0]], [0, 1, 1], rules)
    assert records.schema["x0"] == BitDomain()
    assert records.column("x0").tolist() == [False, False, True]
    told: Any = reading.columns([[4.0], [0.0]])
    assert told["x0"].tolist() == [True, False]
    bits: Any = reading.columns(np.array([[True], [False]]))
    assert bits["x0"].tolist() == [True, False]


def test_a_regression_has_bounds_of_its_own_for_the_target() -> None:
    rules = replace(CLASSIFIER, nature=Nature("regressor"), target_bounds=(0, 9))
    assert read_arrays(X, [3.0, 9.0], rules)[1].schema["target"] == RealDomain(0, 9)
    with pytest.raises(InvalidParameter, match=r"target_bounds=\(0, 9\) does not fit the data: 50 % of y"):
        read_arrays(X, [3.0, 9.5], rules)
    with pytest.raises(InvalidParameter, match="y has no bounds"):
        read_arrays(X, [3.0, 9.5], replace(rules, target_bounds=None))


def test_who_learns_without_a_target_ignores_y() -> None:
    _, records = read_arrays(X, None, Rules("PCA", bounds=(-1, 1)))
    assert records.schema.names == ("x0", "x1")


@pytest.mark.parametrize(("table", "words"), [(X[:, :1], "X has 1 features"), (X[0], "Reshape your data")])
def test_rows_to_predict_for_have_the_features_of_the_fit(table: Any, words: str) -> None:
    reading, _ = read_arrays(X, [0, 1], CLASSIFIER)
    with pytest.raises(InvalidParameter, match=words):
        reading.columns(table)


def test_a_target_is_named_as_a_column_may_be() -> None:
    with pytest.raises(InvalidParameter, match="'not'"):
        read_arrays(X, [0, 1], replace(CLASSIFIER, target="not"))
