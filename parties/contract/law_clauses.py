"""The law of the reports, where the truth is known: queries that are the same of every record.

A share of n reports of probability p each is as far off as k/n with probability at most 2 exp(-n KL(k/n || p)) (Chernoff).
A distribution function is off by more than t with probability at most 2 exp(-2 n t^2) (Dvoretzky, Kiefer and Wolfowitz;
Massart).  Both hold for every n.  A correct agent fails a test with probability below `ALPHA`; noise that is too small or
too large beyond what n shows is seen on either side.  What is told with a pass is what would have been seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from parties.contract.clause import Clause
from parties.contract.plan import GRID, ClausePlan
from parties.contract.subject import Broken, Subject

ALPHA = 1e-8
_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Share:
    """How many of n independent reports were of a kind that each has with a known probability."""

    what: str
    seen: int
    of: int
    expected: float

    def require(self) -> None:
        """Refuse what is too far from the expectation to be chance."""
        if not likely(self.seen / self.of, self.of, self.expected):
            share = f"{self.seen / self.of:.4f} of {self.of}"
            raise Broken(
                f"{self.what}: {share}, expected {self.expected:.4f}; chance alone: below {ALPHA:g}"
            )


def likely(share: float, of: int, expected: float) -> bool:
    """Whether such a share is no less likely than `ALPHA` by chance."""
    terms = ((share, expected), (1 - share, 1 - expected))
    divergence = sum(own * math.log(own / other) for own, other in terms if own > 0)
    return of * divergence <= math.log(2 / ALPHA)


def flips(subject: Subject, plan: ClausePlan) -> str:
    """How often `true` and `false` are told otherwise."""
    for name, truth in (("true", 1), ("true again", 1), ("false", 0)):
        request = plan.requests[name]
        ones = int(np.count_nonzero(subject.reports(request, plan.crowd)))
        Share(
            f"ones of {name!r}", ones, plan.crowd.size(), float(request.randomizer.law(truth)[1])
        ).require()
    epsilon = float(plan.requests["true"].randomizer.epsilon)
    low, high = _visible(epsilon, plan.crowd.size())
    return f"as epsilon {epsilon:g}; below {low:.2f} or above {high:.2f} would have been seen"


def grid(subject: Subject, plan: ClausePlan) -> str:
    """The laws of a known value between 0 and 1."""
    request = plan.requests["quarter"]
    ones = int(np.count_nonzero(subject.reports(request, plan.crowd)))
    one = float(request.randomizer.law(GRID // 4)[1])
    Share("ones of a quarter", ones, plan.crowd.size(), one).require()
    near = plan.requests["near a quarter"]
    law = near.randomizer.law(GRID // 4)
    exact = np.cumsum([float(law[point]) for point in range(GRID + 1)])
    seen = np.cumsum(np.bincount(subject.reports(near, plan.crowd), minlength=GRID + 1)) / plan.crowd.size()
    gap, most = float(np.abs(seen - exact).max()), math.sqrt(math.log(2 / ALPHA) / 2 / plan.crowd.size())
    if gap > most:
        raise Broken(
            f"discrete Laplace noise: the distribution is off by {gap:.4f}, chance alone: {most:.4f}"
        )
    return f"one bit and discrete Laplace; distribution off by {gap:.4f} of at most {most:.4f}"


def _visible(epsilon: float, people: int) -> tuple[float, float]:
    """The epsilons between which a law could not be told from the right one, of so many people."""
    right = 1 / (1 + math.exp(epsilon))

    def edge(inside: float, outside: float) -> float:
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            if likely(1 / (1 + math.exp(middle)), people, right):
                inside = middle
            else:
                outside = middle
        return outside

    return edge(epsilon, -epsilon), edge(epsilon, epsilon + 40)


CLAUSES = (
    Clause("C08", "reports about `true` and `false` flip as often as their randomizer says", flips),
    Clause("C20", "reports about a known number follow the law of their randomizer", grid),
)
