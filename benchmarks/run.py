"""All benchmarks of one run, printed and written as JSON: `python -m benchmarks.run --out out/bench.json`."""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.computing import computing
from benchmarks.costs import costs
from benchmarks.crowds import crowds
from benchmarks.joint import joint
from benchmarks.peers import peers
from benchmarks.prio3 import prio3
from benchmarks.randomizers import randomizers
from benchmarks.report_files import report_files
from benchmarks.rows import Row, print_rows
from benchmarks.samplers import samplers
from benchmarks.secure_peers import secure_peers
from benchmarks.service import service
from benchmarks.share_workers import share_workers
from benchmarks.shares import shares


def main() -> None:
    """Measure everything; exit 1 if a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench.json"))
    parser.add_argument(
        "--peers",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="compare with other libraries, each installed under .venv-peers/ the first time",
    )
    options = parser.parse_args()
    path: Path = options.out
    rows: list[Row] = []
    for measure in (
        samplers,
        randomizers,
        crowds,
        report_files,
        prio3,
        service,
        shares,
        share_workers,
        computing,
        joint,
        costs,
        *([peers, secure_peers] if options.peers else []),
    ):
        measured = measure()
        print_rows(measured)
        rows += measured
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=2) + "\n")
    missed = [row["name"] for row in rows if row["ok"] is False]
    if missed:
        sys.exit(f"missed: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
