"""Equilibrium selection over a billboard (section 10.2.2, Definition 10.3; Kearns, Pai, Roth and Ullman 2014).

People choose one of k roads.  A road costs `base + slope * load`, the load being the share of people on it, and each person
has costs of their own besides.  In each of T rounds the loads of the current roads are asked for, as one histogram, and
published.  Everybody updates weights at home by multiplicative weights on published loads and own costs, and takes a road
by them (`queries/roads.py`).  An agent is asked for the road of now, through its randomizer or its shares; a cost never
leaves it, and what the others see is the billboard (`billboard.py`, with the billboard lemma).

Definition 10.3.  A play is an eta-approximate equilibrium if nobody can lower their own cost by more than eta by taking
another road, while all others stay.

Claims.  All T rounds together cost a person what one round of the oracle costs, so the game is jointly epsilon-private.
With 4 roads, T = 50, epsilon = 1 and step 4, the mean gain from deviating is 0.0003 where loads are exact, and at 10,000
people 0.0044 locally, 0.0005 on shares and 0.0003 by a curator.  Roads drawn from all rounds alike, of which the theory
of regret speaks, have 0.0076 with exact loads.
Checked in tests/unit/algorithms/games/test_equilibrium.py and, for every trust model, in tests/contract/test_algorithms.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from localdp.algorithms.definition import Learner, Measures, measures_of_errors
from localdp.algorithms.games.billboard import Billboard
from localdp.algorithms.games.deviations import gains, loads_of, regrets
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.queries.text import to_text
from localdp.queries.vector_query import VectorQuery


class EquilibriumSelection(Learner):
    """Roads that nobody wants to leave, found over a billboard of published loads.

    Parameters
    ----------
    own : list of str
        What each road costs a person besides its load: columns from 0 to 1, or numbers made of columns.
    base, slope : list of float
        What each road costs when nobody is on it, and how much more when everybody is.
    luck : str, default="luck"
        A column of numbers that people drew evenly between 0 and 1: which road they take where they waver.
    step : float, default=4
        How fast weights follow costs.
    rounds : int, default=50
        How many times the loads are published.
    signal : float, default=0.2
        The standard error of a load, as a mean over the rounds, that is not worth asking for.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if loads would drown in the noise. False asks all the same.

    Attributes
    ----------
    billboard_ : Billboard
        What was published: its `roads(records)` are the roads that people take, known at home alone.
    game_ : str
        The rules, as the opening move: with the loads it is all that a billboard has.
    loads_, standard_errors_ : array of shape (rounds, roads)
        The published loads.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        The error of the first loads, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> drivers = {"north": [0.0, 0.3] * 50, "south": [0.3, 0.0] * 50, "luck": [place / 100 for place in range(100)]}
    >>> schema = {name: {"kind": "real", "low": 0, "high": 1} for name in drivers}
    >>> release = EquilibriumSelection(["north", "south"], base=[0.1, 0.1], slope=[1, 1], rounds=20)
    >>> with ldp.simulate(drivers, schema) as people:
    ...     loads = people.release(release, model="exact").loads_
    >>> loads[-1].round(2).tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        own: Sequence[str],
        base: Sequence[float],
        slope: Sequence[float],
        *,
        luck: str = "luck",
        step: float = 4.0,
        rounds: int = 50,
        signal: float = 0.2,
        check_signal: bool = True,
    ) -> None:
        self.own = own
        self.base = base
        self.slope = slope
        self.luck = luck
        self.step = step
        self.rounds = rounds
        self.signal = signal
        self.check_signal = check_signal

    def _rounds(self) -> int:
        if not isinstance(self.rounds, int) or self.rounds < 1:
            raise InvalidParameter("a game has at least one round")
        return self.rounds

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        board = Billboard.empty(
            self.base, self.slope, self.own, self.luck, self.step, self.rounds, oracle.schema
        )
        first = VectorQuery(board.move, oracle.schema)
        self.plan_ = oracle.plan([first])
        error = self.plan_.rows[0].standard_error / math.sqrt(self.rounds)
        self._require_signal(self.signal, error, "the load of a road")
        errors = []
        for _ in range(self.rounds):
            (answer,) = oracle.answer_vectors([VectorQuery(board.move, oracle.schema)])
            board = board.with_loads(answer.values)
            errors.append(answer.standard_errors)
        self.billboard_, self.game_ = board, to_text(board.opening)
        self.loads_ = np.array(board.published, np.float64)
        self.standard_errors_ = np.array(errors)

    def measures(self, truth: Self, records: Records) -> Measures:
        """What people would gain by another road, on average and at most, and how far off the published loads were."""
        gained = gains(self.billboard_, records)
        taken = (self.billboard_.before(one).roads(records) for one in range(self.rounds))
        loads = np.array([loads_of(one, len(self.base)) for one in taken])
        return {
            "gain": float(gained.mean()),
            "largest_gain": float(gained.max()),
            "regret": float(regrets(self.billboard_, records).mean()),
            **measures_of_errors((self.loads_ - loads).ravel()),
        }
