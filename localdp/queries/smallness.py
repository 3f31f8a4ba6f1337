"""How small a number that is not zero can be, by query and schema alone: no step of an evaluation is subnormal.

Doubles below 2**-1022 are subnormal: arithmetic with them takes up to a hundred times longer on some processors, so time
would tell who has one.  Real columns that may be 0 hold nothing else below 2**-126 (`domains.columns`), and coefficients
are fractions of at most 30 digits.  With e(f) such that every value of f other than 0 is at least 2**e(f) in size,

| f | e(f) |
|---|---|
| a condition | 0 |
| a sum or mean of rows | that of the column - 53, and of a mean less the log2 of the most rows |
| a column | 0, or -126 for reals that may be 0, or that of the bound next to 0 |
| a x | log2 a + e(x) |
| a x + b y + ... | the least of its terms - 53: a sum is a multiple of the last bit of its least term |
| ... + c | log2 c - 55: a sum is less than half of c only beside -c, where it is a multiple of c's last bits |

`vector_smallness` goes on from there to vectors.

Claim.  A query all of whose steps have e >= -1000 meets no subnormal number; any other is refused.  22 bits are left for
rounding.  Checked with the least numbers of each kind in tests/unit/queries/test_smallness.py.
"""

from __future__ import annotations

import math
from fractions import Fraction

from localdp.domains import Domain, RealDomain, Schema
from localdp.domains.columns import SMALLEST_REAL
from localdp.errors import QueryRefused
from localdp.queries.arithmetic import affine
from localdp.queries.of_rows import domain_of, smaller_by
from localdp.queries.scalars import (
    Clip,
    Column,
    Linear,
    Number,
    Numeric,
    OfRows,
    Scalar,
    Term,
    UnitDecisionList,
)

FLUSHED = 2.0**-126  # an entry of a vector of wide forms, beside the largest, below which it counts as 0
_LEAST = -1000.0
_FAR = 2.0**60  # the greatest number of a real column that is not wide
_DIGITS = 53  # of a double
_BESIDE = 55  # the digits of a constant, and 2 by which a sum may be below it


def scalar_exponent(form: Scalar, schema: Schema) -> float:
    """e of a number or a condition; infinite for what is always 0."""
    match form:
        case OfRows():
            return _term_exponent(form, schema)
        case Number() | Linear() | Column():
            return numeric_exponent(form, schema)
        case Clip(operand):
            return min(numeric_exponent(operand, schema), 0.0)
        case UnitDecisionList(rules, otherwise):
            return min(
                scalar_exponent(value, schema) for value in (*(value for _, value in rules), otherwise)
            )
        case _:
            return 0.0


def is_wide(form: Scalar, schema: Schema) -> bool:
    """Whether a form has a real column with too many orders of magnitude to be in a vector as it is."""
    match form:
        case Column(name):
            return _spans_much(schema[name])
        case Linear(_, terms):
            return any(_spans_much(domain_of(term, schema)) for _, term in terms)
        case OfRows():
            return _spans_much(domain_of(form, schema))
        case _:
            return False


def numeric_exponent(operand: Numeric, schema: Schema) -> float:
    """e of a number, a column or a linear form, or a refusal if a partial sum may be subnormal."""
    constant, coefficients = affine(operand)
    terms = [exponent_of(value) + _term_exponent(term, schema) for term, value in coefficients.items()]
    sums = normal(sum_exponent(terms), "a sum")
    return beside_exponent(constant, sums) if terms else exponent_of(constant)


def sum_exponent(terms: list[float]) -> float:
    """e of a sum, by those of its terms; also of each partial sum."""
    small = [term for term in terms if term < math.inf]
    return min(small, default=math.inf) - _DIGITS * (len(small) > 1)


def beside_exponent(constant: Fraction, sums: float) -> float:
    """e of what is e(sums) by itself, plus or minus a constant."""
    return exponent_of(constant) - _BESIDE if constant else sums


def exponent_of(value: Fraction) -> float:
    """log2 of the absolute value, infinite for 0, which is never small."""
    return math.log2(abs(value.numerator)) - math.log2(value.denominator) if value else math.inf


def normal(exponent: float, what: str) -> float:
    """The exponent, or `QueryRefused` if it is too small."""
    if exponent < _LEAST:
        raise QueryRefused(
            f"{what} of this query may be smaller than 2**-1000 and not zero: scale the numbers, or narrow their bounds"
        )
    return exponent


def _term_exponent(term: Term, schema: Schema) -> float:
    domain = domain_of(term, schema)
    least = math.log2(_least(domain)) if isinstance(domain, RealDomain) else 0.0
    return least - smaller_by(term, schema)


def _least(domain: RealDomain) -> float:
    holds_zero = domain.low <= 0 <= domain.high
    return SMALLEST_REAL if holds_zero else min(abs(domain.low), abs(domain.high))


def _spans_much(domain: Domain) -> bool:
    if not isinstance(domain, RealDomain):
        return False
    return max(abs(domain.low), abs(domain.high)) > _FAR or _least(domain) < SMALLEST_REAL
