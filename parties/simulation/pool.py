"""Blocks of a comparison spread over worker processes; the numbers do not depend on how many there are."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait

import numpy as np

from localdp.domains import Records
from localdp.experiments.compare import (
    Block,
    Federation,
    Settings,
    blocks_of,
    in_process,
    people_of,
    row_of,
    run_block,
)
from localdp.experiments.comparison import Row
from localdp.experiments.keyring import Keyring
from localdp.randomizers.definition import Floats


def run_in_pool(
    settings: Settings, keyring: Keyring, jobs: int, done: Callable[[Block], None]
) -> list[Row]:
    """The comparison in process, on `jobs` workers."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_become_worker)
    try:
        blocks = [block for people in settings.people for block in blocks_of(settings, people)]
        with _interruptions_held_back():
            futures = [(block, pool.submit(_run, settings, keyring.root, block)) for block in blocks]
        errors: dict[tuple[int, str], list[Floats]] = {}
        for block, future in futures:
            errors.setdefault((block.people, block.model), []).append(_done(future, block, done))
    finally:
        # Blocks that have begun are waited for: ending a worker that holds a queue's lock would hang the pool.
        pool.shutdown(wait=True, cancel_futures=True)
    return [
        row_of(model, people, np.concatenate(parts), settings) for (people, model), parts in errors.items()
    ]


@contextmanager
def _interruptions_held_back() -> Iterator[None]:
    """Signals wait while workers are started: none is left half made, to complain of it with a traceback.

    The mask is for the workers, which inherit it.  It is not enough here: another thread may take a signal, and Python
    then runs its handler in this one all the same.  So the handlers step aside, too, and what came is raised afterwards.
    """
    signals = {signal.SIGINT, signal.SIGTERM}
    came: list[int] = []
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    main = threading.current_thread() is threading.main_thread()
    handlers = (
        {number: signal.signal(number, lambda got, _: came.append(got)) for number in signals}
        if main
        else {}
    )
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if came:
        signal.raise_signal(came[0])


def _done(future: Future[Floats], block: Block, done: Callable[[Block], None]) -> Floats:
    result = future.result()
    done(block)
    return result


def _become_worker() -> None:
    """Leave Ctrl-C to the parent, and end when the parent is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})  # inherited from the start
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@functools.lru_cache(maxsize=1)
def _population(settings: Settings, root: bytes, people: int) -> tuple[Records, Federation]:
    keyring = Keyring(root)
    records = people_of(people, keyring)
    with in_process(records, settings, keyring) as federation:
        return records, federation


def _run(settings: Settings, root: bytes, block: Block) -> Floats:
    records, federation = _population(settings, root, block.people)
    return run_block(block, records, federation, settings, Keyring(root))
