"""The punishing exponential mechanism (section 10.2.3): exactly truthful, without payments, and nearly the best.

Definition 10.4 (an environment with reactions).  A mechanism announces an outcome, and players of types t react to it;
u(t, r, o) is the utility of a player of type t with reaction r.  Here the reaction that is best for a type is public, so
`Environment.utilities[t, told, o]` is that of a player of type t who reacts as is best for type `told`.
Definition 10.5 (the commitment mechanism).  An outcome drawn evenly, to which everybody has to react as is best for the
type that they told.  Lemma 10.2: a lie costs p there, and p >= gamma / |O|, where gamma is the least of what a lie costs
at the outcome where it costs most.
Definition 10.6 (the punishing exponential mechanism).  With probability q the commitment mechanism, and otherwise the
exponential mechanism of the sum of utilities, everybody reacting freely.

Claims.  It is truthful if q p >= (1 - q) t, where t = tanh(epsilon / 2) is what a lie can gain of an epsilon-private
choice (total variation; the book has 2 epsilon).  So q = t / (t + p) is enough, with p found by enumeration: Theorem
10.3 asks for 2 epsilon <= q gamma / |O|, which is much more.  The mean utility is expected to be at least (1 - q) (OPT -
2 ln |O| / (epsilon n)) + q times that of an even outcome, so with the best epsilon it misses OPT by O(sqrt(ln |O| / (p
n))) (Theorem 10.4).  Theorem 10.5 is for k facilities on a line, and k >= 2: with one facility nobody has a choice, and
nothing is punished.  Any private choice will do in place of the exponential mechanism, such as the best outcome for a
noisy histogram (`facilities.py`): of an (epsilon, delta)-private one a lie gains (e^epsilon - 1 + 2 delta) / (e^epsilon +
1) at most.  Checked by every profile and lie in tests/unit/algorithms/games/test_punishing.py."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.release.distinguishers import ExponentialMechanism
from localdp.errors import InvalidParameter
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.source import WORD_RANGE, Floats, IntegerLaw, Integers, RandomSource

MOST_UTILITIES = 1 << 24
_BITS = 128


@dataclass(frozen=True, eq=False)
class Environment:
    """Types, outcomes, and whole-number utilities between 0 and `scale` of every type, told type and outcome."""

    utilities: NDArray[np.int64]
    scale: int
    names: tuple[Any, ...]  # of the outcomes

    def __post_init__(self) -> None:
        shape = self.utilities.shape
        if len(shape) != 3 or shape[0] != shape[1] or shape[2] != len(self.names) or shape[0] < 2:
            raise InvalidParameter("utilities are of each type, told type and outcome")
        if self.utilities.min() < 0 or self.utilities.max() > self.scale:
            raise InvalidParameter(f"utilities are from 0 to {self.scale}")
        if (self.losses < 0).any():
            raise InvalidParameter("no reaction is better for a type than its own")

    @property
    def outcomes(self) -> int:
        """How many there are."""
        return len(self.names)

    @cached_property
    def truthful(self) -> NDArray[np.int64]:
        """The utility of each type at each outcome, reacting as is best for it."""
        return np.asarray(np.einsum("iio->io", self.utilities))

    @property
    def losses(self) -> NDArray[np.int64]:
        """What it costs each type to react as is best for another, at each outcome."""
        return np.asarray(np.einsum("iio->io", self.utilities)[:, None, :] - self.utilities)

    @property
    def gap(self) -> Fraction:
        """gamma of Theorem 10.3: the least that a lie costs where it costs most."""
        return Fraction(int(self._of_lies(self.losses.max(axis=2))), self.scale)

    @property
    def least_punishment(self) -> Fraction:
        """p: the least that a lie costs at an outcome drawn evenly."""
        return Fraction(int(self._of_lies(self.losses.sum(axis=2))), self.scale * self.outcomes)

    @staticmethod
    def _of_lies(costs: NDArray[np.int64]) -> int:
        return int(costs[~np.eye(len(costs), dtype=np.bool_)].min())

    def scores(self, counts: Integers) -> Integers:
        """The sum of utilities at each outcome, for so many players of each type."""
        return np.asarray(counts @ self.truthful, np.int64)

    def means(self, counts: Integers) -> Floats:
        """The mean utility at each outcome."""
        return np.asarray(self.scores(counts) / (self.scale * int(counts.sum())), np.float64)


def facilities_on_a_line(steps: int, facilities: int) -> Environment:
    """People live at 0, 1/m, ..., 1 and go to a facility; one less how far they go is what they have."""
    places = range(steps + 1)
    if not 1 <= facilities <= MOST_UTILITIES or (steps + 1) ** (2 + min(facilities, 64)) > MOST_UTILITIES:
        raise InvalidParameter("there are too many places and facilities to try all")
    outcomes = tuple(product(places, repeat=facilities))
    nearest = np.array(
        [[min(o, key=lambda one: (abs(told - one), one)) for o in outcomes] for told in places]
    )
    own = np.arange(steps + 1)[:, None, None]
    return Environment(np.asarray(steps - np.abs(own - nearest[None]), np.int64), steps, outcomes)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a mechanism announces: an outcome, and whether everybody has to react as they told."""

    place: int
    name: Any
    committed: bool


def gain_by_lying(epsilon: Epsilon, delta: Fraction = Fraction(0)) -> Fraction:
    """t: what a lie gains of a private choice at most, tanh(epsilon / 2) where delta is 0, rounded up."""
    high = Fraction(exp_enclosure(epsilon.exact, _BITS)[1], 1 << _BITS)
    return min(Fraction(1), (high - 1 + 2 * delta) / (high + 1))


@dataclass(frozen=True, slots=True)
class Punishing:
    """The commitment mechanism, as often as makes a choice truthful of which a lie gains so much at most."""

    environment: Environment
    gain: Fraction

    def __post_init__(self) -> None:
        if self.environment.least_punishment == 0:
            raise InvalidParameter(
                "some lie costs nothing at any outcome, so nothing is punished: no probability makes it truthful"
            )

    @property
    def threshold(self) -> int:
        """q in units of 2**-64, rounded up."""
        exact = self.gain / (self.gain + self.environment.least_punishment)
        return min(WORD_RANGE, math.ceil(exact * WORD_RANGE))

    @property
    def often(self) -> float:
        """q: how often reactions are not free."""
        return self.threshold / WORD_RANGE

    def around(self, chosen: int, source: RandomSource) -> Drawn:
        """What is announced where this outcome was chosen, in whatever private way."""
        committed = bool(source.bernoulli(min(self.threshold, WORD_RANGE - 1), 1)[0])
        drawn = int(source.below(self.environment.outcomes, 1)[0])
        place = drawn if committed else chosen
        return Drawn(place, self.environment.names[place], committed)

    def expected(self, chances: Floats, means: Floats) -> float:
        """The mean utility that is expected where outcomes with these means are chosen with these chances."""
        return (1 - self.often) * float(chances @ means) + self.often * float(means.mean())


@dataclass(frozen=True, slots=True)
class PunishingMechanism:
    """The commitment mechanism with the least probability that makes it truthful, or else the exponential mechanism."""

    environment: Environment
    epsilon: Epsilon
    punished: Punishing = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "punished", Punishing(self.environment, gain_by_lying(self.epsilon)))

    @property
    def threshold(self) -> int:
        """q in units of 2**-64, rounded up."""
        return self.punished.threshold

    @property
    def punishing(self) -> float:
        """q: how often reactions are not free."""
        return self.punished.often

    def law(self, counts: Integers) -> IntegerLaw:
        """The exponential mechanism of the sum of utilities, for so many players of each type."""
        environment = self.environment
        return ExponentialMechanism().law(environment.scores(counts), environment.scale, self.epsilon)

    def announced(self, counts: Integers, source: RandomSource) -> Drawn:
        """An outcome for so many players of each type."""
        return self.punished.around(int(source.categorical(self.law(counts), 1)[0]), source)

    def expected(self, counts: Integers) -> float:
        """The mean utility that is expected."""
        law = self.law(counts)
        chances = np.array(law.weights, np.float64) / law.total
        return self.punished.expected(chances, self.environment.means(counts))


def best_epsilon(environment: Environment, players: int) -> Epsilon:
    """The epsilon with the best promise of mean utility for so many players: it needs nothing but their number."""
    tried = np.geomspace(1e-6, 1.0, 400)
    gains, punishment = np.tanh(tried / 2), float(environment.least_punishment)
    punishing: Floats = gains / (gains + punishment)
    missed = 2 * math.log(environment.outcomes) / (tried * players)
    return Epsilon.requested(f"{float(tried[int(np.argmin(punishing + (1 - punishing) * missed))]):.9f}")
