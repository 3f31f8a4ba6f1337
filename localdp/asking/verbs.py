"""The verbs: from a statistical-query oracle and a question to a result that a person reads.

| verb | question | what it asks of the oracle |
|---|---|---|
| `count`, `share` | a condition: smoker and age >= 65 | its mean |
| `mean`, `sum` | a number: stay, 2*age - bmi | the mean of the number on the scale of its bounds (`scales.py`) |
| `quantile` | a column and a level | to select it, or a tree of histograms (`release/quantiles.py`) |
| `histogram`, `crosstab`, `top` | a column, several, or a query with a list of values | all frequencies at once |

Every verb takes one round, but for a quantile that is selected, which takes two at half of epsilon each.  What is asked is
checked before anybody is: a condition where a condition belongs, a column that has values to count, frequencies that noise
would not drown (`check_signal=False` asks all the same).

Checked in tests/unit/asking/test_verbs.py, for every trust model in tests/contract/test_verbs.py, and the coverage of the
intervals in tests/statistical/test_coverage.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np

from localdp.algorithms.release.quantiles import estimated_quantile
from localdp.algorithms.texts import decimal
from localdp.asking.result import Terms
from localdp.asking.scales import Scaled, scaled
from localdp.asking.statistic import Form, Statistic
from localdp.asking.tabulation import Tabulation
from localdp.asking.writing import exact
from localdp.domains import IntegerDomain, RealDomain, Schema
from localdp.errors import InvalidParameter, QueryRefused, SignalTooWeak
from localdp.oracles.definition import LEVEL, StatisticalQueryOracle, normal_width
from localdp.oracles.plans import NOTHING_ASKED, require_signal
from localdp.queries.encoded import GRID
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.value_names import MOST_VALUES, value_names
from localdp.queries.vector_query import VectorQuery

Bins = int | Sequence[float]
BINS = 10  # of a column of real numbers, unless told
_SHARE = (0.0, 1.0)


def count(oracle: StatisticalQueryOracle, query: str, level: float = LEVEL) -> Statistic:
    """How many people meet a condition."""
    return _of_condition(oracle, query, level, Form.COUNT)


def share(oracle: StatisticalQueryOracle, query: str, level: float = LEVEL) -> Statistic:
    """Which share of the people meets a condition, from 0 to 1."""
    return _of_condition(oracle, query, level, Form.SHARE)


def _of_condition(oracle: StatisticalQueryOracle, query: str, level: float, form: Form) -> Statistic:
    normal_width(level)  # a level that is none is refused before anybody is asked
    asked = StatisticalQuery.parse(query, oracle.schema)
    if asked.kind != "bit":
        raise QueryRefused(
            f"{form.value} is of a condition, such as smoker and age >= 65; of a number ask for mean or sum"
        )
    answer = oracle.answer([asked])[0]
    factor = oracle.people if form is Form.COUNT else 1
    width = answer.half_width(level)
    ends = (factor * (answer.value - width), factor * (answer.value + width))
    terms = Terms.of(oracle, answer.reports, level)
    name = f"{form.value} of {asked.text}"
    return Statistic(name, factor * answer.value, *ends, terms, form, 0.0, float(factor))


def mean(oracle: StatisticalQueryOracle, number: str, level: float = LEVEL) -> Statistic:
    """The mean of a column, or of a sum of columns such as 2*age - bmi, on its own scale."""
    return _of_number(oracle, number, level, "mean", 1)


def total(oracle: StatisticalQueryOracle, number: str, level: float = LEVEL) -> Statistic:
    """The sum of a column over the people, or of a sum of columns."""
    return _of_number(oracle, number, level, "sum", oracle.people)


def _of_number(
    oracle: StatisticalQueryOracle, number: str, level: float, verb: str, factor: int
) -> Statistic:
    normal_width(level)
    scale: Scaled = scaled(number, oracle.schema)
    answer = oracle.answer([scale.query])[0]
    width = answer.half_width(level)
    value, low, high, least, most = (
        factor * (scale.low + scale.width * part)
        for part in (answer.value, answer.value - width, answer.value + width, *_SHARE)
    )
    terms = Terms.of(oracle, answer.reports, level)
    return Statistic(
        f"{verb} of {number.strip()}",
        value,
        min(low, high),
        max(low, high),
        terms,
        Form.NUMBER,
        min(least, most),
        max(least, most),
        factor * abs(scale.width) / GRID,
    )


def quantile(
    oracle: StatisticalQueryOracle,
    column: str,
    at: float = 0.5,
    level: float = LEVEL,
    *,
    check_signal: bool = True,
) -> Statistic:
    """Where a share `at` of the people lies below, in a column of numbers."""
    normal_width(level)
    if not 0 <= at <= 1:
        raise InvalidParameter("a quantile is at a share between 0 and 1; the median is at 0.5")
    domain = oracle.schema[column]
    if not isinstance(domain, IntegerDomain | RealDomain):
        raise QueryRefused(f"column {column!r} has no numbers in order: ask for its histogram")
    found = estimated_quantile(oracle, column, at, level, check_signal=check_signal)
    name = f"median of {column}" if at == 0.5 else f"{exact(100 * at)} % quantile of {column}"
    terms = Terms.of(oracle, oracle.people, level)
    ends = (found.low, found.high)
    return Statistic(name, found.value, *ends, terms, Form.PLACE, domain.low, domain.high)


def histogram(
    oracle: StatisticalQueryOracle,
    of: str,
    level: float = LEVEL,
    *,
    bins: Bins | None = None,
    check_signal: bool = True,
) -> Tabulation:
    """How many people have each value of a column, or of a query with a list of values.

    `bins` cuts a column of numbers into so many parts of the same width, or at these numbers.
    """
    query, labels = _valued(of, oracle.schema, bins)
    return _tabulated(
        oracle, f"histogram of {of}", (of,), [(one,) for one in labels], query, level, check_signal
    )


def crosstab(
    oracle: StatisticalQueryOracle, of: Sequence[str], level: float = LEVEL, *, check_signal: bool = True
) -> Tabulation:
    """How many people have each combination of values of several columns or queries."""
    if len(of) < 2:
        raise InvalidParameter('a crosstab is by two columns or more: crosstab("ward", "smoker")')
    parts = [_valued(one, oracle.schema, None) for one in of]
    query = VectorQuery.parse(f"cells({', '.join(part.text for part, _ in parts)})", oracle.schema)
    labels = list(product(*(names for _, names in parts)))
    return _tabulated(oracle, f"crosstab of {', '.join(of)}", tuple(of), labels, query, level, check_signal)


def top(
    oracle: StatisticalQueryOracle,
    of: str,
    most: int = 10,
    level: float = LEVEL,
    *,
    bins: Bins | None = None,
    check_signal: bool = True,
) -> Tabulation:
    """The values that most people have, in falling order."""
    if not isinstance(most, int) or most < 1:
        raise InvalidParameter("say how many values are wanted, at least 1: top(column, 10)")
    return histogram(oracle, of, level, bins=bins, check_signal=check_signal).top(most)


def _valued(of: str, schema: Schema, bins: Bins | None) -> tuple[VectorQuery, Sequence[str]]:
    """A query with a list of values, and what they are called."""
    domain = schema.columns.get(of)
    if isinstance(domain, RealDomain) or (bins is not None and isinstance(domain, IntegerDomain)):
        return _binned(of, domain, BINS if bins is None else bins, schema)
    if bins is not None:
        raise InvalidParameter("bins cut a column of numbers; this has values of its own")
    query = VectorQuery.parse(of, schema)
    if query.kind != "category" or not 2 <= query.length <= MOST_VALUES:
        raise QueryRefused(
            f"people are counted by a column, a condition, which(...) or cells(...), with 2 to {MOST_VALUES:,} values"
        )
    return query, value_names(query.expression, schema, query.length)


def _binned(
    column: str, domain: IntegerDomain | RealDomain, bins: Bins, schema: Schema
) -> tuple[VectorQuery, Sequence[str]]:
    edges = _edges(domain, bins)
    conditions = ", ".join(f"{column} < {decimal(edge)}" for edge in edges[1:-1])
    names = [f"{exact(low)} to {exact(high)}" for low, high in pairwise(edges)]
    return VectorQuery.parse(f"which({conditions})", schema), names


def _edges(domain: IntegerDomain | RealDomain, bins: Bins) -> list[float]:
    if isinstance(bins, int):
        if not 2 <= bins <= MOST_VALUES:
            raise InvalidParameter("a column is cut into at least 2 bins")
        return [float(edge) for edge in np.linspace(domain.low, domain.high, bins + 1)]
    inner = [float(edge) for edge in bins if domain.low < edge < domain.high]
    if not inner or any(low >= high for low, high in pairwise(inner)):
        raise InvalidParameter(
            f"bins are cut at rising numbers within the column's bounds, {exact(domain.low)} to {exact(domain.high)}"
        )
    return [float(domain.low), *inner, float(domain.high)]


def _tabulated(
    oracle: StatisticalQueryOracle,
    name: str,
    by: tuple[str, ...],
    labels: Sequence[tuple[str, ...]],
    query: VectorQuery,
    level: float,
    check_signal: bool,
) -> Tabulation:
    normal_width(level)
    if check_signal:
        _require_signal(oracle, query)
    answer = oracle.answer_vectors([query])[0]
    terms = Terms.of(oracle, answer.reports, level)
    return Tabulation(name, by, tuple(labels), answer.values, answer.half_widths(level), terms)


def _require_signal(oracle: StatisticalQueryOracle, query: VectorQuery) -> None:
    plan, even = oracle.plan([query]), 1 / query.length
    try:
        require_signal(even, plan.rows[0].standard_error, f"an even share of {query.length:,} values", plan)
    except SignalTooWeak as refusal:
        raise SignalTooWeak(
            f"{refusal}; {NOTHING_ASKED}: ask for fewer values, such as bins=5, or under another trust model; or with "
            "check_signal=False all the same"
        ) from refusal
