"""Signals that end a command: both are told and cleaned up after in the same way, and heard in the end.

Python raises KeyboardInterrupt wherever the main thread happens to be.  If that is a callback or a finalizer of somebody
else's, it is printed or dropped there, and the command would go on asking people.  So an interruption is raised again until
it has come through; while it is on its way, through whatever cleans up, it is not disturbed.

Checked in tests/integration/test_signals.py.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

AGAIN_SECONDS = 0.5


@contextmanager
def insistent_interruptions() -> Iterator[None]:
    """Ctrl-C ends this block even if somebody inside drops its first KeyboardInterrupt."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # as by nohup
    if ignored or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _interrupt), signal.signal(signal.SIGALRM, _interrupt_again)
    try:
        yield
    finally:
        heard()
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGALRM, before[1])


@contextmanager
def stopped_by_ctrl_c() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C only has what is yielded say so, and the block ends in good order; the second one interrupts."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(*_: object) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    if before is not signal.SIG_IGN:  # as by nohup
        signal.signal(signal.SIGINT, stop)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def heard() -> None:
    """Whoever catches a KeyboardInterrupt, and goes on in good order, says so."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def terminate_like_ctrl_c() -> None:
    """From now on SIGTERM interrupts as Ctrl-C does."""
    handler = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGTERM, _interrupt if handler is _interrupt else _interrupt_once)


def _interrupt(*_: object) -> None:
    signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS, AGAIN_SECONDS)
    raise KeyboardInterrupt


def _interrupt_once(*_: object) -> None:
    raise KeyboardInterrupt


def _interrupt_again(*_: object) -> None:
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return  # it is on its way
        error = error.__context__
    raise KeyboardInterrupt
