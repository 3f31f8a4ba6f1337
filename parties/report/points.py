"""The points of results.json: trials pooled over seeds, and panels along everything that was varied.

Of errors a point is the root of the mean square over the trials, as in the cells of results.json, which is what a plan's
standard error predicts; of scores it is the mean, beside the score of the same learner on the truth.  The standard error of
a root mean square r of n trials is s / (2 r sqrt(n)), s the standard deviation of the squares (delta method).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from localdp.errors import InvalidParameter
from localdp.experiments.panels import Panel, Point
from localdp.oracles.models import MODELS
from parties.durable import Data
from parties.report.story import Group

MOST_PANELS = 4  # of a group; the table of all cells has the rest
_MOST_NAMED = 4
_MEASURES = {
    "error": "root mean square error",
    "root_mean_square_error": "root mean square error of an entry",
    "score": "score, mean over the trials",
}
_REFERENCE = "score_of_truth"


class Spot(NamedTuple):
    """Where in the sweep."""

    model: str
    epsilon: float
    people: int
    dimension: int | None


AXES = ("epsilon", "people", "dimension")


@dataclass(slots=True)
class Pool:
    """All trials at one spot, of every seed."""

    trials: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    predicted: list[float] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)  # of the trials that were answered

    def mean(self, name: str) -> float | None:
        """Of a column, where it has values."""
        values = [float(value) for value in self.columns.get(name, ()) if value is not None]
        return statistics.fmean(values) if values else None


def pools_of(data: Data) -> dict[Spot, Pool]:
    """The trials by spot, in the order of the cells."""
    pools: dict[Spot, Pool] = {}
    for cell in data["cells"]:
        pool = pools.setdefault(_spot(cell), Pool())
        if cell["predicted_standard_error"] is not None:
            pool.predicted.append(float(cell["predicted_standard_error"]))
    columns = data["trials"]
    names = [name for name in columns if name not in (*Spot._fields, "refused")]
    for row, refused in enumerate(columns["refused"]):
        pool = pools[_spot({name: columns[name][row] for name in Spot._fields})]
        pool.trials += 1
        if refused is not None:
            pool.refused[str(refused)] = pool.refused.get(str(refused), 0) + 1
            continue
        for name in names:
            pool.columns.setdefault(name, []).append(columns[name][row])
    return pools


def _spot(cell: Data) -> Spot:
    model, dimension = str(cell["model"]), cell["dimension"]
    if model not in MODELS:
        raise InvalidParameter(f"there is no trust model {model!s:.40}")
    return Spot(
        model, float(cell["epsilon"]), int(cell["people"]), None if dimension is None else int(dimension)
    )


def measure_of(pools: Iterable[Pool]) -> str:
    """The measure to draw: an error, or a score."""
    present = {name for pool in pools for name in pool.columns}
    return next((name for name in _MEASURES if name in present), "error")


def point_of(spot: Spot, pool: Pool, measure: str, parameter: str, foretold: bool) -> Point:
    """One spot as a point along a parameter; `foretold`: the plan's error is about this measure."""
    values = [float(value) for value in pool.columns.get(measure, ()) if value is not None]
    value, error = (_mean if measure == "score" else _root_mean_square)(values)
    predicted = statistics.fmean(pool.predicted) if foretold and pool.predicted else None
    return Point(
        spot.model,
        float(getattr(spot, parameter) or 0) if parameter else 0.0,
        value,
        len(values),
        error,
        pool.mean(_REFERENCE) if measure == "score" else predicted,
    )


def _mean(values: Sequence[float]) -> tuple[float | None, float | None]:
    if len(values) < 2:
        return (values[0] if values else None), None
    return statistics.fmean(values), statistics.stdev(values) / len(values) ** 0.5


def _root_mean_square(values: Sequence[float]) -> tuple[float | None, float | None]:
    squares = [value * value for value in values]
    if not squares:
        return None, None
    root = statistics.fmean(squares) ** 0.5
    if len(squares) < 2 or root == 0:
        return root, None
    return root, statistics.stdev(squares) / (2 * root * len(squares) ** 0.5)


def groups_of(pools: Mapping[Spot, Pool], foretold: bool) -> tuple[Group, ...]:
    """A group for everything that was varied; where nothing was, the trust models side by side."""
    measure = measure_of(pools.values())
    varied = [axis for axis in AXES if len(values_of(pools, axis)) > 1]
    if not varied:
        return (Group("Trust models side by side", "", (_panel(pools, measure, "", {}, foretold),)),)
    return tuple(_group(pools, measure, axis, foretold) for axis in varied)


def values_of(pools: Iterable[Spot], axis: str) -> list[float]:
    """The values of one axis, in order."""
    return sorted({getattr(spot, axis) for spot in pools if getattr(spot, axis) is not None})


def _group(pools: Mapping[Spot, Pool], measure: str, axis: str, foretold: bool) -> Group:
    others = [other for other in AXES if other != axis and len(values_of(pools, other)) > 1]
    places = list(product(*(values_of(pools, other) for other in others)))
    chosen = _spread(places)
    panels = [
        _panel(pools, measure, axis, dict(zip(others, place, strict=True)), foretold) for place in chosen
    ]
    what = "Score" if measure == "score" else "Error"
    note = _left_out(others, places, chosen)
    return Group(f"{what} against {axis}", note, tuple(panel for panel in panels if panel.points))


def _left_out(others: list[str], places: list[tuple[float, ...]], chosen: list[tuple[float, ...]]) -> str:
    """What has no plot of its own, by name if it is little."""
    left = [place for place in places if place not in chosen]
    if not left:
        return ""
    if len(left) <= _MOST_NAMED:
        named = "; ".join(_named(dict(zip(others, place, strict=True))) for place in left)
        return f"Without a plot: {named}. The table of all cells has it."
    some = f"{len(chosen)} of {len(places)} combinations of {' and '.join(others)}"
    return f"Plots of {some}; the table of all cells has the rest."


def _named(fixed: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {at:,g}" for name, at in fixed.items())


def _spread(places: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """At most so many of them, evenly spread, with both ends."""
    if len(places) <= MOST_PANELS:
        return places
    last = len(places) - 1
    return [places[round(step * last / (MOST_PANELS - 1))] for step in range(MOST_PANELS)]


def _panel(
    pools: Mapping[Spot, Pool], measure: str, axis: str, fixed: Mapping[str, float], foretold: bool
) -> Panel:
    here = [spot for spot in pools if all(getattr(spot, name) == at for name, at in fixed.items())]
    return Panel(
        _named(fixed),
        axis,
        _MEASURES[measure],
        tuple(point_of(spot, pools[spot], measure, axis, foretold) for spot in here),
        "learned from the truth" if measure == "score" else "predicted",
    )
