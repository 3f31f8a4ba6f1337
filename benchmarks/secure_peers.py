"""Secure computation beside MPyC 0.11 with its secure arrays: three processes of this machine each, one after the other.

MPyC is semi-honest: its parties are trusted to follow the protocol.  Ours prove every gate.  What is measured is in
`peer_scripts/mpyc_methods.py` and `peer_scripts/localdp_computing.py`; ratios are of the processor time of all three
processes, which a busy machine does not change much, and seconds stand beside it.

Random bits are made by square roots there, which take long in the field of counts and sums and are cheap in the one that
MPyC picks itself: both are measured, and the target is for the same field.

Run with `python -m benchmarks.secure_peers`.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers import SCRIPTS, Absent, Peer, absent_row, installed, output_of
from benchmarks.rows import Row, print_rows, row_of

MPYC = Peer("mpyc", ("mpyc==0.11", "gmpy2", "numpy"), "mpyc_methods.py")
SECONDS = 300  # for one script on a busy machine
OURS, THEIRS = 7, 2  # repetitions, of which the best counts


class Task(NamedTuple):
    """What both compute: the names of the methods here and there, and how many times faster ours has to be."""

    ours: str
    theirs: str
    size: int
    faster: float | None


TASKS = [
    Task("random bits", "random bits", 262_144, 200),
    Task("random bits", "random bits in a field of its own", 262_144, None),
    Task("comparisons", "comparisons", 4096, 8),
    Task("argmax", "argmax", 4096, 8),
    Task("noisy maximum", "noisy maximum", 256, 30),
]


def secure_peers() -> list[Row]:
    """A row for each task."""
    try:
        python = installed(MPYC)
    except Absent as absent:
        print(f"{MPYC.name}: absent: {absent}")
        return [absent_row(_name(task), absent) for task in TASKS]
    return [_row(task, python) for task in TASKS]


def _name(task: Task) -> str:
    return f"{MPYC.name}, {task.size:,} {task.theirs}"


def _row(task: Task, python: Path) -> Row:
    try:
        command = [str(python), str(SCRIPTS / MPYC.script), task.theirs, str(task.size), str(THEIRS)]
        theirs = _measured([*command, "-M3", "-B", str(_free_port()), "--no-log"])
    except Absent as absent:
        return absent_row(_name(task), absent)
    script = str(SCRIPTS / "localdp_computing.py")
    ours = _measured([sys.executable, script, task.ours, str(task.size), str(OURS)])
    there = f"{1000 * theirs['work']:.0f} ms; {ours['seconds']:.3g} s here, {theirs['seconds']:.3g} s there"
    target = None if task.faster is None else 1 / task.faster
    return row_of(
        _name(task), 1000 * ours["work"], "ms of CPU", there, ours["work"] / theirs["work"], target
    )


def _measured(command: list[str]) -> dict[str, float]:
    measured: dict[str, float] = json.loads(output_of(command, SECONDS).splitlines()[-1])
    return measured


def _free_port() -> int:
    """The first of some that are hopefully free."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


if __name__ == "__main__":
    print_rows(secure_peers())
