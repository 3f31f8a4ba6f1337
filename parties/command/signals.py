"""Signals that end a command: both are told and cleaned up after in the same way."""

from __future__ import annotations

import signal


def terminate_like_ctrl_c() -> None:
    """From now on SIGTERM interrupts as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
