"""The tables of a share server's state, of every version, for SQLite and PostgreSQL alike.

A state has the number of its version: in SQLite in the head of the file, in PostgreSQL in a table of one row.  What an
older version wrote is brought up to date in one transaction, a step for each version; what a later one wrote is refused.
(Version 0.1 of localdp is another affair: `old_state`.)

Checked in tests/contract/test_share_storage.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from localdp.errors import StorageFailed
from parties.database import Database, run_all
from parties.postgres import PostgresDatabase

VERSION = 5  # 4 sealed reports and sums without saying whose, and of which decisions
TABLES = """
CREATE TABLE server (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  name TEXT NOT NULL
) STRICT;
CREATE TABLE collections (
  digest BLOB PRIMARY KEY,
  description BLOB NOT NULL,
  owner TEXT NOT NULL,
  verify_key BLOB NOT NULL DEFAULT x'',
  sums BLOB NOT NULL DEFAULT x'',
  reports INTEGER,
  accepted BLOB,
  jobs INTEGER,
  joint BLOB NOT NULL DEFAULT x'',
  opened INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE uploads (
  collection BLOB NOT NULL,
  number INTEGER NOT NULL,
  reports INTEGER NOT NULL,
  positions BLOB NOT NULL,
  public_bytes INTEGER NOT NULL,
  rows BLOB NOT NULL,
  PRIMARY KEY (collection, number)
) STRICT;
CREATE TABLE votes (
  collection BLOB NOT NULL,
  number INTEGER NOT NULL,
  positions BLOB NOT NULL,
  accepted BLOB NOT NULL,
  PRIMARY KEY (collection, number)
) STRICT;
CREATE TABLE jobs (
  collection BLOB NOT NULL,
  number INTEGER NOT NULL,
  positions BLOB NOT NULL,
  accepted BLOB NOT NULL,
  PRIMARY KEY (collection, number)
) STRICT;
CREATE TABLE released (
  digest BLOB PRIMARY KEY,
  number INTEGER NOT NULL,
  owner TEXT NOT NULL,
  reports INTEGER NOT NULL,
  jobs INTEGER NOT NULL,
  accepted BLOB NOT NULL,
  element_bytes INTEGER NOT NULL,
  noisy_sums BLOB NOT NULL,
  attempt BLOB NOT NULL DEFAULT x''
) STRICT, WITHOUT ROWID;
"""
UPGRADES: Mapping[int, str] = {  # from each version to the next
    2: """
ALTER TABLE collections ADD COLUMN joint BLOB NOT NULL DEFAULT x'';
ALTER TABLE released ADD COLUMN attempt BLOB NOT NULL DEFAULT x'';
""",
    3: """
ALTER TABLE collections ADD COLUMN opened INTEGER NOT NULL DEFAULT 0;
UPDATE collections SET opened = (SELECT count(*) FROM collections AS other WHERE other.digest <= collections.digest);
""",
    4: "",
}


def bring_up_to_date(database: Database, where: str) -> None:
    """Make the tables, or have them as they are today, whichever version wrote them; within a transaction."""
    found, note = _kept_number(database)
    if found == 0:
        run_all(database, TABLES)
    elif not min(UPGRADES) <= found <= VERSION:
        raise StorageFailed(f"{where} is the state of another version of localdp: use a later version")
    else:
        for version in range(found, VERSION):
            run_all(database, UPGRADES[version])
    note(VERSION)


def _kept_number(database: Database) -> tuple[int, Callable[[int], object]]:
    """The version of a state, 0 where there is none yet, and how it is written down."""
    if not isinstance(database, PostgresDatabase):
        kept: int = database.execute("PRAGMA user_version").fetchone()[0]
        return kept, lambda number: database.execute(f"PRAGMA user_version = {number}")
    database.execute(
        "CREATE TABLE IF NOT EXISTS version (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER)"
    )
    row = database.execute("SELECT number FROM version").fetchone()
    return (0 if row is None else row[0]), lambda number: database.execute(
        "INSERT INTO version VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET number = excluded.number",
        (number,),
    )
