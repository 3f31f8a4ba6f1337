"""Where a coordinator keeps roster and journal: a SQLite file or a PostgreSQL database, synced at every commit.

It holds names, addresses, questions and sums of randomized reports; no report, and nothing that a party did not send to
the coordinator anyway.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parties import durable
from parties.database import Database, is_address, run_all
from parties.durable import add_column, open_synced, transaction
from parties.postgres import PostgresDatabase

WHAT = "the journal"
_LAYOUT = """
CREATE TABLE IF NOT EXISTS parties (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  address TEXT NOT NULL,
  people INTEGER NOT NULL,
  schema_digest BLOB NOT NULL,
  share_servers TEXT NOT NULL,
  withdrawn INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS roster_schema (
  "only" INTEGER PRIMARY KEY CHECK ("only" = 1),
  data TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS rounds (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  round_id TEXT NOT NULL UNIQUE,
  request BLOB NOT NULL,
  query TEXT NOT NULL,
  randomizer TEXT NOT NULL,
  schema_digest BLOB NOT NULL,
  quorum TEXT NOT NULL,
  missing TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS asked (
  round_id TEXT NOT NULL,
  party TEXT NOT NULL,
  address TEXT NOT NULL,
  cohort BLOB NOT NULL,
  people INTEGER NOT NULL,
  place INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (round_id, party)
) STRICT;
CREATE TABLE IF NOT EXISTS tallies (
  round_id TEXT NOT NULL,
  party TEXT NOT NULL,
  reports INTEGER NOT NULL,
  sums BLOB NOT NULL,
  PRIMARY KEY (round_id, party)
) STRICT;
"""


class Storage:
    """The open file or database.  One thread uses it at a time; several processes may."""

    def __init__(self, place: str | Path) -> None:
        """A path, or the address of a database; what there is none of is made."""
        if is_address(str(place)):
            self.file: Database = PostgresDatabase(str(place), WHAT)
            with self.transaction() as file:
                run_all(file, _LAYOUT)
        else:
            self.file = _opened(Path(place))

    @contextmanager
    def transaction(self) -> Iterator[Database]:
        """All of it or nothing; on disk when the block has ended."""
        with storage_errors(), transaction(self.file):
            yield self.file

    def close(self) -> None:
        """Let go of it."""
        self.file.close()


def _opened(path: Path) -> Database:
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open_synced(path)
        try:
            with transaction(file):
                run_all(file, _LAYOUT)
                if add_column(
                    file, "asked", "place", "INTEGER NOT NULL DEFAULT 0"
                ):  # earlier ones had rowid
                    file.execute("UPDATE asked SET place = rowid")
        except BaseException:
            file.close()
            raise
        return file


storage_errors = functools.partial(durable.storage_errors, WHAT)
