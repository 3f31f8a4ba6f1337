"""How many people a tolerance takes in the local model, and the other way round (section 12.1).

One report of each of n people about a query with values in an interval of width w.  By `bound`:

- hoeffding: one bit of each (values +- C w / 2), failure at most 2 exp(-2 n tau**2 / (C w)**2), for every n;
- normal: the same bits, by the central limit theorem, n = (z C w / (2 tau))**2;
- laplace: Laplace noise of scale w / epsilon on each value, as in Kasiviswanathan et al. 2008, by the central limit
  theorem with the largest spread of the values, n = (z w / tau)**2 (2 / epsilon**2 + 1/4).

C = (exp(epsilon) + 1) / (exp(epsilon) - 1), z = the normal quantile of 1 - failure / 2.  For signs, w = 2; for queries
with values in [0, 1], w = 1.
Checked against the table of the sources and against simulation in tests/unit/oracles/test_sample_size.py.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter

Bound = Literal["hoeffding", "normal", "laplace"]


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


def _squared(epsilon: Epsilon | float, failure: float, bound: Bound, width: float) -> float:
    """n tau**2."""
    loss = float(Epsilon.requested(epsilon))
    quantile = NormalDist().inv_cdf(1 - failure / 2)
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
