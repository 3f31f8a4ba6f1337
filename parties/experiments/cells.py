"""The sweep as cells, the trials of a cell as blocks, and what a block needs and brings.

A cell is one combination of everything that is varied.  Blocks are what workers run and what the journal keeps: their coins
depend on the keyring, the cell and the number of the trial alone, so they can run anywhere and in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from localdp.accounting.epsilon import Epsilon
from localdp.randomness.keyring import Keyring
from parties.durable import Data
from parties.experiments.definition import Experiment

Row = Data  # what a trial brought


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of trust model, epsilon, people, dimension and seed."""

    model: str
    epsilon: Epsilon
    people: int
    dimension: int | None
    seed: int | None  # insecure; None: the operating system's randomness

    @property
    def name(self) -> str:
        """What the cell is called, in the journal and in the derivation of its coins."""
        dimension, seed = _or_dash(self.dimension), _or_dash(self.seed)
        return f"{self.model} epsilon={self.epsilon} people={self.people} dimension={dimension} seed={seed}"


@dataclass(frozen=True, slots=True)
class Block:
    """Some trials of one cell: the unit of work."""

    cell: Cell
    first: int  # trial
    trials: int

    @property
    def name(self) -> str:
        """What the block is called in the journal."""
        return f"{self.cell.name} trials={self.first}+{self.trials}"


@dataclass(frozen=True, slots=True)
class SweepWork:
    """What workers need beside the block."""

    experiment: Experiment
    people_root: bytes  # of the coins that make or draw people: public, and the same after a resumption
    noise_root: bytes = field(repr=False)  # of the secrets of all roles: never written down

    def people(self, cell: Cell) -> Keyring:
        """The coins that people are made with."""
        return Keyring(self.people_root) if cell.seed is None else Keyring.insecurely_seeded(cell.seed)

    def noise(self, cell: Cell) -> Keyring:
        """The secrets of a trial's roles."""
        return Keyring(self.noise_root) if cell.seed is None else Keyring.insecurely_seeded(cell.seed)


@dataclass(frozen=True, slots=True)
class BlockResult:
    """What a block brought."""

    rows: list[Row]  # one for each trial
    promise: str | None  # in words, of one trial; None: all were refused
    refusals: dict[str, str]  # by reason, the first message of each
    predicted: float | None  # standard error of one entry, from the plan; of a cell's first block only
    claim: Data | None = None  # the promise as data


def cells_of(experiment: Experiment) -> Iterator[Cell]:
    """All cells; those that share people stand together, so that workers make them once."""
    sweep = experiment.sweep
    for seed in sweep.insecure_seeds or (None,):
        for dimension in sweep.dimensions:
            for people in sweep.people:
                for epsilon in sweep.epsilons:
                    for model in sweep.models:
                        yield Cell(model, epsilon, people, dimension, seed)


def blocks_of(experiment: Experiment) -> Iterator[Block]:
    """All blocks of all cells, in order."""
    trials, size = experiment.sweep.trials, experiment.task.trials_per_block
    for cell in cells_of(experiment):
        for first in range(0, trials, size):
            yield Block(cell, first, min(size, trials - first))


def _or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)
