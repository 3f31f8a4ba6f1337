"""What results.json says in tables: who was refused or missing, what trials cost, and every place of the sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from parties.report.experiment.points import Pool, Spot, measure_of, point_of
from parties.report.experiment.story import Table
from parties.report.experiment.telling import Told
from parties.report.wording import MISSING

MOST_ROWS = 2000


def refusals(cells: Iterable[Mapping[str, Any]], pools: Mapping[Spot, Pool], plan: Told) -> Table | None:
    """Who was refused or missing, by reason; None if nobody was."""
    found: dict[tuple[str, str], list[Any]] = {}
    for cell in cells:
        for why, told in cell["refused"].items():
            row = found.setdefault((str(why), str(cell["model"])), [0, str(told["message"])])
            row[0] += int(told["trials"])
    rows = [
        (why.replace("_", " "), model, "the whole trial", trials, message)
        for (why, model), (trials, message) in found.items()
    ]
    rows += _missing(pools, plan)
    columns = ("reason", "trust model", "parties", "trials", "in words")
    return Table(columns, tuple(rows), texts=(0, 1, 2, 4)) if rows else None


def _missing(pools: Mapping[Spot, Pool], plan: Told) -> list[tuple[Any, ...]]:
    """Parties that were away or late in trials that were answered without them."""
    counts = plan.faults.counts(plan.parties.count)
    told = (
        ("people_unreachable", "unreachable", "not charged"),
        ("people_late", "late", "charged, and not counted"),
    )
    rows = []
    for (column, why, words), parties in zip(told, counts, strict=True):
        for model in dict.fromkeys(spot.model for spot in pools):
            people = [
                value
                for spot, pool in pools.items()
                if spot.model == model
                for value in pool.columns.get(column, ())
                if value
            ]
            if people:
                whose = f"{sum(people) / len(people):,.0f} people in the mean of such trials: {words}"
                rows.append((why, model, f"{parties} of {plan.parties.count}", len(people), whose))
    return rows


def costs(pools: Mapping[Spot, Pool]) -> Table:
    """What one trial costs, from the cheapest to the dearest place of the sweep."""
    columns = ("trust model", "rounds", "queries", "epsilon per person", "bytes moved", "bytes per person")
    rows = []
    for model in dict.fromkeys(spot.model for spot in pools):
        some = [(spot, pool) for spot, pool in pools.items() if spot.model == model]
        rows.append(
            (
                model,
                *(
                    _range(some, _column(name))
                    for name in ("rounds", "queries", "epsilon_spent", "bytes_moved")
                ),
                _range(some, _bytes_per_person),
            )
        )
    note = "Of one trial that was answered: the mean, from the cheapest to the dearest place of the sweep."
    return Table(columns, tuple(rows), note=note)


def _column(name: str) -> Callable[[Spot, Pool], float | None]:
    return lambda _, pool: pool.mean(name)


def _bytes_per_person(spot: Spot, pool: Pool) -> float | None:
    moved = pool.mean("bytes_moved")
    return None if moved is None else moved / spot.people


def _range(some: list[tuple[Spot, Pool]], of: Callable[[Spot, Pool], float | None]) -> str:
    values = [value for spot, pool in some if (value := of(spot, pool)) is not None]
    shown = list(
        dict.fromkeys(f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}" for value in sorted(values))
    )
    return " to ".join(dict.fromkeys((shown[0], shown[-1]))) if shown else MISSING


def all_cells(pools: Mapping[Spot, Pool], foretold: bool) -> Table:
    """Every place of the sweep."""
    measure = measure_of(pools.values())
    rows = []
    for spot, pool in list(pools.items())[:MOST_ROWS]:
        point = point_of(spot, pool, measure, "", foretold)
        refused = sum(pool.refused.values())
        rows.append((*spot, pool.trials, refused, point.value, point.predicted, pool.mean("bytes_moved")))
    left = len(pools) - len(rows)
    columns = (*Spot._fields, "trials", "refused", "measured", "predicted", "bytes moved")
    note = f"{left:,} more are in results.json." if left else "Trials one by one are in results.json."
    return Table(("trust model", *columns[1:]), tuple(rows), note=note)
