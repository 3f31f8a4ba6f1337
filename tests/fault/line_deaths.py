"""Processes that are gone by SIGKILL before a line of their code: a crash at any moment of something that is done once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Container
from types import FrameType
from typing import Any


def die_before(line: int, watched: Container[str]) -> Callable[[], int]:
    """From here on count the lines of these files, and be gone before the one of that number (none, if negative)."""
    seen = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal seen
        if frame.f_code.co_filename not in watched:
            return None
        if event == "line":
            if seen == line:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1
        return trace

    sys.settrace(trace)
    return lambda: seen


def lived(job: Callable[[], object], line: int, watched: Container[str]) -> int | None:
    """Do it in a forked child: how many lines it took, or None if it died before that line."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            lines = die_before(line, watched)
            job()
            os.write(writing, b"%d" % lines())
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as told:
        said = told.read()
    ended = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(ended):
        return None
    assert os.WEXITSTATUS(ended) == 0, "what was to be killed has failed"
    return int(said)
