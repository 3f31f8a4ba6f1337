"""Who adds which noise, so that the sum of the servers' noises hides every person.

Replacing one person's record moves the encoded sums by at most `sensitivity` in the sum of absolute values, and
discrete Laplace noise with parameter epsilon / sensitivity makes the released sums epsilon-private (Theorem 3.6).

Every server draws a difference of two negative binomials of the same parameter (`polya.py`).  Shapes add up, and
shape 1 is the discrete Laplace law; so these plans are no more than the shape of one server's noise, among m servers:

- each-server: shape 1, the full noise.  Whoever knows the noise of m - 1 servers still faces that of the last.  The
  variance is m times the central one.
- divided(t): shape 1 / (m - t).  If at most t servers collude, the shape of what they do not know is at least 1.  The
  variance is m / (m - t) times the central one.  `divided` is divided(0): exactly the central law, which holds
  against those who know no server's noise, the collector and outsiders.

- proved: as each-server, and every server proves to the others that its noise came from coins that it could not choose
  alone (`proving_noise`).  The law of its coins is cut off and rounded, as with `joint`.
- joint: three servers draw one noise of shape 1 in shares (`localdp.computing`), and none of them knows it.  The variance
  is the central one; two servers together know the noise.  Its law is cut off and rounded, which costs a delta below
  2^-40 (`digit_coins.py`).

Claim.  The released sums are epsilon-private against the collector together with any t servers (m - 1 for
each-server and proved, 1 for joint, the last two with a delta).  What larger coalitions learn is in `coalitions.py`.  The
text of a plan is what users, the wire and digests know it by.
Checked in tests/unit/sharing/test_noise_plans.py and tests/statistical/test_shared_noise.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias, cast, get_args

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.polya import PolyaDifference
from localdp.randomness.source import Integers, RandomSource
from localdp.sharing.additive import MOST_SERVERS
from localdp.sharing.digit_coins import LaplaceCoins, require_small
from localdp.sharing.summed_noise import SummedNoise

PlanKind: TypeAlias = Literal["each-server", "divided", "joint", "proved"]
Law: TypeAlias = DiscreteLaplace | PolyaDifference

JOINT_SERVERS = 3

_TEXT = re.compile(r"(each-server|joint|proved)|divided(?:\(([1-9][0-9]{0,2})\))?", re.ASCII)
PLAN_TEXTS = "each-server, divided, divided(t), joint or proved"


@dataclass(frozen=True, slots=True)
class NoisePlan:
    """A plan; two plans with the same text are equal."""

    kind: PlanKind
    tolerated: int = 0  # of a divided plan: how many servers may collude at no loss

    EACH_SERVER: ClassVar[NoisePlan]
    DIVIDED: ClassVar[NoisePlan]
    JOINT: ClassVar[NoisePlan]
    PROVED: ClassVar[NoisePlan]

    def __post_init__(self) -> None:
        if self.kind not in get_args(PlanKind):
            raise InvalidParameter(f"a noise plan is {PLAN_TEXTS}")
        if not 0 <= self.tolerated < MOST_SERVERS or (self.kind != "divided" and self.tolerated):
            raise InvalidParameter(
                f"a divided plan, and no other, tolerates 0 to {MOST_SERVERS - 1} servers"
            )

    @classmethod
    def each_server(cls) -> NoisePlan:
        """Every server adds the full noise."""
        return cls("each-server")

    @classmethod
    def divided(cls, tolerated: int = 0) -> NoisePlan:
        """The noise is divided among the servers, so that `tolerated` of them may collude."""
        return cls("divided", tolerated)

    @classmethod
    def joint(cls) -> NoisePlan:
        """Three servers draw one noise together, in shares."""
        return cls("joint")

    @classmethod
    def proved(cls) -> NoisePlan:
        """Every server adds the full noise, and proves to the others that it did."""
        return cls("proved")

    @classmethod
    def parse(cls, text: str) -> NoisePlan:
        """The plan of this text."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise InvalidParameter(f"a noise plan is written {PLAN_TEXTS}")
        return cls(cast("PlanKind", match[1])) if match[1] else cls.divided(int(match[2] or 0))

    @property
    def is_joint(self) -> bool:
        """Whether no server draws noise alone."""
        return self.kind == "joint"

    @property
    def is_proved(self) -> bool:
        """Whether each server proves its noise."""
        return self.kind == "proved"

    @property
    def value(self) -> str:
        """The text of the plan."""
        return f"{self.kind}({self.tolerated})" if self.tolerated else self.kind

    def server_shape(self, servers: int) -> Fraction:
        """The shape of one server's noise, where each draws its own."""
        if self.is_joint:
            raise InvalidParameter(
                "joint noise is drawn by three share servers together: no server has its own"
            )
        return Fraction(1, servers - self.tolerated if self.kind == "divided" else 1)

    def hidden_shape(self, servers: int, colluding: int) -> Fraction:
        """The shape of the noise that so many colluding servers do not know."""
        if self.is_joint:
            return Fraction(colluding <= 1)  # two hold every share of it
        return (servers - colluding) * self.server_shape(servers)

    def withstands(self, servers: int) -> int:
        """How many servers may collude with the collector at no loss."""
        return {"divided": self.tolerated, "joint": 1}.get(self.kind, servers - 1)

    def require(self, servers: int) -> None:
        """Refuse a number of servers that the plan is not for."""
        if self.tolerated >= servers:
            raise InvalidParameter(f"{self} needs more than {self.tolerated} servers")
        if self.is_joint and servers != JOINT_SERVERS:
            raise InvalidParameter(
                f"joint noise is drawn by {JOINT_SERVERS} share servers, and there are {servers}: start {JOINT_SERVERS},"
                " or take the noise plan each-server"
            )

        if self.is_proved and servers < 2:
            raise InvalidParameter(
                "noise is proved to other share servers, and there is one: start two or more"
            )

    def __str__(self) -> str:
        return self.value


NoisePlan.EACH_SERVER = NoisePlan.each_server()
NoisePlan.DIVIDED = NoisePlan.divided()
NoisePlan.JOINT = NoisePlan.joint()
NoisePlan.PROVED = NoisePlan.proved()
PLANS = (NoisePlan.EACH_SERVER, NoisePlan.DIVIDED)  # those that fit any number of servers


@dataclass(frozen=True, slots=True)
class ServerNoise:
    """The noise of the servers under a plan, on each entry of what they release."""

    plan: NoisePlan
    epsilon: Epsilon  # of the release, per person and collection, in nats
    sensitivity: int  # how far one person moves the encoded sums, in the sum of absolute values
    servers: int

    def __post_init__(self) -> None:
        if not 1 <= self.servers <= MOST_SERVERS or self.sensitivity < 1:
            raise InvalidParameter(f"noise is for 1 to {MOST_SERVERS} servers and a positive sensitivity")
        self.plan.require(self.servers)

    @property
    def parameter(self) -> Fraction:
        """Of the law: epsilon for each unit of sensitivity."""
        return self.epsilon.exact / self.sensitivity

    @property
    def law(self) -> Law:
        """What each server adds to each of its sums, where it draws alone."""
        if self.plan.is_proved:
            raise InvalidParameter(
                "noise is proved by share servers to each other: without them take the noise plan each-server"
            )
        shape = self.plan.server_shape(self.servers)
        return (
            DiscreteLaplace(self.parameter)
            if shape == 1
            else PolyaDifference(self.parameter, shape.denominator)
        )

    def honest(self, colluding: int) -> SummedNoise | None:
        """The sum of the noises that so many colluding servers do not know; None when they know all."""
        if not 0 <= colluding <= self.servers:
            raise InvalidParameter(f"a coalition has 0 to {self.servers} servers")
        shape = self.plan.hidden_shape(self.servers, colluding)
        return SummedNoise(self.parameter, shape) if shape else None

    @property
    def total(self) -> SummedNoise:
        """The noise in each released sum."""
        return SummedNoise(self.parameter, self.plan.hidden_shape(self.servers, 0))

    @property
    def total_variance(self) -> float:
        """Variance of the noise in each released sum."""
        return self.total.variance()

    @property
    def coin_law(self) -> LaplaceCoins:
        """What is drawn on each sum by coins with public thresholds, under the plans `joint` and `proved`."""
        return LaplaceCoins.of(self.epsilon, self.sensitivity)

    def delta(self, length: int) -> Fraction:
        """With which probability, at most, epsilon does not hold for a release of so many sums."""
        return self.coin_law.delta(length) if self.plan.is_joint or self.plan.is_proved else Fraction(0)

    def require_drawable(self, length: int) -> None:
        """Refuse noise that could not be drawn, or not with a delta below 2^-40."""
        if self.plan.is_joint or self.plan.is_proved:
            require_small(self.delta(length))
        else:
            assert self.law  # which refuses what it could not draw

    def draw(self, source: RandomSource, length: int) -> Integers:
        """One server's noises, one for each of `length` sums, independently."""
        return self.law.sample(source, length)


def central_law(epsilon: Epsilon, sensitivity: int) -> DiscreteLaplace:
    """What a trusted curator adds to each of the same encoded sums."""
    return DiscreteLaplace(Fraction(epsilon.exact, sensitivity))
