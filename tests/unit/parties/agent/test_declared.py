"""A schema as people write it: three places read it in the same way, and every mistake names its key and the way out."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localdp.domains import Schema, is_column_name
from localdp.errors import InvalidParameter
from parties import codec
from parties.agent.config import load_config
from parties.agent.data import load_table
from parties.agent.declared import Declared, declared_schema
from parties.agent.reading import Reading
from parties.agent.state import init_storage
from parties.experiments.definition import DataSource
from parties.experiments.reading import load_experiment
from parties.federated.tables import declared_of
from tests.support.agents import close_party, party_of

ENTRIES = """stay = { kind = "integer", low = 0, high = 61, column = "Length of stay", missing = 61 }
pressure = { kind = "real", low = 0, high = 300, column = "Systolic pressure, mmHg" }
ward = { kind = "category", labels = ["A", "unknown"], missing = "unknown" }
smoker = { kind = "bit", missing = false }
"""
PLAIN: dict[str, Any] = {
    "stay": {"kind": "integer", "low": 0, "high": 61},
    "pressure": {"kind": "real", "low": 0, "high": 300},
    "ward": {"kind": "category", "labels": ["A", "unknown"]},
    "smoker": {"kind": "bit"},
}
READINGS = (
    Reading("Length of stay", 61),
    Reading("Systolic pressure, mmHg"),
    Reading("ward", "unknown"),
    Reading("smoker", False),
)
AGENT = """name = "north"
data.path = "people.csv"
{more}
budget.total = 1
[schema]
{entries}"""
EXPERIMENT = """[data]
path = "people.csv"
[run]
models = ["local"]
query = "smoker"
epsilon = 1
[schema]
{entries}"""
TABLE = (
    'Length of stay,"Systolic pressure, mmHg",ward,smoker\n' + '3,120.5,A,yes\n,130,,\n60,"99.5",A,no\n' * 4
)


def as_agent(directory: Path, entries: str) -> Declared:
    path = directory / "agent.toml"
    path.write_text(AGENT.format(entries=entries, more=""))
    return load_config(path).declared


def as_experiment(directory: Path, entries: str) -> Declared:
    path = directory / "experiment.toml"
    path.write_text(EXPERIMENT.format(entries=entries))
    (directory / "people.csv").write_text(TABLE)
    read = load_experiment(path).data
    assert isinstance(read, DataSource) and isinstance(read.schema, Declared)
    return read.schema


def as_mapping(directory: Path, entries: str) -> Declared:
    return declared_of(tomllib.loads(entries))


def as_file(directory: Path, entries: str) -> Declared:
    path = directory / "schema.toml"
    path.write_text(f"[schema]\n{entries}")
    return declared_of(path)


PLACES: dict[str, Callable[[Path, str], Declared]] = {
    "an agent's configuration": as_agent,
    "an experiment": as_experiment,
    "a mapping": as_mapping,
    "a file for a federation": as_file,
}


@pytest.mark.parametrize("place", PLACES)
def test_the_same_entries_are_the_same_schema_and_readings_everywhere(place: str, tmp_path: Path) -> None:
    declared = PLACES[place](tmp_path, ENTRIES)
    assert declared == Declared(declared_of(PLAIN).schema, READINGS)


def test_how_a_column_is_read_is_no_part_of_what_parties_compare_and_send() -> None:
    told, plain = declared_of(tomllib.loads(ENTRIES)), declared_of(PLAIN)
    assert told.schema == plain.schema and hash(told.schema) == hash(plain.schema)
    assert told.schema.difference(plain.schema) == ""
    assert codec.schema_to_wire(told.schema) == codec.schema_to_wire(plain.schema)
    assert "Length" not in json.dumps(told.schema.to_data())


def test_a_schema_alone_reads_every_column_by_its_own_name() -> None:
    schema = declared_of(PLAIN).schema
    assert Declared.of(schema).readings == tuple(Reading(name) for name in schema.names)
    told = declared_of(tomllib.loads(ENTRIES))
    assert Declared.of(told) is told
    assert hash(told) == hash(Declared(schema, READINGS))  # a table that was read is remembered by it


INTEGER = '{ kind = "integer", low = 0, high = 60'
BAD: dict[str, tuple[str, str]] = {
    # what it is: an entry, what is told of it
    "a name with spaces": (
        f'"Length of stay" = {INTEGER} }}',
        "schema.Length of stay: a name is a letter or _, then at most 63 letters, digits or _, and no word of queries;"
        ' write length_of_stay = { ..., column = "Length of stay" }',
    ),
    "a name with a comma": (
        f'"Systolic pressure, mmHg" = {INTEGER} }}',
        'write systolic_pressure_mmhg = { ..., column = "Systolic pressure, mmHg" }',
    ),
    "a name with a quote": (f"'a \"b\"' = {INTEGER} }}", r'write a_b = { ..., column = "a \"b\"" }'),
    "a name that begins with a digit": (
        f'"2nd visit" = {INTEGER} }}',
        'write _2nd_visit = { ..., column = "2nd visit" }',
    ),
    "a name of other letters": (f'"年齢" = {INTEGER} }}', 'write x = { ..., column = "年齢" }'),
    "a word of queries": (f'"in" = {INTEGER} }}', 'write _in = { ..., column = "in" }'),
    "a name without end": (f"{'n' * 500} = {INTEGER} }}", f'write {"n" * 63} = {{ ..., column = "..." }}'),
    "a column that is a number": (f"stay = {INTEGER}, column = 3 }}", "schema.stay.column: the name of"),
    "a column that is empty": (f'stay = {INTEGER}, column = "" }}', "schema.stay.column: the name of"),
    "a misspelt key": (
        f'stay = {INTEGER}, colum = "Length of stay" }}',
        "schema.stay.colum: unknown; did you mean 'column'?; a column has kind, low, high, labels, column, missing",
    ),
    "missing outside of the bounds": (
        f"stay = {INTEGER}, missing = 61 }}",
        "schema.stay.missing: an empty cell is read as a value of the column: 61 is not in the domain"
        " (integer from 0 to 60); choose one that is, or move a bound",
    ),
    "missing of another type": (f'stay = {INTEGER}, missing = "61" }}', "'61' is not in the domain"),
    "missing that is no whole number": (f"stay = {INTEGER}, missing = 1.5 }}", "1.5 is not in the domain"),
    "missing that is a truth": (f"stay = {INTEGER}, missing = true }}", "True is not in the domain"),
    "missing that is no number": (
        'bmi = { kind = "real", low = 0, high = 9, missing = nan }',
        "nan is not in the domain",
    ),
    "missing without end": (
        'bmi = { kind = "real", low = 0, high = 9, missing = inf }',
        "inf is not in the domain",
    ),
    "missing that is no label": (
        'ward = { kind = "category", labels = ["A"], missing = "unknown" }',
        "'unknown' is not in the domain (category of 1 labels); add a label for it, such as unknown",
    ),
    "missing that is a position": (
        'ward = { kind = "category", labels = ["A", "B"], missing = 1 }',
        "1 is not in the domain (category of 2 labels)",
    ),
    "missing where the empty text is a label": (
        'ward = { kind = "category", labels = ["A", ""], missing = "A" }',
        "schema.ward.missing: an empty cell is the label '' already",
    ),
    "missing that is neither": ('ill = { kind = "bit", missing = 2 }', "2 is not in the domain (bit)"),
    "missing that is a list": ('ill = { kind = "bit", missing = [true] }', "is not in the domain (bit)"),
    "a long missing": (f'ill = {{ kind = "bit", missing = "{"z" * 5000}" }}', "is not in the domain (bit)"),
    "no table": ('ill = "bit"', 'schema.ill: a table such as { kind = "bit" }'),
    "a kind that is not there": ('ill = { kind = "date" }', "schema.ill: must have a kind among bit"),
    "a bound too many": ('ill = { kind = "bit", low = 0 }', "schema.ill: must have name, kind: low is"),
    "nothing": ("", "schema: missing; write [schema]"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("place", ["an agent's configuration", "an experiment", "a mapping"])
def test_a_mistake_is_told_in_the_same_words_everywhere(place: str, name: str, tmp_path: Path) -> None:
    entry, told = BAD[name]
    with pytest.raises(InvalidParameter) as refused:
        PLACES[place](tmp_path, entry + "\n")
    assert told in str(refused.value)
    assert len(str(refused.value).replace(str(tmp_path), "")) < 400


def test_the_way_out_of_a_bad_name_is_a_good_one() -> None:
    for name in ("Length of stay", "a.b", "and", "_", "9", "", "é", "x" * 65, "'", "in", "__a__", "1" * 70):
        if is_column_name(name):
            continue
        with pytest.raises(InvalidParameter) as refused:
            declared_of({name: {"kind": "bit"}})
        assert is_column_name(str(refused.value).partition("write ")[2].partition(" =")[0])


def test_an_empty_label_may_be_what_an_empty_cell_is_read_as() -> None:
    entry = {"kind": "category", "labels": ["A", ""], "missing": ""}
    assert declared_of({"ward": entry}).readings == (Reading("ward", ""),)


def test_the_column_that_says_whose_row_it_is_cannot_be_filled(tmp_path: Path) -> None:
    path, more = tmp_path / "agent.toml", 'data.person = "Patient"'
    entry = 'who = { kind = "integer", low = 0, high = 9, column = "Patient"%s }'
    path.write_text(AGENT.format(entries=entry % ", missing = 0", more=more))
    with pytest.raises(InvalidParameter, match=r"schema\.who\.missing: .* data\.person"):
        load_config(path)
    path.write_text(AGENT.format(entries=entry % "", more=more))
    assert load_config(path).declared.readings == (Reading("Patient"),)


def test_an_agent_serves_its_table_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(TABLE)
    path = tmp_path / "agent.toml"
    path.write_text(AGENT.format(entries=ENTRIES, more=""))
    config = load_config(path)
    init_storage(config)
    party = party_of(config)
    assert party.records.schema == config.schema == declared_of(PLAIN).schema
    assert party.records.column("stay").tolist() == [3, 61, 60] * 4
    close_party(party)


def test_a_table_is_read_as_it_is(tmp_path: Path) -> None:
    declared = as_experiment(tmp_path, ENTRIES)
    records, _ = load_table(tmp_path / "people.csv", declared)
    assert records.schema == declared.schema
    assert records.column("stay").tolist() == [3, 61, 60] * 4
    assert records.column("pressure").tolist() == [120.5, 130.0, 99.5] * 4
    assert records.column("ward").tolist() == [0, 1, 0] * 4
    assert records.column("smoker").tolist() == [True, False, False] * 4


def test_nothing_but_a_mapping_is_a_schema() -> None:
    nothing: tuple[object, ...] = (None, [], "schema", 7, {})
    for entries in nothing:
        with pytest.raises(InvalidParameter, match="missing; write"):
            declared_schema(entries, lambda key, why: InvalidParameter(why))
    assert isinstance(declared_of(Schema(declared_of(PLAIN).schema.columns)), Declared)
