"""Tables in databases: the same cells as in a file, read in blocks by who may only read; no password or cell is told."""

from __future__ import annotations

import contextlib
import json
import runpy
import sqlite3
import stat
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import URL, create_engine, make_url, text
from sqlalchemy.pool import NullPool

from localdp.errors import InvalidParameter, InvalidRecord, LocalDpError
from parties.agent import database_source
from parties.agent.config import load_config
from parties.agent.data import load
from parties.agent.database_source import PASSWORD, DatabaseSource, address_of
from parties.agent.sketch import as_toml, sketched
from parties.agent.table import loaded_table, quoting_nothing
from parties.federated.tables import declared_of
from tests.support import mariadb
from tests.support.environments import absent
from tests.support.postgres import shared_postgres
from tests.support.processes import ROOT

SCHEMA = declared_of(
    {
        "age": {"kind": "integer", "low": 0, "high": 120, "missing": 0},
        "weight": {"kind": "real", "low": 0, "high": 300, "missing": 0},
        "ward": {
            "kind": "category",
            "labels": ["A", "É 'b'", "other"],
            "column": "Wård: 50%",
            "other": "other",
        },
        "ill": {"kind": "bit"},
        "day": {"kind": "integer", "low": 0, "high": 366, "as": "days", "since": "2024-01-01"},
    }
)
ROWS = [
    ("p2", 40, 60.25, "A", True, date(2024, 1, 3)),
    ("p1", None, 70.5, "É 'b'", False, date(2024, 1, 1)),
    ("p3", 7, None, "zz:top", True, date(2024, 12, 31)),
    ("p2", 41, 61.0, "A", False, date(2024, 2, 1)),
]


def filled(address: str) -> str:
    """A table of the rows at an address, whatever the database."""
    with contextlib.closing(create_engine(address, poolclass=NullPool).connect()) as connection:
        mark = "`" if address.startswith(("mysql", "mariadb")) else '"'
        name = f"{mark}Wård: 50%{mark}"
        kinds = (
            "patient VARCHAR(20), age INTEGER, weight NUMERIC(8,2), {} VARCHAR(20), ill BOOLEAN, day DATE"
        )
        connection.exec_driver_sql("DROP TABLE IF EXISTS visits")
        made = f"CREATE TABLE visits ({kinds.format(name)})"
        connection.execute(text(made.replace(":", r"\:")))
        for row in ROWS:
            values = dict(zip(("p", "a", "w", "l", "i", "d"), row, strict=True))
            if address.startswith("sqlite"):
                values["d"] = str(values["d"])
            connection.execute(text("INSERT INTO visits VALUES (:p, :a, :w, :l, :i, :d)"), values)
        connection.commit()
    return address


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return filled(shared_postgres().new().replace("postgresql://", "postgresql+psycopg://"))
    return filled(f"{request.param}:///{tmp_path}/clinic.{request.param}")


@pytest.mark.nightly
def test_a_table_is_read_as_declared_from_mariadb(tmp_path: Path) -> None:
    place = mariadb.root()
    if place is None:
        absent("there is no MariaDB here (mariadb-server of Debian, or LOCALDP_MARIADB)")
    (tmp_path / "password").write_text("hunter2\n")
    (tmp_path / "password").chmod(0o600)
    with mariadb.mariadb(place) as address:
        filled(address.replace("reader@", "reader:hunter2@"))
        for source in (
            DatabaseSource(address, "visits", None, tmp_path / "password"),
            DatabaseSource(
                address, None, "SELECT * FROM visits WHERE patient LIKE 'p%'", tmp_path / "password"
            ),
        ):
            loaded = load(source, SCHEMA, "patient", "each")
            assert loaded.records.column("ward").tolist() == [0, 0, 1, 2]
            assert loaded.records.column("weight").tolist() == [60.25, 61, 70.5, 0]
        for wrong in ("DELETE FROM visits", "INSERT INTO visits SELECT * FROM visits"):
            with pytest.raises(LocalDpError) as refused:
                DatabaseSource(address, None, wrong, tmp_path / "password").table()
            assert "visits" not in str(refused.value)
        with pytest.raises(InvalidRecord, match="does not let this reader in") as refused_too:
            DatabaseSource(address, "visits").table()
        assert "reader@" not in str(refused_too.value)


@pytest.mark.parametrize("at_once", [1, 3, 20_000])
def test_a_table_is_read_as_declared_whatever_database_it_is_in(
    address: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_source, "AT_ONCE", at_once)
    query = "SELECT * FROM visits WHERE age IS NULL OR age > 0"
    for source in (DatabaseSource(address, "visits"), DatabaseSource(address, query=query)):
        loaded = load(source, SCHEMA, "patient", "each")
        records = loaded.records
        assert loaded.people == 3 and loaded.rows == 4
        assert records.column("age").tolist() == [40, 41, 0, 7]
        assert records.column("weight").tolist() == [60.25, 61, 70.5, 0]
        assert records.column("ward").tolist() == [0, 0, 1, 2]
        assert records.column("ill").tolist() == [True, False, False, True]
        assert records.column("day").tolist() == [2, 31, 0, 365]


def test_only_what_is_declared_is_read_of_a_table(address: str) -> None:
    table = DatabaseSource(address, "visits").table(["ill", "age"])
    assert table.column_names == ["age", "ill"]
    with pytest.raises(InvalidRecord, match=r"no column 'agee'; it has patient, age, .*did you mean 'age'"):
        load(
            DatabaseSource(address, "visits"),
            declared_of({"agee": {"kind": "bit"}, "ill": {"kind": "bit"}}),
        )


def test_a_query_has_colons_and_percent_signs_as_they_stand(address: str) -> None:
    query = "SELECT patient, ill FROM visits WHERE patient LIKE 'p%' AND patient <> ':p' AND \"Wård: 50%\" <> 'x'"
    assert load(DatabaseSource(address, query=query), declared_of({"ill": {"kind": "bit"}})).rows == 4


def test_whoever_reads_changes_nothing(address: str) -> None:
    for statement in ("DELETE FROM visits", "INSERT INTO visits SELECT * FROM visits RETURNING *"):
        with pytest.raises(LocalDpError):
            DatabaseSource(address, query=statement).table()
    assert DatabaseSource(address, "visits").table().rows == 4


def test_a_draft_has_the_place_and_the_kinds(address: str, tmp_path: Path) -> None:
    draft = as_toml(sketched(DatabaseSource(address, "visits")), "t", tmp_path)
    assert (
        'table = "visits"' in draft
        and 'person = "patient"' in draft
        and "some people have several rows" in draft
    )
    assert "[schema.ward_50]  # 4 cells\n" in draft
    assert "zz:top" not in draft and "60.25" not in draft
    if not address.startswith("postgres"):
        assert f'database = "{address.partition("///")[0]}///clinic.' in draft


def test_a_column_of_several_types_is_read_as_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE t (a, b, c)")
        cells = [(1, "x", b"\0\1"), (2.5, None, "y"), ("3 kg", 7, None), (None, "x", 4)]
        file.executemany("INSERT INTO t VALUES (?, ?, ?)", cells)
    schema = declared_of(
        {
            "a": {"kind": "real", "low": 0, "high": 9, "unit": "kg", "missing": 9},
            "b": {"kind": "category", "labels": ["x", "7", "none"], "missing": "none"},
        }
    )
    for at_once in (1, 2, 4):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(database_source, "AT_ONCE", at_once)
            records = load(DatabaseSource(f"sqlite:///{path}", "t"), schema).records
        assert records.column("a").tolist() == [1, 2.5, 3, 9]
        assert records.column("b").tolist() == [0, 2, 1, 0]


CONFIG = """
name = "a"
[data]
{data}
[schema]
ill = {{ kind = "bit" }}
[budget]
total = 1
"""


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ('database = "sqlite:///c.sqlite"', "one of table"),
        ('database = "sqlite:///c.sqlite"\ntable = "v"\nquery = "SELECT 1"', "one of table"),
        ('database = "sqlite:///c.sqlite"\ntable = "v"\npath = "t.csv"', "goes without data.database"),
        ('path = "t.csv"\ntable = "v"', "goes with data.database"),
        ('database = "postgresql://u:hunter2@h/d"\ntable = "v"', "has a password"),
        ('database = "postgresql://h/d?password=hunter2"\ntable = "v"', "has a password"),
        ('database = "sqlite://"\ntable = "v"', "names no file"),
        ('database = "clinic"\ntable = "v"', "no address of a database"),
    ],
)
def test_what_is_wrong_in_a_configuration_is_told(data: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text(CONFIG.format(data=data))
    with pytest.raises(InvalidParameter, match=told) as refused:
        load_config(tmp_path / "agent.toml")
    assert "hunter2" not in str(refused.value)


SECRETS = [
    "pwd",
    "PWD",
    "p%77d",
    "token",
    "access_token",
    "secret",
    "sslpassword",
    "apikey",
    "passfile",
    "x",
]


@pytest.mark.parametrize(
    "address",
    [
        "mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BUID%3Du%3BPWD%3Dhunter2",
        "mssql+pyodbc://u@h/d?driver=x%7D%3BPWD%3Dhunter2",
        "mssql+pyodbc://u@h/d;PWD=hunter2",
        "mssql+pyodbc://u@dsn%3BPWD=hunter2/d",
        "mssql+pyodbc://u%3BPWD=hunter2@h/d",
        *(f"postgresql://u@h/d?sslmode=require&{key}=hunter2" for key in SECRETS),
        "duckdb:///clinic.duckdb?motherduck_token=hunter2",
        "postgresql://u@h/d?sslmode=require;pwd=hunter2",
    ],
)
def test_whatever_may_be_a_password_has_no_place_in_an_address(address: str) -> None:
    with pytest.raises(InvalidParameter, match="has a password, or what may hold one") as refused:
        address_of(address)
    assert "hunter2" not in f"{refused.value!r} {refused.value.__cause__} {refused.value.__context__}"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u@/d?host=/run/postgresql&sslmode=verify-full&options=-csearch_path%3Dclinic",
        "mysql://u@h/d?unix_socket=/s&charset=utf8mb4",
        "mssql+pyodbc://u@h/d?driver=ODBC+Driver+18+for+SQL+Server&Encrypt=yes",
        "sqlite:////clinic;2.sqlite",
    ],
)
def test_parameters_that_tell_no_secret_may_stand_in_an_address(address: str) -> None:
    assert dict(address_of(address).query) == dict(make_url(address).query)


def test_a_file_of_a_database_stands_beside_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(f"sqlite:///{tmp_path}/c.sqlite")
    (tmp_path / "agent.toml").write_text(
        CONFIG.format(data='database = "sqlite:///c.sqlite"\ntable = "visits"')
    )
    monkeypatch.chdir("/")
    assert loaded_table(load_config(tmp_path / "agent.toml")).rows == 4
    (tmp_path / "c.sqlite").unlink()
    with pytest.raises(InvalidParameter, match="there is no database at"):
        loaded_table(load_config(tmp_path / "agent.toml"))
    assert not (tmp_path / "c.sqlite").exists()  # a driver would have made an empty one


def test_a_password_is_in_a_file_of_its_owner_or_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_text("hunter2\n")
    file.chmod(0o640)
    source = DatabaseSource("postgresql://u@127.0.0.1:1/d", "v", None, file)
    with pytest.raises(InvalidParameter, match="chmod 600"):
        source.table()
    file.chmod(stat.S_IRUSR | stat.S_IWUSR)
    seen = []

    def create_engine(url: URL, **_: object) -> None:
        seen.append(url.password)
        raise ZeroDivisionError

    monkeypatch.setattr("sqlalchemy.create_engine", create_engine)
    for one in (
        source,
        DatabaseSource("mysql://u@127.0.0.1:1/d", "v"),
        DatabaseSource(f"sqlite:///{file}", "v"),
    ):
        monkeypatch.setenv(PASSWORD, "hunter3")
        with pytest.raises(ZeroDivisionError):
            one.table()
    assert seen == ["hunter2", "hunter3", None]
    assert "hunter" not in repr(source)


FAILURES = [
    "SELECT CAST(patient AS integer) + 7 AS ill FROM visits",
    "SELECT 1/0 AS ill, patient FROM visits",
    "SELECT patient AS ill FROM visits",
    "SELECT nothing FROM visits",
    "SELECT * FROM nowhere",
    "SELEC patient",
    "SELECT patient AS ill, weight AS ill FROM visits",
]


@pytest.mark.parametrize("query", FAILURES)
def test_no_cell_no_statement_and_no_password_is_in_a_refusal(query: str, address: str) -> None:
    source = DatabaseSource(address, query=query)
    with pytest.raises(LocalDpError) as refused, quoting_nothing(source):
        load(source, declared_of({"ill": {"kind": "bit"}}))
    told = f"{refused.value} {refused.value!r} {refused.value.__cause__}"
    assert not any(str(cell) in told for row in ROWS for cell in row[:1])
    assert "SELECT" not in told and (
        refused.value.__context__ is None or refused.value.__suppress_context__
    )


def test_a_database_that_is_away_is_told_without_its_address() -> None:
    for kind in ("postgresql", "mysql", "mariadb"):
        source = DatabaseSource(f"{kind}://secretuser@127.0.0.1:1/secretname", "visits")
        with pytest.raises(
            InvalidRecord, match="cannot be reached, or does not let this reader in"
        ) as refused:
            source.table()
        assert "secret" not in str(refused.value)


def test_an_address_is_read_by_the_drivers_of_the_extra() -> None:
    drivers = {
        text: address_of(text).drivername for text in ("postgres://h/d", "mysql://h/d", "mariadb://h/d")
    }
    assert list(drivers.values()) == ["postgresql+psycopg", "mysql+pymysql", "mariadb+pymysql"]


def test_an_unknown_database_names_the_extra() -> None:
    with pytest.raises(InvalidParameter, match=r"localdp\[database\]"):
        DatabaseSource("nosuch://h/d", "visits").table()


@pytest.fixture(scope="module")
def omop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    directory = tmp_path_factory.mktemp("omop")
    example = runpy.run_path(str(ROOT / "examples/tables/omop.py"))
    with pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr("builtins.print", said.append)
        example["main"](directory)
    return directory, json.loads(said[0])


def test_the_example_of_a_clinical_schema_is_an_agents_table(omop: tuple[Path, dict[str, Any]]) -> None:
    directory, known = omop
    loaded = loaded_table(load_config(directory / "omop.toml"))
    assert (loaded.people, loaded.rows) == (known["people"], known["visits"])
    visits, died = loaded.records.column("visit"), loaded.records.column("died")
    assert np.any(visits & died, axis=1).mean() == known["died in any visit"]
    assert 0.4 < loaded.records.column("female").mean() < 0.6
