"""What a round is expected to cost and to yield, before anybody is asked.

A plan has a row for every query of a round: how it would be answered, by how many people, and with which standard
error about the mean of all people.  Where an error depends on data that nobody has seen yet, the row assumes the
least favourable mean of a bit, and uniform frequencies.  `tolerance` turns standard errors into the tau of
Definition 12.4: with probability 1 - failure no entry of any answer is further off (normal quantiles and the union
bound).

The plan of a selection has one row.  Its standard error is that of the noise on a score, as a mean over the people, and its
tolerance how far below the best candidate the selected one may be.

Checked against measured errors, for every kind of query and oracle, in tests/statistical/test_plans.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import NormalDist

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, Epsilon
from localdp.errors import InvalidParameter, LocalDpError, SignalTooWeak
from localdp.mechanisms.noisy_maximum import NoisyMaximum
from localdp.oracles.least_numbers import MOST_PEOPLE, least

# By which a signal is above the error at sizes that are called enough: it is measured anew there.
MARGIN = 1.35
NOTHING_ASKED = "nothing was asked"
LEAST_REPORTS = (
    20  # of a part of the people: of parts drawn at random, with so many on average, none is empty
)
_DIGITS = 2
_MOST_TIMES = 10_000  # as many people are worth mentioning
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
class PlannedSelection(PlannedQuery):
    """How one of several candidates would be selected."""

    law: NoisyMaximum | None = None  # of the index; None: the best of noisy answers
    unit: float = 1.0  # how much of a mean one unit of a score is

    def tolerance(self, failure: float) -> float:
        """How far below the best candidate the selected one is at most, but for a probability of `failure`."""
        if self.law is not None:
            return self.law.shortfall(self.entries, failure) * self.unit
        # The best one looks worse by as much, and another one better.  The class that slots made anew has no super().
        return 2 * PlannedQuery.tolerance(self, failure)


@dataclass(frozen=True, slots=True)
class Resizing:
    """The same round, if there were other people or another epsilon."""

    epsilon: Epsilon  # that a person spends in all; of a view, the round's is a part of it or all of it
    planned: Callable[[int, float], Plan]  # with so many people, at so many times epsilon


@dataclass(frozen=True, slots=True)
class Plan:
    """One round before it is asked."""

    model: str
    rows: tuple[PlannedQuery, ...]
    people: int
    epsilon: Epsilon  # per person, for the round
    resizing: Resizing | None = field(default=None, repr=False, compare=False)  # None: not known
    delta: Fraction = Fraction(
        0
    )  # the probability, at most, with which the epsilon of the round does not hold

    def kept(self) -> Plan:
        """The plan as data, without the oracle that could plan anew."""
        return replace(self, resizing=None)

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
    def crumbles(self) -> bool:
        """Whether people are divided into parts so small that one might be empty."""
        return any(row.reports < min(LEAST_REPORTS, self.people) for row in self.rows)

    @property
    def vector_error(self) -> float:
        """Root of the expected sum of squared errors over all entries: of a vector, its expected distance."""
        return math.sqrt(sum(row.entries * row.standard_error**2 for row in self.rows))

    def require(self, signal: float, looks_for: str, failure: float = 0.05) -> None:
        """Raise `SignalTooWeak` when an entry as large as the signal could be noise."""
        require_signal(signal, self.tolerance(failure), looks_for, self)

    def sizes_enough(self, share: float) -> str:
        """What would bring errors down to this share of what they are: people, or an epsilon, in words."""
        if self.resizing is None or not 0 < share <= 1 or not self.tolerance() > 0:
            return ""
        more, larger = self.resizing, self.resizing.epsilon

        def within(people: float, nats: float) -> bool:
            try:
                planned = more.planned(math.ceil(people), nats / float(larger))
            except LocalDpError:
                return False  # such a round cannot be asked
            return planned.tolerance() <= share * self.tolerance() and not planned.crumbles

        most = min(MOST_PEOPLE, _MOST_TIMES * self.people)
        people = least(self.people, most, lambda many: within(many, float(larger)), _DIGITS)
        nats = least(float(larger), LARGEST_EPSILON_NATS, lambda large: within(self.people, large), _DIGITS)
        found = [] if people is None else [f"{math.ceil(people):,} people"]
        return " or ".join(found if nats is None else [*found, f"epsilon {nats:g}"])

    def __str__(self) -> str:
        """A table to read before asking."""
        head = f"{self.model}: {self.people} people, epsilon {self.epsilon} each, {len(self.rows)} queries"
        lines = [f"  {_short(row.query)}  ->  {_described(row)}" for row in self.rows]
        return "\n".join([head, *lines, f"  tolerance at 95 %: {self.tolerance():.4g}"])


def require_signal(signal: float, error: float, looks_for: str, plan: Plan) -> None:
    """Raise `SignalTooWeak` when what is looked for is not above the error that is to be expected, or people are too few.

    It says which sizes would be enough, if errors are in proportion to those of the plan.
    """
    if error < signal and not plan.crumbles:
        return
    sizes = plan.sizes_enough(min(signal / (MARGIN * error), 1.0) if error else 1.0)
    total = plan.epsilon if plan.resizing is None else plan.resizing.epsilon
    why = f"{looks_for} of {signal:.3g} would drown in an expected error of {error:.3g}"
    if error < signal:
        why = f"to look for {looks_for}, people are divided into parts of fewer than {LEAST_REPORTS}"
    raise SignalTooWeak(
        f"{why} ({plan.model}, {plan.people} people, epsilon {total})"
        + (f": needs {sizes}" if sizes else "")
    )


def _described(row: PlannedQuery) -> str:
    error = "at most" if row.certain else "standard error"
    entries = "candidates" if isinstance(row, PlannedSelection) else "entries"
    return f"{row.entries} {entries} by {row.how}, {row.reports} reports, {error} {row.standard_error:.4g}"


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST_TEXT else f"{text[: _WIDEST_TEXT - 3]}..."
