"""When an epoch opens by itself: daily, weekly or monthly, at a time of day in UTC; or by hand alone.

| written | opens |
|---|---|
| by hand | when the owner runs `localdp agent publish` |
| daily 03:00 | every day at three |
| weekly monday 03:00 | every Monday at three |
| monthly 1 03:00 | on the first of every month (1 to 28) at three |

The times are public: they depend on the clock and on nothing else.  Checked in tests/unit/parties/agent/test_calendar.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from localdp.errors import InvalidParameter

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_FORM = re.compile(r"(?:(daily)|weekly ([a-z]+)|monthly ([0-9]{1,2})) ([0-9]{2}):([0-9]{2})")
_BY_HAND = "by hand"
_LONGEST_MONTH = 31


@dataclass(frozen=True, slots=True)
class Calendar:
    """The minutes at which epochs open."""

    hour: int
    minute: int
    weekday: int | None = None  # 0 is Monday
    day: int | None = None  # of the month

    @classmethod
    def parse(cls, text: str) -> Calendar | None:
        """The calendar that a text means; None if epochs open by hand alone."""
        if text == _BY_HAND:
            return None
        found = _FORM.fullmatch(text)
        if found is None:
            raise _unknown()
        _, weekday, day, hour, minute = found.groups()
        if int(hour) > 23 or int(minute) > 59 or (day and not 1 <= int(day) <= 28):
            raise _unknown()
        if weekday is not None and weekday not in _DAYS:
            raise _unknown()
        number = None if weekday is None else _DAYS.index(weekday)
        return cls(int(hour), int(minute), number, int(day) if day else None)

    def last(self, now: float) -> int:
        """The latest opening at or before a time, in seconds since 1970."""
        return next(at for at in self._days(now, -1) if at <= now)

    def next(self, now: float) -> int:
        """The first opening after a time, in seconds since 1970."""
        return next(at for at in self._days(now, 1) if at > now)

    def _days(self, now: float, step: int) -> Iterator[int]:
        today = datetime.fromtimestamp(now, UTC).replace(
            hour=self.hour, minute=self.minute, second=0, microsecond=0
        )
        for days in range(_LONGEST_MONTH + 1):
            day = today + timedelta(days=step * days)
            if self.weekday in (None, day.weekday()) and self.day in (None, day.day):
                yield int(day.timestamp())


def _unknown() -> InvalidParameter:
    return InvalidParameter(
        '"by hand", "daily 03:00", "weekly monday 03:00" or "monthly 1 03:00" (UTC; a day from 1 to 28)'
    )
