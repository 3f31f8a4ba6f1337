"""The learners' tables: definitions that ship with the package, and the figures that they gave, stored beside them.

`learner_tables/NAME.toml` is an experiment of a learner on several sets, under every trust model, with nothing set that
could be learned; `localdp run NAME` runs it.  `learner_tables/NAME.json` has its figures: of every set and model the mean
over the seeds, the spread (standard deviation over them), and how many seeds were refused: they are not in the mean.
Coins are those of insecure seeds, so the same version gives the same figures again.

Checked in tests/unit/parties/experiments/test_experiment_figures.py; that documents quote nothing else, in
tests/tidy/test_quoted_figures.py.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

from parties.durable import Data, write_atomically
from parties.experiments.cells import Row
from parties.experiments.counterparts import CONSTANT, COUNTERPARTS, SCIKIT_LEARN
from parties.experiments.definition import Experiment
from parties.experiments.reading import load_experiments

FORMAT = 1
SEEDS = 20  # of a table, unless it says fewer
_DIGITS = 6
DIRECTORY = Path(__file__).with_name("learner_tables")
NAMES = tuple(sorted(path.stem for path in DIRECTORY.glob("*.toml")))
# Whose figures stand beside a learner's, on the same people: the published method.
PUBLISHED = {
    "linear-regression": "ldp-sgd-linear",
    "logistic-regression": "ldp-sgd-logistic",
    "halfspace": "ldp-sgd-logistic",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """What a learner, or a baseline, reached over the seeds."""

    mean: float | None  # None: every seed was refused
    spread: float | None
    seeds: int
    refused: int = 0
    perfect: int = 0  # seeds with a figure of exactly 1

    @classmethod
    def of(cls, values: list[float], refused: int = 0) -> Figure:
        """The mean of these values, and how far they are spread."""
        if not values:
            return cls(None, None, refused, refused)
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        perfect = sum(value == 1.0 for value in values)
        mean = round(statistics.fmean(values), _DIGITS)
        return cls(mean, round(spread, _DIGITS), len(values) + refused, refused, perfect)

    def near(self, value: float, spreads: float, slack: float = 0.0) -> bool:
        """Whether a value is within so many spreads of the mean, and some slack."""
        if self.mean is None or self.spread is None:
            return False
        return abs(value - self.mean) <= spreads * self.spread + slack

    @property
    def text(self) -> str:
        """As tables show it."""
        if self.mean is None:
            return "refused"
        remarks = [f"{self.refused} of {self.seeds} refused"] if self.refused else []
        if self.seeds < SEEDS:
            remarks.append(f"{self.seeds} seeds")
        return f"{self.mean:.3f} ± {self.spread:.3f}" + (f" ({', '.join(remarks)})" if remarks else "")


Figures = dict[str, dict[str, Figure]]  # by set, then by model or baseline


def definition(name: str, out: Path = Path("out")) -> tuple[Experiment, ...]:
    """The experiments of a table, one for each set."""
    found = load_experiments(DIRECTORY / f"{name}.toml")
    return tuple(
        replace(one, output=replace(one.output, directory=out / name / one.data.about)) for one in found
    )


def learner_of(experiment: Experiment) -> str:
    """The learner that is measured."""
    return str(experiment.task.to_data()["learner"])


def figures_of(learner: str, trials: Iterable[Row]) -> dict[str, Figure]:
    """Of one set: a figure for each model, and for the baselines where there are some."""
    by_model: dict[str, list[Row]] = {}
    for row in trials:
        by_model.setdefault(row["model"], []).append(row)
    counterpart = COUNTERPARTS.get(learner)
    column = "score" if counterpart is None else counterpart.column
    found = {}
    for model, rows in by_model.items():
        answered = [row for row in rows if "refused" not in row]
        values = [
            row[column] if counterpart is None else counterpart.figure(row, column) for row in answered
        ]
        found[model] = Figure.of(values, len(rows) - len(answered))
    if counterpart is not None:
        seeds = {row["seed"]: row for rows in by_model.values() for row in rows if SCIKIT_LEARN in row}
        for baseline in (SCIKIT_LEARN, CONSTANT):
            found[baseline] = Figure.of([counterpart.figure(row, baseline) for row in seeds.values()])
    return found


def stored(name: str) -> Figures:
    """The figures of a table, as they were stored; empty if there are none yet."""
    path = DIRECTORY / f"{name}.json"
    if not path.exists():
        return {}
    told = json.loads(path.read_text())["sets"]
    return {
        chosen: {column: Figure(**one) for column, one in columns.items()}
        for chosen, columns in told.items()
    }


def store(name: str, figures: Mapping[str, Mapping[str, Figure]]) -> None:
    """Write the figures of a table, in the order of its definition."""
    experiments = definition(name)
    first = experiments[0]
    order = [*first.sweep.models, SCIKIT_LEARN, CONSTANT]
    sets = {
        one.data.about: {
            column: asdict(figures[one.data.about][column])
            for column in order
            if column in figures[one.data.about]
        }
        for one in experiments
        if one.data.about in figures
    }
    told: Data = {
        "format": FORMAT,
        "version": version("localdp"),
        "learner": learner_of(first),
        "measure": measure_of(name),
        "epsilon": float(first.sweep.epsilons[0]),
        "people": first.sweep.people[0],
        "seeds": list(first.sweep.insecure_seeds),
        "sets": sets,
    }
    text = json.dumps(told, indent=1, ensure_ascii=False)
    # What has nothing inside stands in one line, so that a figure that changes is a line that changes.
    text = re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda found: " ".join(found[0].split()), text)
    write_atomically(DIRECTORY / f"{name}.json", text + "\n")


def measure_of(name: str) -> str:
    """What the figures of a table are, in words."""
    beside = next((ours for ours, theirs in PUBLISHED.items() if theirs == name), name)
    return COUNTERPARTS[beside].measure


def columns_of(name: str) -> dict[str, dict[str, Figure]]:
    """What a table shows, by set: scikit-learn first, the models, the published method, and the constant."""
    theirs = stored(PUBLISHED[name]) if name in PUBLISHED else {}
    shown = {}
    for chosen, figures in stored(name).items():
        order = [SCIKIT_LEARN, *(one for one in figures if one not in (SCIKIT_LEARN, CONSTANT))]
        row = {column: figures[column] for column in order if column in figures}
        if chosen in theirs:
            row["ldp_sgd"] = next(iter(theirs[chosen].values()))
        shown[chosen] = row | {CONSTANT: figures[CONSTANT]} if CONSTANT in figures else row
    return shown
