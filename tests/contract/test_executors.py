"""What every executor keeps: each block once in the total, in any order, whoever died meanwhile.

Blocks are powers of two, so that one which is missing or doubled shows in the sum by itself.
"""

import os
import signal
from collections.abc import Callable
from functools import partial
from operator import add
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter, LocalDpError, PolicyRefused, Unreachable
from parties.executors.chosen import HERE, ChosenExecutor
from parties.executors.running import merged, run_blocks

BLOCKS = 40
ALL = (1 << BLOCKS) - 1
POOL, ONE = ChosenExecutor("processes", 2), ChosenExecutor("processes", 1)
DASK = ChosenExecutor("dask", 2)
# Dask's own clocks and sockets, which it closes a moment after it was told to.
QUIET = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore:.*:pytest.PytestUnraisableExceptionWarning"
)
EACH = pytest.mark.parametrize(
    "chosen", [HERE, ONE, POOL, pytest.param(DASK, marks=QUIET)], ids=["here", "one", "two", "dask"]
)


def power(number: int) -> int:
    return 1 << number


def power_unless_first(directory: Path, deaths: frozenset[int], number: int) -> int:
    """The worker that first has one of these blocks is gone before it ends it."""
    if number in deaths:
        try:
            (directory / str(number)).touch(exist_ok=False)
        except FileExistsError:
            return 1 << number
        os.kill(os.getpid(), signal.SIGKILL)
    return 1 << number


def refusing(number: int) -> int:
    if number == 5:
        raise LocalDpError("no")
    return 1 << number


@EACH
def test_every_block_is_in_the_total_once_and_done_is_told_the_total_so_far(chosen: ChosenExecutor) -> None:
    told: list[int] = []
    total = merged(power, range(BLOCKS), add, lambda _, so_far: told.append(so_far), chosen)
    assert total == ALL == told[-1] and len(told) == BLOCKS and told == sorted(told)
    assert merged(power, [], add) is None


@pytest.mark.parametrize("chosen", [POOL, pytest.param(DASK, marks=QUIET)], ids=["two", "dask"])
def test_workers_that_are_killed_in_the_middle_change_nothing(
    chosen: ChosenExecutor, tmp_path: Path
) -> None:
    run = partial(power_unless_first, tmp_path, frozenset({3}))
    assert merged(run, range(BLOCKS), add, chosen=chosen) == ALL
    assert len(list(tmp_path.iterdir())) == 1


def dying(_: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def test_a_block_that_kills_every_worker_is_given_up_after_a_few() -> None:
    with pytest.raises(LocalDpError, match="one after the other"):
        merged(dying, range(3), add, chosen=ONE)


@pytest.mark.parametrize("chosen", [HERE, POOL], ids=["here", "two"])
def test_an_error_in_a_block_reaches_who_asked_and_what_had_begun_is_kept(chosen: ChosenExecutor) -> None:
    kept: dict[int, int] = {}
    with pytest.raises(LocalDpError, match="no"):
        run_blocks(refusing, range(BLOCKS), kept.__setitem__, lambda *_: None, chosen)
    assert kept.items() <= {number: 1 << number for number in range(BLOCKS)}.items() and 5 not in kept


@pytest.mark.parametrize("chosen", [HERE, POOL], ids=["here", "two"])
def test_nothing_more_is_begun_once_told_to_stop(chosen: ChosenExecutor) -> None:
    ended: list[int] = []
    total = merged(
        power, range(BLOCKS), add, lambda number, _: ended.append(number), chosen, lambda: len(ended) >= 3
    )
    assert total is not None and total.bit_count() < BLOCKS and 3 <= len(ended) <= 3 + 8
    assert total & sum(1 << number for number in ended) == sum(1 << number for number in ended)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: ChosenExecutor("threads"), "here, processes or dask"),  # type: ignore[arg-type]
        (lambda: ChosenExecutor("here", 0), "workers"),
        (lambda: ChosenExecutor("processes", 2, "tcp://127.0.0.1:1"), "--executor dask"),
    ],
)
def test_executors_that_there_are_not_are_refused(make: Callable[[], ChosenExecutor], why: str) -> None:
    with pytest.raises(InvalidParameter, match=why):
        make()


def test_a_command_line_means_processes_or_the_cluster_that_it_names() -> None:
    assert ChosenExecutor.named(None, 1) == HERE and ChosenExecutor.named(None, 3) == ChosenExecutor(
        "processes", 3
    )
    assert ChosenExecutor.named("processes", 1) == ONE
    assert ChosenExecutor.named(None, 2, "tcp://x:1") == ChosenExecutor("dask", 2, "tcp://x:1")


@QUIET
def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parties.executors.cluster.CONNECT_SECONDS", 0.2)
    with pytest.raises(Unreachable, match=r"tcp://127\.0\.0\.1:1"):
        ChosenExecutor("dask", 1, "tcp://127.0.0.1:1").start()


@pytest.mark.parametrize(
    "scheduler", ["tcp://10.255.255.1:8786", "10.255.255.1:8786", "tcp://127.0.0.1.evil:1"]
)
def test_a_scheduler_elsewhere_is_reached_over_tls_or_not_at_all(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = ChosenExecutor("dask", 1, scheduler)
    monkeypatch.setattr(
        "parties.executors.cluster._running", lambda _, there: pytest.fail(f"reached {there}")
    )
    with pytest.raises(PolicyRefused, match="tls://"):
        chosen.start()


@QUIET
def test_a_scheduler_elsewhere_is_reached_in_the_clear_if_dask_was_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import dask

    monkeypatch.setattr("parties.executors.cluster.CONNECT_SECONDS", 0.2)
    with dask.config.set({"distributed.comm.require-encryption": False}), pytest.raises(Unreachable):
        ChosenExecutor("dask", 1, "tcp://localhost.:1").start()


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dask", None)
    with pytest.raises(InvalidParameter, match=r"localdp\[scale\]"):
        DASK.start()
