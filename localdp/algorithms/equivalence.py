"""Both directions of "the local model is the SQ model" (section 12.1; Kasiviswanathan et al. 2008, section 5).

SQ by LR.  A statistical query with tolerance tau and failure beta is answered by one report from each of n fresh people,
with n as in `sample_size.py`.  `SimulatedQueries` is such an oracle: it counts the people that every answer uses up.

LR by SQ.  A report of a random person is drawn with statistical queries only.  Fix an input x0.  Draw w from R(x0), ask

    v(w) = mean over people of Pr[R(x) = w] / Pr[R(x0) = w],     between exp(-epsilon) and exp(epsilon),

and accept w with probability v(w) / exp(epsilon), else begin again.  The law of what is accepted is that of R of a random
person; a try succeeds with probability exp(-epsilon).  Answers that are off by tau move it by at most tau exp(2 epsilon)
in total variation (relative error of v at most tau exp(epsilon), twice through the normalisation).

Checked against their laws in tests/unit/algorithms/test_equivalence.py.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.domains import CategoryDomain
from localdp.errors import BudgetExhausted, InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import LROracle
from localdp.oracles.sample_size import people_needed
from localdp.queries.asked import Asked
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomness.source import WORD_RANGE, RandomSource

_DIGITS = 12  # of the numbers in a query
_MOST_ROUNDS = 1000


class SimulatedQueries:
    """Statistical queries with a stated tolerance, from local reports of fresh people."""

    def __init__(
        self,
        reports: LROracle,
        epsilon: Epsilon,
        source: RandomSource,
        *,
        tolerance: float,
        failure: float = 0.05,
    ) -> None:
        """Each answer is within the tolerance but for the failure; each person answers once, for epsilon."""
        self._reports, self._epsilon, self._source = reports, epsilon, source
        self.people_per_query = people_needed(tolerance, epsilon, failure)
        self.people_used = 0

    def answer(self, query: Asked) -> float:
        """The mean of a query, from people who were not asked before."""
        stop = self.people_used + self.people_per_query
        if stop > self._reports.people:
            raise BudgetExhausted(
                f"a query takes {self.people_per_query} people, and {self._reports.people - self.people_used} are left"
            )
        fresh = LocalOracle(self._reports, self._epsilon, self._source, Cohort(self.people_used, stop))
        self.people_used = stop
        return fresh.answer([query])[0].value


@dataclass(frozen=True, slots=True)
class SimulatedReports:
    """Reports that were drawn with statistical queries, and what that took."""

    reports: tuple[Hashable, ...]
    tries: int
    queries: int


def simulate_reports(
    oracle: StatisticalQueryOracle,
    column: str,
    randomizer: LocalRandomizer,
    count: int,
    source: RandomSource,
) -> SimulatedReports:
    """Reports about a column of labels, each as if a random person had been asked for it."""
    laws, labels = _laws(oracle, column, randomizer)
    scale = _above_exp(randomizer.epsilon)
    outputs, weights = _reference_law(laws[0])
    accepted: list[Hashable] = []
    tries = queries = 0
    for _ in range(_MOST_ROUNDS):
        if len(accepted) >= count:
            return SimulatedReports(tuple(accepted[:count]), tries, queries)
        wanted = math.ceil(1.2 * (count - len(accepted)) * float(scale)) + 1
        drawn = _drawn(weights, wanted, source)
        distinct = np.unique(drawn)
        asked = [_ratio_query(outputs[place], laws, labels, column, scale) for place in distinct]
        means = dict(zip(distinct.tolist(), (answer.value for answer in oracle.answer(asked)), strict=True))
        kept = source.bernoulli(_thresholds([means[place] for place in drawn.tolist()]), wanted)
        accepted += [outputs[place] for place in drawn[kept]]
        tries, queries = tries + wanted, queries + len(asked)
    raise InvalidParameter("the oracle's answers let hardly anything be accepted")


def _laws(
    oracle: StatisticalQueryOracle, column: str, randomizer: LocalRandomizer
) -> tuple[list[dict[Hashable, Fraction]], Sequence[str]]:
    domain = oracle.schema.columns.get(column)
    if not isinstance(domain, CategoryDomain) or len(domain.labels) != randomizer.inputs:
        raise InvalidParameter(
            "reports are simulated about a column with as many labels as there are inputs"
        )
    return [randomizer.law(value) for value in range(randomizer.inputs)], domain.labels


def _reference_law(law: dict[Hashable, Fraction]) -> tuple[list[Hashable], list[Fraction]]:
    outputs = sorted(law, key=repr)
    return outputs, [law[output] for output in outputs]


def _drawn(
    weights: list[Fraction], count: int, source: RandomSource
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Places drawn with these weights, up to 2**-64 each: nobody's privacy rests on them."""
    bounds = np.array(
        [min(int(sum(weights[: place + 1]) * WORD_RANGE), WORD_RANGE - 1) for place in range(len(weights))],
        np.uint64,
    )
    places = np.searchsorted(bounds, source.raw(np.uint64, count), side="right")
    return np.minimum(places, len(weights) - 1).astype(np.int64)


def _ratio_query(
    output: Hashable,
    laws: list[dict[Hashable, Fraction]],
    labels: Sequence[str],
    column: str,
    scale: Fraction,
) -> str:
    """v(w) / exp(epsilon) as a decision list on the column, with values in [0, 1]."""
    values = [law[output] / (laws[0][output] * scale) for law in laws]
    texts = [_decimal(value) for value in values]
    rules = " else ".join(
        f'if {column} == "{_escaped(label)}" then {text}'
        for label, text in zip(labels[:-1], texts[:-1], strict=True)
    )
    return f"{rules} else {texts[-1]}"


def _decimal(value: Fraction) -> str:
    """Rounded down to the digits of a query."""
    return f"{math.floor(value * 10**_DIGITS) / 10**_DIGITS:.{_DIGITS}f}"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"')


def _above_exp(epsilon: Epsilon) -> Fraction:
    return Fraction(math.exp(float(epsilon))) * Fraction(10**9 + 1, 10**9)


def _thresholds(means: list[float]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Probabilities of acceptance as integers over 2**64."""
    inside = (min(max(mean, 0.0), 1.0) for mean in means)
    return np.array([min(int(Fraction(mean) * WORD_RANGE), WORD_RANGE - 1) for mean in inside], np.uint64)
