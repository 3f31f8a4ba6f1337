"""One number about people: an estimate, the interval that it lies in, whom it is about, and what it cost.

    print(statistic)      904 ± 8 (95 %) of 18,710 people

± is half of the interval at the stated level, about the people who were asked: how far noise and left-out people may have
moved the number, and not how these people differ from others.  An estimate is not forced into the range of what is
possible, because that would bias it; a word says so where it lies outside.

Checked in tests/unit/asking/test_results.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from localdp.asking.frames import Columns
from localdp.asking.plots import plot_interval, titled
from localdp.asking.result import Result, Terms
from localdp.asking.writing import exact, percent, with_error, word_about

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Form(Enum):
    """How a number is written."""

    COUNT = "count"  # of people
    SHARE = "share"  # of people
    NUMBER = "number"  # on a scale of its own
    PLACE = "place"  # on such a scale, with an interval that may be uneven


@dataclass(frozen=True, slots=True)
class Statistic(Result):
    """An estimate of one number, with its interval and its terms."""

    name: str
    value: float
    low: float  # end of the interval
    high: float
    terms: Terms
    form: Form = Form.NUMBER
    least: float = float("-inf")  # what is possible
    most: float = float("inf")
    grain: float = 0.0  # how finely the number is told apart where there is no noise

    @property
    def half_width(self) -> float:
        """Half of the interval: what stands behind ±."""
        return (self.high - self.low) / 2

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        word = word_about(self.value, self.least, self.most)
        return f"{self._told()} {self._of_whom()}" + (f"; {word}" if word else "")

    def _told(self) -> str:
        if self.claim.epsilon is None:  # the truth
            return (
                f"{exact(100 * self.value)} %" if self.form is Form.SHARE else exact(self.value, self.grain)
            )
        sure = percent(self.level)
        match self.form:
            case Form.PLACE:
                return f"{exact(self.value)} ({exact(self.low)} to {exact(self.high)} at {sure})"
            case Form.SHARE:
                return f"{with_error(100 * self.value, 100 * self.half_width, ' %')} ({sure})"
        counted = self.form is Form.COUNT
        return f"{with_error(self.value, self.half_width, whole=counted)} ({sure})"

    def _of_whom(self) -> str:
        people = f"{self.people:,} people"
        if self.answered < self.people:
            people += f", {self.answered:,} answered"
        return f"of {people}" if self.form in (Form.COUNT, Form.SHARE) else f"for {people}"

    def _columns(self) -> Columns:
        return {"value": [self.value], "low": [self.low], "high": [self.high]}

    def _shown(self) -> dict[str, list[str]]:
        return {"": [self.name], "estimate": [str(self)]}

    def to_dict(self) -> dict[str, object]:
        """As plain data, for JSON."""
        own = {"value": self.value, "low": self.low, "high": self.high, "half_width": self.half_width}
        return {**super(Statistic, self).to_dict(), **own}

    def plot(self, ax: Axes | None = None) -> Axes:
        """The estimate and its interval, on axes of matplotlib."""
        drawn = plot_interval(self.value, self.low, self.high, self._colour, ax)
        return titled(drawn, self.caption, self.name)
