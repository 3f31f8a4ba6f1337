"""What a report tells, as data: whatever was run, a page is made of these.

A panel is one plot with one line for each series; a group is the panels that share an axis.  Numbers are finite, and a
point without a value is one of which every trial was refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from localdp.errors import InvalidParameter

LARGEST = 1e100
Facts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Point:
    """One series at one parameter."""

    series: str
    at: float
    value: float | None  # None: every trial was refused
    trials: int  # that were answered
    error: float | None = None  # one standard error of the value
    predicted: float | None = None
    bound: float | None = None  # that no protocol of this trust model goes below

    def __post_init__(self) -> None:
        given = (self.value, self.error, self.predicted, self.bound)
        numbers = [self.at, *(number for number in given if number is not None)]
        if not all(abs(number) <= LARGEST for number in numbers):
            raise InvalidParameter("the numbers of a report are finite, and not beyond all measure")
        if self.error is not None and self.error < 0:
            raise InvalidParameter("a standard error is not negative")


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot, with the numbers behind it."""

    title: str
    parameter: str  # the horizontal axis; "" where nothing was varied
    measure: str  # the vertical axis
    points: tuple[Point, ...]
    predicted: str = "predicted"  # what the dashed lines are
    fraction: bool = False  # the measure is one

    def series(self) -> dict[str, list[Point]]:
        """The points of every series, by parameter."""
        found: dict[str, list[Point]] = {}
        for point in sorted(self.points, key=lambda point: point.at):
            found.setdefault(point.series, []).append(point)
        return found


@dataclass(frozen=True, slots=True)
class Group:
    """Panels with the same axes, and what to know about them."""

    title: str
    note: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Promise:
    """What one trust model promises, in words for the person whose record it is."""

    model: str
    words: str
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text and numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    texts: tuple[int, ...] = (0,)  # columns that are text
    note: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """One experiment."""

    source: str  # the name of its file
    title: str
    asked: Facts
    groups: tuple[Group, ...]
    data: Mapping[str, Any]  # embedded in the page
    lead: str = ""
    warning: str = ""
    confidential: bool = False  # as the table that it is about
    promises: tuple[Promise, ...] = ()
    about_promises: str = ""
    refusals: Table | None = None
    costs: Table | None = None
    cells: Table | None = None
    notes: tuple[str, ...] = ()
    origin: Facts = field(default_factory=dict)
    configuration: str = ""
