"""Who runs blocks: worker processes, or this process.  Anything with `submit` will do, such as a cluster's client.

`completed` keeps a few blocks under way for every worker and gives them back as they end.  However it is left, what has
begun is waited for and what has not is dropped; what ended in between can still be had from `drained`.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any, Protocol, TypeVar

from localdp.errors import LocalDpError
from parties.simulation.workers import become_worker, interruptions_held_back

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_AHEAD = 4  # blocks under way for each worker


class Executor(Protocol):
    """Runs functions somewhere, in any order."""

    def submit(self, function: Callable[..., _Result], /, *arguments: Any) -> Future[_Result]:
        """Begin, soon."""
        ...

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of the workers."""
        ...


class ThisProcess:
    """Runs everything at once, here."""

    def submit(self, function: Callable[..., _Result], /, *arguments: Any) -> Future[_Result]:
        """Run it now."""
        future: Future[_Result] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """There is nobody to let go."""


class Workers(ProcessPoolExecutor):
    """Worker processes, which end with this one however it ends."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=become_worker)

    def submit(self, function: Callable[..., _Result], /, *arguments: Any, **named: Any) -> Future[_Result]:
        """Begin, soon; a worker may be started here, and is not left half made."""
        with interruptions_held_back():
            return super().submit(function, *arguments, **named)


def executor_of(jobs: int) -> Executor:
    """Worker processes; for one job, this process."""
    return ThisProcess() if jobs == 1 else Workers(jobs)


class Fan:
    """Blocks on their way through an executor."""

    def __init__(self, executor: Executor, jobs: int, run: Callable[[Any], Any]) -> None:
        self._executor = executor
        self._ahead = 1 if jobs == 1 else _AHEAD * jobs
        self._run = run
        self._under_way: dict[Future[Any], Any] = {}

    def completed(self, items: Iterable[_Item]) -> Iterator[tuple[_Item, Any]]:
        """Every item with its result, as they end."""
        waiting = iter(items)
        try:
            self._fill(waiting)
            while self._under_way:
                done, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    yield self._under_way.pop(future), future.result()
                self._fill(waiting)
        except BrokenProcessPool as error:
            raise LocalDpError(
                "a worker process ended unexpectedly, perhaps for want of memory: fewer --jobs; of `localdp run` what "
                "was finished is kept, for --resume"
            ) from error

    def drained(self) -> Iterator[tuple[Any, Any]]:
        """Whatever ended well while the executor was let go."""
        for future, item in self._under_way.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                yield item, future.result()

    def _fill(self, waiting: Iterator[Any]) -> None:
        while len(self._under_way) < self._ahead:
            item = next(waiting, None)
            if item is None:
                return
            self._under_way[self._executor.submit(self._run, item)] = item

    def __enter__(self) -> Fan:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Blocks that have begun are waited for: ending a worker that holds a queue's lock would hang the pool.
        self._executor.shutdown(wait=True, cancel_futures=True)


def run_blocks(
    run: Callable[[_Item], _Result],
    blocks: Iterable[_Item],
    jobs: int,
    keep: Callable[[_Item, _Result], None],
    done: Callable[[_Item, _Result], None],
    executor: Callable[[int], Executor] = executor_of,
) -> None:
    """Run every block and keep each as it ends; `done` is told, but not of those that an interruption left over."""
    fan = Fan(executor(jobs), jobs, run)
    try:
        with fan:
            for block, result in fan.completed(blocks):
                keep(block, result)
                done(block, result)
    finally:
        for block, result in fan.drained():  # begun before an interruption, and ended since
            keep(block, result)
