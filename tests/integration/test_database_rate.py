"""An agent reads a table of PostgreSQL at no less than half of what the reader alone reaches: rows fetched, and forgotten.

Both take turns in the same run, and what is compared is the time of this process's processor.
"""

from __future__ import annotations

import time

import pytest
from sqlalchemy import ColumnClause, column, create_engine, select, table, text
from sqlalchemy.pool import NullPool

from benchmarks.rows import best_seconds
from parties.agent import database_source
from parties.agent.data import load
from parties.agent.database_source import AT_ONCE, DatabaseSource
from parties.federated.tables import declared_of
from tests.support.postgres import new_database

ROWS = 60_000
SCHEMA = declared_of(
    {
        "age": {"kind": "integer", "low": 0, "high": 120},
        "weight": {"kind": "real", "low": 0, "high": 300},
        "ward": {"kind": "category", "labels": [f"ward{number}" for number in range(12)]},
        "ill": {"kind": "bit"},
        "day": {"kind": "integer", "low": 0, "high": 366, "as": "days", "since": "2024-01-01"},
    }
)
FILL = """
CREATE TABLE visits AS SELECT (random() * 96)::int AS age, 40 + random() * 80 AS weight,
  'ward' || (random() * 11)::int AS ward, random() < 0.3 AS ill, DATE '2024-01-01' + (random() * 364)::int AS day
FROM generate_series(1, 60000)
"""


@pytest.mark.nightly
def test_an_agent_reads_at_half_the_rate_of_the_reader_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    address = new_database()
    engine = create_engine(address.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text(FILL))
    names: list[ColumnClause[object]] = [column(name) for name in SCHEMA.schema.names]

    def alone() -> int:
        statement = select(*names).select_from(table("visits"))
        with (
            engine.connect() as one,
            one.execute(statement, execution_options={"yield_per": AT_ONCE}) as rows,
        ):
            return sum(len(block) for block in rows.partitions())

    def agent() -> int:
        return load(DatabaseSource(address, "visits"), SCHEMA).rows

    assert alone() == agent() == ROWS  # and everything is imported
    reader, ours = best_seconds([alone, agent], 3, time.process_time)
    monkeypatch.setattr(database_source, "AT_ONCE", 8)  # the twin asks for eight rows at a time
    (twin,) = best_seconds([agent], 1, time.process_time)
    assert reader / ours >= 0.5 > reader / twin
