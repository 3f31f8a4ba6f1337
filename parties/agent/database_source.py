"""A party's table in a database: PostgreSQL, MySQL or MariaDB, SQLite, DuckDB, whatever SQLAlchemy has a driver for.

A table or the rows of one query are read in blocks, in one statement, which sees one state of the database; the
connection may read only.  Every block becomes Arrow columns, so cells mean what they mean in a Parquet file
(`parties.agent.typed_cells`).

No password stands in an address, which is in lists of processes and in files that are shared: parameters of an address
are those of a list that hold none.  It is taken from a file
that its owner alone may read, or from the environment (LOCALDP_DATABASE_PASSWORD), when the table is read, and kept
nowhere; PostgreSQL also looks into ~/.pgpass.  What a driver says quotes cells and statements, so of its errors only the
kind and the code are told.

Checked in tests/unit/parties/agent/test_databases.py, there with MariaDB at night.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from localdp.errors import InvalidParameter, InvalidRecord
from parties.agent.arrow_blocks import Blocks
from parties.agent.typed_cells import ArrowTable

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Executable

PASSWORD = "LOCALDP_DATABASE_PASSWORD"  # noqa: S105 - the name of a variable
AT_ONCE = 20_000  # rows
_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}
_FILES = ("sqlite", "duckdb")
_READ_ONLY = {
    "sqlite": "PRAGMA query_only = ON",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
}
# What may stand behind "?" in an address: of all that drivers take, what tells no secret.
_PARAMETERS = frozenset(
    {
        "application_name",
        "client_encoding",
        "connect_timeout",
        "host",
        "hostaddr",
        "keepalives",
        "options",
        "port",
    }
    | {"sslcert", "sslcrl", "sslkey", "sslmode", "sslrootcert", "target_session_attrs"}
    | {"charset", "read_timeout", "unix_socket", "ssl", "ssl_ca", "ssl_cert", "ssl_key"}
    | {"ssl_check_hostname", "ssl_verify_cert", "ssl_verify_identity"}
    | {"applicationintent", "driver", "encrypt", "timeout", "trustservercertificate"}
)
_NEEDED = "a database needs SQLAlchemy and its driver: pip install 'localdp[database]'"


def is_database(text: str) -> bool:
    """Whether this is the address of a database, and no path."""
    return "://" in text


@dataclass(frozen=True, slots=True)
class DatabaseSource:
    """A table or a query of a database."""

    address: str  # in SQLAlchemy's words, without a password
    relation: str | None = None  # a table or a view, such as "visits" or "clinic.visits"
    query: str | None = None
    password_file: Path | None = None

    @property
    def name(self) -> str:
        """What messages call it: no user, no host, no statement."""
        what = "a query" if self.relation is None else f"table {self.relation}"
        return f"the database, {what}"

    def table(self, wanted: Sequence[str] | None = None) -> ArrowTable:
        """The table, read; of `wanted` columns alone where it is one table."""
        url = address_of(self.address)
        if url.get_backend_name() in _FILES and not Path(url.database or "").is_file():
            raise InvalidParameter(f"there is no database at {Path(url.database or '').absolute()}")
        with _told(self.name), self._connected(url) as connection:
            blocks = _read(connection, self._statement(connection, wanted))
        return ArrowTable(self.name, blocks.table())

    @contextmanager
    def _connected(self, url: URL) -> Iterator[Connection]:
        from sqlalchemy import create_engine, text
        from sqlalchemy.pool import NullPool

        kind = url.get_backend_name()
        only = {"read_only": True} if kind == "duckdb" else {}
        secret = self._password(kind)
        engine = create_engine(
            url if secret is None else url.set(password=secret), poolclass=NullPool, connect_args=only
        )
        options = {"postgresql_readonly": True} if kind == "postgresql" else {}
        with engine.connect() as connection:
            if kind in _READ_ONLY:
                connection.execute(text(_READ_ONLY[kind]))
                connection.rollback()
            yield connection.execution_options(**options)
            connection.rollback()

    def _password(self, kind: str) -> str | None:
        if self.password_file is not None:
            return _of_file(self.password_file)
        return None if kind in _FILES else os.environ.get(PASSWORD)

    def _statement(self, connection: Connection, wanted: Sequence[str] | None) -> Executable:
        from sqlalchemy import column, select, table, text

        if self.query is not None:
            return text(self.query.replace(":", r"\:"))
        schema, _, name = (self.relation or "").rpartition(".")
        relation = table(name, schema=schema or None)
        with connection.execute(select(text("*")).select_from(relation).limit(0)) as nothing:
            names = list(nothing.keys())
        chosen = [one for one in names if wanted is None or one in wanted]
        if wanted is not None and len(chosen) != len(wanted):  # a refusal tells what there is
            chosen = names
        return select(*(column(one) for one in chosen)).select_from(relation)


def _read(connection: Connection, statement: Executable) -> Blocks:
    with connection.execute(statement, execution_options={"yield_per": AT_ONCE}) as result:
        blocks = Blocks(list(result.keys()))
        for rows in result.partitions():
            blocks.add(rows)
    return blocks


def address_of(text: str, beside: Path | None = None) -> URL:
    """What an address says; a file of a database stands beside the file that names it."""
    try:
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError
    except ImportError as error:
        raise InvalidParameter(_NEEDED) from error
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise InvalidParameter(
            "this is no address of a database, such as postgresql://reader@db.example/clinic or sqlite:///clinic.sqlite"
        ) from None
    _require_no_secret(url)
    if url.get_backend_name() in _FILES:
        return _of_a_file(url, beside)
    return url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))


def _require_no_secret(url: URL) -> None:
    """Refuse an address with a password, or with anything that could be one: nothing of it is quoted."""
    parts = [one for values in url.normalized_query.values() for one in values]
    if url.get_backend_name() not in _FILES:
        parts += [url.username or "", url.host or "", url.database or ""]
    unknown = {key.lower() for key in url.query} - _PARAMETERS
    hidden = any(";" in unquote(one) for one in parts)  # ODBC would read further parameters behind it
    if url.password is not None or unknown or hidden:
        raise InvalidParameter(
            "the address has a password, or what may hold one, which others can see: leave it out, and name a file that"
            f" you alone may read (password_file), or set {PASSWORD}. An address has no ; and behind its ? may stand"
            f" {', '.join(sorted(_PARAMETERS))}"
        )


def relative(address: str, beside: Path) -> str:
    """The same address for a file in a directory."""
    url = address_of(address)
    if url.get_backend_name() in _FILES:
        url = url.set(database=os.path.relpath(url.database or "", beside))
    told: str = url.render_as_string(hide_password=False)
    return told


def _of_a_file(url: URL, beside: Path | None) -> URL:
    if not url.database or url.database.startswith(":"):
        raise InvalidParameter("the address names no file of a database, such as sqlite:///clinic.sqlite")
    path = url.database if beside is None else str((beside / url.database).absolute())
    return url.set(database=path)


def _of_file(path: Path) -> str:
    """A password that nobody but its owner could have read."""
    try:
        mode = path.stat().st_mode
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidParameter(
            f"the password file {path} cannot be read ({type(error).__name__})"
        ) from None
    if stat.S_IMODE(mode) & 0o077:
        raise InvalidParameter(f"others may read the password file {path}: chmod 600 {path}")
    return text


@contextmanager
def _told(name: str) -> Iterator[None]:
    """What SQLAlchemy and its drivers raise, by kind and code."""
    from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError

    try:
        yield
    except (NoSuchModuleError, ImportError):
        raise InvalidParameter(f"{name}: {_NEEDED}") from None
    except DBAPIError as error:
        code = getattr(error.orig, "sqlstate", None) or next(iter(getattr(error.orig, "args", ())), None)
        shown = f" {code}" if isinstance(code, int) or (isinstance(code, str) and code.isalnum()) else ""
        raise InvalidRecord(
            f"{name}: {_reason(type(error).__name__)} ({type(error).__name__}{shown})"
        ) from None
    except SQLAlchemyError as error:
        raise InvalidRecord(f"{name}: it cannot be read ({type(error).__name__})") from None


def _reason(kind: str) -> str:
    if kind == "OperationalError":
        return "it cannot be reached, or does not let this reader in"
    if kind == "ProgrammingError":
        return (
            "it does not have what is asked for; look at the table, the query and the rights of the reader"
        )
    return "it cannot be read"
