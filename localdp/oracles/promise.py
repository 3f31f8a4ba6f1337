"""What a shuffler promises about one request, and about all of them together.

(epsilon, delta), replace-one neighbours, against whoever sees mixed reports, as long as the shuffler is honest.  A person
hides among those people whose reports the aggregator does not know already.  A party knows the reports of all of its
people; if it tells the aggregator, they hide nobody.  So the promise names how many parties may do that, `colluding`, and
is computed for the people of all others: the largest parties are taken away.  With 0 of them, which is the default, it
rests on the assumption that no other party tells.

A promise about single requests says nothing about many: whoever asks often enough learns everything.  So all requests about
a person together may cost `requests` times (epsilon, delta), by basic composition, and the shuffler keeps the account
(`accounting/promise_ledger.py`).  And `minimum_cohort` keeps a request from being about one person.

Checked in tests/unit/oracles/test_promise.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.promise_ledger import TRILLION, trillionths_above
from localdp.accounting.shuffling import FEWEST_PEOPLE, MOST_PEOPLE, Shuffled, ShuffledAs
from localdp.errors import InvalidParameter, PolicyRefused, TooFewReports
from localdp.party.policy import operator_of
from localdp.randomizers.definition import LocalRandomizer

DEFAULT_DELTA = Fraction(1, 10**6)
SMALLEST_DELTA = Fraction(1, 10**12)
DEFAULT_REQUESTS = 10
MOST_REQUESTS = 10**9
DEFAULT_MINIMUM_COHORT = 100
MOST_COLLUDING = 1 << 16


@dataclass(frozen=True, slots=True)
class Promise:
    """What mixed reports of one request are worth, how many requests' worth there is, and who may collude."""

    epsilon: Epsilon
    delta: Fraction = DEFAULT_DELTA
    colluding: int = 0  # parties that may tell the aggregator what they sent
    # What all of them may cost a person together, in multiples of (epsilon, delta).
    requests: int = DEFAULT_REQUESTS
    minimum_cohort: int = DEFAULT_MINIMUM_COHORT  # people of a request, without those of colluding parties

    def __post_init__(self) -> None:
        Epsilon.requested(self.epsilon)
        if not SMALLEST_DELTA <= self.delta < 1:
            raise InvalidParameter("a delta lies between 1e-12 and 1")
        if not 0 <= self.colluding <= MOST_COLLUDING:
            raise InvalidParameter(f"between 0 and {MOST_COLLUDING} parties may collude with the analyst")
        if not 1 <= self.requests <= MOST_REQUESTS:
            raise InvalidParameter(f"a shuffler promises the worth of 1 to {MOST_REQUESTS} requests")
        if not FEWEST_PEOPLE <= self.minimum_cohort <= MOST_PEOPLE:
            raise InvalidParameter(f"the minimum cohort has {FEWEST_PEOPLE} to {MOST_PEOPLE} people")

    @property
    def epsilon_total(self) -> Epsilon:
        """Of all requests about one person."""
        return self.epsilon * self.requests

    @property
    def delta_total(self) -> Fraction:
        """Of all requests about one person."""
        return Fraction(trillionths_above(self.delta) * self.requests, TRILLION)

    def hiding(self, parties: Iterable[tuple[str, int]]) -> int:
        """How many people are left if the largest of these parties collude: so many hide each other at least.

        Parties of one operator, clinic/1 and clinic/2, collude together.
        """
        sizes: Counter[str] = Counter()
        for name, people in parties:
            sizes[operator_of(name)] += people
        ordered = sorted(sizes.values())
        return sum(ordered[: max(0, len(ordered) - self.colluding)])

    def require(self, hiding: int, randomizer: LocalRandomizer) -> None:
        """Refuse to mix these reports if the people who hide each other are too few for the promise."""
        if randomizer.memoised:
            raise PolicyRefused("permanent answers can be recognised, and are not mixed")
        if hiding < self.minimum_cohort:
            raise TooFewReports(
                f"a request has to be about at least {self.minimum_cohort} people{self._beside}"
            )
        if not self._is_private_alone(randomizer) and not mixes(
            randomizer, hiding, self.epsilon, float(self.delta)
        ):
            raise TooFewReports(
                f"mixing so few reports of epsilon {randomizer.epsilon} does not reach the promised epsilon "
                f"{self.epsilon} at delta {float(self.delta):.3g}{self._beside}"
            )

    def cost(self, randomizer: LocalRandomizer) -> tuple[Epsilon, Fraction]:
        """What a request costs a person against whoever sees mixed reports: the promise, or one report if that is less."""
        alone = self._is_private_alone(randomizer)
        return (randomizer.epsilon, Fraction(0)) if alone else (self.epsilon, self.delta)

    def _is_private_alone(self, randomizer: LocalRandomizer) -> bool:
        return randomizer.epsilon <= self.epsilon

    @property
    def _beside(self) -> str:
        return f", not counting the {self.colluding} largest parties" if self.colluding else ""


def mixes(randomizer: LocalRandomizer, hiding: int, epsilon: Epsilon, delta: float) -> bool:
    """Whether mixing the reports of so many people turns them into (epsilon, delta)."""
    local, likely = float(randomizer.epsilon), float(randomizer.likely)
    return _delta(hiding, local, randomizer.shuffled_as, likely, epsilon) <= delta


@lru_cache(maxsize=256)
def _delta(people: int, local: float, kind: ShuffledAs, likely: float, epsilon: Epsilon) -> float:
    return Shuffled(min(people, MOST_PEOPLE), local, kind, likely).delta(float(epsilon))
