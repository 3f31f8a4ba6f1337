"""A stream has as many reports as were asked for: no more, no fewer, and none of its messages is empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from localdp.errors import MalformedReport
from parties.receiving import Reception
from parties.repeating import Patience, Persistence


@dataclass(frozen=True)
class Message:
    reports: int
    packed: bytes = b""


def reception(*reports: int) -> Reception:
    begin: Any = lambda seconds: iter([Message(number) for number in reports])  # noqa: E731
    return Reception(begin, "party north", 1.0, Persistence(Patience()))


@pytest.mark.parametrize("reports", [(5,), (2, 3), (1, 1, 1, 1, 1)])
def test_as_many_reports_as_expected_are_handed_on(reports: tuple[int, ...]) -> None:
    assert [message.reports for message in reception(*reports).counted(5)] == list(reports)


@pytest.mark.parametrize("reports", [(), (4,), (6,), (2, 2), (2, 4), (5, 0), (0, 5), (5, 1)])
def test_another_number_of_reports_is_refused(reports: tuple[int, ...]) -> None:
    with pytest.raises(MalformedReport, match="party north sent another number of reports"):
        list(reception(*reports).counted(5))


def test_where_fewer_may_come_more_may_not() -> None:
    assert len(list(reception(2, 2).counted(5, all_of_them=False))) == 2
    with pytest.raises(MalformedReport):
        list(reception(2, 4).counted(5, all_of_them=False))


def test_a_stream_without_end_is_refused_at_its_first_report_too_many() -> None:
    stream = reception(*[1] * 100).counted(3)
    assert [next(stream).reports for _ in range(3)] == [1, 1, 1]
    with pytest.raises(MalformedReport):
        next(stream)
