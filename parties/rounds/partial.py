"""What the answers of some say about all: a round's result, which always says of how many people it is.

The estimate is the mean over the people who answered, and its variance for them is that of the noise alone.  About all
people of the cohort it says as much only under an assumption that no data can check:

Assumption (missing at random).  Given how many answered, those who did are a uniformly random part of the cohort.

Under it they are a sample without replacement, and the variance about the mean of all N people is that of the noise plus
(1 - n/N) times the sampling term (`localdp.oracles.slots.extrapolated_variance`).  If parties are missing for a reason that
has to do with their records, the estimate is off by what no standard error tells; the result then still holds for
those who answered.

Checked in tests/unit/parties/rounds/test_rounds_partial.py, with the coverage of the intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from localdp.errors import InvalidParameter
from localdp.oracles.definition import Answer
from localdp.oracles.slots import extrapolated, extrapolated_variance
from localdp.randomizers.definition import Estimate, Frequencies, Tally
from parties.rounds.plan import Headcount

ASSUMPTION = "those who did not answer are missing at random"


@dataclass(frozen=True, slots=True, eq=False)
class RoundResult:
    """The end of a round: what was summed up, of how many, and who is missing, by reason and count."""

    round_id: str
    query: str
    people: int  # whom the answer is about: all of the cohort's range, asked or not
    tally: Tally  # of those who answered
    asked: Headcount
    answered: Headcount
    missing: Mapping[str, Headcount]  # by reason; never by person

    @property
    def complete(self) -> bool:
        """Whether everybody who was asked has answered."""
        return self.answered == self.asked

    @property
    def estimate(self) -> Any:
        """What the randomizer makes of the reports: an estimate about the people who answered."""
        randomizer: Any = self.tally.randomizer
        return randomizer.estimate(self.tally)

    @property
    def answer(self) -> Answer:
        """The mean over all people of the cohort, on the assumption that who is missing is so at random."""
        return extrapolated(self.query, self._mean(), self.people)

    @property
    def answer_of_answered(self) -> Answer:
        """The mean over the people who answered; no assumption."""
        return extrapolated(self.query, self._mean(), self.tally.reports)

    @property
    def frequencies(self) -> Frequencies:
        """Frequencies over all people of the cohort, on the same assumption."""
        found = self.estimate
        if not isinstance(found, Frequencies):
            raise InvalidParameter("this round's randomizer estimates no frequencies; see `estimate`")
        population, reports = found.variance_population, found.reports
        variance = extrapolated_variance(found.variance_empirical, population, reports, self.people)
        return Frequencies(found.values, reports, variance, population)

    def _mean(self) -> Estimate:
        found = self.estimate
        if not isinstance(found, Estimate):
            raise InvalidParameter("this round's randomizer estimates no mean; see `estimate`")
        return found
