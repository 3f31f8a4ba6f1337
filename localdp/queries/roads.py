"""The road that a person takes now in a game of roads: a category whose weights a person's agent makes at home.

A game is public data: what each of k roads costs (`base` + `slope` times the share of people on it), the step of the
update, and how many rounds there are.  A person's own costs of the roads, and a number in [0, 1] for luck, are columns of
the record.  After `seen` rounds, with L_r the sum of the loads of road r that were published in them, the weight of road r
is multiplicative weights on all costs so far,

    w_r = exp(-step (seen base_r + slope_r L_r + seen own_r)),

and the person takes the first road up to which the weights add up to more than luck times all of them.  So the state
of the game is its billboard, the published loads, and an agent keeps none: the same move of the same record is the
same road, after a restart as before, and own costs take part in nothing but this.

Claim.  A `Road` that exists has numbers of bounded size, so that no step overflows.
Checked in tests/unit/queries/test_roads.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from localdp.queries.nodes import Node, Point, bound, require, require_number
from localdp.queries.scalars import Component

MOST_ROADS = 64
MOST_ROUNDS_OF_GAME = 1 << 12
MOST_COST = 1000  # of a road without anybody on it, and of everybody on it; and of the step
_FAR_OFF = Fraction(
    8, 5
)  # eight standard errors of a load, each of the 0.2 that a game is not worth playing beyond
WHAT = "the costs of a road and luck are conditions or clipped numbers"


@dataclass(frozen=True, slots=True)
class Game:
    """What is public about a game before anybody moves."""

    base: Point  # what each road costs when nobody is on it
    slope: Point  # and how much more when everybody is
    step: Fraction  # how fast weights follow costs
    rounds: int

    def __post_init__(self) -> None:
        roads = len(self.base) if isinstance(self.base, tuple) else 0
        require(2 <= roads <= MOST_ROADS, f"a game has 2 to {MOST_ROADS} roads")
        fits = isinstance(self.slope, tuple) and len(self.slope) == roads
        require(fits, "each road of a game has a base and a slope")
        for value in (*self.base, *self.slope, self.step):
            require_number(value)
            require(0 <= value <= MOST_COST, f"bases, slopes and the step are from 0 to {MOST_COST}")
        require(self.step > 0, "the step of a game is more than 0")
        whole = isinstance(self.rounds, int) and not isinstance(self.rounds, bool)
        fits = whole and 1 <= self.rounds <= MOST_ROUNDS_OF_GAME
        require(fits, f"a game has 1 to {MOST_ROUNDS_OF_GAME} rounds")

    @property
    def roads(self) -> int:
        """How many there are."""
        return len(self.base)


@dataclass(frozen=True, slots=True)
class Road(Node):
    """The road that a person takes after so many rounds, given the sums of the loads that were published in them."""

    game: Game
    seen: int
    loads: Point
    own: tuple[Component, ...]
    luck: Component

    def __post_init__(self) -> None:
        require(isinstance(self.game, Game), "`road` is about a game")
        whole = isinstance(self.seen, int) and not isinstance(self.seen, bool)
        require(whole and 0 <= self.seen <= self.game.rounds, "a game has seen 0 to all of its rounds")
        for values, what in ((self.loads, "a sum of loads"), (self.own, "a cost of a person's own")):
            fits = isinstance(values, tuple) and len(values) == self.game.roads
            require(fits, f"each road of a game has {what}")
        for load in self.loads:
            require_number(load)
        for part in (*self.own, self.luck):
            require(isinstance(part, Component), WHAT)
        bound(self, (*self.own, self.luck), leaves=3 * self.game.roads + 3)

    @property
    def opening(self) -> Road:
        """The first move of the game, which names it: nothing was published yet."""
        return replace(self, seen=0, loads=(Fraction(0),) * self.game.roads)

    @property
    def possible(self) -> bool:
        """Whether a round of the game is left to ask for, and the rounds that were seen could have had these loads.

        Each load is a share of people with noise.  Its mean over all rounds of a game has a standard error of 0.2 at most
        (`algorithms/games/equilibrium.py`), so a sum of `seen` loads has one of 0.2 sqrt(rounds seen): a sum may be below 0
        or above `seen` by eight of these, and before the first round by nothing.
        """
        most = _FAR_OFF**2 * self.game.rounds * self.seen
        beyond = (max(-load, load - self.seen, Fraction(0)) for load in self.loads)
        return self.seen < self.game.rounds and all(one**2 <= most for one in beyond)

    @property
    def costs(self) -> tuple[Fraction, ...]:
        """What the roads have cost so far, but for a person's own."""
        of_roads = zip(self.game.base, self.game.slope, self.loads, strict=True)
        return tuple(self.seen * base + slope * load for base, slope, load in of_roads)
