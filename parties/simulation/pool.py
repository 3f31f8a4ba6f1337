"""Blocks of a comparison spread over worker processes; the numbers do not depend on how many there are."""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor

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
from parties.workers import become_worker, interruptions_held_back


def run_in_pool(
    settings: Settings, keyring: Keyring, jobs: int, done: Callable[[Block], None]
) -> list[Row]:
    """The comparison in process, on `jobs` workers."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=become_worker)
    try:
        blocks = [block for people in settings.people for block in blocks_of(settings, people)]
        with interruptions_held_back():
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


def _done(future: Future[Floats], block: Block, done: Callable[[Block], None]) -> Floats:
    result = future.result()
    done(block)
    return result


@functools.lru_cache(maxsize=1)
def _population(settings: Settings, root: bytes, people: int) -> tuple[Records, Federation]:
    keyring = Keyring(root)
    records = people_of(people, keyring)
    with in_process(records, settings, keyring) as federation:
        return records, federation


def _run(settings: Settings, root: bytes, block: Block) -> Floats:
    records, federation = _population(settings, root, block.people)
    return run_block(block, records, federation, settings, Keyring(root))
