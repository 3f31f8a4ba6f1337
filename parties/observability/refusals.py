"""How many lines a caller that is refused may write into the log: one a second for each reason.

Who knocks a thousand times a second must not fill a disk.  The next line says how many were left out; the metrics count
them all.  At most `MOST_CALLERS` pairs of caller and reason are remembered, the ones that were seen last: a pair that
was forgotten begins anew, and what was left out of it is not told.

Checked in tests/unit/parties/observability/test_refusals.py.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

SECONDS = 1.0
MOST_CALLERS = 1024


class Refusals:
    """When the last line about each caller and reason was written, and how many were left out since."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()
        self._lock = threading.Lock()

    def left_out(self, caller: str, reason: str) -> int | None:
        """How many lines were left out before this one; None if this one is left out, too."""
        now, pair = self._clock(), (caller, reason)
        with self._lock:
            last, count = self._seen.get(pair, (float("-inf"), 0))
            due = now - last >= SECONDS
            self._seen[pair] = (now, 0) if due else (last, count + 1)
            self._seen.move_to_end(pair)
            if len(self._seen) > MOST_CALLERS:
                self._seen.popitem(last=False)
        return count if due else None
