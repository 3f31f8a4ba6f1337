"""From a number on a scale of its own to a query between 0 and 1, and back.

A mean is asked as `clip((x - low) / (high - low))`, with the bounds that the schema declares: of a column, or of a linear
form of columns such as `2*age - bmi`.  So nothing is clipped, and the mean of x is low + (high - low) times the answer.

Checked in tests/unit/asking/test_scales.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from localdp.domains import BitDomain, IntegerDomain, RealDomain, Schema
from localdp.errors import QueryRefused
from localdp.queries.expressions import Clip, Column, Expression, Linear, OfRows, Term
from localdp.queries.of_rows import domain_of
from localdp.queries.parser import parse
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.text import to_text

_CONSTANT = "this number is the same for everybody: there is nothing to ask"
Terms: TypeAlias = tuple[tuple[Fraction, Term], ...]  # coefficients and columns


@dataclass(frozen=True, slots=True)
class Scaled:
    """A number as a query, and the scale that it stands for."""

    query: StatisticalQuery
    low: float
    high: float

    @property
    def width(self) -> float:
        """How much 1 is on the number's own scale."""
        return self.high - self.low


def scaled(text: str, schema: Schema) -> Scaled:
    """The query that asks for the mean of a column or of a linear form of columns."""
    if text.lstrip().startswith("clip("):
        return _clipped(text, schema)
    constant, terms = _form_of(parse(f"clip({text})"), text)
    low, high = _bounds(constant, terms, schema)
    width = high - low
    if not width:
        raise QueryRefused(_CONSTANT)
    shrunk = tuple((coefficient / width, name) for coefficient, name in terms)
    query = StatisticalQuery(Clip(_linear((constant - low) / width, shrunk)), schema)
    return Scaled(query, float(low), float(high))


def _clipped(text: str, schema: Schema) -> Scaled:
    """What somebody clips by hand: on the scale of the column, if it is one, between where it is clipped."""
    query = StatisticalQuery.parse(text, schema)
    shift, terms = _form_of(query.expression, text)
    if len(terms) != 1:
        return Scaled(query, 0.0, 1.0)
    slope = terms[0][0]
    if not slope:
        raise QueryRefused(_CONSTANT)
    return Scaled(query, float(-shift / slope), float((1 - shift) / slope))


def _form_of(expression: Expression, text: str) -> tuple[Fraction, Terms]:
    """Constant and terms of what is clipped."""
    match expression:
        case Clip(Column(name)):
            return Fraction(0), ((Fraction(1), name),)
        case Clip(OfRows() as term):
            return Fraction(0), ((Fraction(1), term),)
        case Clip(Linear(constant, terms)):
            return constant, terms
    raise QueryRefused(f"a mean is of a column, or of a sum such as 2*age - bmi; got {text!s:.80}")


def _linear(constant: Fraction, terms: Terms) -> Column | OfRows | Linear:
    """As the query language writes it: a bare column is a column."""
    if not constant and len(terms) == 1 and terms[0][0] == 1:
        term = terms[0][1]
        return Column(term) if isinstance(term, str) else term
    return Linear(constant, terms)


def _bounds(constant: Fraction, terms: Terms, schema: Schema) -> tuple[Fraction, Fraction]:
    """Between which numbers a linear form lies, by what the schema declares."""
    low = high = constant
    for coefficient, name in terms:
        ends = [coefficient * end for end in _ends(name, schema)]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _ends(term: Term, schema: Schema) -> tuple[Fraction, Fraction]:
    match domain_of(term, schema):
        case BitDomain():
            return Fraction(0), Fraction(1)
        case IntegerDomain(low, high):
            return Fraction(low), Fraction(high)
        case RealDomain(low, high):
            return Fraction(str(low)), Fraction(str(high))
    shown = f"column {term!r}" if isinstance(term, str) else to_text(term)
    raise QueryRefused(f"{shown} has labels and no numbers: ask for its histogram")
