"""Rows of a person brought down to one value: against an interpreter of single rows, and what is refused."""

from typing import Any

import numpy as np
import pytest

from localdp.domains import (
    BitDomain,
    CategoryDomain,
    IntegerDomain,
    RealDomain,
    Records,
    RowsDomain,
    Schema,
)
from localdp.errors import QueryRefused
from localdp.party.cost_of_queries import query_work
from localdp.queries import StatisticalQuery, VectorQuery, of_rows
from localdp.queries.encoded import encoding_of
from localdp.queries.of_rows import domain_of
from localdp.queries.parser import parse
from localdp.queries.scalars import OfRows
from localdp.queries.text import to_text

MOST = 4
PEOPLE = 300
SCHEMA = Schema(
    {
        "smoker": BitDomain(),
        "visit": RowsDomain(MOST),
        "died": RowsDomain(MOST, BitDomain()),
        "stay": RowsDomain(MOST, IntegerDomain(-5, 60)),
        "cost": RowsDomain(MOST, RealDomain(0, 100)),
        "ward": RowsDomain(MOST, CategoryDomain(("A", "B", "C"))),
    }
)


def people(seed: int = 0) -> Records:
    draws = np.random.default_rng(seed)
    counts = draws.integers(1, MOST + 1, PEOPLE)
    shape = (PEOPLE, MOST)
    columns = {
        "smoker": draws.random(PEOPLE) < 0.5,
        "visit": np.arange(MOST) < counts[:, None],
        "died": draws.random(shape) < 0.3,
        "stay": draws.integers(-5, 61, shape),
        "cost": draws.integers(0, 800, shape) / 8,
        "ward": draws.integers(0, 3, shape),
    }
    return Records(SCHEMA, columns)


def rows_of(records: Records, person: int) -> list[dict[str, Any]]:
    """A person's rows, one by one; free places are none."""
    taken = int(records.column("visit")[person].sum())
    names = ("died", "stay", "cost", "ward")
    smoker = bool(records.column("smoker")[person])
    return [
        {"smoker": smoker, **{name: records.column(name)[person, row].item() for name in names}}
        for row in range(taken)
    ]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


MEANINGS: dict[str, Any] = {
    "any(visit: died)": lambda rows: any(row["died"] for row in rows),
    "all(visit: died)": lambda rows: all(row["died"] for row in rows),
    "any(visit: died and cost > 50 or stay < 0)": lambda rows: any(
        (row["died"] and row["cost"] > 50) or row["stay"] < 0 for row in rows
    ),
    "all(visit: smoker or stay >= 0)": lambda rows: all(row["smoker"] or row["stay"] >= 0 for row in rows),
    "count(visit) == 3": lambda rows: len(rows) == 3,
    'count(visit: ward in {"A", "C"}) >= 2': lambda rows: sum(row["ward"] != 1 for row in rows) >= 2,
    "sum(visit: stay) > 20": lambda rows: sum(row["stay"] for row in rows) > 20,
    "sum(visit: died) == 1": lambda rows: sum(row["died"] for row in rows) == 1,
    "sum(visit: smoker) == 2": lambda rows: sum(row["smoker"] for row in rows) == 2,
    "max(visit: stay) - min(visit: stay) > 30": lambda rows: (
        max(row["stay"] for row in rows) - min(row["stay"] for row in rows) > 30
    ),
    "max(visit: died)": lambda rows: max(row["died"] for row in rows),
    'first(visit: ward) == "B"': lambda rows: rows[0]["ward"] == 1,
    "last(visit: ward) != first(visit: ward)": lambda rows: rows[-1]["ward"] != rows[0]["ward"],
    "last(visit: died)": lambda rows: rows[-1]["died"],
    "clip(sum(visit: cost)/400)": lambda rows: sum(row["cost"] for row in rows) / 400,
    "clip(max(visit: cost)/100)": lambda rows: max(row["cost"] for row in rows) / 100,
    "clip(min(visit: cost)/100)": lambda rows: min(row["cost"] for row in rows) / 100,
    "clip(mean(visit: cost)/100)": lambda rows: mean([row["cost"] for row in rows]) / 100,
    "clip(mean(visit: stay)/60)": lambda rows: min(1, max(0, mean([row["stay"] for row in rows]) / 60)),
    "if any(visit: died) then 1/2 else clip(count(visit)/4)": lambda rows: (
        0.5 if any(row["died"] for row in rows) else len(rows) / 4
    ),
}


@pytest.mark.parametrize("text", MEANINGS)
def test_a_value_of_rows_is_what_an_interpreter_of_single_rows_finds(text: str) -> None:
    records = people()
    expected = [MEANINGS[text](rows_of(records, person)) for person in range(PEOPLE)]
    values = StatisticalQuery.parse(text, SCHEMA).evaluate(records)
    np.testing.assert_allclose(values.astype(float), np.array(expected, float), rtol=1e-12)
    assert 0 < values.mean() < 1


@pytest.mark.parametrize("text", MEANINGS)
def test_the_canonical_text_means_the_same_tree(text: str) -> None:
    expression = parse(text)
    assert parse(to_text(expression)) == expression


@pytest.mark.parametrize("block", [1, 7, MOST * PEOPLE])
def test_people_are_looked_at_in_blocks_with_the_same_values(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = StatisticalQuery.parse("clip(sum(visit: cost)/400 + count(visit: died)/8)", SCHEMA)
    whole = query.evaluate(people())
    monkeypatch.setattr(of_rows, "BLOCK_ROWS", block)
    np.testing.assert_array_equal(query.evaluate(people()), whole)
    assert len(query.evaluate(people().slice(0, 0))) == 0


def test_what_stands_in_free_places_does_not_count() -> None:
    """A twin that takes free places for rows is found by this."""
    records = people()
    taken = records.column("visit")
    other = {name: records.column(name) for name in SCHEMA.names}
    for name in ("died", "stay", "cost", "ward"):
        free = {"died": True, "stay": 60, "cost": 100.0, "ward": 2}[name]
        other[name] = np.where(taken, other[name], free)
    changed = Records(SCHEMA, other)
    for text in MEANINGS:
        query = StatisticalQuery.parse(text, SCHEMA)
        np.testing.assert_array_equal(query.evaluate(records), query.evaluate(changed))
    without = Records(SCHEMA, {**other, "visit": np.ones_like(taken)})
    query = StatisticalQuery.parse("any(visit: died)", SCHEMA)
    assert (query.evaluate(records) != query.evaluate(without)).any()


@pytest.mark.parametrize("text", MEANINGS)
def test_values_lie_in_the_domain_that_the_query_is_checked_with(text: str) -> None:
    def terms(node: Any) -> list[OfRows]:
        own = [node] if isinstance(node, OfRows) else []
        return own + [term for child in node.children for term in terms(child)]

    for term in terms(parse(text)):
        domain = domain_of(term, SCHEMA)
        assert domain.inside(of_rows.value_of(term, people(), _condition)).all()


def _condition(expression: Any, records: Records) -> Any:
    from localdp.queries.evaluate import condition

    return condition(expression, records)


def test_rows_are_counted_and_tabulated_as_categories() -> None:
    records = people()
    counts = VectorQuery.parse("count(visit)", SCHEMA)
    assert counts.length == MOST + 1
    assert counts.evaluate(records).tolist() == records.column("visit").sum(axis=1).tolist()
    wards = VectorQuery.parse("cells(first(visit: ward), any(visit: died))", SCHEMA)
    assert wards.length == 6 and set(wards.evaluate(records)) <= set(range(6))


def test_sums_of_whole_numbers_are_exact_on_the_grid_and_means_are_not() -> None:
    def resolution(text: str) -> int:
        return encoding_of(StatisticalQuery.parse(text, SCHEMA)).bound

    assert resolution("clip(sum(visit: stay)/240)") % 240 == 0
    assert resolution("clip(mean(visit: stay)/60)") == 1 << 16
    assert resolution("clip(sum(visit: cost)/400)") == 1 << 16


def test_a_query_names_the_rows_among_its_columns() -> None:
    query = StatisticalQuery.parse("any(visit: died) and smoker", SCHEMA)
    assert query.columns == {"visit", "died", "smoker"}


def test_the_price_grows_with_the_bound_and_not_with_anybodys_rows() -> None:
    wide = Schema({"visit": RowsDomain(100), "died": RowsDomain(100, BitDomain())})
    few, many = (
        query_work(StatisticalQuery.parse("any(visit: died)", schema)) for schema in (SCHEMA, wide)
    )
    assert many.person > 20 * few.person and many.fixed > few.fixed


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("died", r"'died' is of each row of a person; say which of them: any\(visit: ...\)"),
        ("any(visits: died)", r"no rows 'visits'; the rows are called 'visit'; did you mean"),
        ("any(visit: stay)", "not true or false"),
        ("any(visit: any(visit: died))", "people have one row here"),
        ("any(visit)", r"as in any\(visit: died\)"),
        ("sum(visit: stay > 3) > 1", "takes a column of each row"),
        ("sum(visit: ward) > 1", "a category has a first and a last one"),
        ("any(visit: dead)", "there is no column 'dead'; did you mean 'died'"),
        ("sum(visit: stay)", r"is a number: compare it, or clip\(...\) it"),
        ("first(visit: ward)", "is a category of 3 labels: compare it"),
        ("clip(first(visit: ward))", r"first\(visit: ward\)` is a category: there is no arithmetic"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_way_out(text: str, told: str) -> None:
    with pytest.raises(QueryRefused, match=told):
        StatisticalQuery.parse(text, SCHEMA)


def test_where_people_have_one_row_the_refusal_says_what_an_answer_is() -> None:
    with pytest.raises(QueryRefused, match="every answer is a mean over people"):
        StatisticalQuery.parse("count(smoker) > 1", Schema({"smoker": BitDomain()}))


def test_a_sum_that_no_domain_holds_is_refused() -> None:
    schema = Schema({"visit": RowsDomain(9), "n": RowsDomain(9, IntegerDomain(0, 2**53))})
    with pytest.raises(QueryRefused, match="the sum of 9 rows may be too large"):
        StatisticalQuery.parse("sum(visit: n) > 1", schema)
