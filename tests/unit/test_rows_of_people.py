"""Columns with a value in each row of a person: what a schema and a table of them are."""

from typing import Any

import numpy as np
import pytest

from localdp.domains import BitDomain, IntegerDomain, Records, RowsDomain, Schema
from localdp.errors import InvalidParameter, InvalidRecord, LocalDpError
from parties.codec import schema_from_wire, schema_to_wire
from parties.wire.v1 import schema_pb2

SCHEMA = Schema({"sex": BitDomain(), "visit": RowsDomain(2), "stay": RowsDomain(2, IntegerDomain(0, 9))})
TAKEN = np.array([[True, False], [True, True]])
STAYS = np.array([[1, 0], [2, 3]])


def records(**changed: Any) -> Records:
    return Records(SCHEMA, {"sex": [True, False], "visit": TAKEN, "stay": STAYS, **changed})


def test_a_schema_with_rows_is_the_same_as_data_and_on_the_wire() -> None:
    assert Schema.from_data(SCHEMA.to_data()) == SCHEMA
    assert schema_from_wire(schema_to_wire(SCHEMA)) == SCHEMA
    assert SCHEMA.rows == "visit" and Schema({"sex": BitDomain()}).rows is None


def test_a_row_by_itself_has_its_own_values_and_those_of_its_person() -> None:
    flat = records().rows({"sex", "stay", "visit"})
    assert flat.column("sex").tolist() == [True, True, False, False]
    assert flat.column("stay").tolist() == [1, 0, 2, 3]
    assert flat.schema == Schema({"sex": BitDomain(), "visit": BitDomain(), "stay": IntegerDomain(0, 9)})


def test_people_are_taken_with_all_of_their_rows() -> None:
    assert records().take([1]).column("stay").tolist() == [[2, 3]]
    assert records().slice(0, 1).column("visit").tolist() == [[True, False]]


def test_two_tables_that_differ_in_a_free_place_alone_have_different_fingerprints() -> None:
    assert records().fingerprint() != records(visit=np.ones((2, 2), bool)).fingerprint()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"visit": np.zeros((2, 2), bool)}, "everybody has a row"),
        ({"visit": np.array([[True, True], [False, True]])}, "everybody has a row"),
        ({"stay": np.array([[1, 0], [2, 10]])}, "not in the domain"),
        ({"stay": np.array([1, 2])}, "an array of people and 2 rows each"),
        ({"stay": np.zeros((2, 3), int)}, "an array of people and 2 rows each"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidRecord, match=told):
        records(**changed)


@pytest.mark.parametrize(
    "columns",
    [
        {"stay": RowsDomain(2, BitDomain())},
        {"visit": RowsDomain(2), "stay": RowsDomain(3, BitDomain())},
        {"visit": RowsDomain(2), "other": RowsDomain(2)},
    ],
)
def test_columns_of_rows_that_do_not_go_together_are_no_schema(columns: Any) -> None:
    with pytest.raises(InvalidParameter, match="one column of a schema says which rows"):
        Schema(columns)


@pytest.mark.parametrize(("most", "of"), [(0, None), (1025, None), (2, RowsDomain(2)), (True, None)])
def test_bounds_of_rows(most: int, of: Any) -> None:
    with pytest.raises(InvalidParameter):
        RowsDomain(most, of)


def test_rows_of_rows_of_rows_are_refused_however_deep_a_message_is() -> None:
    inner = schema_pb2.SchemaColumn(name="x", bit=schema_pb2.BitDomain())
    for _ in range(40):
        inner = schema_pb2.SchemaColumn(name="x", rows=schema_pb2.RowsDomain(most=2, of=inner))
    with pytest.raises(LocalDpError, match="holds no rows"):
        schema_from_wire(schema_pb2.Schema(columns=[inner]))
