"""Which executor is meant, as data: what `--executor`, `--workers` and `--scheduler` say."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from localdp.errors import InvalidParameter
from parties.executors.definition import Executor
from parties.executors.in_process import ThisProcess

ExecutorName: TypeAlias = Literal["here", "processes", "dask"]
MOST_WORKERS: Final = 1024


@dataclass(frozen=True, slots=True)
class ChosenExecutor:
    """An executor that is yet to be started."""

    name: ExecutorName = "here"
    workers: int = 1
    scheduler: str | None = None  # of a Dask cluster that runs; None: one of this machine
    dashboard: str | None = None  # host and port of its dashboard; None: loopback, any port

    def __post_init__(self) -> None:
        if self.name not in ("here", "processes", "dask"):
            raise InvalidParameter("an executor is here, processes or dask")
        if not 1 <= self.workers <= MOST_WORKERS:
            raise InvalidParameter(f"there are between 1 and {MOST_WORKERS} workers")
        if self.scheduler is not None and self.name != "dask":
            raise InvalidParameter("a scheduler is of a Dask cluster: --executor dask")

    @classmethod
    def named(
        cls, name: ExecutorName | None = None, workers: int | None = None, scheduler: str | None = None
    ) -> ChosenExecutor:
        """What a command line means: worker processes, as many as processors, and this process for a single one."""
        many = workers or min(MOST_WORKERS, os.cpu_count() or 1)
        if name is None:
            name = "dask" if scheduler is not None else "processes" if many > 1 else "here"
        return cls(name, 1 if name == "here" else many, scheduler)

    def start(self) -> Executor:
        """The executor."""
        if self.name == "dask":
            from parties.executors.cluster import DaskWorkers

            return DaskWorkers(self.workers, self.scheduler, self.dashboard)
        if self.name == "processes":
            from parties.executors.pool import Workers

            return Workers(self.workers)
        return ThisProcess()


HERE = ChosenExecutor()
