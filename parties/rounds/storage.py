"""The file of a coordinator: roster and journal in one SQLite database, synced at every commit.

It holds names, addresses, questions and sums of randomized reports; no report, and nothing that a party did not send to
the coordinator anyway.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parties import durable
from parties.durable import open_synced, transaction

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
  only INTEGER PRIMARY KEY CHECK (only = 1),
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
    """The open file.  One thread uses it at a time; several processes may."""

    def __init__(self, path: Path) -> None:
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self.file = open_synced(path)
            self.file.executescript(_LAYOUT)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing; on disk when the block has ended."""
        with storage_errors(), transaction(self.file):
            yield self.file

    def close(self) -> None:
        """Let go of the file."""
        self.file.close()


storage_errors = functools.partial(durable.storage_errors, "the journal")
