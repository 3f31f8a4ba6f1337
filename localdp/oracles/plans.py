"""What a round is expected to cost and to yield, before anybody is asked.

A plan has a row for every query of a round: how it would be answered, by how many people, and with which standard
error about the mean of all people.  Where an error depends on data that nobody has seen yet, the row assumes the
least favourable mean of a bit, and uniform frequencies.  `tolerance` turns standard errors into the tau of
Definition 12.4: with probability 1 - failure no entry of any answer is further off (normal quantiles and the union
bound).

Checked against measured errors, for every kind of query and oracle, in tests/statistical/test_plans.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, SignalTooWeak

_WIDEST_TEXT = 48


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """How one query would be answered."""

    query: str
    entries: int  # numbers in the answer
    how: str  # the randomizer or the noise, in words
    reports: int  # people who would answer it
    standard_error: float  # of one entry, root mean square over the entries
    certain: bool = False  # the error is a bound that holds always, not a standard error

    def tolerance(self, failure: float) -> float:
        """What no entry is off by more, but for a probability of `failure`."""
        if self.certain or self.standard_error == 0:
            return self.standard_error
        return NormalDist().inv_cdf(1 - failure / (2 * self.entries)) * self.standard_error


@dataclass(frozen=True, slots=True)
class Plan:
    """One round before it is asked."""

    model: str
    rows: tuple[PlannedQuery, ...]
    people: int
    epsilon: Epsilon  # per person, for the round

    def tolerance(self, failure: float = 0.05) -> float:
        """What no entry of any answer is off by more, but for a probability of `failure`."""
        if not 0 < failure < 1:
            raise InvalidParameter("a probability of failure lies strictly between 0 and 1")
        return max(row.tolerance(failure / len(self.rows)) for row in self.rows)

    @property
    def certain(self) -> bool:
        """Whether errors are bounds that hold always, which more rounds do not make smaller."""
        return all(row.certain for row in self.rows)

    @property
    def vector_error(self) -> float:
        """Root of the expected sum of squared errors over all entries: of a vector, its expected distance."""
        return math.sqrt(sum(row.entries * row.standard_error**2 for row in self.rows))

    def require(self, signal: float, looks_for: str, failure: float = 0.05) -> None:
        """Raise `SignalTooWeak` when an entry as large as the signal could be noise."""
        require_signal(signal, self.tolerance(failure), looks_for, self)

    def __str__(self) -> str:
        """A table to read before asking."""
        head = f"{self.model}: {self.people} people, epsilon {self.epsilon} each, {len(self.rows)} queries"
        lines = [f"  {_short(row.query)}  ->  {_described(row)}" for row in self.rows]
        return "\n".join([head, *lines, f"  tolerance at 95 %: {self.tolerance():.4g}"])


def require_signal(signal: float, error: float, looks_for: str, plan: Plan) -> None:
    """Raise `SignalTooWeak` when what is looked for is not above the error that is to be expected."""
    if error >= signal:
        raise SignalTooWeak(
            f"{looks_for} of {signal:.3g} would drown in an expected error of {error:.3g} "
            f"({plan.model}, {plan.people} people, epsilon {plan.epsilon}); nothing was asked"
        )


def _described(row: PlannedQuery) -> str:
    error = "at most" if row.certain else "standard error"
    return f"{row.entries} entries by {row.how}, {row.reports} reports, {error} {row.standard_error:.4g}"


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST_TEXT else f"{text[: _WIDEST_TEXT - 3]}..."
