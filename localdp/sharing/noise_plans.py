"""Who adds which noise, so that the sum of the servers' noises hides every person.

The query is encoded on the integers 0 .. R, so replacing one person's record moves the sum by at most R (replace-one
neighbours), and discrete Laplace noise with parameter epsilon / R makes the released sum epsilon-private.

- each-server: every server adds the full noise.  Whoever knows the noise of m - 1 servers still faces the noise of
  the last: the claim holds while one server is honest.  Variance m times the central one.
- divided: every server adds an infinitely divisible part; the parts add up to exactly the central noise.  The
  claim is against those who know no server's noise: the collector and outsiders.  Variance that of the curator.

Checked in tests/unit/sharing/test_noise_plans.py and tests/statistical/test_shared_noise.py.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from localdp.accounting.epsilon import Epsilon
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.polya import PolyaDifference
from localdp.randomness.source import RandomSource


class NoisePlan(Enum):
    """The plans, by the name that users and the wire know."""

    EACH_SERVER = "each-server"
    DIVIDED = "divided"


@dataclass(frozen=True, slots=True)
class ServerNoise:
    """The noise of one server under a plan."""

    plan: NoisePlan
    epsilon: Epsilon  # of the release, per person and collection, in nats
    sensitivity: int  # how far one person moves the encoded sum
    servers: int

    @property
    def law(self) -> DiscreteLaplace | PolyaDifference:
        """What this server adds to its sum."""
        parameter = self.epsilon.exact / self.sensitivity
        if self.plan is NoisePlan.EACH_SERVER:
            return DiscreteLaplace(parameter)
        return PolyaDifference(parameter, self.servers)

    def draw(self, source: RandomSource) -> int:
        """One server's noise for one release."""
        return int(self.law.sample(source, 1)[0])

    @property
    def total_variance(self) -> float:
        """Variance of the noise in the released sum."""
        return self.servers * self.law.variance()


def central_law(epsilon: Epsilon, sensitivity: int) -> DiscreteLaplace:
    """What a trusted curator adds to the same encoded sum."""
    return DiscreteLaplace(Fraction(epsilon.exact, sensitivity))
