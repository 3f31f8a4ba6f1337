"""Who adds which noise, so that the sum of the servers' noises hides every person.

Replacing one person's record moves the encoded sums by at most `sensitivity` in the sum of absolute values, and
discrete Laplace noise with parameter epsilon / sensitivity makes the released sums epsilon-private (Theorem 3.6).

Every server draws a difference of two negative binomials of the same parameter (`polya.py`).  Shapes add up, and
shape 1 is the discrete Laplace law; so a plan is no more than the shape of one server's noise, among m servers:

- each-server: shape 1, the full noise.  Whoever knows the noise of m - 1 servers still faces that of the last.  The
  variance is m times the central one.
- divided(t): shape 1 / (m - t).  If at most t servers collude, the shape of what they do not know is at least 1.  The
  variance is m / (m - t) times the central one.  `divided` is divided(0): exactly the central law, which holds
  against those who know no server's noise, the collector and outsiders.

Claim.  The released sums are epsilon-private against the collector together with any t servers (m - 1 for
each-server).  What larger coalitions learn is in `coalitions.py`.  The text of a plan is what users, the wire and
digests know it by.
Checked in tests/unit/sharing/test_noise_plans.py and tests/statistical/test_shared_noise.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.polya import PolyaDifference
from localdp.randomness.source import Integers, RandomSource
from localdp.sharing.additive import MOST_SERVERS
from localdp.sharing.summed_noise import SummedNoise

PlanKind: TypeAlias = Literal["each-server", "divided"]
Law: TypeAlias = DiscreteLaplace | PolyaDifference

_TEXT = re.compile(r"(each-server)|divided(?:\(([1-9][0-9]{0,2})\))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class NoisePlan:
    """A plan; two plans with the same text are equal."""

    kind: PlanKind
    tolerated: int = 0  # of a divided plan: how many servers may collude at no loss

    EACH_SERVER: ClassVar[NoisePlan]
    DIVIDED: ClassVar[NoisePlan]

    def __post_init__(self) -> None:
        if self.kind not in {"each-server", "divided"}:
            raise InvalidParameter("a noise plan is each-server, divided or divided(t)")
        if not 0 <= self.tolerated < MOST_SERVERS or (self.kind == "each-server" and self.tolerated):
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
    def parse(cls, text: str) -> NoisePlan:
        """The plan of this text: each-server, divided or divided(t)."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise InvalidParameter("a noise plan is written each-server, divided or divided(t)")
        return cls("each-server") if match[1] else cls("divided", int(match[2] or 0))

    @property
    def value(self) -> str:
        """The text of the plan."""
        return f"{self.kind}({self.tolerated})" if self.tolerated else self.kind

    def server_shape(self, servers: int) -> Fraction:
        """The shape of one server's noise."""
        return Fraction(1, 1 if self.kind == "each-server" else servers - self.tolerated)

    def withstands(self, servers: int) -> int:
        """How many servers may collude with the collector at no loss."""
        return servers - 1 if self.kind == "each-server" else self.tolerated

    def __str__(self) -> str:
        return self.value


NoisePlan.EACH_SERVER = NoisePlan.each_server()
NoisePlan.DIVIDED = NoisePlan.divided()
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
        if self.plan.tolerated >= self.servers:
            raise InvalidParameter(f"{self.plan} needs more than {self.plan.tolerated} servers")

    @property
    def parameter(self) -> Fraction:
        """Of the law: epsilon for each unit of sensitivity."""
        return self.epsilon.exact / self.sensitivity

    @property
    def law(self) -> Law:
        """What each server adds to each of its sums."""
        shape = self.plan.server_shape(self.servers)
        return (
            DiscreteLaplace(self.parameter)
            if shape == 1
            else PolyaDifference(self.parameter, shape.denominator)
        )

    def law_for(self, server: int) -> Law:
        """What the server of this number adds; the plans of today treat all alike."""
        if not 0 <= server < self.servers:
            raise InvalidParameter(f"servers are numbered from 0 to {self.servers - 1}")
        return self.law

    def honest_laws(self, coalition: Collection[int]) -> list[Law]:
        """The noises that a coalition of servers does not know."""
        known = {server for server in coalition if self.law_for(server)}
        return [self.law_for(server) for server in range(self.servers) if server not in known]

    def honest(self, colluding: int) -> SummedNoise | None:
        """The sum of the noises that so many colluding servers do not know; None when they know all."""
        if not 0 <= colluding <= self.servers:
            raise InvalidParameter(f"a coalition has 0 to {self.servers} servers")
        shape = (self.servers - colluding) * self.plan.server_shape(self.servers)
        return SummedNoise(self.parameter, shape) if shape else None

    @property
    def total(self) -> SummedNoise:
        """The noise in each released sum."""
        return SummedNoise(self.parameter, self.servers * self.plan.server_shape(self.servers))

    @property
    def total_variance(self) -> float:
        """Variance of the noise in each released sum."""
        return self.total.variance()

    def draw(self, source: RandomSource, length: int) -> Integers:
        """One server's noises, one for each of `length` sums, independently."""
        return self.law.sample(source, length)


def central_law(epsilon: Epsilon, sensitivity: int) -> DiscreteLaplace:
    """What a trusted curator adds to each of the same encoded sums."""
    return DiscreteLaplace(Fraction(epsilon.exact, sensitivity))
