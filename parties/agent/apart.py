"""A table is read by a process of its own, at the lowest priority: how long it takes is not felt by whoever asks the agent.

Reading in a thread of the agent would slow every call down for as long as it takes, and so tell how many rows there are and
whether one of them is outside of its domain.  The process hands over what `Prepared` holds, which is nothing of a record;
the records stand in their copy on the disk.  It is one process for both ways: when a second one starts would tell when the
first was done.  Only one that dies, because the table is larger than the memory, is followed by another.

Checked in tests/unit/parties/agent/test_publishing_apart.py.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from localdp.errors import StorageFailed
from parties.agent.config import AgentConfig
from parties.agent.epochs import Prepared
from parties.agent.state import log_failure, prepare_again, prepare_both
from parties.observability.logs import configure_logs
from parties.workers import become_worker, interruptions_held_back

_LOWEST_PRIORITY = 19
_Result = TypeVar("_Result")


def prepared_apart(config: AgentConfig) -> list[Prepared]:
    """The ways to open an epoch (`prepare_both`), prepared elsewhere."""
    try:
        return apart(prepare_both, config)
    except StorageFailed as error:
        log_failure(config, error)
        return [apart(prepare_again, config)]


def apart(job: Callable[[AgentConfig], _Result], config: AgentConfig) -> _Result:
    """Do it in a process of its own, which ends with it, and with this one."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        1, mp_context=context, initializer=_become_quiet, initargs=(config.log,)
    ) as pool:
        with interruptions_held_back():
            future = pool.submit(job, config)
        try:
            return future.result()
        except BrokenProcessPool:
            raise StorageFailed(
                "the process that reads the table has died; is there too little memory?"
            ) from None


def _become_quiet(level: str) -> None:
    os.setpriority(os.PRIO_PROCESS, 0, _LOWEST_PRIORITY)
    become_worker()
    configure_logs(level)
