"""When epochs open by themselves: at public times, in UTC."""

from datetime import UTC, datetime

import pytest

from localdp.errors import InvalidParameter
from parties.agent.calendar import Calendar

WEDNESDAY = datetime(2026, 11, 18, 12, 30, tzinfo=UTC).timestamp()


def told(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%a %Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("text", "last", "following"),
    [
        ("daily 03:00", "Wed 2026-11-18 03:00", "Thu 2026-11-19 03:00"),
        ("daily 12:30", "Wed 2026-11-18 12:30", "Thu 2026-11-19 12:30"),
        ("daily 23:59", "Tue 2026-11-17 23:59", "Wed 2026-11-18 23:59"),
        ("weekly monday 03:00", "Mon 2026-11-16 03:00", "Mon 2026-11-23 03:00"),
        ("weekly wednesday 13:00", "Wed 2026-11-11 13:00", "Wed 2026-11-18 13:00"),
        ("monthly 1 00:00", "Sun 2026-11-01 00:00", "Tue 2026-12-01 00:00"),
        ("monthly 28 05:15", "Wed 2026-10-28 05:15", "Sat 2026-11-28 05:15"),
    ],
)
def test_the_openings_before_and_after_a_moment(text: str, last: str, following: str) -> None:
    calendar = Calendar.parse(text)
    assert calendar is not None
    assert told(calendar.last(WEDNESDAY)) == last
    assert told(calendar.next(WEDNESDAY)) == following


@pytest.mark.parametrize("text", ["daily 03:00", "weekly sunday 23:59", "monthly 28 00:00"])
def test_openings_follow_each_other_without_a_gap(text: str) -> None:
    calendar = Calendar.parse(text)
    assert calendar is not None
    moment = WEDNESDAY
    for _ in range(40):
        opening = calendar.next(moment)
        assert calendar.last(opening) == opening
        assert calendar.last(opening - 1) <= moment < opening
        moment = opening


def test_by_hand_is_no_calendar() -> None:
    assert Calendar.parse("by hand") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "daily",
        "daily 3:00",
        "daily 24:00",
        "daily 03:60",
        "weekly 03:00",
        "weekly mon 03:00",
        "monthly 29 03:00",
    ],
)
def test_anything_else_is_refused_with_what_would_do(text: str) -> None:
    with pytest.raises(InvalidParameter, match="monthly 1 03:00"):
        Calendar.parse(text)
