"""Worker processes of this machine as an executor.

A pool whose worker was killed is broken as a whole; it is made anew, and what was under way is begun again.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from parties.workers import become_worker, interruptions_held_back

_Result = TypeVar("_Result")


class Workers:
    """Worker processes, which end with this one however it ends."""

    lost: tuple[type[BaseException], ...] = (BrokenProcessPool,)

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.workers, mp_context=spawn, initializer=become_worker)

    def submit(self, function: Callable[..., _Result], /, *arguments: object) -> Future[_Result]:
        """Begin, soon; a worker may be started here, and is not left half made."""
        with interruptions_held_back():
            return self._pool.submit(function, *arguments)

    def mend(self) -> None:
        """Other workers."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = self._new()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of the workers; what has begun is waited for: ending who holds a queue's lock would hang the pool."""
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)
