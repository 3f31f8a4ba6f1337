"""What every script of this folder does, in whichever environment it runs: numpy and the standard library alone.

A script offers methods by name; this module runs one of them and prints what it cost, as one JSON object:

    python <script>.py <method> <values.npy> <repetitions> <group>

One method in one process, so that its peak memory is its own.  A repetition makes the reports of all people, hands them to
the server, and decodes; times are the best over the repetitions, errors the mean over all of them.  With a group size the
reports are also decoded in groups of so many people, and the error is that of the groups: for means, where one estimate
for all people says little about its error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

WARM_UP = 100


class Method(NamedTuple):
    """The three steps of a collection; `decode` gives frequencies of all inputs, or one mean."""

    client: Callable[[Any], Any]
    server: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    prepare: Callable[[Any], Any] = lambda values: (
        values.tolist()
    )  # the form in which the client takes values
    truth: Callable[[Any], Any] = lambda values: np.bincount(values, minlength=1024) / len(values)


def main(methods: dict[str, Callable[[], Method]]) -> None:
    """Run the method that the command line names."""
    name, path, repetitions, group = sys.argv[1:]
    values = np.load(path)
    print(json.dumps(_measured(methods[name](), values, int(repetitions), int(group))))


def _measured(method: Method, values: Any, repetitions: int, group: int) -> dict[str, float]:
    method.server(
        method.client(method.prepare(values[:WARM_UP]))
    )  # What is compiled or built once is built.
    held = method.prepare(values)
    start = _peak_bytes(forget=True)
    best, errors, peak = [float("inf")] * 3, [], 0
    for _ in range(repetitions):
        seconds, estimate, reports = _once(method, held)
        peak = (
            peak or _peak_bytes() - start
        )  # of the first repetition: later ones find memory that it asked for
        best = [min(pair) for pair in zip(best, seconds, strict=True)]
        errors.append(_error(method, values, estimate, reports, group))
    people = len(values)
    return {
        "client": best[0] / people,
        "server": best[1] / people,
        "decode": best[2],
        "peak": peak / people,
        "error": float(np.mean(errors)),
    }


def _once(method: Method, held: Any) -> tuple[list[float], Any, Any]:
    marks = [perf_counter()]
    reports = method.client(held)
    marks.append(perf_counter())
    state = method.server(reports)
    marks.append(perf_counter())
    estimate = method.decode(state)
    marks.append(perf_counter())
    return [after - before for before, after in pairwise(marks)], estimate, reports


def _error(method: Method, values: Any, estimate: Any, reports: Any, group: int) -> float:
    """The mean squared error, of all frequencies or of the means of the groups."""
    if not group:
        return float(np.mean((np.asarray(estimate) - method.truth(values)) ** 2))
    starts = range(0, len(values) - group + 1, group)
    errors = [
        method.decode(method.server(reports[start : start + group]))
        - method.truth(values[start : start + group])
        for start in starts
    ]
    return float(np.mean(np.square(errors)))


def _peak_bytes(*, forget: bool = False) -> int:
    """The largest resident memory of this process so far, since it was last told to forget (Linux)."""
    if forget:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024
