"""The processor's time of something, without that of collecting what other tests left in this process."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def processor_seconds() -> Iterator[Callable[[], float]]:
    """Within it, a clock of seconds since it began."""
    collecting = gc.isenabled()
    gc.disable()
    began = time.process_time()
    try:
        yield lambda: time.process_time() - began
    finally:
        if collecting:
            gc.enable()
