"""Reports in files, to the sums: what `localdp aggregate` takes for each.

Projective geometry over 1,024 inputs, epsilon 1, in four files; the processor's time of this process, which reads them
alone, the best of all turns.  Run with `python -m benchmarks.report_files`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.crowds import INPUTS
from benchmarks.rows import Row, best_seconds, print_rows, row_of
from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.registry import entry_of
from localdp.randomness.keystream import KeystreamSource
from parties.at_rest.aggregating import aggregate
from parties.at_rest.report_file import REPORTS_PER_ROW, Heading, Packed, write_reports

TURNS = 7
FILES, ROWS = 4, 64  # of each
REPORTS = FILES * ROWS * REPORTS_PER_ROW
LIMIT_NS = 7.0


def report_files() -> list[Row]:
    """What one report of a file costs."""
    with tempfile.TemporaryDirectory() as directory:
        _write(Path(directory))
        places = [f"{directory}/*.parquet"]
        (seconds,) = best_seconds([lambda: aggregate(places)], TURNS, process_time)
    each = seconds / REPORTS * 1e9
    name = f"{REPORTS / 1e6:.0f} million reports of {INPUTS:,} inputs, from files to sums"
    return [row_of(name, each, "ns a report", f"{LIMIT_NS:g} ns", each / LIMIT_NS, 1.0)]


def _write(directory: Path) -> None:
    made = entry_of("projective-geometry").made(Epsilon.requested(1), INPUTS)
    values = np.arange(REPORTS_PER_ROW) % INPUTS
    packed = made.pack(made.randomize(values, KeystreamSource.from_system()))

    def rows() -> Iterator[Packed]:
        for _ in range(ROWS):
            yield packed, REPORTS_PER_ROW

    for number in range(FILES):
        people = ROWS * REPORTS_PER_ROW
        heading = Heading(bytes(32), "region", made, f"party-{number}", 1, 0, people, 0)
        with (directory / f"{number}.parquet").open("wb") as file:
            write_reports(file, heading, rows())


if __name__ == "__main__":
    print_rows(report_files())
