"""Iterative construction of a database that answers many queries (section 5.2, Algorithm 8, Theorems 5.3 to 5.7).

A guess D is improved, mistake by mistake, until the mistake that is pointed at looks smaller than 3 alpha / 4, or
T(alpha / 2) were corrected.  Who corrects is a database update algorithm (`updates.py`), who points is a side:

- `fit` with `selecting=True`: an oracle that selects a mistake and answers it (`curators.py`), two rounds for each.
  Theorem 5.4: with probability 1 - beta all answers end up within alpha, if alpha >= 8 ln(2 T / beta) / (epsilon0 n)
  and 8 F(epsilon0) / n.  `fit_curator` is the same with a trusted curator that may have a delta, or a distinguisher that
  is named.
- `fit` otherwise.  The candidates are asked in batches, one batch a round, their answers kept, and after every round the
  mistakes among all that was answered are corrected.  **Deviation**: no round is spent on finding a mistake; where every
  answer costs people or epsilon, asking again what was answered already only divides them further.

Claim.  With an oracle of tolerance alpha / 4 every answer of the result is within alpha of the truth: a mistake of 3
alpha / 4 against the answer is one of at least alpha / 2 against the truth, and its answer tells the side, so there are
at most T(alpha / 2) of them; and where none is left, the truth is at most 3 alpha / 4 + alpha / 4 away.
Checked with adversaries in tests/unit/algorithms/release/test_iterative.py; the numbers in
tests/statistical/test_release.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.definition import Learner, Measures, measures_of_errors
from localdp.algorithms.release.curators import (
    IterationBudget,
    Mistake,
    SelectingCurator,
    SelectingSide,
    Side,
)
from localdp.algorithms.release.distinguishers import Distinguisher, is_of_bounded_range
from localdp.algorithms.release.synthetic import Distribution, rows_of
from localdp.algorithms.release.universe import Universe
from localdp.algorithms.release.updates import DatabaseUpdate, Guess, MultiplicativeWeights
from localdp.algorithms.scikit_learn import Nature
from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.mechanisms.noisy_maximum import NoisyMaximum
from localdp.oracles.account import Cost
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.models import ModelName
from localdp.oracles.plans import Plan, PlannedQuery, Resizing
from localdp.queries.asked import MOST_QUERIES_IN_A_ROUND
from localdp.randomness.source import Floats, RandomSource

MOST_ENTRIES = 1 << 24  # of the table of queries and cells


@dataclass(frozen=True, slots=True)
class Constructed:
    """Where a construction ended."""

    state: Guess  # the last guess
    updates: int
    converged: bool  # no mistake of 3 alpha / 4 was seen any more


def construct(
    side: Side, rows: Floats, update: DatabaseUpdate, alpha: float, most_updates: int, state: Guess = None
) -> Constructed:
    """Algorithm 8: correct the mistakes that the side points at, until none of 3 alpha / 4 is left."""
    guess = update.start(rows.shape[1]) if state is None else state
    for done in range(most_updates):
        answers = update.answers(guess, rows)
        mistake = side.furthest(answers)
        if abs(mistake.value - answers[mistake.place]) < 3 * alpha / 4:
            return Constructed(guess, done, True)
        guess = update.update(guess, rows[mistake.place], mistake.value, alpha / 2)
    return Constructed(guess, most_updates, False)


class AnsweredSide:
    """Answers that are there already; the furthest of them is found by looking."""

    def __init__(self, values: Floats) -> None:
        self._values = values

    def furthest(self, answers: Floats) -> Mistake:
        """The query whose answer differs most."""
        place = int(np.argmax(np.abs(self._values - answers[: len(self._values)])))
        return Mistake(place, float(self._values[place]))


class IterativeConstruction(Learner):
    """A distribution over a small universe that answers all queries of a list within alpha.

    Parameters
    ----------
    queries : list of str
        Conditions or clipped numbers about the columns.
    columns : list of str, optional
        The columns of the universe. Default: all bits and categories.
    alpha : float, default=0.1
        The largest error that an answer of the distribution should have.
    update : DatabaseUpdate, default=MultiplicativeWeights(tight=True)
        How a guess is corrected where it is wrong.
    distinguisher : Distinguisher, optional
        How `fit_curator` finds a query on which the guess is wrong. Default: the noisy maximum, as an oracle selects.
    selecting : bool, default=False
        Have the oracle select each mistake, in two rounds an update, in place of asking for all answers. Better where there
        are many more queries than updates and somebody compares sums without telling them: a curator.
    most_updates : int, optional
        In place of T(alpha / 2) updates, and with it the claim on alpha.
    rounds : int, optional
        In how many batches an oracle is asked.
    failure : float, default=0.05
        The probability that an answer is further off than alpha.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if what is looked for would drown in the noise. False asks all the same.
    epsilon : float, optional
        Data frames only: what each person spends in a fit, in nats. Every model but "exact" needs it.
    model : {"exact", "curator", "local", "shuffled", "shared"}, optional
        Data frames only: whom people have to trust. There is no default: a fit without it raises.
    bounds : (low, high), list of pairs, or mapping from names to pairs, optional
        Data frames only: what numbers can hold, from what is known about them. Every model but "exact" needs them, and
        "exact" takes the data's own. Data that do not fit are refused, and nothing is spent.

    Attributes
    ----------
    distribution_ : Distribution
        The distribution that was found.
    answers_ : array
        Its answers, to the queries in their order.
    updates_ : int
        How often the guess was corrected.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        The error that was to be expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import numpy as np
    >>> smoker = np.arange(20_000) % 10 < 3
    >>> release = IterativeConstruction(["smoker", "ill"], alpha=0.05, model="curator", epsilon=1.0)
    >>> bool(abs(release.fit({"smoker": smoker, "ill": smoker}).answers_ - 0.3).max() < 0.06)
    True
    """

    def __init__(
        self,
        queries: Sequence[str],
        columns: Sequence[str] | None = None,
        alpha: float = 0.1,
        *,
        update: DatabaseUpdate = MultiplicativeWeights(tight=True),  # noqa: B008
        distinguisher: Distinguisher | None = None,
        selecting: bool = False,
        most_updates: int | None = None,
        rounds: int | None = None,
        failure: float = 0.05,
        check_signal: bool = True,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.queries = queries
        self.columns = columns
        self.alpha = alpha
        self.update = update
        self.distinguisher = distinguisher
        self.selecting = selecting
        self.most_updates = most_updates
        self.rounds = rounds
        self.failure = failure
        self.check_signal = check_signal
        self.epsilon, self.model, self.bounds = epsilon, model, bounds

    distribution_: Distribution
    answers_: Floats  # of the last guess, to the queries in their order
    updates_: int
    _nature = Nature(categories=True)
    converged_: bool

    def _rounds(self) -> int:
        if isinstance(self.queries, str) or not len(self.queries):
            raise InvalidParameter("a construction is about a list of queries")
        if not 0 < self.alpha <= 1 or not 0 < self.failure < 1:
            raise InvalidParameter("an alpha is above 0 and at most 1, a failure strictly between them")
        if self.most_updates is not None and self.most_updates < 1:
            raise InvalidParameter("a construction may make at least one update")
        least = -(-len(self.queries) // MOST_QUERIES_IN_A_ROUND)
        rounds = least if self.rounds is None else self.rounds
        if not least <= rounds <= len(self.queries):
            raise InvalidParameter(
                f"{len(self.queries)} queries are asked in {least} to {len(self.queries)} rounds"
            )
        return rounds

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        batches = self._rounds()
        return 2 * self._most(self._table(oracle.schema)[1]) if self.selecting else batches

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        universe, rows = self._table(oracle.schema)
        learn = self._learn_selecting if self.selecting else self._learn_answers
        learn(oracle, universe, rows)

    def _learn_answers(self, oracle: StatisticalQueryOracle, universe: Universe, rows: Floats) -> None:
        batches = np.array_split(np.array(self.queries, object), self._rounds())
        self.plan_ = oracle.plan(list(batches[0]))
        self._require_signal(self.alpha / 4, self.plan_.tolerance(self.failure), "a quarter of alpha")
        values, state, updates = np.zeros(0), None, 0
        for batch in batches:
            values = np.append(values, [answer.value for answer in oracle.answer(list(batch))])
            known = rows[: len(values)]
            left = self._most(rows) - updates
            result = construct(AnsweredSide(values), known, self.update, self.alpha, left, state)
            state, updates = result.state, updates + result.updates
        misfit = np.abs(values - self.update.answers(state, rows)).max()
        self._finish(universe, rows, Constructed(state, updates, bool(misfit < 3 * self.alpha / 4)))

    def _learn_selecting(self, oracle: StatisticalQueryOracle, universe: Universe, rows: Floats) -> None:
        side, most = SelectingSide(oracle, universe, self.queries), self._most(rows)
        self.plan_, failure = side.plan(), self.failure / (2 * most)
        measured = max(oracle.plan([query]).tolerance(failure) for query in self.queries)
        expected = max(self.plan_.tolerance(failure), measured)
        self._require_signal(self.alpha, 8 * expected, "an alpha")
        self._finish(universe, rows, construct(side, rows, self.update, self.alpha, most))

    def fit_curator(self, curator: SelectingCurator) -> Self:
        """Construct with a curator's private selection in place of an oracle's answers."""
        self._rounds()
        universe, rows = self._table(curator.schema)
        budget = self._budget(curator.epsilon, curator.delta, rows)
        plan = self._curator_plan(curator.people, budget, len(rows))
        self.plan_ = replace(plan, resizing=self._resizing(curator, rows))
        self._require_signal(self.alpha, 8 * self.plan_.rows[0].standard_error, "an alpha")
        self.plan_ = plan
        side = curator.begin(universe, self.queries, budget, self.distinguisher)
        self._finish(universe, rows, construct(side, rows, self.update, self.alpha, budget.rounds))
        self.cost_ = Cost(budget.rounds, 2 * budget.rounds, curator.epsilon, curator.epsilon)
        self.claim_ = curator.claim
        return self

    def synthetic(self, people: int, source: RandomSource) -> Records:
        """Made-up records, of the columns of the construction."""
        self._require_fitted("distribution_")
        return self.distribution_.synthetic(people, source)

    def _table(self, schema: Schema) -> tuple[Universe, Floats]:
        universe = Universe.of(schema, list(self.columns) if self.columns is not None else None)
        universe.require_small()
        if universe.cells * len(self.queries) > MOST_ENTRIES:
            raise InvalidParameter(f"a construction has at most {MOST_ENTRIES} values of queries in cells")
        return universe, rows_of(self.queries, universe)

    def _most(self, rows: Floats) -> int:
        """T(alpha / 2), or what was asked for."""
        if self.most_updates is not None:
            return self.most_updates
        return max(1, self.update.bound(self.alpha / 2, rows))

    def _finish(self, universe: Universe, rows: Floats, result: Constructed) -> None:
        self.answers_ = self.update.answers(result.state, rows)
        self.distribution_ = Distribution(universe, self.update.distribution(result.state))
        self.updates_, self.converged_ = result.updates, result.converged

    def _resizing(self, curator: SelectingCurator, rows: Floats) -> Resizing:
        """The same construction with other people and another epsilon."""

        def planned(people: int, times: float) -> Plan:
            epsilon = Epsilon.requested(f"{times * float(curator.epsilon):.9f}")
            return self._curator_plan(people, self._budget(epsilon, curator.delta, rows), len(rows))

        return Resizing(curator.epsilon, planned)

    def _budget(self, epsilon: Epsilon, delta: Fraction, rows: Floats) -> IterationBudget:
        bounded = is_of_bounded_range(self.distinguisher)
        return IterationBudget(epsilon, self._most(rows), delta, bounded)

    def _curator_plan(self, people: int, budget: IterationBudget, candidates: int) -> Plan:
        """What Theorem 5.4 has for the errors of a selection and a measurement, in all rounds at once."""
        failure, each = self.failure / (2 * budget.rounds), budget.each
        missed, named = NoisyMaximum.within(each, 1).shortfall(candidates, failure), "NoisyMaximum"
        if self.distinguisher is not None:
            missed = self.distinguisher.error(candidates, 1, budget.selecting, failure)
            named = type(self.distinguisher).__name__
        measured = math.log(1 / failure) / float(each)
        how = f"{named} at epsilon {budget.selecting} and noise at {each}, {budget.rounds} times"
        error = max(missed, measured) / people
        row = PlannedQuery("the furthest query", 1, how, people, error, certain=True)
        return Plan("curator", (row,), people, budget.epsilon)

    def measures(self, truth: Self, records: Records) -> Measures:
        """The errors of what is released."""
        exact = ExactOracle(records).answer(list(self.queries))
        return measures_of_errors(self.answers_ - np.array([answer.value for answer in exact]))
