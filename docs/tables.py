"""The learners' tables: runs what has no stored figure yet, and writes the tables of README.md and docs/ from the store.

    python docs/tables.py                        what is not stored yet, or with fewer seeds; then all tables
    python docs/tables.py --again k-means        this table anew; k-means/iris or k-means/iris/local for a part of it
    python docs/tables.py --models shared --seeds 5    some trust models, and the first seeds only, which tables then say
    python docs/tables.py --write                only the tables

A set of a table takes a minute or two and is stored when it is done, so a run that was cut off goes on where it was.
A table stands between two remarks:

    <!-- table: k-means -->                      one learner: a row for each set, a column for each trust model
    <!-- table: local gaussian-line, tree -->    one trust model: a row for each of these sets, and for each learner of it
    <!-- end of table -->

Checked in tests/tidy/test_quoted_figures.py.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from localdp.experiments.datasets import SYNTHETIC
from parties.experiments.counterparts import CONSTANT, COUNTERPARTS, SCIKIT_LEARN
from parties.experiments.definition import Experiment
from parties.experiments.learner_figures import (
    NAMES,
    PUBLISHED,
    Figure,
    columns_of,
    definition,
    figures_of,
    learner_of,
    measure_of,
    store,
    stored,
)
from parties.experiments.running import run_experiment

ROOT = Path(__file__).resolve().parent.parent
HEADINGS = {SCIKIT_LEARN: "scikit-learn, not private", "ldp_sgd": "LDP-SGD, local", CONSTANT: "a constant"}
BLOCK = re.compile(r"(<!-- table: (.+?) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
SHOWN = ("README.md", "docs/*.md")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be run."""

    again: tuple[str, ...] = ()  # NAME, NAME/SET or NAME/SET/MODEL: also if it is stored
    models: tuple[str, ...] = ()  # none: all
    seeds: int | None = None  # the first so many; None: all

    def missing(self, name: str) -> Iterator[Experiment]:
        """Of each set the models without a figure of so many seeds, and those that are asked for again."""
        known = stored(name)
        for one in definition(name):
            there, seeds = known.get(one.data.about, {}), one.sweep.insecure_seeds[: self.seeds]
            models = tuple(
                model
                for model in one.sweep.models
                if (not self.models or model in self.models)
                and (
                    model not in there
                    or there[model].seeds < len(seeds)
                    or _asked(self.again, name, one.data.about, model)
                )
            )
            if models:
                yield replace(one, sweep=replace(one.sweep, models=models, insecure_seeds=seeds))


def _asked(again: tuple[str, ...], *where: str) -> bool:
    return any(one.split("/") == list(where)[: one.count("/") + 1] for one in again)


def measured(experiment: Experiment) -> dict[str, Figure]:
    """Run one set of a table."""
    with tempfile.TemporaryDirectory() as directory:
        places = replace(experiment.output, directory=Path(directory), formats=("json",))
        run = run_experiment(replace(experiment, output=places))
    return figures_of(learner_of(experiment), run.results.trials)


def run(names: list[str], wanted: Wanted) -> None:
    """Run what is missing and store it, set by set."""
    for name in names:
        for one in wanted.missing(name):
            started, chosen = time.process_time(), one.data.about
            found, known = measured(one), stored(name)
            there = known.get(chosen, {})
            # Baselines come with every run: those of most seeds are kept.
            kept = {
                column: there[column]
                for column in (SCIKIT_LEARN, CONSTANT)
                if column in there and there[column].seeds > found[column].seeds
            }
            store(name, {**known, chosen: {**there, **found, **kept}})
            write()
            told = ", ".join(f"{column} {figure.text}" for column, figure in found.items())
            print(f"{name} {chosen} ({time.process_time() - started:.0f} s): {told}", flush=True)


def markdown(which: str) -> str:
    """The table that a remark names."""
    first, _, rest = which.partition(" ")
    return _of_learner(first) if not rest else _of_model(first, re.split(r",\s*", rest))


def _of_learner(name: str) -> str:
    shown = columns_of(name)
    columns = list(dict.fromkeys(column for row in shown.values() for column in row))
    lines = [["set", *(HEADINGS.get(column, column) for column in columns)]]
    for chosen, row in shown.items():
        lines.append([_described(chosen), *(_cell(name, row, one) for one in columns)])
    return _table(lines)


def _of_model(model: str, sets: list[str]) -> str:
    lines = [["learner", "set", "measure", model, "LDP-SGD", "scikit-learn, not private", "a constant"]]
    ours = [name for name in NAMES if name not in PUBLISHED.values()]
    for name, chosen in ((name, chosen) for name in ours for chosen in sets):
        row = columns_of(name).get(chosen, {})
        if model in row:
            beside = (model, "ldp_sgd", SCIKIT_LEARN, CONSTANT)
            figures = [_cell(name, row, one) for one in beside]
            lines.append([name, _described(chosen), measure_of(name), *figures])
    return _table(lines)


def _cell(name: str, row: Mapping[str, Figure], column: str) -> str:
    """A figure; of what is found or not, also how often it is, unless wrong labels are in the way."""
    if column not in row:
        return "-"
    figure, best = row[column], row.get(SCIKIT_LEARN)
    counted = COUNTERPARTS[name].whole and best is not None and best.perfect == best.seeds
    if not counted or column == CONSTANT or figure.mean is None:
        return figure.text
    return f"{figure.text}; found {figure.perfect} of {figure.seeds}"


def _described(chosen: str) -> str:
    return f"`{chosen}`: {SYNTHETIC[chosen].about}" if chosen in SYNTHETIC else f"`{chosen}`"


def _table(lines: list[list[str]]) -> str:
    head, *rows = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, "|---" * len(lines[0]) + "|", *rows]) + "\n"


def written(text: str) -> str:
    """A page with its tables as they are stored."""
    return BLOCK.sub(lambda found: f"{found[1]}{markdown(found[2])}{found[4]}", text)


def write() -> None:
    """Write all tables of all pages."""
    for path in (path for pattern in SHOWN for path in sorted(ROOT.glob(pattern))):
        text = path.read_text()
        if (new := written(text)) != text:
            path.write_text(new)


def main() -> None:
    """What the command line asks for."""
    arguments = argparse.ArgumentParser(description="The learners' tables.")
    arguments.add_argument("names", nargs="*", metavar="NAME", help="tables to run; all if none is named")
    arguments.add_argument("--again", action="append", default=[], help="NAME, NAME/SET or NAME/SET/MODEL")
    arguments.add_argument("--write", action="store_true", help="run nothing")
    arguments.add_argument(
        "--models", default="", help="trust models, with commas between; all if none is named"
    )
    arguments.add_argument("--seeds", type=int, help="only the first so many")
    told = arguments.parse_args()
    if not told.write:
        named = told.names or list(dict.fromkeys(one.split("/")[0] for one in told.again)) or list(NAMES)
        models = tuple(filter(None, told.models.split(",")))
        run(named, Wanted(tuple(told.again), models, told.seeds))
    write()


if __name__ == "__main__":
    main()
