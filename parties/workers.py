"""Worker processes that end with their parent, and parents that are not interrupted while they start them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait


@contextmanager
def interruptions_held_back() -> Iterator[None]:
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


def become_worker() -> None:
    """Leave Ctrl-C to the parent, and end when the parent is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})  # inherited from the start
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
