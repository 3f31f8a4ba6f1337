"""One measurement, and how it is taken: always beside its yardstick, in turns, in the same run."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TypedDict


class Row(TypedDict):
    """One measurement; `ok` is None where there is no target."""

    name: str
    value: float
    unit: str
    yardstick: str  # what the ratio is taken against, in words
    ratio: float
    target: float | None
    ok: bool | None


def best_seconds(
    calls: list[Callable[[], object]], turns: int, clock: Callable[[], float] = perf_counter
) -> list[float]:
    """The best time of each call, taken in turns so that a busy moment hits all of them alike."""
    best = [float("inf")] * len(calls)
    for _ in range(turns):
        for place, call in enumerate(calls):
            start = clock()
            call()
            best[place] = min(best[place], clock() - start)
    return best


def row_of(name: str, value: float, unit: str, yardstick: str, ratio: float, target: float | None) -> Row:
    """A row whose ratio must not exceed its target."""
    return Row(
        name=name,
        value=value,
        unit=unit,
        yardstick=yardstick,
        ratio=ratio,
        target=target,
        ok=None if target is None else ratio <= target,
    )


def print_rows(rows: list[Row]) -> None:
    """One line a row."""
    for row in rows:
        verdict = {None: "", True: "ok", False: "MISSED"}[row["ok"]]
        target = "-" if row["target"] is None else f"{row['target']:.3g}"
        measured = f"{row['value']:10.3f} {row['unit']:14}"
        print(
            f"{row['name']:52} {measured} x{row['ratio']:<7.3f} of {row['yardstick']:28} target {target:5} {verdict}"
        )
