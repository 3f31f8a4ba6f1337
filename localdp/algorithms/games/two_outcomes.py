"""Two outcomes, for people who mind what their answer tells (section 10.3.3).

People say what each of two outcomes is worth to them, between 0 and 1, and the one with the larger sum is taken after noise
is added to each.  The book has noise with Pr[x] proportional to exp(-epsilon |x|): whoever is replaced can take 1 from one
sum and give 1 to the other, so that costs 2 epsilon, and a scale of 2 / epsilon is needed.  `select` of any oracle has it.

Claim.  Nobody gains by saying what is not so, if the outcomes differ by more than 2 epsilon to them, even if what a
choice tells of them costs them as much as the logarithm of its largest ratio: for any noise, either the outcome stays,
and nothing changes; or it turns for the worse, by more than 2 epsilon, and no cost differs by as much.  Checked by every
profile of a few people in tests/unit/algorithms/games/test_two_outcomes.py."""

from __future__ import annotations

from typing import Self

from localdp.algorithms.definition import Learner, Measures
from localdp.domains import Records
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle


class TwoOutcomes(Learner):
    """The outcome that is worth more to all together, nearly.

    Parameters
    ----------
    first, second : str
        What each outcome is worth to a person: conditions, or numbers from 0 to 1.
    signal : float, default=0.5
        How far the choice may miss the best, as a mean over the people, that is not worth asking for.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if the choice is likely to miss by that much. False asks all the same.

    Attributes
    ----------
    chosen_ : str
        The outcome.
    truthful_beyond_ : float
        Whoever has a difference above this has no reason to say another one.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        How far the choice may miss the best, what it cost, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> with ldp.simulate({"rye": [True] * 60 + [False] * 40}, {"rye": {"kind": "bit"}}) as people:
    ...     release = people.release(TwoOutcomes("rye", "not rye"), model="exact")
    >>> release.chosen_
    'rye'
    """

    def __init__(self, first: str, second: str, *, signal: float = 0.5, check_signal: bool = True) -> None:
        self.first = first
        self.second = second
        self.signal = signal
        self.check_signal = check_signal

    def _rounds(self) -> int:
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        of = [self.first, self.second]
        self.plan_ = oracle.plan_select(of)
        error = self.plan_.rows[0].standard_error
        self._require_signal(self.signal, error, "the lead of an outcome")
        told = oracle.select(of)
        self.chosen_ = told.name
        self.truthful_beyond_ = 2 * float(self.plan_.epsilon)

    def measures(self, truth: Self, records: Records) -> Measures:
        """What everybody has less on average than with the better outcome."""
        worth = {one.query: one.value for one in ExactOracle(records).answer([self.first, self.second])}
        return {"score": worth[self.chosen_] - max(worth.values()), "score_of_truth": 0.0}
