"""PostgreSQL as a database of ours (psycopg 3, the extra `postgres`): one connection, every commit on disk when it returns.

A state that one process alone may write is `held`: by an advisory lock of the very connection that writes.  So whoever has
lost the connection can write no more, and the lock goes when the process or the database does.  What became of a commit
under which the connection broke is not known here; whoever has `lost` it reads again what is on record.

Passwords are not taken in an address, which others see in the list of processes: libpq finds them in a file (`PGPASSFILE`,
`~/.pgpass`), a service file, or the environment.  Errors say what kind of thing went wrong, and not what stands in a row.

Checked in tests/unit/parties/test_postgres.py, and with the database killed in tests/fault/test_postgres_kill_nine.py.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from localdp.errors import InvalidParameter, StorageFailed
from parties.database import Found, Value, as_postgres

CONNECT_SECONDS = 10
OLDEST = 140000  # PostgreSQL 14; older ones are not kept up by their makers
_SETTINGS = (
    "SET synchronous_commit = on",  # what is acknowledged is on disk, whatever the server's own default
    "SET client_min_messages = warning",
    "SET tcp_keepalives_idle = 10",  # a machine that is gone lets go of what it held
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
)
_REASONS = {
    "28P01": "the password is missing or wrong: put it into a password file (~/.pgpass)",
    "28000": "it does not let this user in",
    "3D000": "there is no database of that name: make it with createdb",
    "53300": "it has no connection left: raise max_connections",
    "53100": "its disk is full",
    "55P03": "another process uses it: stop it first",
    "57P03": "it is starting or stopping: try again",
}


class PostgresDatabase:
    """One connection.  One thread uses it at a time."""

    def __init__(self, address: str, what: str, *, held: bool = False) -> None:
        """`what` the database has, for errors; `held`: nobody else may have it open in the same way."""
        self._what = what
        self._library = _library()
        arguments = parsed(address)
        with self._errors():
            self._connection = self._library.connect(
                **arguments, autocommit=True, connect_timeout=CONNECT_SECONDS
            )
        try:
            self._prepare(held)
        except BaseException:
            self.close()
            raise

    def _prepare(self, held: bool) -> None:
        for setting in _SETTINGS:
            self.execute(setting)
        if self._connection.info.server_version < OLDEST:
            raise StorageFailed(f"{self._what} needs PostgreSQL {OLDEST // 10_000} or newer")
        if self.execute("SHOW fsync").fetchone() != ("on",):
            raise StorageFailed(
                f"the database of {self._what} has fsync off, and would lose what was acknowledged: turn it on"
            )
        if held:
            self._hold()

    def _hold(self) -> None:
        """Lock the state for this connection.  The database notices a little later that the one before it is gone."""
        self.execute("SET lock_timeout = '2s'")
        self.execute("SELECT pg_advisory_lock(hashtext('localdp'), hashtext(current_schema()))")
        self.execute("RESET lock_timeout")

    @property
    def lost(self) -> bool:
        """Whether the connection broke: what was being written is on record, or is not."""
        return bool(self._connection.closed)

    @property
    def in_transaction(self) -> bool:
        """Whether something was begun and not ended; nothing is, once the connection is gone."""
        idle = self._library.pq.TransactionStatus.IDLE
        return not self.lost and self._connection.info.transaction_status != idle

    def execute(self, statement: str, values: Sequence[Value] = (), /) -> Found:
        """One statement, with a value for each `?`."""
        with self._errors():
            found: Found = self._connection.execute(as_postgres(statement), values or None, binary=True)
            return found

    def executemany(self, statement: str, values: Iterable[Sequence[Value]], /) -> None:
        """One statement, once for each of the values; sent without waiting for each answer."""
        with self._errors(), self._connection.cursor(binary=True) as cursor:
            cursor.executemany(as_postgres(statement), values)

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._library.Error as error:
            reason = _REASONS.get(error.sqlstate or "", type(error).__name__)
            raise StorageFailed(
                f"the database of {self._what} could not be read or written ({reason})"
            ) from None


def parsed(address: str) -> dict[str, str]:
    """What an address says, for libpq; refuses one that would show a password to everybody on the machine."""
    library = _library()
    try:
        arguments: dict[str, str] = library.conninfo.conninfo_to_dict(address)
    except library.Error:
        raise InvalidParameter(
            "this is no address of a PostgreSQL database, such as postgresql://localdp@db.example/server_0"
        ) from None
    if any(value and ("password" in name or "secret" in name) for name, value in arguments.items()):
        raise InvalidParameter(
            "the address has a password, which everybody on this machine can see: leave it out, and put it into a"
            " password file (~/.pgpass, or where PGPASSFILE says)"
        )
    return arguments


def _library() -> ModuleType:
    try:
        return importlib.import_module("psycopg")
    except ImportError as error:
        raise InvalidParameter(
            "PostgreSQL needs psycopg, which is not installed: pip install 'localdp[postgres]'"
        ) from error
