"""Which noise a flooded sum takes: the part of epsilon that the sum itself gets, and how many pairs hide the rest.

The larger the part, the smaller the error and the larger the flood: at epsilon = 1 and delta = 1e-6 a count with 95 % of
epsilon is off by 0.910 in the mean and takes 4,743 pairs, whatever the number of people; with 98 %, by 0.874 and 25,305.
`planned` takes the largest part on a grid whose messages a person may send; few people send more.

Of delta, a 64th is for noise that does not fit the messages that an agent sends (`flood_room.py`): if whole views are
(epsilon, delta)-close, those whose noise is cut off with probability p are (epsilon, delta + (1 + e^epsilon) p)-close.

Claim.  A `FloodPlan` exists only if the delta of its view, with that, is at most the one it names: whoever is asked to take
part in one has it worked out anew.
Checked in tests/unit/accounting/test_flood_plan.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.flood_room import room
from localdp.accounting.flooding import MOST_PAIRS, SMALLEST_RATE, Flood, Moved
from localdp.accounting.outward import exp_above
from localdp.errors import InvalidParameter, TooFewReports

FEWEST_PEOPLE = 2
MOST_PEOPLE = 1 << 26
SMALLEST_DELTA = Fraction(1, 10**12)
DEFAULT_EXTRA = Fraction(1)  # messages a person sends beyond those of the value
MOST_MESSAGES = 1 << 26  # of one agent
_ROOM_PART = 64  # of delta, for noise that does not fit
# The least part of epsilon that is spent on the sum, where messages are dear, to the largest.
_PARTS = tuple(Fraction(part, 100) for part in (95, 94, 93, 92, 91, 90, 88, 85, 80, 75, 70, 60, 50, 40, 30))
_RATE_GRID = 10**9
_FREE = 10_000  # messages that all people may send together, however few they are: a second of one core
_SHARES = 1 << 20  # samplers take no finer parts
_CLOSE = 500  # pairs are at most a part in so many more than the fewest


@dataclass(frozen=True, slots=True)
class Flooded:
    """What is added up: so many sums, to which a person sends so many messages at most."""

    entries: int = 1
    moved: Moved = Moved()
    messages: int = 1  # of a person, at most

    def __post_init__(self) -> None:
        if not 1 <= self.entries <= 1 << 16 or not 1 <= self.messages <= 1 << 16:
            raise InvalidParameter("a flooded query has between 1 and 65536 sums, and messages of a person")


@dataclass(frozen=True, slots=True)
class FloodPlan:
    """(epsilon, delta) against whoever sees mixed messages, replace-one, while at least `honest` people draw noise."""

    epsilon: Epsilon
    delta: Fraction
    flooded: Flooded
    flood: Flood
    people: int  # who are asked
    honest: int  # among so many the noise is divided

    def __post_init__(self) -> None:
        Epsilon.requested(self.epsilon)
        if not SMALLEST_DELTA <= self.delta < 1:
            raise InvalidParameter("a delta lies between 1e-12 and 1")
        if not FEWEST_PEOPLE <= self.honest <= self.people <= MOST_PEOPLE:
            raise TooFewReports(f"a flood is drawn by {FEWEST_PEOPLE} to {MOST_PEOPLE} people")
        if self.achieved > self.delta:
            raise InvalidParameter("this flood hides less than the plan says")

    @property
    def achieved(self) -> Fraction:
        """An upper bound on delta, with what does not fit."""
        view = self.flood.delta(self.epsilon.exact, self.flooded.moved)
        return view + (1 + exp_above(self.epsilon.exact)) * self._failure

    @property
    def _failure(self) -> Fraction:
        """How likely some noise does not fit."""
        return _failure(self.epsilon, self.delta)

    def share(self, people: int) -> Fraction:
        """Of the noise, what so many people draw; rounded up on a fine grid, because more noise hides no less."""
        exact = Fraction(people, self.honest)
        return exact if exact.denominator <= _SHARES else Fraction(math.ceil(exact * _SHARES), _SHARES)

    def size(self, people: int) -> int:
        """How many messages an agent sends that speaks for so many people; nothing else moves it."""
        if not 0 <= people <= self.people:
            raise InvalidParameter("an agent speaks for no more people than there are")
        if people == 0:
            return 0
        size = people * self.flooded.messages + self.room(people)
        if size > MOST_MESSAGES:
            raise InvalidParameter(f"an agent sends at most {MOST_MESSAGES} messages; this would be {size}")
        return size

    def room(self, people: int) -> int:
        """How many of them noise takes at most."""
        failure = self._failure * people / self.people
        return room(self.flood, self.flooded.entries, self.share(people), failure)


def planned(
    epsilon: Epsilon,
    delta: Fraction,
    flooded: Flooded,
    people: int,
    honest: int | None = None,
    extra: Fraction = DEFAULT_EXTRA,
) -> FloodPlan:
    """The smallest error for at most `extra` messages a person beside the value's own, or the fewest messages of a grid.

    Where people are few they send more: so many that 10,000 of all of them hide a count.
    """
    if not SMALLEST_DELTA <= delta < 1:
        raise InvalidParameter("a delta lies between 1e-12 and 1")
    honest = people if honest is None else honest
    rate = rate_of(epsilon, delta, flooded, honest, extra)
    flood = _flood(rate, epsilon, delta, flooded.moved)
    return FloodPlan(epsilon, delta, flooded, flood, people, honest)


def rate_of(
    epsilon: Epsilon, delta: Fraction, flooded: Flooded, honest: int, extra: Fraction = DEFAULT_EXTRA
) -> Fraction:
    """The rate of the noise that `planned` takes: what errors follow from, at hardly any cost."""
    most = max(_FREE, math.floor(extra * honest)) // (2 * flooded.entries)
    rates, moved = _rates(epsilon, flooded.moved), flooded.moved
    return next((rate for rate in rates if _guess(rate, epsilon, delta, moved) <= most), rates[-1])


def _rates(epsilon: Epsilon, moved: Moved) -> list[Fraction]:
    """Those of all parts, the largest first."""
    each = epsilon.exact / moved.units
    return [Fraction(math.floor(part * each * _RATE_GRID), _RATE_GRID) for part in _PARTS]


def _failure(epsilon: Epsilon, delta: Fraction) -> Fraction:
    grown = math.ceil(1 + exp_above(epsilon.exact))
    return delta / (_ROOM_PART * grown)


@lru_cache(maxsize=256)
def _flood(rate: Fraction, epsilon: Epsilon, delta: Fraction, moved: Moved) -> Flood:
    if rate < SMALLEST_RATE:
        raise InvalidParameter("epsilon is too small for sums that one person moves so far")
    return Flood(rate, _fewest_pairs(rate, epsilon, delta * (_ROOM_PART - 1) / _ROOM_PART, moved))


def _guess(rate: Fraction, epsilon: Epsilon, delta: Fraction, moved: Moved) -> int:
    """About how many pairs it takes: those whose ratio is e^c far out where the tail is delta."""
    slack = float((epsilon.exact - moved.units * rate) / moved.rising)
    far = NormalDist().inv_cdf(1 - min(0.4, float(delta) / moved.rising))
    return 1 + math.ceil(0.5 * (moved.largest * far / max(slack, 1e-9)) ** 2)


def _fewest_pairs(rate: Fraction, epsilon: Epsilon, delta: Fraction, moved: Moved) -> int:
    """As good as the fewest pairs whose delta is small enough; the largest change is the worst, the others checked last."""
    left = (epsilon.exact - moved.falling * rate) / moved.rising
    low, high = 0, min(MOST_PAIRS, _guess(rate, epsilon, delta, moved))
    while moved.rising * Flood(rate, high).rising(left, moved.largest) > delta:
        low, high = high, _more(high, high)
    while high - low > max(1, high // _CLOSE):
        middle = (low + high) // 2
        enough = moved.rising * Flood(rate, middle).rising(left, moved.largest) <= delta
        low, high = (low, middle) if enough else (middle, high)
    while Flood(rate, high).delta(epsilon.exact, moved) > delta:
        high = _more(high, 1 + high // _CLOSE)
    return high


def _more(pairs: int, more: int) -> int:
    if pairs >= MOST_PAIRS:
        raise InvalidParameter("no flood hides so much; ask for a larger epsilon or delta")
    return min(MOST_PAIRS, pairs + more)
