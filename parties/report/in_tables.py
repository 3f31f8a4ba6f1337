"""What results.json says in tables: who was refused or missing, what trials cost, and every place of the sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from parties.durable import Data
from parties.report.in_words import Told
from parties.report.points import Pool, Spot, measure_of, point_of
from parties.report.story import Table, TableRow
from parties.report.wording import MISSING

MOST_ROWS = 2000
_EPSILONS = ("epsilon promised", "epsilon charged")  # against whom the claim names; of a person's ledger


def refusals(cells: Iterable[Data], pools: Mapping[Spot, Pool], plan: Told) -> Table | None:
    """Who was refused or missing, by reason; None if nobody was."""
    found: dict[tuple[str, str], _Refused] = {}
    for cell in cells:
        for why, told in cell["refused"].items():
            row = found.setdefault((str(why), str(cell["model"])), _Refused(str(told["message"])))
            row.trials += int(told["trials"])
            row.parties = max(row.parties, int(told.get("parties") or 0))
    rows = [
        (why.replace("_", " "), model, one.by(plan.parties), one.trials, one.message)
        for (why, model), one in found.items()
    ]
    rows += _missing(pools, plan)
    rows += _rejected(pools, plan)
    columns = ("reason", "trust model", "parties", "trials", "in words")
    return Table(columns, tuple(rows), texts=(0, 1, 2, 4)) if rows else None


@dataclass(slots=True)
class _Refused:
    message: str  # the first of its kind
    trials: int = 0
    parties: int = 0  # that refused in one trial, at most; 0: somebody else did, or it is not known who

    def by(self, parties: int) -> str:
        return f"{self.parties} of {parties}" if self.parties else "the whole trial"


def _missing(pools: Mapping[Spot, Pool], plan: Told) -> list[TableRow]:
    """Parties that were away or late, or that cheated, in trials that were answered all the same."""
    counts = plan.faults.counts(plan.parties)
    told = (
        ("people_unreachable", "unreachable", "not charged"),
        ("people_late", "late", "charged, and not counted"),
        ("people_cheating", "cheating", "counted, as far as nobody noticed"),
    )
    rows = []
    for (column, why, words), parties in zip(told, counts, strict=True):
        for model, people in _by_model(pools, column):
            whose = f"{sum(people) / len(people):,.0f} people in the mean of such trials: {words}"
            rows.append((why, model, f"{parties} of {plan.parties}", len(people), whose))
    return rows


def _rejected(pools: Mapping[Spot, Pool], plan: Told) -> list[TableRow]:
    """Reports that share servers noticed."""
    cheating = f"{plan.faults.counts(plan.parties)[2]} of {plan.parties}"
    return [
        (
            "rejected",
            model,
            cheating,
            len(some),
            f"{sum(some) / len(some):,.0f} reports in the mean of such trials",
        )
        for model, some in _by_model(pools, "reports_rejected")
    ]


def _by_model(pools: Mapping[Spot, Pool], column: str) -> Iterator[tuple[str, list[int]]]:
    """What a column has besides zeros, for each trust model where it has anything."""
    for model in dict.fromkeys(spot.model for spot in pools):
        some = [pool.columns.get(column, ()) for spot, pool in pools.items() if spot.model == model]
        values = [int(value) for one in some for value in one if value]
        if values:
            yield model, values


def costs(pools: Mapping[Spot, Pool]) -> Table:
    """What one trial costs, from the cheapest to the dearest place of the sweep."""
    columns = ("trust model", "rounds", "queries", *_EPSILONS, "bytes moved", "bytes per person")
    rows = []
    for model in dict.fromkeys(spot.model for spot in pools):
        some = [(spot, pool) for spot, pool in pools.items() if spot.model == model]
        rows.append(
            (
                model,
                *(
                    _range(some, _column(name))
                    for name in ("rounds", "queries", "epsilon_promised", "epsilon_charged", "bytes_moved")
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
