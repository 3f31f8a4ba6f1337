"""What is told only where data are stable, as releases: scales, medians and trimmed means (chapter 7).

Each asks somebody who sees all records (`oracle.on_records`), at (epsilon, delta), and tells a value or None: that
data were too near to other ones.  Each says, in `simpler_`, what needs no delta and works where nobody sees records.
Checked in tests/unit/algorithms/stability/test_stable.py and tests/contract/test_algorithms.py.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import Self, TypeVar

import numpy as np

from localdp.accounting.events import exact_delta
from localdp.algorithms.definition import Learner, Measures, measures_of_errors
from localdp.algorithms.stability.proposals import ProposedMiddle
from localdp.algorithms.stability.scale import PrivateScale
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.oracles.definition import OnRecords, StatisticalQueryOracle
from localdp.oracles.plans import Plan, PlannedQuery

_Told = TypeVar("_Told")
DELTA = 1e-6


def planned_on_records(oracle: StatisticalQueryOracle, mechanism: OnRecords[_Told]) -> Plan:
    """What a round would tell of the records themselves, if it tells something; nobody is asked."""
    plan = oracle.plan(["which(true)"])
    how, error = "a test of stability, by whoever sees records", mechanism.error(plan.epsilon)
    return replace(plan, rows=(PlannedQuery(mechanism.text, 1, how, oracle.people, error),), resizing=None)


class StableRelease(Learner):
    """One number that is told where it is stable."""

    delta: float | Fraction
    value_: float | None
    simpler_: str | None

    def _rounds(self) -> int:
        if not 0 < exact_delta(self.delta) < Fraction(1, 2):
            raise InvalidParameter("what is told where data are stable needs a delta, such as 1e-6")
        return 1

    @abstractmethod
    def _mechanism(self) -> OnRecords[float | None]:
        """What is computed of the records."""

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        mechanism = self._mechanism()
        self.simpler_ = mechanism.instead
        self.plan_ = planned_on_records(oracle, mechanism)
        self.value_ = oracle.on_records(mechanism)

    def measures(self, truth: Self, records: Records) -> Measures:
        """How far off it is, and whether there was an answer."""
        off = measures_of_errors(np.array([(self.value_ or 0.0) - (truth.value_ or 0.0)]))
        return {**off, "released": float(self.value_ is not None)}


class StableScale(StableRelease):
    """How widely a column of numbers is spread: its interquartile range, up to a factor (Algorithm 12).

    Parameters
    ----------
    column : str
        A column of numbers.
    delta : float, default=1e-6
        The probability that epsilon does not hold.
    base : float, optional
        What the answer is rounded to powers of. Default: 1 + 1 / ln n.
    noise : bool, default=False
        The book's noise on the exponent, which is not needed.
    check_signal : bool, default=True
        Refuse, before anybody pays, what even the stablest data could hardly pass. False asks all the same.

    Attributes
    ----------
    value_ : float or None
        The scale; None: data were too near to others with another one.
    simpler_ : str
        What needs no delta, within bounds.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        What error was expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> schema = {"x": {"kind": "real", "low": 0, "high": 100}}
    >>> with ldp.simulate({"x": list(range(100)) * 10}, schema) as people:
    ...     release = people.release(ldp.StableScale("x"), model="exact")
    >>> round(release.value_)
    49
    """

    def __init__(
        self,
        column: str,
        delta: float = DELTA,
        *,
        base: float | None = None,
        noise: bool = False,
        check_signal: bool = True,
    ) -> None:
        self.check_signal = check_signal
        self.column = column
        self.delta = delta
        self.base = base
        self.noise = noise

    def _mechanism(self) -> PrivateScale:
        return PrivateScale(
            self.column, exact_delta(self.delta), self.base, self.noise, not self.check_signal
        )


class StableMedian(StableRelease):
    """A median with noise for how far one record moves it, which is proposed and tested (section 7.2).

    Parameters
    ----------
    column : str
        A column of numbers.
    proposed : float
        The most that one record moves the median, as is proposed; the noise is 2 / epsilon times that.
    delta : float, default=1e-6
        The probability that epsilon does not hold.
    check_signal : bool, default=True
        Refuse, before anybody pays, what even the stablest data could hardly pass. False asks all the same.

    Attributes
    ----------
    value_ : float or None
        The median; None: one record, or a few, could move it further than was proposed.
    simpler_ : str
        What needs no proposal, within bounds.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        What error was expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> schema = {"x": {"kind": "real", "low": 0, "high": 100}}
    >>> with ldp.simulate({"x": list(range(100)) * 10}, schema) as people:
    ...     release = people.release(ldp.StableMedian("x", proposed=5), model="exact")
    >>> round(release.value_)
    49
    """

    def __init__(
        self, column: str, proposed: float, delta: float = DELTA, *, check_signal: bool = True
    ) -> None:
        self.check_signal = check_signal
        self.column = column
        self.proposed = proposed
        self.delta = delta

    def _mechanism(self) -> ProposedMiddle:
        anyway = not self.check_signal
        return ProposedMiddle(self.column, self.proposed, exact_delta(self.delta), anyway=anyway)


class StableMean(StableRelease):
    """A mean of the people in the middle, with noise for how far one record moves it, which is proposed and tested.

    Parameters
    ----------
    column : str
        A column of numbers.
    proposed : float
        The most that one record moves the mean, as is proposed; the noise is 2 / epsilon times that.
    kept : float, default=0.5
        Which share of the people is in the middle.
    delta : float, default=1e-6
        The probability that epsilon does not hold.
    check_signal : bool, default=True
        Refuse, before anybody pays, what even the stablest data could hardly pass. False asks all the same.

    Attributes
    ----------
    value_ : float or None
        The mean; None: a few records could move it further than was proposed.
    simpler_ : str
        What needs no proposal, within bounds.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        What error was expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> schema = {"x": {"kind": "real", "low": 0, "high": 100}}
    >>> with ldp.simulate({"x": list(range(100)) * 10}, schema) as people:
    ...     release = people.release(ldp.StableMean("x", proposed=1), model="exact")
    >>> round(release.value_)
    50
    """

    def __init__(
        self,
        column: str,
        proposed: float,
        kept: float = 0.5,
        delta: float = DELTA,
        *,
        check_signal: bool = True,
    ) -> None:
        self.check_signal = check_signal
        self.column = column
        self.proposed = proposed
        self.kept = kept
        self.delta = delta

    def _mechanism(self) -> ProposedMiddle:
        delta, anyway = exact_delta(self.delta), not self.check_signal
        return ProposedMiddle(self.column, self.proposed, delta, self.kept, anyway)
