"""Facilities on a line, truthfully, by any oracle (section 10.2.3, Theorem 10.5): the punishing mechanism by noisy counts.

People live at 0, 1/m, ..., 1.  An oracle is asked how many live at each place, and the outcome is taken that is best for
the noisy counts: as private as the answer, so with the probability q of `punishing.py` for its epsilon and delta nobody
gains by telling another place than their own.  There are many more outcomes than places, so that is nearer to the best
than selecting one of them, also where an oracle selects (0.84 in place of 0.82 for 100,000 people).

The coin that decides whether everybody has to go where it suits the place that they told must not be known while they
tell it: `announced` throws it afterwards, and whoever throws it is believed.

Claim.  Truthful under every trust model, as the mechanism of Definition 10.6 is, for whoever tells an honest agent their
place, and not for an agent that chooses its own report.  q is small only where epsilon is, so this
is for many people: 100,000 at epsilon = 0.0009, by a curator or share servers; locally their places drown.
Checked in tests/unit/algorithms/games/test_facilities.py and, for every trust model, in tests/contract/test_algorithms.py.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Self

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.definition import Learner, Measures
from localdp.algorithms.games.punishing import (
    Drawn,
    Environment,
    Punishing,
    best_epsilon,
    facilities_on_a_line,
    gain_by_lying,
)
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.oracles.by_answers import planned_by_answers, selected_by_answers
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.queries.asked import checked_vectors
from localdp.queries.scores import Largest
from localdp.queries.tokens import number_text
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.source import RandomSource

_SELDOM = 0.5  # of cases in which nobody chooses where to go


class TruthfulFacilities(Learner):
    """Where to put facilities, so that nobody gains by telling another place than the own one.

    Parameters
    ----------
    place : str
        Where a person lives: a column from 0 to 1, or a number made of columns.
    facilities : int, default=2
        How many there are to put; two or more.
    steps : int, default=10
        Places are 0, 1/steps, ..., 1, and people live at the nearest one.
    signal : float, default=0.2
        The standard error of the mean way to a facility that is not worth asking for.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if places would drown in the noise, or if epsilon is so large that in most cases
        everybody would have to go where it suits the place that they told. False asks all the same.

    Attributes
    ----------
    chosen_ : list of float
        Where the facilities are put if everybody may go to any of them.
    punishing_ : float
        How often they are put anywhere, and everybody has to go to the one that is nearest to the place that they told.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        How the places were asked for, what that cost, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> home = {"home": [0.1] * 500 + [0.8] * 300}
    >>> with ldp.simulate(home, {"home": {"kind": "real", "low": 0, "high": 1}}) as town:
    ...     release = town.release(TruthfulFacilities("home"), model="exact")
    >>> release.chosen_
    [0.1, 0.8]
    """

    def __init__(
        self,
        place: str,
        facilities: int = 2,
        steps: int = 10,
        *,
        signal: float = 0.2,
        check_signal: bool = True,
    ) -> None:
        self.place = place
        self.facilities = facilities
        self.steps = steps
        self.signal = signal
        self.check_signal = check_signal

    def _rounds(self) -> int:
        for told, least in ((self.facilities, 2), (self.steps, 2)):
            if not isinstance(told, int) or told < least:
                raise InvalidParameter(
                    "there are at least two facilities, since with one nobody has a choice, and at least two steps"
                )
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        town = _town(self.steps, self.facilities)
        (places,) = checked_vectors([self._step()], oracle.schema)
        best = Largest(town.truthful.T / town.scale)
        self.plan_ = planned_by_answers(oracle, places, best)
        self._require_choice(town, oracle.people)
        self._require_signal(self.signal, self.plan_.rows[0].standard_error, "the way to a facility")
        chosen = selected_by_answers(oracle, places, best).place
        spent, delta = self.plan_.epsilon, max(self.plan_.delta, oracle.claim.delta)
        # Where nothing is promised, a lie can gain all there is.
        gain = gain_by_lying(spent, delta) if spent > Epsilon(0) else Fraction(1)
        self._punished, self._place = Punishing(town, gain), chosen
        self.chosen_, self.punishing_ = self._at(chosen), self._punished.often

    def announced(self, source: RandomSource) -> Drawn:
        """The outcome, when everybody has told their place: throws the coin that nobody may know before."""
        self._require_fitted("chosen_")
        drawn = self._punished.around(self._place, source)
        return Drawn(drawn.place, tuple(self._at(drawn.place)), drawn.committed)

    def _require_choice(self, town: Environment, people: int) -> None:
        """Refuse an epsilon at which a lie could gain so much that hardly anybody would ever have a choice."""
        often, spent = Punishing(town, gain_by_lying(self.plan_.epsilon)).often, self.plan_.epsilon
        if self.check_signal and often > _SELDOM:
            raise InvalidParameter(
                f"at epsilon {spent} a lie may gain so much that everybody would have to go where it suits the place that"
                f" they told in {often:.1%} of the cases; for {people:,} people the best is epsilon"
                f" {best_epsilon(town, people)} (check_signal=False asks all the same)"
            )

    def _step(self) -> str:
        """The number of the place that is nearest to where a person lives."""
        edges = [Fraction(2 * step + 1, 2 * self.steps) for step in range(self.steps)]
        return f"which({', '.join(f'{self.place} < {number_text(edge)}' for edge in edges)})"

    def _at(self, place: int) -> list[float]:
        """Where the facilities of an outcome are."""
        return [step / self.steps for step in _town(self.steps, self.facilities).names[place]]

    def measures(self, truth: Self, records: Records) -> Measures:
        """One less the mean way to a facility, as they were put and at best; and as is expected, with the coin."""
        town = _town(self.steps, self.facilities)
        lives = VectorQuery.parse(self._step(), records.schema).evaluate(records)
        means = town.means(np.bincount(lives.astype(np.int64), minlength=self.steps + 1))
        expected = self._punished.expected(np.eye(town.outcomes)[self._place], means)
        return {
            "score": float(means[self._place]),
            "score_of_truth": float(means.max()),
            "expected": expected,
        }


@cache
def _town(steps: int, facilities: int) -> Environment:
    return facilities_on_a_line(steps, facilities)
