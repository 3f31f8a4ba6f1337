"""Blocks of work on an executor: a few under way for every worker, kept as they end, begun again when a worker dies.

However it is left, what has begun is waited for and kept, and what has not is dropped.
Checked for every executor, with workers that are killed, in tests/contract/test_executors.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import chain, islice
from typing import Generic, Protocol, TypeVar

from localdp.errors import LocalDpError
from parties.executors.chosen import HERE, ChosenExecutor
from parties.executors.definition import Executor

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_AHEAD = 4  # blocks under way for each worker
_MOST_LOSSES = 3  # one after the other, without a block that ended between


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Block = TypeVar("_Block", bound=_Named)


def run_missing(
    run: Callable[[_Block], _Result],
    blocks: Sequence[_Block],
    finished: Mapping[str, _Result],
    keep: Callable[[str, _Result], None],
    done: Callable[[_Block, _Result], None],
    chosen: ChosenExecutor = HERE,
) -> None:
    """Run every block that is not finished yet and keep each as it ends; `done` is told of old ones, too."""
    missing = [block for block in blocks if block.name not in finished]
    for block in blocks:
        if block.name in finished:
            done(block, finished[block.name])
    run_blocks(run, missing, lambda block, result: keep(block.name, result), done, chosen)


def merged(
    run: Callable[[_Item], _Result],
    items: Iterable[_Item],
    merge: Callable[[_Result, _Result], _Result],
    done: Callable[[_Item, _Result], None] = lambda item, total: None,
    chosen: ChosenExecutor = HERE,
    stop: Callable[[], bool] = lambda: False,
) -> _Result | None:
    """All results as one, in whatever order they come; `done` is told the total so far; None: there was nothing."""
    total: list[_Result] = []

    def add(_: _Item, result: _Result) -> None:
        total[:] = [merge(total[0], result) if total else result]

    run_blocks(run, items, add, lambda item, _: done(item, total[0]), chosen, stop)
    return total[0] if total else None


def run_blocks(
    run: Callable[[_Item], _Result],
    blocks: Iterable[_Item],
    keep: Callable[[_Item, _Result], None],
    done: Callable[[_Item, _Result], None],
    chosen: ChosenExecutor = HERE,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Run every block and keep each as it ends; `done` is told, but not of those that an interruption left over.

    When `stop` says so, nothing more is begun.
    """
    executor = chosen.start()
    under_way = _UnderWay(executor, run, iter(blocks))
    try:
        while not stop() and under_way.filled():
            for block, result in under_way.ended():
                keep(block, result)
                done(block, result)
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        for block, result in under_way.left_over():
            keep(block, result)


class _UnderWay(Generic[_Item, _Result]):
    """The blocks that an executor has, and those that are waiting for it."""

    def __init__(
        self, executor: Executor, run: Callable[[_Item], _Result], waiting: Iterator[_Item]
    ) -> None:
        self._executor, self._run, self._waiting = executor, run, waiting
        self._ahead = max(1, _AHEAD * executor.workers)
        self._futures: dict[Future[_Result], _Item] = {}
        self._losses = 0

    def filled(self) -> bool:
        """Have the executor begin what it may; False: there is nothing left to do."""
        for block in islice(self._waiting, self._ahead - len(self._futures)):
            self._begin(block)
        return bool(self._futures)

    def _begin(self, block: _Item) -> None:
        try:
            self._futures[self._executor.submit(self._run, block)] = block
        except self._executor.lost as error:
            self._lost([block], error)

    def ended(self) -> Iterator[tuple[_Item, _Result]]:
        """What has ended by now; what was lost with its worker waits again."""
        lost, why = list[_Item](), None
        for future in wait(self._futures, return_when=FIRST_COMPLETED).done:
            block = self._futures.pop(future)
            try:
                result = future.result()
            except self._executor.lost as error:
                lost.append(block)
                why = error
                continue
            self._losses = 0
            yield block, result
        if why is not None:
            self._lost(lost, why)

    def _lost(self, blocks: list[_Item], why: BaseException) -> None:
        """Begin them again, but not for ever; and whatever else was lost with the same worker."""
        self._losses += 1
        if self._losses > _MOST_LOSSES:
            raise LocalDpError(
                "worker processes ended unexpectedly, one after the other, perhaps for want of memory: fewer workers; what "
                "was finished is kept where results go, for --resume"
            ) from why
        gone = [future for future in wait(self._futures).done if self._is_lost(future)]
        blocks += [self._futures.pop(future) for future in gone]
        self._executor.mend()
        self._waiting = chain(blocks, self._waiting)

    def _is_lost(self, future: Future[_Result]) -> bool:
        return not future.cancelled() and isinstance(future.exception(), self._executor.lost)

    def left_over(self) -> Iterator[tuple[_Item, _Result]]:
        """What had begun when nobody waited for it any more, and ended well."""
        for future, block in self._futures.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                yield block, future.result()
