"""An experiment as data: everything that its file says, checked, and nothing else.

It is plain enough to travel to worker processes, and `digest` names it: the digest of the file's text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Schema
from localdp.experiments.catalogue import LearnerTask, QueryTask
from localdp.experiments.cheating import Cheat
from parties.agent.declared import Declared
from parties.durable import Data

FORMATS = ("json", "parquet")
Transport = Literal["in-process", "processes"]  # where parties and share servers are
TRANSPORTS: tuple[Transport, ...] = get_args(Transport)


@dataclass(frozen=True, slots=True)
class DataSource:
    """A table in a file, or a set by name."""

    path: Path | None = None
    schema: Schema | Declared | None = None  # of a file, and how its columns are read
    name: str | None = None
    resample: bool = False  # rows are drawn with replacement
    public: bool = False  # of a file: anybody may know its rows

    @property
    def confidential(self) -> bool:
        """Whether exact answers about it are nobody else's business."""
        return self.path is not None and not self.public

    @property
    def about(self) -> str:
        """What it is called in results."""
        return self.name if self.name is not None else str(self.path)


@dataclass(frozen=True, slots=True)
class PartiesPlan:
    """Who holds the people."""

    number: int = 4
    sizes: tuple[int, ...] | None = None  # people of each, instead of a number
    share_servers: int = 2
    budget: Epsilon | None = None  # what a person may spend in one trial; None: as much as it takes
    transport: Transport = "in-process"

    @property
    def count(self) -> int:
        """How many there are."""
        return self.number if self.sizes is None else len(self.sizes)


@dataclass(frozen=True, slots=True)
class Faults:
    """Fractions of the parties that are away, that answer too late and that cheat."""

    dropouts: float = 0.0
    stragglers: float = 0.0
    cheaters: float = 0.0
    cheat: Cheat = "reports"

    def counts(self, parties: int) -> tuple[int, int, int]:
        """Parties that do not answer, parties that answer late, and parties that cheat."""
        away, late, cheating = (
            int(fraction * parties + 0.5) for fraction in (self.dropouts, self.stragglers, self.cheaters)
        )
        return away, late, cheating


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is varied; every combination is a cell."""

    models: tuple[str, ...]
    epsilons: tuple[Epsilon, ...]
    people: tuple[int, ...]
    dimensions: tuple[int, ...] | tuple[None]
    trials: int
    insecure_seeds: tuple[int, ...] = ()  # none: the operating system's randomness


@dataclass(frozen=True, slots=True)
class Output:
    """Where results go, and in which formats."""

    directory: Path
    formats: tuple[str, ...] = FORMATS


@dataclass(frozen=True, slots=True)
class Experiment:
    """One file, or a part of it."""

    path: Path
    text: str
    data: DataSource
    parties: PartiesPlan
    faults: Faults
    sweep: Sweep
    task: QueryTask | LearnerTask
    output: Output
    options: Mapping[str, Data] = field(default_factory=dict)  # of each model
    baselines: bool = False  # whether scikit-learn learns from the same people
    part: str | None = None  # which one of a file with several sets

    @property
    def digest(self) -> str:
        """What the experiment is recognised by."""
        told = self.text if self.part is None else f"{self.part}\n{self.text}"
        return hashlib.sha256(told.encode()).hexdigest()
