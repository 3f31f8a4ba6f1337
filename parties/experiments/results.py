"""The results of a run: a row for each trial, a summary for each cell, and where all of it came from.

`results.json` has all of it; `results.parquet` the trials, with the provenance in its metadata.  Rows are in the order of
the sweep, whatever order they were run in, and hold nothing that depends on time or machine: with insecure seeds two runs
of one experiment have equal rows.

Checked in tests/unit/parties/experiments/test_experiment_results.py.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from localdp.errors import InvalidParameter
from parties.durable import Data, write_atomically
from parties.experiments.cells import BlockResult, Cell, Row, blocks_of, cells_of
from parties.experiments.definition import Experiment

FORMAT = 1
_PACKAGES = ("localdp", "numpy", "cryptography", "pyarrow", "scikit-learn", "statsmodels")
_IDENTITY = ("model", "epsilon", "people", "dimension", "seed", "trial")
_EPSILONS = ("epsilon_promised", "epsilon_charged")
_ALWAYS = (*_IDENTITY, "refused", "rounds", "queries", *_EPSILONS, "bytes_moved", "reports")
_TEXTS = {"model", "refused"}
_WHOLE = {"people", "dimension", "seed", "trial", "rounds", "queries", "bytes_moved", "reports"}
_FAULTS = ("parties_refusing", "people_unreachable", "people_late", "people_cheating", "reports_rejected")
_WHOLE |= {*_FAULTS}
NO_PRIVACY = "The coins of insecure seeds can be guessed: nothing is promised to anybody."
ONE_TRIAL = (
    "A promise is about one trial. The trials of an experiment are meant as runs of their own; were all of them published "
    "about the same real people, their epsilons would add up."
)


EXACT_ANSWERS = (
    "These results measure errors against the exact answers, so they tell exact answers about the table: they are as "
    "confidential as the table itself, and no promise covers them. A promise is about what others would see of one trial. "
    "If anybody may know the rows, say data.public = true."
)


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that a run brought."""

    provenance: Data
    cells: list[Data]
    trials: list[Row]

    def to_data(self) -> Data:
        """As plain data; trials by column."""
        names = _columns(self.trials)
        columns = {name: [row.get(name) for row in self.trials] for name in names}
        return {"format": FORMAT, "provenance": self.provenance, "cells": self.cells, "trials": columns}


def results_of(experiment: Experiment, blocks: Mapping[str, BlockResult], about: Data) -> Results:
    """The rows in the order of the sweep, with summaries and provenance."""
    by_cell: dict[Cell, list[BlockResult]] = {cell: [] for cell in cells_of(experiment)}
    for block in blocks_of(experiment):
        by_cell[block.cell].append(blocks[block.name])
    trials = [
        {**_identity(cell), **row} for cell, some in by_cell.items() for one in some for row in one.rows
    ]
    cells = [_summary(cell, some) for cell, some in by_cell.items()]
    refusals = Counter(row["refused"] for row in trials if "refused" in row)
    by_parties = {why: _most_refusing(trials, why) for why in sorted(refusals)}
    provenance = {**about, **_origin(experiment), "refusals": dict(sorted(refusals.items()))}
    provenance["parties_refusing"] = by_parties
    return Results(provenance, cells, trials)


def _identity(cell: Cell) -> Row:
    return {
        "model": cell.model,
        "epsilon": float(cell.epsilon),
        "people": cell.people,
        "dimension": cell.dimension,
        "seed": cell.seed,
    }


def _summary(cell: Cell, blocks: list[BlockResult]) -> Data:
    rows = [row for block in blocks for row in block.rows]
    answered = [row for row in rows if "refused" not in row]
    refusals: dict[str, str] = {}
    for block in blocks:
        refusals = {**block.refusals, **refusals}
    told = Counter(row["refused"] for row in rows if "refused" in row)
    return {
        **_identity(cell),
        "trials": len(rows),
        "refused": {
            why: {"trials": told[why], "message": refusals[why], "parties": _most_refusing(rows, why)}
            for why in sorted(told)
        },
        "predicted_standard_error": blocks[0].predicted,
        "measures": _means(answered),
        "privacy": next((block.promise for block in blocks if block.promise is not None), None),
        "claim": next((block.claim for block in blocks if block.claim is not None), None),
    }


def _most_refusing(rows: Iterable[Row], why: str) -> int | None:
    """How many parties refused in one trial, at most; None: it was not the parties, or they are elsewhere."""
    told = [
        row["parties_refusing"] for row in rows if row.get("refused") == why and "parties_refusing" in row
    ]
    return max(told, default=None)


def _means(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Of every measure: mean, mean absolute value, and root of the mean square."""
    skipped = {*_ALWAYS, *_FAULTS}
    names = [name for name in _columns(rows) if name not in skipped]
    found = {}
    for name in names:
        values = [row[name] for row in rows if row.get(name) is not None]
        if values:
            found[name] = {
                "mean": statistics.fmean(values),
                "mean_absolute": statistics.fmean(map(abs, values)),
                "root_mean_square": statistics.fmean(value * value for value in values) ** 0.5,
            }
    return found


def _columns(rows: Iterable[Row]) -> list[str]:
    """The fixed columns first, then measures as they appear."""
    return list(dict.fromkeys([*_ALWAYS, *(name for row in rows for name in row)]))


def _origin(experiment: Experiment) -> Data:
    seeds = experiment.sweep.insecure_seeds
    return {
        "experiment": experiment.path.name,
        "configuration": experiment.text,
        "configuration_sha256": experiment.digest,
        "plan": _plan(experiment),
        "seeds": list(seeds) if seeds else "system randomness",
        "confidential": experiment.data.confidential,
        "privacy": _about_privacy(experiment),
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": {
            "system": f"{platform.system()} {platform.release()}",
            "architecture": platform.machine(),
            "processors": os.cpu_count(),
        },
    }


def _plan(experiment: Experiment) -> Data:
    """What was to be run, for whoever tells of it."""
    parties = experiment.parties
    return {
        "run": experiment.task.to_data(),
        "options": {
            model: {name: str(value) for name, value in options.items()}
            for model, options in experiment.options.items()
        },
        "parties": parties.count,
        "share_servers": parties.share_servers,
        "budget": None if parties.budget is None else float(parties.budget),
        "faults": asdict(experiment.faults),
    }


def _about_privacy(experiment: Experiment) -> str:
    told = [EXACT_ANSWERS] if experiment.data.confidential else []
    return " ".join([*told, NO_PRIVACY if experiment.sweep.insecure_seeds else ONE_TRIAL])


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def write_results(results: Results, directory: Path, formats: Iterable[str]) -> list[Path]:
    """The files, each there whole or not at all."""
    directory.mkdir(parents=True, exist_ok=True)
    confidential = bool(results.provenance["confidential"])
    written = []
    if "json" in formats:
        written.append(directory / "results.json")
        text = json.dumps(results.to_data(), allow_nan=False, indent=1) + "\n"
        write_atomically(written[-1], text, confidential=confidential)
    if "parquet" in formats and has_pyarrow():
        written.append(directory / "results.parquet")
        write_atomically(written[-1], _parquet(results), confidential=confidential)
    return written


def has_pyarrow() -> bool:
    """Whether Parquet can be written."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def require_formats(formats: Iterable[str]) -> None:
    """Refuse a run that could not write anything that was asked for."""
    if set(formats) == {"parquet"} and not has_pyarrow():
        raise InvalidParameter(
            "Parquet needs pyarrow: pip install 'localdp[agent]', or add json to formats"
        )


def _parquet(results: Results) -> bytes:
    import pyarrow
    from pyarrow import parquet

    names = _columns(results.trials)
    fields = [(name, _type(pyarrow, name)) for name in names]
    columns = [pyarrow.array([row.get(name) for row in results.trials], type=kind) for name, kind in fields]
    metadata = {"localdp": json.dumps(results.provenance)}
    table = pyarrow.table(columns, schema=pyarrow.schema(fields, metadata=metadata))
    buffer = pyarrow.BufferOutputStream()
    parquet.write_table(table, buffer)
    data: bytes = buffer.getvalue().to_pybytes()
    return data


def _type(pyarrow: Any, name: str) -> Any:
    if name in _TEXTS:
        return pyarrow.string()
    return pyarrow.int64() if name in _WHOLE else pyarrow.float64()
