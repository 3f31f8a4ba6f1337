"""The rows of a person as one record: padded, brought down to one value, drawn by coins; and asked by person."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.quick_start import oracle_of_records
from localdp.domains import RowsDomain
from localdp.errors import InvalidParameter, InvalidRecord
from localdp.randomness.hazmat import SeededSource
from parties.agent.config import load_config
from parties.agent.state import init_storage, ledger_to_read
from parties.agent.table import loaded_table, table_of
from parties.agent.together import _places
from tests.support.messy_tables import hospitals, visits

TABLE = """who,died,cost,day,ward
a,no,10,3,A
b,yes,20,1,B
a,yes,30,1,B
c,no,40,9,A
a,no,50,2,A
b,no,60,5,A
"""
HEAD = 'name = "a"\n[data]\npath = "t.csv"\nperson = "who"\nrows = "together"\n'
ROWS = 'row = "visit"\nmost_rows = 3\norder = "day"\n'
SCHEMA = """[schema]
died = { kind = "bit" }
day = { kind = "integer", low = 0, high = 9 }
ever = { kind = "bit", column = "died", per_person = "any" }
always = { kind = "bit", column = "died", per_person = "all" }
visits = { kind = "integer", low = 0, high = 3, per_person = "count" }
deaths = { kind = "integer", low = 0, high = 3, column = "died", per_person = "count" }
paid = { kind = "real", low = 0, high = 100, column = "cost", per_person = "sum" }
usual = { kind = "real", low = 0, high = 100, column = "cost", per_person = "mean" }
most = { kind = "integer", low = 0, high = 100, column = "cost", per_person = "max" }
least = { kind = "integer", low = 0, high = 100, column = "cost", per_person = "min" }
came_to = { kind = "category", labels = ["A", "B"], column = "ward", per_person = "first" }
left_from = { kind = "category", labels = ["A", "B"], column = "ward", per_person = "last" }
"""
BUDGET = "[budget]\ntotal = 1\n"


def written(directory: Path, schema: str = SCHEMA, rows: str = ROWS, table: str = TABLE) -> Path:
    (directory / "t.csv").write_text(table)
    path = directory / "agent.toml"
    path.write_text(HEAD + rows + schema + BUDGET)
    return path


def test_everybody_is_one_record_with_a_place_for_each_row(tmp_path: Path) -> None:
    records, ownership = table_of(load_config(written(tmp_path)))
    assert ownership is None and records.people == 3
    assert records.schema["visit"] == RowsDomain(3)
    assert records.column("visit").tolist() == [
        [True, True, True],
        [True, True, False],
        [True, False, False],
    ]
    assert records.column("day").tolist() == [
        [1, 2, 3],
        [1, 5, 1],
        [9, 9, 9],
    ]  # free places are read as the first
    assert records.column("died").tolist() == [[True, False, False], [True, False, True], [False] * 3]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("ever", [True, True, False]),
        ("always", [False, False, False]),
        ("visits", [3, 2, 1]),
        ("deaths", [1, 1, 0]),
        ("paid", [90, 80, 40]),
        ("usual", [30, 40, 40]),
        ("most", [50, 60, 40]),
        ("least", [10, 20, 40]),
        ("came_to", [1, 1, 0]),
        ("left_from", [0, 0, 0]),
    ],
)
def test_rows_are_brought_down_to_what_their_owner_declares(
    tmp_path: Path, name: str, values: list[float]
) -> None:
    records, _ = table_of(load_config(written(tmp_path)))
    np.testing.assert_allclose(records.column(name).astype(float), values)


def test_without_an_order_rows_are_as_the_table_has_them(tmp_path: Path) -> None:
    rows = 'row = "visit"\nmost_rows = 3\n'
    records, _ = table_of(load_config(written(tmp_path, rows=rows)))
    assert records.column("day").tolist()[0] == [3, 1, 2]


def test_where_every_column_is_brought_down_nobody_is_told_of_rows(tmp_path: Path) -> None:
    schema = '[schema]\never = { kind = "bit", column = "died", per_person = "any" }\n'
    config = load_config(written(tmp_path, schema, "most_rows = 3\n"))
    assert config.schema.names == ("ever",) and table_of(config)[0].schema.rows is None


def test_rows_beyond_the_bound_are_left_out_by_coins_and_never_refused(tmp_path: Path) -> None:
    config = load_config(
        written(
            tmp_path, rows='row = "visit"\nmost_rows = 2\n', schema=SCHEMA.replace("high = 3", "high = 2")
        )
    )
    loaded = loaded_table(config)
    assert [str(one) for one in loaded.decisions] == ["visit: 1 row left out by coins: most_rows = 2"]
    drawn = {tuple(table_of(config)[0].column("day")[0]) for _ in range(60)}
    assert drawn == {(3, 1), (3, 2), (1, 2)}  # in the order of the table


def test_each_set_of_rows_is_as_likely_as_another() -> None:
    """30,000 draws of 2 of 4 rows; chi-square with 5 degrees of freedom, one false alarm in a million above 35.9."""
    owners = np.repeat(np.arange(30_000), 4)
    places = _places(owners, owners, 2, SeededSource(7))
    counts = Counter(map(tuple, (places.rows % 4).tolist()))
    assert sum((count - 5000) ** 2 / 5000 for count in counts.values()) < 35.9 and len(counts) == 6
    first = Counter(
        (row[0], row[0] + 1) for row in (places.rows % 4).tolist()
    )  # a twin that keeps neighbours
    assert sum((first.get(pair, 0) - 5000) ** 2 / 5000 for pair in counts) > 35.9


def test_who_has_few_rows_keeps_them_whatever_others_have() -> None:
    owners = np.array([0, 0, 1, 2, 2, 2, 2])
    places = _places(owners, owners, 3, SeededSource(1))
    assert places.taken.sum(axis=1).tolist() == [2, 1, 3]
    assert places.rows[0, :2].tolist() == [0, 1] and places.rows[1].tolist() == [2, 2, 2]


def test_people_whose_rows_are_together_outside_of_the_bounds_are_told_by_count(tmp_path: Path) -> None:
    narrow = SCHEMA.replace(
        'high = 100, column = "cost", per_person = "sum"', 'high = 60, column = "cost", per_person = "sum"'
    )
    with pytest.raises(
        InvalidRecord, match=r"'paid': 2 people have rows that together are above the upper bound"
    ) as found:
        table_of(load_config(written(tmp_path, narrow)))
    said = str(found.value).replace(str(tmp_path), "")
    assert "90" not in said and "80" not in said
    clipped = narrow.replace('per_person = "sum" }', 'per_person = "sum", outside = "clip" }')
    loaded = loaded_table(load_config(written(tmp_path, clipped)))
    assert loaded.records.column("paid").tolist() == [60, 60, 40]
    assert "paid: 2 people above the upper bound, counted as the bound" in map(str, loaded.decisions)


@pytest.mark.parametrize(
    ("rows", "schema", "told"),
    [
        ("", SCHEMA, "data.most_rows: needed with rows"),
        ("most_rows = 2000\n", SCHEMA, "data.most_rows: at most 1024"),
        (ROWS.replace('"visit"', '"a visit"'), SCHEMA, "data.row: what a row is called"),
        (ROWS.replace('"visit"', '"died"'), SCHEMA, "is a column of the schema"),
        (ROWS.replace('"day"', '"died"'), SCHEMA, "data.order: a column of the schema with numbers"),
        (ROWS.replace('"day"', '"no"'), SCHEMA, "data.order: a column of the schema with numbers"),
        ("most_rows = 4\n", SCHEMA, "a count is from 0 to data.most_rows: say low = 0, high = 4"),
        (
            ROWS,
            SCHEMA.replace('"any"', '"some"'),
            "per_person: of kind = 'bit', one of any, all, max, min, first, last",
        ),
        (ROWS, SCHEMA.replace('"mean"', '"any"'), "per_person: of kind = 'real', one of sum, mean, max"),
    ],
)
def test_what_does_not_go_together_is_refused_by_its_key(
    tmp_path: Path, rows: str, schema: str, told: str
) -> None:
    with pytest.raises(InvalidParameter, match=told):
        load_config(written(tmp_path, schema, rows))


def test_keys_of_rows_go_with_rows_together_alone(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text().replace('"together"', '"sample"').replace("most_rows = 3\n", ""))
    with pytest.raises(InvalidParameter, match=r'data.row: goes with rows = "together"'):
        load_config(path)
    path.write_text(path.read_text().replace('row = "visit"\norder = "day"\n', ""))
    with pytest.raises(InvalidParameter, match=r'per_person: goes with rows = "together"'):
        load_config(path)


def test_an_epoch_of_people_with_rows_is_kept_and_budgets_are_by_person(tmp_path: Path) -> None:
    config = load_config(written(tmp_path))
    init_storage(config)
    ledger = ledger_to_read(config)
    try:
        assert len(ledger.spent()) == 3
    finally:
        ledger.close()


HOSPITAL = """name = "north"
[data]
path = "north.csv"
person = "Patient ID"
rows = "together"
row = "visit"
most_rows = 7
[schema]
died = { kind = "bit", column = "Died" }
ever = { kind = "bit", column = "Died", per_person = "any" }
[budget]
total = 2
"""


@pytest.mark.parametrize("model", ["local", "shared"])
def test_died_in_any_visit_is_answered_for_people_and_is_not_the_share_of_visits(
    tmp_path: Path, model: str
) -> None:
    """Near what the generator knows, and further from the share of visits, which is 20 standard errors away (epsilon 2).

    Four standard errors hold in all but 6e-5 of the cases where errors are normal (local), and in all but 2e-3 with the
    noise of two servers, (1 + x) exp(-2x) at x standard errors.  The limits here fail with less than 1e-7.
    """
    made = visits(1)
    hospitals()["north"](tmp_path / "north.csv", made)
    (tmp_path / "agent.toml").write_text(HOSPITAL)
    records, _ = table_of(load_config(tmp_path / "agent.toml"))
    truth = hospitals()["truth"](made)
    for text in ("any(visit: died)", "ever"):
        oracle = oracle_of_records(records, 2.0, model)  # type: ignore[arg-type]
        answer = oracle.answer([text])[0]
        limit = {"local": 5.5, "shared": 12}[model] * answer.standard_error
        assert abs(answer.value - truth["died in any visit"]) < limit
        assert abs(answer.value - truth["died in a visit"]) > limit
        assert oracle.cost.epsilon_charged <= Epsilon.requested(2)
