"""How long a piece of work will still take, from how fast it has gone.

Blocks that an earlier run had finished come in a burst at the start, and say nothing about the speed: counting begins with
the last that comes within `_BURST_SECONDS` of the one before it.  Time is an argument.
Checked in tests/unit/parties/view/test_view_sweep.py.
"""

from __future__ import annotations

from collections import deque

_BURST_SECONDS = 0.02
_POINTS = 512  # the speed is that of the last so many


class Pace:
    """Points of time and of work done by then."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque(maxlen=_POINTS)
        self._in_burst = True

    def told(self, now: float, effort: int) -> None:
        """So much is done by now, in all."""
        if self._in_burst and self._points:
            self._in_burst = now - self._points[-1][0] < _BURST_SECONDS
        if self._in_burst:
            self._points.clear()
        self._points.append((now, effort))

    def seconds_left(self, now: float, effort: int) -> float | None:
        """How long the rest of so much work in all will take; None: who knows."""
        if len(self._points) < 2:
            return None
        (began, before), (_, done) = self._points[0], self._points[-1]
        if done <= before or now <= began:
            return None
        return (effort - done) * (now - began) / (done - before)
