"""The memory that a Parquet file takes to be read: that of its records, and little beside; a process of its own says it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from tests.support.processes import ROOT

# A second copy of all columns is what the twin makes.
_READING = """
import json, sys, time
from pathlib import Path
from pyarrow import parquet
from localdp.domains import Records
from parties.agent.data import load
from parties.agent.sources import Source
from parties.federated.tables import declared_of

schema = declared_of({
    "age": {"kind": "integer", "low": 0, "high": 120},
    "weight": {"kind": "real", "low": 0, "high": 300},
    "ward": {"kind": "category", "labels": [f"ward{number}" for number in range(12)]},
    "ill": {"kind": "bit"},
    "day": {"kind": "integer", "low": 0, "high": 366, "as": "days", "since": "2024-01-01"},
})
if sys.argv[2] == "copying":
    Records.adopted = Records.from_columns
def peak():  # of this program; getrusage knows that of whoever started it, too
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
before, began = peak(), time.process_time()
records = load(Source(Path(sys.argv[1])), schema).records
took = time.process_time() - began
held = sum(records.column(name).nbytes for name in records.schema.names)
print(json.dumps({"peak": peak() - before, "held": held, "seconds": took}))
"""


@dataclass(frozen=True)
class Taken:
    """What reading took."""

    peak: int  # bytes above what the process had before
    held: int  # bytes of the records
    seconds: float  # of a processor

    @property
    def ratio(self) -> float:
        """Of the records' own memory."""
        return self.peak / self.held


def reading(directory: Path, rows: int, variant: str = "sound") -> Taken:
    """Read a table of so many rows in a process of its own."""
    path, coins = directory / "table.parquet", np.random.default_rng(1)
    wards = pyarrow.array([f"ward{number}" for number in range(12)])
    columns = {
        "age": pyarrow.array(coins.integers(0, 97, rows).astype(np.int16)),
        "weight": pyarrow.array(coins.uniform(40, 120, rows)),
        "ward": wards.take(pyarrow.array(coins.integers(0, 12, rows))),
        "ill": pyarrow.array(coins.random(rows) < 0.3),
        "day": pyarrow.array(np.datetime64("2024-01-01") + coins.integers(0, 365, rows)),
    }
    parquet.write_table(pyarrow.table(columns), path)
    said = subprocess.run(
        [sys.executable, "-c", _READING, str(path), variant],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        timeout=300,
    )
    return Taken(**json.loads(said.stdout))


def test_a_further_row_takes_little_more_than_the_memory_of_its_record(tmp_path: Path) -> None:
    """A library takes the same for any number of rows, so that two sizes are compared."""
    further = dict[str, float]()
    for variant in ("sound", "copying"):
        few, many = (reading(tmp_path, rows, variant) for rows in (1_000_000, 3_000_000))
        further[variant] = (many.peak - few.peak) / (many.held - few.held)
    assert further["sound"] < 1.5 < further["copying"]


@pytest.mark.nightly
def test_ten_million_rows_are_read_in_one_and_a_half_times_their_memory(tmp_path: Path) -> None:
    taken = reading(tmp_path, 10_000_000)
    assert taken.ratio <= 1.5 and taken.seconds <= 10
