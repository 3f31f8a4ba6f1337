"""An answer in words that fit the question: a share of people and how many they are, or a mean and what it is a mean of.

A condition is a count.  A clipped number is a mean between 0 and 1, which says little by itself; where it is one column on
another scale, clip(a column + b), the mean is also told on the scale of that column: of the column as it was clipped.
± is half of the interval, at the level that stands beside it.

Checked in tests/unit/parties/command/test_answers.py.
"""

from __future__ import annotations

from localdp.accounting.epsilon import Epsilon
from localdp.asking.result import Result
from localdp.asking.scales import scaled
from localdp.asking.statistic import Statistic
from localdp.asking.writing import percent, with_error
from localdp.domains import Schema
from localdp.oracles.definition import LEVEL, Answer
from localdp.queries.expressions import Clip
from localdp.queries.statistical import StatisticalQuery
from parties.command.output import print_ok, print_prose, stdout_console
from parties.durable import Data


def surely(value: float, half_width: float, unit: str = "", *, whole: bool = False) -> str:
    """A number and half of its interval, with the level; what has no error by itself."""
    told = with_error(value, half_width, unit, whole=whole)
    return f"{told} ({percent(LEVEL)})" if half_width else told


def answer_rows(answer: Answer, schema: Schema, of_whom: str = "people") -> list[tuple[str, str]]:
    """What is said of an answer, and the words for it."""
    query, width = StatisticalQuery.parse(answer.query, schema), answer.half_width()
    if query.kind == "bit":
        share = surely(100 * answer.value, 100 * width, " %")
        count = surely(answer.count, answer.people * width, whole=True)
        return [(f"share of {of_whom}", share), ("number of people", f"{count} of {answer.people:,}")]
    mean = ("mean", surely(answer.value, width))
    return [mean, *_on_its_scale(query, answer.value, width), ("people", f"{answer.people:,}")]


def _on_its_scale(query: StatisticalQuery, value: float, width: float) -> list[tuple[str, str]]:
    if not isinstance(query.expression, Clip) or len(query.columns) != 1:
        return []
    scale = scaled(query.text, query.schema)
    low, high = sorted((scale.low, scale.high))
    mean = surely(scale.low + scale.width * value, abs(scale.width) * width)
    return [(f"mean of {next(iter(query.columns))}", f"{mean}, between {low:g} and {high:g}")]


def print_statistic(found: Statistic, json: bool) -> None:
    """A number in one line, and what was promised; or the envelope."""
    if json:
        print_ok(found.to_dict())
        return
    print_prose(stdout_console(), f"{found.name}: {found}")
    print_price(found)


def epsilon_rows(promised: Epsilon, charged: Epsilon) -> list[tuple[str, str]]:
    """Both epsilons of a cost, as rows of a table."""
    return [("epsilon promised", str(promised)), ("epsilon charged", str(charged))]


def epsilon_data(promised: Epsilon, charged: Epsilon) -> Data:
    """Both epsilons of a cost, for a machine: what is promised, and what a person's ledger was charged at most."""
    return {"epsilon_promised": float(promised), "epsilon_charged": float(charged)}


def print_price(found: Result) -> None:
    """What it cost, and what was promised."""
    print_prose(stdout_console(), f"{found.people:,} people, {found.model} model, {found.price}")
    print_prose(stdout_console(), found.claim.statement())
