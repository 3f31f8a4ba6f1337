"""What a learner promises, as a contract: how many examples, or queries of which tolerance, give which error.

`SQLearnable` (Definitions 11.5 and 12.5): with `queries` statistical queries, each answered to within less than
`tolerance` of its mean under the distribution of the examples, the hypothesis errs with probability at most `alpha`
on a further one, for every target of the class.  Whoever answers from people can keep that: two methods say how many
examples are enough for all answers, but for a probability of beta, in the local model (one report of each, fresh
people for every query) and by a curator (noise for all of them on everybody's sums).

`PACLearnable` (Definitions 11.3 and 12.7): with `people` examples, whatever their distribution is, the hypothesis errs on a
further one with probability at most alpha above the best of its class, but for a probability of beta.  By an
epsilon-private choice among the hypotheses,

    n >= max(4 ln(2 |C| / beta) / (alpha epsilon), 8 ln(4 |C| / beta) / alpha**2),

the first so that the choice misses the best on the examples by alpha / 2, the second so that the examples of all hypotheses
are alpha / 4 from the truth (Hoeffding).  `alpha_reached` is the same the other way.

Each learner that states one does so in a method `learnable`.
Checked for every learner that has one in tests/unit/algorithms/test_learnable.py: SQ by adversaries, PAC on fresh examples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.oracles.sample_size import people_needed


@dataclass(frozen=True, slots=True)
class SQLearnable:
    """So many queries of this tolerance give this error."""

    queries: int
    tolerance: float  # of each answer, about its mean under the distribution
    alpha: float  # with which probability the hypothesis errs, at most

    def people_locally(self, epsilon: Epsilon, beta: float) -> int:
        """How many examples are enough for every answer, but for a probability of beta, each for one query."""
        _require(self.tolerance, beta)
        return people_needed(self.tolerance, epsilon, beta, queries=self.queries)

    def people_of_curator(self, epsilon: Epsilon, beta: float) -> int:
        """The same where all are in every sum, and noise is on the sums."""
        _require(self.tolerance, beta)
        half = self.tolerance / 2
        examples = math.log(4 * self.queries / beta) / (2 * half**2)
        noise = self.queries * math.log(2 * self.queries / beta) / (half * float(epsilon))
        return math.ceil(max(examples, noise))


@dataclass(frozen=True, slots=True)
class PACLearnable:
    """An epsilon-private choice among so many hypotheses."""

    hypotheses: int

    def people(self, epsilon: Epsilon, alpha: float, beta: float) -> int:
        """How many examples are enough to err by at most alpha above the best, but for a probability of beta."""
        _require(alpha, beta)
        choice = 4 * math.log(2 * self.hypotheses / beta) / (alpha * float(epsilon))
        examples = 8 * math.log(4 * self.hypotheses / beta) / alpha**2
        return math.ceil(max(choice, examples))

    def alpha_reached(self, epsilon: Epsilon, people: int, beta: float) -> float:
        """What so many examples err by above the best at most, but for a probability of beta."""
        _require(1.0, beta)
        choice = 4 * math.log(2 * self.hypotheses / beta) / (people * float(epsilon))
        examples = math.sqrt(8 * math.log(4 * self.hypotheses / beta) / people)
        return max(choice, examples)


def _require(alpha: float, beta: float) -> None:
    if not (0 < alpha <= 1 and 0 < beta < 1):
        raise InvalidParameter("an error and a failure are between 0 and 1, and not 0")
