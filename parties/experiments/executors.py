"""Who runs blocks: worker processes, or this process.  Anything with `submit` will do, such as a cluster's client.

`run_blocks` keeps a few blocks under way for every worker.  However it is left, what has begun is waited for and kept, and
what has not is dropped.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Protocol, TypeVar

from localdp.errors import LocalDpError
from parties.experiments.cells import Block, BlockResult
from parties.workers import become_worker, interruptions_held_back

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_AHEAD = 4  # blocks under way for each worker


class Executor(Protocol):
    """Runs functions somewhere, in any order."""

    def submit(self, function: Callable[..., _Result], /, *arguments: object) -> Future[_Result]:
        """Begin, soon."""
        ...

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of the workers."""
        ...


class ThisProcess:
    """Runs everything at once, here."""

    def submit(self, function: Callable[..., _Result], /, *arguments: object) -> Future[_Result]:
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

    def submit(
        self, function: Callable[..., _Result], /, *arguments: object, **named: object
    ) -> Future[_Result]:
        """Begin, soon; a worker may be started here, and is not left half made."""
        with interruptions_held_back():
            return super().submit(function, *arguments, **named)


def executor_of(jobs: int) -> Executor:
    """Worker processes; for one job, this process."""
    return ThisProcess() if jobs == 1 else Workers(jobs)


def run_missing(
    run: Callable[[Block], BlockResult],
    blocks: Sequence[Block],
    finished: Mapping[str, BlockResult],
    keep: Callable[[str, BlockResult], None],
    jobs: int,
    done: Callable[[Block, BlockResult], None],
    executor: Callable[[int], Executor] = executor_of,
) -> None:
    """Run every block that is not finished yet and keep each as it ends; `done` is told of old ones, too."""
    missing = [block for block in blocks if block.name not in finished]
    for block in blocks:
        if block.name in finished:
            done(block, finished[block.name])
    run_blocks(run, missing, jobs, lambda block, result: keep(block.name, result), done, executor)


def run_blocks(
    run: Callable[[_Item], _Result],
    blocks: Iterable[_Item],
    jobs: int,
    keep: Callable[[_Item, _Result], None],
    done: Callable[[_Item, _Result], None],
    executor: Callable[[int], Executor] = executor_of,
) -> None:
    """Run every block and keep each as it ends; `done` is told, but not of those that an interruption left over."""
    workers, waiting, ahead = executor(jobs), iter(blocks), 1 if jobs == 1 else _AHEAD * jobs
    under_way: dict[Future[_Result], _Item] = {}

    def filled() -> bool:
        for block in islice(waiting, ahead - len(under_way)):
            under_way[workers.submit(run, block)] = block
        return bool(under_way)

    try:
        while filled():
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                block, result = under_way.pop(future), future.result()
                keep(block, result)
                done(block, result)
    except BrokenProcessPool as error:
        raise LocalDpError(
            "a worker process ended unexpectedly, perhaps for want of memory: fewer --jobs; what was finished is "
            "kept where results go, for --resume"
        ) from error
    finally:
        # Blocks that have begun are waited for: ending a worker that holds a queue's lock would hang the pool.
        workers.shutdown(wait=True, cancel_futures=True)
        for future, block in under_way.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                keep(block, future.result())
