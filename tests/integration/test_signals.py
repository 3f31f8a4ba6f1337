"""An interruption is heard in the end, and cleaning up is not interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator

import pytest

from parties.command.signals import (
    AGAIN_SECONDS,
    heard,
    insistent_interruptions,
    terminate_like_ctrl_c,
)

LONG_SECONDS = 20 * AGAIN_SECONDS


class Dropped:
    """Something whose finalizer is interrupted: Python drops what a finalizer raises."""


def interrupted_where_it_is_dropped(number: int = signal.SIGINT) -> None:
    something = Dropped()
    weakref.finalize(something, os.kill, os.getpid(), number)
    del something


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    }
    # A shell that runs tests in the background hands on an ignored SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_that_somebody_drops_is_heard_all_the_same() -> None:
    def drop_and_wait() -> None:
        with insistent_interruptions():
            interrupted_where_it_is_dropped()
            time.sleep(LONG_SECONDS)

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        drop_and_wait()
    assert time.monotonic() - started < LONG_SECONDS / 2


def test_cleaning_up_is_not_interrupted_again() -> None:
    cleaned = []

    def clean_up_slowly() -> None:
        with insistent_interruptions():
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(LONG_SECONDS)
            finally:
                try:
                    raise ValueError("on the way")
                except ValueError:
                    time.sleep(2.5 * AGAIN_SECONDS)
                cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        clean_up_slowly()
    assert cleaned


def test_whoever_goes_on_in_good_order_is_left_in_peace() -> None:
    with insistent_interruptions():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(LONG_SECONDS)
        except KeyboardInterrupt:
            heard()
        time.sleep(2.5 * AGAIN_SECONDS)


def test_to_be_terminated_is_to_be_interrupted() -> None:
    def be_terminated() -> None:
        with insistent_interruptions():
            terminate_like_ctrl_c()
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(LONG_SECONDS)

    with pytest.raises(KeyboardInterrupt):
        be_terminated()


def test_what_was_told_to_ignore_interruptions_ignores_them() -> None:
    program = (
        "import os, signal\n"
        "from parties.command.signals import insistent_interruptions\n"
        "with insistent_interruptions():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "print('went on')\n"
    )
    done = subprocess.run(
        ["/bin/sh", "-c", 'trap "" INT; exec "$0" -c "$1"', sys.executable, program],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "went on\n", done
