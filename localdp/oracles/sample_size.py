"""How good the answers of a study will be, before anybody is asked: intervals, sample sizes and power, for every model.

A study asks n people `questions` yes-or-no questions in one round, for epsilon each.  For one question, write r for the
people who answer it and v for the variance of the noise in their count, which the model's row gives exactly (`models.py`).
The questions divide the people (r = n / questions) or epsilon (r = n), as the row says.  The variance of a share is

    v / r^2                     about those who answer,
    + p (1 - p) (1/r - 1/n)     about the n people, of whom they are a random part,
    + p (1 - p) / n             about the population that the n people are a sample of, if that is what one asks about.

Half-widths are those of the exact law of the noise where that is all there is, and normal otherwise.  A difference of two
shares is tested at 1 - level, both sides, with the variances of both groups.  What a goal needs is searched among numbers
of three digits.  A party's table is never part of this: everything here is public.

`people_needed` and `tolerance_reached` are the local model's guarantees, for means of any values in an interval of width w
(section 12.1), by `bound`:

- hoeffding: one bit of each (values +- C w / 2), failure at most 2 exp(-2 n tau**2 / (C w)**2), for every n;
- normal: the same bits, by the central limit theorem, n = (z C w / (2 tau))**2;
- laplace: Laplace noise of scale w / epsilon on each value, as in Kasiviswanathan et al. 2008, by the central limit
  theorem with the largest spread of the values, n = (z w / tau)**2 (2 / epsilon**2 + 1/4).

C = (exp(epsilon) + 1) / (exp(epsilon) - 1), z = the normal quantile of 1 - failure / 2.  For signs, w = 2; for queries
with values in [0, 1], w = 1.

Checked against the oracles' own plans, against oracles that answer, and against the table of the sources, in
tests/unit/oracles/test_sample_size.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Literal

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, Epsilon
from localdp.errors import InvalidParameter
from localdp.oracles.definition import LEVEL, normal_width
from localdp.oracles.least_numbers import MOST_PEOPLE, least
from localdp.oracles.models import CountNoise, OneCount, Options, model_named

Bound = Literal["hoeffding", "normal", "laplace"]
POWER = 0.8  # that is usually asked for
WORST_SHARE = 0.5  # where people differ most from each other
_SMALLEST_EPSILON = 1e-3


@dataclass(frozen=True, slots=True)
class Study:
    """So many people, asked so many questions at once under a trust model."""

    model: str
    people: int
    epsilon: Epsilon  # that each person spends on all of it, in nats, replace-one neighbours
    questions: int = 1
    servers: int = 2
    options: Options = field(default_factory=dict)  # of the model; its defaults for the others

    def __post_init__(self) -> None:
        """Refuse what cannot be asked."""
        model_named(self.model).settled(self.options)
        if self.questions < 1 or self.people < self.questions:
            raise InvalidParameter(
                "a study has a question at least, and a person at least for each question"
            )

    @property
    def answering(self) -> int:
        """How many people answer one question."""
        return self.people // self.questions if self._divides == "people" else self.people

    @property
    def charge(self) -> Epsilon:
        """What a party charges each person, which is more than epsilon where reports are mixed afterwards."""
        one = model_named(self.model).charge(self._count)
        return one if self._divides == "people" else one * self.questions

    @property
    def noise(self) -> CountNoise | None:
        """What is added to the count of one question; None: nothing."""
        return model_named(self.model).noise(self._count)

    def variance(self, share: float | None = None) -> float:
        """Of an estimated share: about these people, or, if its size is given, about the population they are drawn from."""
        noise, answering = self.noise, self.answering
        spread = _spread(WORST_SHARE if share is None else share)
        left_out = spread * (1 / answering - 1 / self.people)
        drawn = 0.0 if share is None else spread / self.people
        return (0.0 if noise is None else noise.variance() / answering**2) + left_out + drawn

    def half_width(self, share: float | None = None, level: float = LEVEL) -> float:
        """What the estimated share is off by at most, with this probability; about whom is as for `variance`."""
        noise, width = self.noise, normal_width(level)
        if share is None and self.answering == self.people:  # the noise is all there is
            return 0.0 if noise is None else noise.half_width(level) / self.people
        return width * math.sqrt(self.variance(share))

    def power(self, first: float, second: float, level: float = LEVEL) -> float:
        """The probability that two groups, of so many people each, are told apart, if their shares are these."""
        error = math.sqrt(self.variance(first) + self.variance(second))
        distance, threshold = abs(first - second) / error, normal_width(level)
        return NormalDist().cdf(distance - threshold) + NormalDist().cdf(-distance - threshold)

    def people_for(self, goal: Callable[[Study], bool]) -> int | None:
        """The fewest people, to three digits, with whom the goal is met; None: no number is enough."""
        fewest = max(self.questions, 2)
        found = least(
            fewest, MOST_PEOPLE, lambda people: goal(replace(self, people=max(fewest, math.ceil(people))))
        )
        return None if found is None else max(fewest, math.ceil(found))

    def epsilon_for(self, goal: Callable[[Study], bool]) -> Epsilon | None:
        """The smallest epsilon, to three digits, with which the goal is met; None: none is enough."""
        found = least(
            _SMALLEST_EPSILON,
            LARGEST_EPSILON_NATS,
            lambda nats: goal(replace(self, epsilon=Epsilon.requested(f"{nats:.6g}"))),
        )
        return None if found is None else Epsilon.requested(f"{found:.6g}")

    @property
    def _divides(self) -> str:
        row = model_named(self.model)
        return str(row.settled(self.options).get("divide", row.divides))

    @property
    def _count(self) -> OneCount:
        each = self.epsilon
        if self._divides == "epsilon" and model_named(self.model).spends:
            each = Epsilon.requested(self.epsilon.divided_by(self.questions))
        return OneCount(self.answering, each, self.servers, self.options)


def within(half_width: float, share: float | None = None, level: float = LEVEL) -> Callable[[Study], bool]:
    """The goal that an interval is no wider than this."""
    if not half_width > 0:
        raise InvalidParameter("a half-width is positive, such as 0.02 for two percent of the people")
    return lambda study: study.half_width(share, level) <= half_width


def told_apart(
    first: float, second: float, power: float = POWER, level: float = LEVEL
) -> Callable[[Study], bool]:
    """The goal that a difference of two shares is found so often."""
    if first == second:
        raise InvalidParameter("two shares that are to be told apart differ")
    if not 0 < power < 1:
        raise InvalidParameter("a power lies strictly between 0 and 1, such as 0.8")
    return lambda study: study.power(first, second, level) >= power


def people_needed(
    tolerance: float,
    epsilon: Epsilon | float,
    failure: float = 0.05,
    *,
    bound: Bound = "hoeffding",
    width: float = 1.0,
    queries: int = 1,
) -> int:
    """How many people make every one of `queries` answers good to the tolerance, but for the failure.

    The queries divide the people; the failure is divided among them.
    """
    _require(tolerance, failure, width, queries)
    each = _squared(epsilon, failure / queries, bound, width) / tolerance**2
    return queries * math.ceil(each - 1e-9)


def tolerance_reached(
    people: int,
    epsilon: Epsilon | float,
    failure: float = 0.05,
    *,
    bound: Bound = "hoeffding",
    width: float = 1.0,
    queries: int = 1,
) -> float:
    """The tolerance that so many people give to every one of `queries` answers, but for the failure."""
    if people < queries:
        raise InvalidParameter("every query needs at least one person")
    _require(1.0, failure, width, queries)
    return math.sqrt(_squared(epsilon, failure / queries, bound, width) / (people // queries))


def _spread(share: float) -> float:
    if not 0 <= share <= 1:
        raise InvalidParameter("a share of people lies between 0 and 1, such as 0.2")
    return share * (1 - share)


def _squared(epsilon: Epsilon | float, failure: float, bound: Bound, width: float) -> float:
    """n tau**2."""
    loss = float(Epsilon.requested(epsilon))
    quantile = normal_width(1 - failure)
    factor = 1 + 2 / math.expm1(loss)
    match bound:
        case "hoeffding":
            return (factor * width) ** 2 * math.log(2 / failure) / 2
        case "normal":
            return (quantile * factor * width / 2) ** 2
        case "laplace":
            return (quantile * width) ** 2 * (2 / loss**2 + 0.25)
    raise InvalidParameter("a bound is hoeffding, normal or laplace")


def _require(tolerance: float, failure: float, width: float, queries: int) -> None:
    if not tolerance > 0 or not width > 0 or not 0 < failure < 1 or queries < 1:
        raise InvalidParameter(
            "a tolerance and a width are positive, a failure lies between 0 and 1, and there is a query"
        )
