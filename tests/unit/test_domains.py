"""Domains, schemas and tables of records: what is accepted, what is refused, and what a refusal says."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.domains import (
    RESERVED_WORDS,
    BitDomain,
    CategoryDomain,
    Domain,
    IntegerDomain,
    RealDomain,
    Records,
    Schema,
    is_column_name,
)
from localdp.domains.dealing import dealt, joined
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter, InvalidRecord, UnknownIndex

CANARY = 918_273_645  # a private value that no message may repeat
CITY = CategoryDomain(("Paris", "Rome", ""))
SCHEMA = Schema(
    {"smoker": BitDomain(), "age": IntegerDomain(0, 120), "city": CITY, "bmi": RealDomain(0, 100)}
)
COLUMNS: dict[str, Any] = {
    "smoker": [True, False, True],
    "age": [0, 65, 120],
    "city": ["Rome", "Paris", ""],
    "bmi": [0.0, 27.1, 100.0],
}


def table(**changes: Any) -> Records:
    return Records.from_columns(SCHEMA, {**COLUMNS, **changes})


@pytest.mark.parametrize(
    ("domain", "values", "expected"),
    [
        (BitDomain(), [True, 0, np.int8(1)], np.array([True, False, True])),
        (BitDomain(), np.array([1, 0], dtype=np.uint64), np.array([True, False])),
        (CITY, ["Rome", "", 0], np.array([1, 2, 0], dtype=np.int32)),
        (CITY, np.array(["Paris", "Rome"]), np.array([0, 1], dtype=np.int32)),
        (CITY, np.array([2, 0], dtype=np.int8), np.array([2, 0], dtype=np.int32)),
        (IntegerDomain(-5, 2**53), np.array([3], dtype=np.uint64), np.array([3])),
        (IntegerDomain(-5, 2**53), np.array([-5, 100], dtype=np.int8), np.array([-5, 100])),
        (IntegerDomain(-5, 2**53), (2**53, -5), np.array([2**53, -5])),
        (IntegerDomain(-5, 5), np.array([1, 2], dtype=object), np.array([1, 2])),
        (IntegerDomain(-5, 5), np.array([]), np.array([], dtype=np.int64)),
        (RealDomain(0, 1), [0, 0.25, np.float32(0.5)], np.array([0, 0.25, 0.5])),
        (RealDomain(0, 1), np.array([0, 1]), np.array([0.0, 1.0])),
    ],
)
def test_a_column_comes_out_in_the_canonical_dtype(domain: Domain, values: Any, expected: Any) -> None:
    checked = domain.check(values)
    assert checked.dtype == expected.dtype == domain.dtype
    assert checked.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("domain", "values", "row"),
    [
        (BitDomain(), [True, CANARY], 1),
        (BitDomain(), np.array([0, 1, CANARY]), 2),
        (BitDomain(), np.array([0.0, CANARY]), 0),
        (CITY, ["Paris", str(CANARY)], 1),
        (CITY, np.array(["Paris", str(CANARY)]), 1),
        (CITY, [0, CANARY], 1),
        (CITY, [True], 0),
        (CITY, np.array([0, 1, 3]), 2),
        (CITY, [["Paris"]], 0),
        (IntegerDomain(0, 9), np.array([1, CANARY, -1]), 1),
        (IntegerDomain(0, 9), [1, CANARY * 10**40], 1),
        (IntegerDomain(0, 9), [-1, 2**63], 0),
        (IntegerDomain(0, 9), [1, True], 1),
        (IntegerDomain(0, 9), [1, 2.0], 1),
        (IntegerDomain(0, 9), np.array([1.0]), 0),
        (IntegerDomain(0, 9), [1, None], 1),
        (IntegerDomain(0, 9), np.ma.array([1, 2], mask=[False, True]), 1),
        (RealDomain(0, 1), [0.5, float("nan")], 1),
        (RealDomain(0, 1), np.array([0.5, 0.5, np.inf]), 2),
        (RealDomain(0, 1), np.array([0.5, CANARY], dtype=np.float32), 1),
        (RealDomain(0, 0.1), np.array([0.1], dtype=np.float32), 0),
        (RealDomain(0, 1), [0.5, str(CANARY)], 1),
        (RealDomain(0, 1), [10**400], 0),
        (RealDomain(0, 1), np.array([0, 1], dtype="datetime64[s]"), 0),
    ],
)
def test_a_refusal_names_column_domain_and_row_but_no_value(domain: Domain, values: Any, row: int) -> None:
    with pytest.raises(InvalidRecord) as refusal:
        domain.check(values, "weight")
    message = str(refusal.value)
    assert "'weight'" in message
    assert f"row {row}:" in message
    assert str(domain) in message
    assert str(CANARY) not in message
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None


@pytest.mark.parametrize("values", ["abc", 7, None, np.zeros((2, 2)), b"ab", np.array(1)])
def test_something_that_is_not_a_column_is_refused(values: Any) -> None:
    with pytest.raises(InvalidRecord, match="'values'"):
        RealDomain(0, 1).check(values)


@pytest.mark.parametrize(
    "build",
    [
        lambda: CategoryDomain(()),
        lambda: CategoryDomain(("a", "a")),
        lambda: CategoryDomain(["a"]),  # type: ignore[arg-type]
        lambda: CategoryDomain(("a" * 257,)),
        lambda: CategoryDomain(("\x1b[31m",)),
        lambda: CategoryDomain(("\ud800",)),
        lambda: CategoryDomain((3,)),  # type: ignore[arg-type]
        lambda: CategoryDomain(tuple(map(str, range(65_537)))),
        lambda: IntegerDomain(1, 1),
        lambda: IntegerDomain(0, 2**53 + 1),
        lambda: IntegerDomain(0, 1.5),  # type: ignore[arg-type]
        lambda: IntegerDomain(False, 5),
        lambda: RealDomain(1, 1),
        lambda: RealDomain(0, float("inf")),
        lambda: RealDomain(float("nan"), 1),
        lambda: RealDomain(0, 10**400),
        lambda: RealDomain(0, "1"),  # type: ignore[arg-type]
    ],
)
def test_a_domain_out_of_bounds_cannot_be_built(build: Any) -> None:
    with pytest.raises(InvalidParameter):
        build()


def test_the_largest_category_is_accepted() -> None:
    assert CategoryDomain(tuple(map(str, range(65_536)))).code("65535") == 65_535


@pytest.mark.parametrize("name", ["", "1a", "a b", "é", "a" * 65, "a\n", "a-b", *sorted(RESERVED_WORDS)])
def test_a_column_cannot_have_a_name_that_queries_cannot_write(name: str) -> None:
    with pytest.raises(InvalidParameter, match="name of a column"):
        Schema({name: BitDomain()})


def test_a_schema_has_between_one_and_1024_columns() -> None:
    assert len(Schema({f"c{i}": BitDomain() for i in range(1024)})) == 1024
    for columns in ({}, {f"c{i}": BitDomain() for i in range(1025)}):
        with pytest.raises(InvalidParameter, match="1 to 1024"):
            Schema(columns)


def test_a_schema_is_an_ordered_immutable_mapping() -> None:
    assert SCHEMA.names == ("smoker", "age", "city", "bmi")
    assert SCHEMA["age"] == IntegerDomain(0, 120)
    assert "age" in SCHEMA
    assert "agee" not in SCHEMA
    with pytest.raises(InvalidParameter, match="no column 'agee'"):
        SCHEMA["agee"]
    with pytest.raises(TypeError):
        SCHEMA.columns["age"] = BitDomain()  # type: ignore[index]


def test_schemas_are_equal_when_names_domains_and_order_are() -> None:
    a, b = IntegerDomain(0, 1), RealDomain(0, 1)
    assert Schema({"a": a, "b": b}) == Schema({"a": a, "b": RealDomain(0.0, 1.0)})
    assert hash(Schema({"a": a})) == hash(Schema({"a": a}))
    others = [
        Schema({"b": b, "a": a}),
        Schema({"a": a, "b": a}),
        Schema({"a": a, "c": b}),
        Schema({"a": a}),
    ]
    assert all(Schema({"a": a, "b": b}) != other for other in others)


DOMAINS = st.one_of(
    st.just(BitDomain()),
    st.lists(st.text('ab é"\\', max_size=4), min_size=1, max_size=5, unique=True).map(
        lambda labels: CategoryDomain(tuple(labels))
    ),
    st.tuples(st.integers(-(2**53), 0), st.integers(1, 2**53)).map(lambda ends: IntegerDomain(*ends)),
    st.tuples(st.floats(-1e308, 0), st.floats(1e-300, 1e308)).map(lambda ends: RealDomain(*ends)),
)


NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True).filter(is_column_name)


@given(st.dictionaries(NAMES, DOMAINS, min_size=1, max_size=4))
def test_a_schema_survives_the_journey_through_json(columns: dict[str, Domain]) -> None:
    schema = Schema(columns)
    assert Schema.from_data(json.loads(json.dumps(schema.to_data()))) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema  # noqa: S301 - our own bytes, as worker processes do


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (None, "must be a mapping"),
        ({}, "columns is missing"),
        ({"columns": [], "version": 1}, "version is unknown"),
        ({"columns": {}}, "must be a list"),
        ({"columns": [3]}, "must have a kind"),
        ({"columns": [{"name": "a", "kind": "float"}]}, "must have a kind"),
        ({"columns": [{"name": "a", "kind": []}]}, "must have a kind"),
        ({"columns": [{"name": "a", "kind": "bit", "low": 0}]}, "low is unknown"),
        ({"columns": [{"name": "a", "kind": "integer", "low": 0}]}, "high is missing"),
        ({"columns": [{"name": "a", "kind": "integer", "low": "0", "high": 1}]}, "whole numbers"),
        ({"columns": [{"name": "a", "kind": "category", "labels": "ab"}]}, "labels must be a list"),
        ({"columns": [{"name": "a", "kind": "category", "labels": [["x"]]}]}, "printable"),
        ({"columns": [{"name": "and", "kind": "bit"}]}, "name of a column"),
        ({"columns": [{"name": "a", "kind": "bit"}] * 2}, "differ in name"),
        ({"columns": [{"name": "a", "kind": "bit"}] * 1025}, "at most 1024"),
    ],
)
def test_data_that_describe_no_schema_are_refused_with_the_reason(data: object, reason: str) -> None:
    with pytest.raises(InvalidParameter, match=reason):
        Schema.from_data(data)


def test_records_are_immutable_and_do_not_follow_their_source() -> None:
    age = np.array([1, 2, 3])
    records = table(age=age)
    age[0] = 99
    assert records.people == len(records) == 3
    assert records.column("age").tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        records.column("age")[0] = 5
    with pytest.raises(AttributeError):
        records._people = 4


def test_rows_are_taken_in_order_and_sliced() -> None:
    records = table()
    assert records.take([2, 0, 2]).column("age").tolist() == [120, 0, 120]
    assert records.take(np.array([], dtype=np.int64)).people == 0
    assert records.slice(1, 3).column("city").tolist() == [0, 2]
    assert not records.take([0]).column("age").flags.writeable
    assert not records.slice(0, 1).column("age").flags.writeable


@pytest.mark.parametrize("indices", [[-1], [3], [0.0], [[0]], [True], [2**70]])
def test_people_that_are_not_there_cannot_be_taken(indices: Any) -> None:
    with pytest.raises(UnknownIndex):
        table().take(indices)


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 1), (0, 4)])
def test_a_range_of_people_must_lie_within_the_table(start: int, stop: int) -> None:
    with pytest.raises(UnknownIndex):
        table().slice(start, stop)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("smokr", "; did you mean 'smoker'?"),
        ("AGE", "; did you mean 'age'?"),
        ("income", ""),
        ("", ""),
        ("x" * 10_000, ""),
    ],
)
def test_the_nearest_name_is_suggested_and_only_a_near_one(word: str, said: str) -> None:
    assert suggestion(word, SCHEMA.names) == said


def test_a_column_that_is_not_there_comes_with_the_nearest() -> None:
    with pytest.raises(InvalidParameter, match="no column 'smokr'; did you mean 'smoker'"):
        SCHEMA["smokr"]


def test_missing_extra_and_uneven_columns_are_refused_without_their_content() -> None:
    with pytest.raises(InvalidRecord, match="lack 1 columns, the first is 'age'"):
        Records(SCHEMA, {name: column for name, column in COLUMNS.items() if name != "age"})
    with pytest.raises(InvalidRecord, match="1 columns too many") as refusal:
        table(**{f"x{CANARY}": [1, 2, 3]})
    assert str(CANARY) not in str(refusal.value)
    with pytest.raises(InvalidRecord, match="'age' has 2 rows, 'smoker' has 3"):
        table(age=[1, 2])
    with pytest.raises(InvalidRecord, match="no column 'x'"):
        table().column("x")


def test_neither_repr_nor_refusal_of_records_shows_a_value() -> None:
    schema = Schema({"income": IntegerDomain(0, 10**9)})
    assert str(CANARY) not in repr(Records(schema, {"income": [CANARY]}))
    with pytest.raises(InvalidRecord) as refusal:
        Records(schema, {"income": [CANARY, -CANARY]})
    assert str(CANARY) not in str(refusal.value)


def test_the_fingerprint_depends_on_content_and_not_on_its_form() -> None:
    same = table(smoker=np.array([1, 0, 1]), city=[1, 0, 2], bmi=np.array([-0.0, 27.1, 100]))
    assert same.fingerprint() == table().fingerprint()
    assert len(table().fingerprint()) == 32
    assert table().slice(0, 2).fingerprint() == table().take([0, 1]).fingerprint()
    assert pickle.loads(pickle.dumps(table())).fingerprint() == table().fingerprint()  # noqa: S301


def test_the_fingerprint_changes_with_any_value_name_domain_or_order() -> None:
    values = [0, 1]
    a, b = IntegerDomain(0, 9), IntegerDomain(0, 8)
    tables = [
        Records(Schema({"a": a}), {"a": values}),
        Records(Schema({"a": a}), {"a": [1, 0]}),
        Records(Schema({"a": a}), {"a": [0]}),
        Records(Schema({"a": a}), {"a": [0, 1, 0]}),
        Records(Schema({"a": b}), {"a": values}),
        Records(Schema({"b": a}), {"b": values}),
        Records(Schema({"a": RealDomain(0, 9)}), {"a": values}),
        Records(Schema({"a": BitDomain()}), {"a": values}),
        Records(Schema({"a": CategoryDomain(("x", "y"))}), {"a": values}),
        Records(Schema({"a": CategoryDomain(("y", "x"))}), {"a": values}),
        Records(Schema({"a": a, "b": a}), {"a": values, "b": values}),
        Records(Schema({"b": a, "a": a}), {"a": values, "b": values}),
        Records(Schema({"a": a, "b": a}), {"a": [0, 0], "b": [1, 1]}),
        Records(Schema({"a": a, "b": a}), {"a": [1, 1], "b": [0, 0]}),
        Records(Schema({"a": a}), {"a": []}),
    ]
    assert len({records.fingerprint() for records in tables}) == len(tables)


def test_reals_that_products_would_make_subnormal_are_stored_as_zero() -> None:
    given = [5e-324, -1e-300, 2.0**-127, -(2.0**-126), 2.0**-126, 1.0, -0.0]
    stored = RealDomain(-1, 1).check(np.array(given))
    assert stored.tolist() == [0.0, 0.0, 0.0, -(2.0**-126), 2.0**-126, 1.0, 0.0]
    assert not np.signbit(stored[[0, 1, 2, 6]]).any()
    assert RealDomain(-1, 1).check(given).tolist() == stored.tolist()


def test_reals_of_a_domain_without_zero_are_stored_as_they_are_and_the_bounds_are_those_given() -> None:
    assert RealDomain(1e-300, 1).check([1e-300, 2e-300]).tolist() == [1e-300, 2e-300]
    with pytest.raises(InvalidRecord):
        RealDomain(0, 1).check(np.array([-1e-300]))


@pytest.mark.parametrize("parties", [1, 3, 7])
def test_people_are_dealt_out_evenly_and_joined_in_order(parties: int) -> None:
    whole = Records.from_columns(Schema({"n": IntegerDomain(0, 9)}), {"n": [3, 1, 4, 1, 5, 9, 2]})
    parts = dealt(whole, parties)
    assert max(part.people for part in parts) - min(part.people for part in parts) <= 1
    assert joined(parts).fingerprint() == whole.fingerprint()
    with pytest.raises(InvalidParameter, match="one person for each"):
        dealt(whole, 8)


def test_columns_that_become_a_tables_own_are_checked_and_not_copied() -> None:
    schema = Schema({"age": IntegerDomain(0, 9), "weight": RealDomain(0, 9)})
    age, weight = np.array([1, 2]), np.array([1.5, 1e-310])
    records = Records.adopted(schema, {"weight": weight, "age": age})
    assert records.column("age") is age and not age.flags.writeable
    assert records.fingerprint() == Records(schema, {"age": [1, 2], "weight": [1.5, 0.0]}).fingerprint()
    wrong: list[dict[str, np.ndarray[Any, Any]]] = [
        {"age": np.array([1, 10]), "weight": np.zeros(2)},
        {"age": np.array([1, 2], np.int32), "weight": np.zeros(2)},
        {"age": np.array([1, 2]), "weight": np.zeros(3)},
        {"age": np.array([1, 2])},
    ]
    for columns in wrong:
        with pytest.raises(InvalidRecord):
            Records.adopted(schema, columns)
