"""A stream has as many reports as were asked for: no more, no fewer, and none of its messages is empty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import grpc
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


class Away(grpc.RpcError):
    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def trailing_metadata(self) -> tuple[Any, ...]:
        return ()


def broken_off(again: Message) -> Reception:
    """Its stream breaks off after the first message, and then begins with another."""
    streams = [[again, Message(3, b"\3")], [Message(2, b"\1" * 40)]]

    def begin(seconds: float) -> Iterator[Message]:
        yield from streams.pop()
        if streams:
            raise Away

    return Reception(begin, "party north", 1.0, Persistence(Patience(first_pause_seconds=0.001)))


def test_after_a_break_what_was_handed_on_is_not_handed_on_again() -> None:
    handed = list(broken_off(Message(2, b"\1" * 40)).counted(5))
    assert [(piece.reports, piece.packed) for piece in handed] == [(2, b"\1" * 40), (3, b"\3")]


@pytest.mark.parametrize(
    "again",
    [
        Message(3, b"\1" * 40),
        Message(2, b"\1" * 39),
        Message(2, b"\1" * 40 + b"\0"),
        Message(2, b"\1" * 39 + b"\0"),
    ],
)
def test_after_a_break_other_reports_are_refused(again: Message) -> None:
    with pytest.raises(MalformedReport, match="answered the same request with other reports"):
        list(broken_off(again).counted(5))
