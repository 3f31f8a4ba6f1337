"""The shuffled model: local reports behind somebody who mixes them (section 12.1 with one more role).

Between the parties and the aggregator stands a shuffler (`shuffler.py`).  It sees reports and senders, drops who sent what
and in which order, and passes the reports on.  Against the aggregator the promise is (epsilon, delta), computed numerically
for the number of people whose reports are mixed (`accounting/shuffling.py`); against the shuffler itself it is that of one
report, eps0.  So eps0 may be large, and the error lies between the local model's and the curator's: at n = 10**6,
epsilon = 1 and delta = 1e-6 a count is off by about 4.7 people, where local reports give 766 and a curator 0.85.

A person hides among the others' reports as long as the aggregator does not know those: parties that tell it what they sent
hide nobody, and are subtracted, as many of them as the shuffler's promise names (`promise.py`); or else it is assumed that
there are none, and the claim says so.

What a person's ledger is charged is eps0: the party cannot see that anybody mixes.  So a cost has both: `epsilon_promised`
is epsilon, `epsilon_charged` is eps0.

Checked in tests/unit/oracles/test_shuffled.py and tests/contract/test_vector_queries.py.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Self, cast

from localdp.accounting.claim import PrivacyClaim, Strength, about_rows
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import FEWEST_PEOPLE, MOST_PEOPLE, largest_likely, largest_local
from localdp.cohorts import Cohort, Ranges
from localdp.errors import InvalidParameter, PolicyRefused, TooFewReports
from localdp.oracles.local import LocalOracle
from localdp.oracles.mixing import mixed
from localdp.oracles.promise import mixes
from localdp.oracles.shuffler import DEFAULT_DELTA, Mixer, Shuffler, hidden_from
from localdp.oracles.slots import planned_slots
from localdp.queries.encoded import Query
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomness.source import RandomSource

__all__ = ["DEFAULT_DELTA", "ShuffledOracle", "Shuffler", "mixed"]

_STRAY = 7  # standard deviations by which a random part of the people may be smaller than expected
_STRAY_CHANCE = 3e-11  # that it is smaller still: exp(-49 / 2), by the Chernoff bound for binomials


class ShuffledOracle(LocalOracle):
    """Answers from shuffled reports, each as revealing as the mixing allows."""

    model = "shuffled"

    def __init__(
        self,
        reports: Mixer,
        epsilon: Epsilon,
        source: RandomSource,
        cohort: Cohort | None = None,
        *,
        delta: Fraction = DEFAULT_DELTA,
        honest: int | None = None,
    ) -> None:
        """(epsilon, delta) is what a round may cost each person against whoever sees the shuffled reports.

        `honest` is how many of the people at least send the reports that they should: nobody hides among the others.
        """
        super().__init__(reports, epsilon, source, cohort)
        if not 0 < delta < 1:
            raise InvalidParameter("a delta lies strictly between 0 and 1")
        promise = reports.promise
        if promise is not None and (promise.epsilon < epsilon or promise.delta < delta):
            raise PolicyRefused(
                "this shuffler promises more than that, and mixes no reports that reveal so much"
            )
        if honest is not None and not FEWEST_PEOPLE <= honest <= self.people:
            raise TooFewReports("there are too few honest people for anybody to hide among them")
        self.delta = delta
        self._mixer = reports
        self._honest = honest

    @property
    def claim(self) -> PrivacyClaim:
        """Approximate, and only while the shuffler is honest."""
        return PrivacyClaim(
            self.model,
            self.cost.epsilon_promised,
            Strength.PURE,
            hidden_from(self._mixer),
            f"The shuffler must mix reports and keep to itself who sent them, and {self._discretion()}; against the "
            f"shuffler there is only the epsilon of a single report, which is larger.{self._assumption()}",
            self._account.delta,
            about=about_rows(samples=self._mixer.samples),
        )

    def _risk(self, queries: Sequence[Query]) -> Fraction:
        return self.delta

    def _discretion(self) -> str:
        colluding = 0 if self._mixer.promise is None else self._mixer.promise.colluding
        if not colluding:
            return "the other parties must not tell the analyst what they sent"
        return f"no more than {colluding} of the other parties may tell the analyst what they sent"

    def _assumption(self) -> str:
        if self._honest is None:
            return ""
        return f" At least {self._honest} of the {self.people} people must send honest reports."

    def _of_some(self, some: Ranges, epsilon: Epsilon) -> Self:
        other = super()._of_some(some, epsilon)
        if self._honest is not None:  # whoever is not honest may be among these
            other._honest = max(0, self._honest - (self.people - other.people))
        return other

    def _each(self, queries: Sequence[Query]) -> Epsilon:
        """eps0: the largest that mixing the fewest people of any slot turns into (epsilon, delta), or epsilon itself.

        That depends on the randomizers, and they on it: it is worked out for those that go with what any of them may have,
        and taken if it is enough for those that go with it.
        """
        # That some random part of the people comes out smaller than its least size is paid for out of delta.
        delta = float(self.delta) - (0.0 if self._whole(len(queries)) else len(queries) * _STRAY_CHANCE)
        fewest = self._fewest(len(queries))
        if fewest < FEWEST_PEOPLE:
            return self._epsilon  # nobody hides anybody, and a report has to be private by itself
        fewest = min(fewest, MOST_PEOPLE)
        least = max(self._epsilon, largest_local(fewest, self._epsilon, delta))
        expected = self._expected(1)
        found = min(
            _largest(cast(Hashable, slot.randomizer), fewest, self._epsilon, delta)
            for slot in planned_slots(queries, least, expected)
        )
        settled = planned_slots(queries, max(least, found), expected)
        enough = all(mixes(slot.randomizer, fewest, self._epsilon, delta) for slot in settled)
        return max(least, found) if enough else least

    def _whole(self, slots: int) -> bool:
        return slots * self._ways == 1

    def _require_mixable(self) -> None:
        """Refuse, before anybody is asked and pays, what the shuffler would not mix: some range of too few people."""
        promise, sizes = self._mixer.promise, [cohort.size() for cohort in self._cohorts]
        if promise is not None and min(sizes, default=0) < promise.minimum_cohort:
            raise TooFewReports(
                f"this shuffler mixes at least {promise.minimum_cohort} people, and each range of people by itself"
            )

    @property
    def _smallest(self) -> int:
        """How many people the smallest range has: of as many as a plan is about, which may be others than are there."""
        sizes = [cohort.size() for cohort in self._cohorts]
        return self.people * min(sizes, default=0) // max(1, sum(sizes))

    def _fewest(self, slots: int) -> int:
        """How many people a slot has at least whose reports hide others, but for a probability of less than 3e-11."""
        # Parties that may collude have told so many people's reports, and all of those may be in one range; so may whoever
        # is not honest.  Each range of people is mixed by itself.
        self._require_mixable()
        told = self._mixer.people - self._mixer.hiding
        others = 0 if self._honest is None else self.people - self._honest
        hiding = max(0, self._smallest - told - others)
        if self._whole(slots):
            return hiding
        expected = hiding / (slots * self._ways)
        fewest = math.floor(expected - _STRAY * math.sqrt(expected))
        if fewest < FEWEST_PEOPLE:
            raise TooFewReports("there are too few people for every query of every round to be mixed")
        return fewest


@lru_cache(maxsize=256)
def _largest(construction: Hashable, people: int, epsilon: Epsilon, delta: float) -> Epsilon:
    """The largest eps0 at which reports of this randomizer, at another epsilon, may be mixed."""
    randomizer = cast(LocalRandomizer, construction)
    if randomizer.shuffled_as == "binary" or 2 * randomizer.likely == 1:
        return largest_local(people, epsilon, delta, randomizer.shuffled_as)
    return largest_likely(people, epsilon, delta, lambda local: float(randomizer.at(local).likely))
