"""The same methods in other libraries: `pure-ldp`, `multi-freq-ldpy`, `opendp` and `diffprivlib`.

Each is installed, as published but for the pins without which it does not start today, in an environment of its own under
`.venv-peers/`, and measured there by the scripts of `peer_scripts/`, one process for each method; ours is measured by the
same script code in a process of its own, right after.  Same Zipf data, 1,024 inputs, epsilon 1.

- Times are for one person, the best over all repetitions.  The peers serve one person at a time and are given as many as
  they can take in a second or so; ours is given a million, or 20,000 where a report is long.
- Peak memory and errors are for the *same* number of people on both sides, all reports held at once.
- Errors are means of squares over all inputs and repetitions, so many that the ratio of two equal ones has a standard error
  below 2 %; ours is repeated four times as often, being faster.  multi-freq-ldpy clips and normalises its frequencies and
  cannot be told not to: ours then does so too.  Where an aggregator tallies and decodes in one, both are timed together.
- opendp and diffprivlib have no aggregator for bits, categories and means, so that there is nothing to compare there;
  and pure-ldp's decoder of Bloom filters (LASSO) takes minutes at this size, so that it is left out.

Run with `python -m benchmarks.peers`.  Without network and without the environments, one row for each
method says that it is absent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from benchmarks.randomizers import zipf_people
from benchmarks.rows import Row, print_rows, row_of

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "benchmarks" / "peer_scripts"
ENVIRONMENTS = ROOT / ".venv-peers"
INSTALL_SECONDS = 240
SCRIPT_SECONDS = 60
OURS_REPETITIONS = 5  # at least, and as many as the peer's

CLIENT, NOT_BEHIND, SAME_VARIANCE = 0.05, 1.0, 1.05


class Peer(NamedTuple):
    """A library, what to install, and the script that measures it."""

    name: str
    requirements: tuple[str, ...]
    script: str
    clipped: bool = False  # its frequencies are clipped and normalised


class Job(NamedTuple):
    """A method of a peer: how many people it is given, how often, and how many ours is given to be timed."""

    method: str
    people: int
    repetitions: int
    ours: int
    group: int = 0  # people whose mean is estimated at a time, so that there are many errors to average
    server: str = (
        "two steps"  # its aggregator: tally and decode in "two steps" or "one step", "tally", "none"
    )


FAST, SLOW = 1_000_000, 20_000
JOBS: dict[Peer, list[Job]] = {
    Peer(
        "pure-ldp",
        ("pure-ldp==1.2.0", "xxhash<4", "numpy<2.3", "scikit-learn", "statsmodels"),
        "pure_ldp_methods.py",
    ): [
        Job("k-ary", 100_000, 20, FAST),
        Job("optimized unary", 4_000, 20, SLOW),
        Job("symmetric unary", 4_000, 20, SLOW),
        Job("Hadamard", 20_000, 20, FAST),
        Job("local hashing", 8_000, 6, SLOW),
        Job("Bloom RAPPOR", 20_000, 3, SLOW, server="tally"),
    ],
    Peer(
        "multi-freq-ldpy",
        ("multi-freq-ldpy==0.2.5", "xxhash<4", "scipy"),
        "multi_freq_methods.py",
        clipped=True,
    ): [
        Job("k-ary", 100_000, 20, FAST, server="one step"),
        Job("optimized unary", 4_000, 20, SLOW, server="one step"),
        Job("symmetric unary", 4_000, 20, SLOW, server="one step"),
        Job("subset selection", 10_000, 10, SLOW, server="one step"),
        Job("local hashing", 8_000, 6, SLOW, server="one step"),
    ],
    Peer("opendp", ("opendp==0.16.*", "numpy"), "opendp_methods.py"): [
        Job("binary", 8_000, 4, FAST, 2, server="none"),
        Job("k-ary", 4_000, 12, FAST, server="none"),
        Job("symmetric unary", 500, 12, SLOW, server="one step"),
        Job("Laplace mean", 20_000, 2, FAST, 5, server="none"),
    ],
    Peer("diffprivlib", ("diffprivlib", "scikit-learn<1.9"), "diffprivlib_methods.py"): [
        Job("binary", 100_000, 3, FAST, 5, server="none"),
        Job("Laplace mean", 200_000, 2, FAST, 20, server="none"),
    ],
}


class Absent(Exception):
    """A peer cannot be installed or run here; the reason in words."""


def peers() -> list[Row]:
    """Every row of every peer that can be had."""
    rows: list[Row] = []
    for peer, jobs in JOBS.items():
        try:
            python = installed(peer)
        except Absent as absent:
            print(f"{peer.name}: absent, and so are its {len(jobs)} methods: {absent}")
            rows += [absent_row(f"{peer.name}, {job.method}", absent) for job in jobs]
            continue
        for job in jobs:
            try:
                rows += _compared(peer, job, python)
            except Absent as absent:
                print(f"{peer.name}, {job.method}: absent: {absent}")
                rows.append(absent_row(f"{peer.name}, {job.method}", absent))
    return rows


def absent_row(what: str, reason: Absent) -> Row:
    """Nothing was measured: no target is met or missed."""
    return row_of(f"ABSENT: {what}", 0.0, "absent", str(reason), 0.0, None)


def installed(peer: Peer) -> Path:
    """The interpreter of the peer's environment, made if it is not there."""
    home = ENVIRONMENTS / peer.name
    python, ready = home / "bin" / "python", home / ".ready"
    wanted = "\n".join(peer.requirements)
    if ready.exists() and ready.read_text() == wanted:
        return python
    print(f"{peer.name}: installing into {home.relative_to(ROOT)}")
    output_of([sys.executable, "-m", "venv", "--clear", str(home)], INSTALL_SECONDS)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    output_of([*pip, *peer.requirements], INSTALL_SECONDS)
    ready.write_text(wanted)
    return python


def output_of(command: list[str], seconds: float) -> str:
    """What the command prints; `Absent` with the last line of its complaint if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, env=environment, cwd=ROOT, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Absent(f"it took more than {seconds} s") from error
    if done.returncode:
        complaint = [line for line in done.stderr.splitlines() if line.strip()]
        raise Absent(complaint[-1] if complaint else f"it ended with {done.returncode}")
    return done.stdout


def _compared(peer: Peer, job: Job, python: Path) -> list[Row]:
    """Peer and ours in turn: ours once with as many people, for memory and error, and once with its own number."""
    name = f"{job.method}, clipped" if peer.clipped else job.method
    with TemporaryDirectory() as directory:
        same, own = Path(directory) / "same.npy", Path(directory) / "own.npy"
        np.save(same, zipf_people(job.people))
        np.save(own, zipf_people(job.ours))
        theirs = _measured(python, peer.script, job.method, same, job.repetitions, job.group)
        often = job.repetitions if job.group else 4 * job.repetitions
        ours = _measured(Path(sys.executable), "localdp_methods.py", name, same, often, job.group)
        as_often = max(OURS_REPETITIONS, job.repetitions)  # a best of fewer would be a worse one
        timed = _measured(Path(sys.executable), "localdp_methods.py", name, own, as_often, 0)
    return _rows(f"{peer.name}, {job.method}, {job.people} people", peer, job, theirs, ours, timed)


def _measured(
    python: Path, script: str, method: str, values: Path, repetitions: int, group: int
) -> dict[str, float]:
    command = [str(python), str(SCRIPTS / script), method, str(values), str(repetitions), str(group)]
    measured: dict[str, float] = json.loads(output_of(command, SCRIPT_SECONDS).splitlines()[-1])
    return measured


def _rows(
    title: str,
    peer: Peer,
    job: Job,
    theirs: dict[str, float],
    ours: dict[str, float],
    timed: dict[str, float],
) -> list[Row]:
    def row(what: str, own: float, other: float, scale: float, unit: str, target: float | None) -> Row:
        return row_of(
            f"{what}: {title}", own * scale, unit, f"{other * scale:.4g} theirs", own / other, target
        )

    rows = [row("client", timed["client"], theirs["client"], 1e9, "ns a person", CLIENT)]
    if job.server == "one step":
        own, other = (
            measured["server"] + measured["decode"] / people
            for measured, people in ((timed, job.ours), (theirs, job.people))
        )
        rows.append(row("server and decoder", own, other, 1e9, "ns a person", NOT_BEHIND))
    if job.server in ("tally", "two steps"):
        rows.append(row("server", timed["server"], theirs["server"], 1e9, "ns a person", NOT_BEHIND))
    if job.server == "two steps":
        rows.append(row("decoder", ours["decode"], theirs["decode"], 1e3, "ms", NOT_BEHIND))
    rows.append(row("peak memory", ours["peak"], theirs["peak"], 1.0, "bytes a person", NOT_BEHIND))
    if job.server != "tally":
        error = "squared error, clipped" if peer.clipped else "squared error"
        rows.append(row(error, ours["error"], theirs["error"], 1e6, "x 10^-6", SAME_VARIANCE))
    return rows


if __name__ == "__main__":
    print_rows(peers())
