"""PostgreSQL in the words of SQLite: what is asked of both alike, what is refused, and what no error tells."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter, StorageFailed
from parties.database import Database, as_postgres, is_address, run_all
from parties.durable import transaction
from parties.postgres import PostgresDatabase, parsed
from parties.shares import layout
from tests.support.postgres import new_database, shared_postgres

PASSWORD = "a secret that everybody could see"  # noqa: S105


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return sqlite3.connect(tmp_path / "file", isolation_level=None)
    return PostgresDatabase(new_database(), "a test")


def test_both_are_asked_in_the_same_words(database: Database) -> None:
    with closing(database):
        run_all(
            database,
            "CREATE TABLE things (name TEXT, number INTEGER, data BLOB NOT NULL DEFAULT x'') STRICT;",
        )
        database.executemany(
            "INSERT INTO things VALUES (?, ?, ?)", [("one", 1, b"\x00\xff"), ("two", 2**62, b"")]
        )
        database.execute("INSERT INTO things (name) VALUES (?)", ("100 %s",))
        rows = database.execute("SELECT * FROM things ORDER BY number").fetchall()
        assert sorted(rows, key=str) == [
            ("100 %s", None, b""),
            ("one", 1, b"\x00\xff"),
            ("two", 2**62, b""),
        ]
        assert database.execute("SELECT number FROM things WHERE data = ?", (b"\x00\xff",)).fetchone() == (
            1,
        )


def test_a_transaction_is_whole_or_not_there(database: Database) -> None:
    with closing(database):
        database.execute("CREATE TABLE numbers (number INTEGER)")
        with suppress(ZeroDivisionError), transaction(database):
            database.execute("INSERT INTO numbers VALUES (1)")
            raise ZeroDivisionError
        assert not database.in_transaction
        with transaction(database):
            database.execute("INSERT INTO numbers VALUES (2)")
        assert database.execute("SELECT number FROM numbers").fetchall() == [(2,)]


def test_every_statement_of_the_layout_is_said_in_postgres_words() -> None:
    said = as_postgres(layout.TABLES)
    assert "BLOB" not in said and "STRICT" not in said and "WITHOUT ROWID" not in said
    assert said.count("BYTEA") == layout.TABLES.count("BLOB")


@pytest.mark.parametrize(
    ("text", "address"), [("server-0.state", False), ("./postgresql:", False), ("postgresql://a@b/c", True)]
)
def test_an_address_is_told_from_a_path(text: str, address: bool) -> None:
    assert is_address(text) is address


def test_an_address_with_a_password_is_refused_without_repeating_it() -> None:
    for address in (
        f"postgresql://me:{PASSWORD}@db/x",
        f"postgresql://me@db/x?password={PASSWORD}",
        f"postgresql://me@db/x?sslpassword={PASSWORD}",
    ):
        with pytest.raises(InvalidParameter, match="pgpass") as refused:
            parsed(address.replace(" ", "%20"))
        assert PASSWORD not in str(refused.value)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="no address"):
        parsed("postgresql://me@db/x?nonsense=1")


def test_a_password_in_the_environment_is_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    for address in ("postgresql://me@127.0.0.1:1/x", new_database().replace("/postgres?", "/nothing?")):
        with pytest.raises(StorageFailed, match="the database of a test") as failed:
            PostgresDatabase(address, "a test")
        assert PASSWORD not in str(failed.value) and failed.value.__cause__ is None


def test_what_stands_in_a_row_is_in_no_error() -> None:
    with closing(PostgresDatabase(new_database(), "a test")) as database:
        database.execute("CREATE TABLE people (name TEXT PRIMARY KEY)")
        database.execute("INSERT INTO people VALUES (?)", (PASSWORD,))
        with pytest.raises(StorageFailed, match="UniqueViolation") as failed:
            database.execute("INSERT INTO people VALUES (?)", (PASSWORD,))
        assert PASSWORD not in str(failed.value)
        assert database.execute("SELECT count(*) FROM people").fetchone() == (1,)  # it can still be asked


def test_a_database_that_is_held_is_held_once_and_by_the_connection() -> None:
    address = new_database()
    first = PostgresDatabase(address, "a test", held=True)
    with pytest.raises(StorageFailed, match="another process uses it: stop it first"):
        PostgresDatabase(address, "a test", held=True)
    PostgresDatabase(new_database(), "a test", held=True).close()  # another state beside it
    first.close()
    PostgresDatabase(address, "a test", held=True).close()


def test_a_connection_that_broke_is_lost() -> None:
    address = new_database()
    with (
        closing(PostgresDatabase(address, "a test")) as one,
        closing(PostgresDatabase(address, "a test")) as other,
    ):
        number = one.execute("SELECT pg_backend_pid()").fetchone()[0]
        other.execute("SELECT pg_terminate_backend(?)", (number,))
        assert (one.lost, one.in_transaction) == (False, False)  # nobody told it yet
        with pytest.raises(StorageFailed), transaction(one):
            pass
        assert (one.lost, one.in_transaction) == (True, False)


def test_a_database_that_would_lose_what_it_acknowledged_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert shared_postgres()
    from parties import postgres

    monkeypatch.setattr(postgres, "_SETTINGS", ())
    said = PostgresDatabase.execute

    class Off:
        def fetchone(self) -> tuple[str]:
            return ("off",)

    monkeypatch.setattr(
        PostgresDatabase,
        "execute",
        lambda self, text, *more: Off() if "fsync" in text else said(self, text, *more),
    )
    with pytest.raises(StorageFailed, match="fsync"):
        PostgresDatabase(new_database(), "a test")


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidParameter, match=r"localdp\[postgres\]"):
        PostgresDatabase("postgresql://me@db/x", "a test")
