"""Small experiments for tests."""

from __future__ import annotations

from pathlib import Path

from parties.experiments.cells import Block, SweepWork, blocks_of
from parties.experiments.definition import Experiment
from parties.experiments.reading import load_experiment

SMALL = """[data]
set = "made-up"
[parties]
number = 3
[run]
models = ["curator", "local", "shuffled", "shared"]
query = "smoker"
epsilon = [1, 2]
people = [30, 60]
trials = 30
insecure_seeds = 1
[output]
directory = "out"
"""


def experiment(directory: Path, text: str = SMALL) -> Experiment:
    """The experiment of a text."""
    path = directory / "experiment.toml"
    path.write_text(text)
    return load_experiment(path)


def work(directory: Path, text: str = SMALL, noise: bytes = b"noise") -> tuple[SweepWork, list[Block]]:
    """What workers get, and the blocks."""
    made = experiment(directory, text)
    return SweepWork(made, b"people".ljust(32), noise.ljust(32)), list(blocks_of(made))
