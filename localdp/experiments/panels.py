"""What was measured, as data: a panel is one plot with one line for each series, and a demonstration some panels.

Numbers are finite, and a point without a value is one of which every trial was refused.  Only the data: drawing is in
parties/report.
Checked in tests/unit/experiments/test_attack_runs.py and tests/unit/parties/report/test_experiment_plots.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.oracles.definition import LEVEL, normal_width

LARGEST = 1e100


@dataclass(frozen=True, slots=True)
class Point:
    """The outcome of all trials of one series at one parameter."""

    series: str
    parameter: float
    value: float | None  # None: every trial was refused
    trials: int  # that were answered
    error: float | None = None  # one standard error of the value
    predicted: float | None = None
    bound: float | None = None  # that no protocol of this trust model goes below
    people: int | None = None  # where that is not the parameter

    def __post_init__(self) -> None:
        given = (self.value, self.error, self.predicted, self.bound)
        numbers = [self.parameter, *(number for number in given if number is not None)]
        if not all(abs(number) <= LARGEST for number in numbers):
            raise InvalidParameter("the numbers of a point are finite, and not beyond all measure")
        if self.error is not None and self.error < 0:
            raise InvalidParameter("a standard error is not negative")

    @property
    def half_width(self) -> float | None:
        """Half of the interval at 95 % about the value: what stands behind ± and is drawn as a bar."""
        return None if self.error is None else normal_width(LEVEL) * self.error

    @property
    def ratio(self) -> float | None:
        """Measured over predicted; None where there is nothing to compare with."""
        return self.value / self.predicted if self.value is not None and self.predicted else None

    def to_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        told = asdict(self)
        return {name: told[name] for name in told if name == "predicted" or told[name] is not None}


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot, with the numbers behind it."""

    title: str
    parameter: str  # the horizontal axis; "" where nothing was varied
    measure: str  # the vertical axis
    points: tuple[Point, ...]
    predicted: str = "predicted"  # what the dashed lines are
    # Of series in a legend, where they have longer ones.
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def fraction(self) -> bool:
        """Whether the measure is one."""
        return "fraction" in self.measure

    def series(self) -> dict[str, list[Point]]:
        """The points of every series, by parameter."""
        found: dict[str, list[Point]] = {}
        for point in sorted(self.points, key=lambda point: point.parameter):
            found.setdefault(point.series, []).append(point)
        return found

    def to_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        points = [point.to_data() for point in self.points]
        return {"parameter": self.parameter, "measure": self.measure, "points": points}


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What a separation or an attack shows."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    epsilon: Epsilon | None = None  # of a separation, which has one panel
    claims: tuple[PrivacyClaim, ...] = ()  # of one trial

    def to_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        told: dict[str, Any] = {"name": self.name, "title": self.title, "notes": list(self.notes)}
        if self.epsilon is None:
            return told | {"panels": [{"title": one.title, **one.to_data()} for one in self.panels]}
        privacy = [claim.to_data() for claim in self.claims]
        return told | {"epsilon": float(self.epsilon), "privacy": privacy, **self.panels[0].to_data()}
