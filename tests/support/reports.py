"""Results to report of: a real run, small, and the files that the other experiments write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.experiments.panels import Point
from parties.experiments.running import run_experiment
from parties.report import write_experiment_report
from parties.report.files import stories_in
from parties.report.story import Story
from tests.support.experiments import experiment

ONE = Epsilon.requested(1)
Results = dict[str, Any]

# At epsilon 4 the budget does not suffice, and the shuffled model is refused throughout: somebody is missing.
TEXT = """[data]
set = "made-up"
[parties]
number = 4
budget = 3
[faults]
dropouts = 0.25
stragglers = 0.25
[run]
models = ["curator", "local", "shared"]
query = "smoker and age >= 65"
epsilon = [0.5, 1, 4]
people = [100, 200]
trials = 6
insecure_seeds = 1
[run.options.shared]
noise_plan = "divided"
[output]
directory = "out"
"""
WITHOUT_FAULTS = TEXT.replace("dropouts = 0.25", "dropouts = 0").replace(
    "stragglers = 0.25", "stragglers = 0"
)
SECRET = TEXT.replace("insecure_seeds = 1\n", "")


def row(
    model: str, people: int, trials: int, mean: float, error: float, predicted: float, bound: float | None
) -> Point:
    """One line of a comparison's table."""
    return Point(model, people, mean, trials, error, predicted, bound)


def run_of(directory: Path, text: str = TEXT) -> tuple[Path, dict[str, Any]]:
    """Run it in this process; where the results are, and what they say."""
    run_experiment(experiment(directory, text))
    found: dict[str, Any] = json.loads((directory / "out" / "results.json").read_text())
    return directory / "out", found


def written(directory: Path, name: str, data: Any) -> Path:
    """A directory with one file of results."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(data if isinstance(data, str) else json.dumps(data))
    return directory


def separation() -> dict[str, Any]:
    """As `localdp separate parity` writes it."""
    points = [
        {"series": series, "parameter": at, "people": 500, "trials": 10, "value": value, "error": 0.08}
        for series, values in (
            ("local", (1.0, 0.4, 0.0)),
            ("curator, exponential mechanism", (1.0, 1.0, 0.9)),
        )
        for at, value in zip((6, 8, 10), values, strict=True)
    ]
    return {
        "name": "parity",
        "title": "Learning a parity: what statistical queries cannot do",
        "parameter": "dimension",
        "measure": "fraction of trials in which the parity was found",
        "epsilon": 1.0,
        "points": points,
        "notes": ["local: 500 people"],
        "privacy": [PrivacyClaim.of_local(ONE).to_data(), PrivacyClaim.of_curator(ONE).to_data()],
    }


def attack() -> dict[str, Any]:
    """As `localdp attack averaging` writes it."""
    points = [
        {"series": series, "parameter": at, "value": 0.7 + at / 1000, "trials": 3, "predicted": predicted}
        for series, predicted in (("new requests", 0.73), ("at most, for 4 nats", None))
        for at in (1, 16, 256)
    ]
    panel = {
        "title": "One bit of each of 1,000 people",
        "parameter": "times asked",
        "measure": "fraction of the bits guessed",
        "points": points,
    }
    return {"name": "averaging", "title": "Averaging", "panels": [panel], "notes": ["a note"]}


def page_of(directory: Path, data: Any, name: str = "results.json") -> str:
    """The report of one file of results."""
    return write_experiment_report(written(directory, name, data)).read_text()


def story_of(directory: Path, data: Any, name: str = "results.json") -> Story:
    """What is read from one file of results."""
    return stories_in(written(directory, name, data))[0]
