"""An answer in words that fit the question: a share of people and how many they are, or a mean and what it is a mean of.

A condition is a count.  A clipped number is a mean between 0 and 1, which says little by itself; where it is one column on
another scale, clip(a column + b), the mean is also told on the scale of that column: of the column as it was clipped.

Checked in tests/unit/parties/command/test_answers.py.
"""

from __future__ import annotations

from fractions import Fraction

from localdp.domains import Schema
from localdp.oracles.definition import Answer
from localdp.queries.expressions import Clip, Column, Linear
from localdp.queries.parser import parse
from localdp.queries.statistical import StatisticalQuery


def answer_rows(answer: Answer, schema: Schema, of_whom: str = "people") -> list[tuple[str, str]]:
    """What is said of an answer, and the words for it."""
    query = StatisticalQuery.parse(answer.query, schema)
    value = f"{answer.value:.6g} ± {answer.standard_error:.2g}"
    if query.kind == "bit":
        counted = f"{answer.count:,.1f} ± {answer.count_error:,.1f} of {answer.people:,}"
        return [(f"share of {of_whom}", value), ("number of people", counted)]
    return [("mean", value), *_on_its_scale(answer), ("people", f"{answer.people:,}")]


def _on_its_scale(answer: Answer) -> list[tuple[str, str]]:
    scale = scale_of(answer.query)
    if scale is None:
        return []
    column, slope, shift = scale
    mean, error = (answer.value - shift) / slope, answer.standard_error / abs(slope)
    ends = sorted((float(-shift / slope), float((1 - shift) / slope)))
    return [
        (
            f"mean of {column}",
            f"{float(mean):.6g} ± {float(error):.2g} (between {ends[0]:g} and {ends[1]:g})",
        )
    ]


def scale_of(text: str) -> tuple[str, Fraction, Fraction] | None:
    """Column, a and b of a query clip(a column + b); None if it is another one."""
    match parse(text):
        case Clip(Column(name)):
            return name, Fraction(1), Fraction(0)
        case Clip(Linear(constant, ((coefficient, name),))) if coefficient:
            return name, coefficient, constant
    return None
