"""Query trees on the wire: they come back as they went, and a hostile tree is refused and does nothing else."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import assume, given, settings

from localdp.errors import QueryRefused
from localdp.queries import parse, to_text
from localdp.queries.expressions import MOST_DEPTH, MOST_NODES, Expression
from localdp.queries.tokens import LONGEST_TEXT
from parties.query_codec import LARGEST_QUERY_BYTES, query_from_wire, query_to_wire
from parties.wire.v1 import query_pb2 as pb
from tests.unit.queries.test_text import EXPRESSIONS

BIT = pb.Expression(column="smoker")
HALF = pb.Rational(numerator="1", denominator="2")


@given(EXPRESSIONS)
@settings(max_examples=300, deadline=None)
def test_a_query_comes_back_as_the_same_text(expression: Expression) -> None:
    text = to_text(expression)
    assume(len(text) <= LONGEST_TEXT)
    message = query_to_wire(text)
    assert query_from_wire(pb.Query.FromString(message.SerializeToString())) == text
    assert parse(query_from_wire(message)) == expression


def nested(levels: int) -> pb.Expression:
    """not not ... smoker."""
    node = pb.Expression(column="smoker")
    for _ in range(levels - 1):
        node = pb.Expression(negation=node)
    return node


def linear(*terms: tuple[str, pb.Rational], constant: pb.Rational = HALF) -> pb.Expression:
    """A linear form."""
    parts = [pb.Term(coefficient=factor, column=name) for name, factor in terms]
    return pb.Expression(linear=pb.Linear(constant=constant, terms=parts))


def compare(sign: Any, left: pb.Expression, right: pb.Expression) -> pb.Expression:
    """A comparison."""
    return pb.Expression(compare=pb.Compare(comparison=sign, left=left, right=right))


def number(numerator: str, denominator: str) -> pb.Expression:
    """A number, well formed or not."""
    return pb.Expression(number=pb.Rational(numerator=numerator, denominator=denominator))


EQUAL = pb.COMPARISON_EQUAL
HOSTILE = {
    "nothing at all": pb.Expression(),
    "one level too deep": nested(MOST_DEPTH + 1),
    "as deep as protobuf parses": nested(90),
    "an empty node inside": pb.Expression(negation=pb.Expression()),
    "a conjunction of nothing": pb.Expression(all=pb.Operands()),
    "a conjunction of one": pb.Expression(all=pb.Operands(operands=[BIT])),
    "a disjunction of numbers": pb.Expression(any=pb.Operands(operands=[number("1", "1")] * 2)),
    "too many nodes": pb.Expression(all=pb.Operands(operands=[BIT] * (MOST_NODES + 1))),
    "a million operands": pb.Expression(all=pb.Operands(operands=[pb.Expression(truth=True)] * 10**6)),
    "a million labels": pb.Expression(member=pb.Member(column="region", labels=["x"] * 10**6)),
    "no labels": pb.Expression(member=pb.Member(column="region")),
    "an endless label": pb.Expression(label="x" * 10**6),
    "a label with control characters": compare(EQUAL, BIT, pb.Expression(label="a\x1b[2Jb")),
    "a column that is no name": pb.Expression(column="__import__('os')"),
    "a column that is a word of the language": pb.Expression(column="and"),
    "a column without a name": pb.Expression(column=""),
    "zero as denominator": number("1", "0"),
    "a negative denominator": number("1", "-2"),
    "no digits": number("", ""),
    "a sign alone": number("-", "1"),
    "digits of another script": number("٣", "1"),
    "an underscore": number("1_000", "1"),
    "an exponent": number("1e999999999", "1"),
    "too many digits": number("9" * 31, "1"),
    "a million digits": number("9" * 10**6, "1"),
    "an unknown comparison": compare(99, BIT, BIT),
    "an unspecified comparison": compare(pb.COMPARISON_UNSPECIFIED, BIT, BIT),
    "a comparison of conditions": compare(EQUAL, nested(2), BIT),
    "a comparison with nothing": compare(EQUAL, BIT, pb.Expression()),
    "a linear form without columns": linear(),
    "a linear form that repeats a column": linear(("age", HALF), ("age", HALF)),
    "a linear form that is a bare column": linear(
        ("age", pb.Rational(numerator="1", denominator="1")),
        constant=pb.Rational(numerator="0", denominator="1"),
    ),
    "a linear form without a constant": pb.Expression(
        linear=pb.Linear(terms=[pb.Term(coefficient=HALF, column="age")])
    ),
    "a clipped condition": pb.Expression(clip=nested(2)),
    "a clipped clip": pb.Expression(clip=pb.Expression(clip=pb.Expression(column="age"))),
    "not of a number": pb.Expression(negation=number("1", "1")),
}


@pytest.mark.parametrize("tree", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_tree_is_refused(tree: pb.Expression) -> None:
    with pytest.raises(QueryRefused) as caught:
        query_from_wire(pb.Query(root=tree))
    assert len(str(caught.value)) < 200


def test_the_deepest_tree_that_is_allowed_comes_through() -> None:
    assert query_from_wire(pb.Query(root=nested(MOST_DEPTH))).endswith("smoker")


def test_a_wide_tree_is_refused_before_it_is_built() -> None:
    # 500 conjunctions of 500 leaves: each is within the bounds, and only their sum is not.
    inner = pb.Expression(all=pb.Operands(operands=[pb.Expression(truth=True)] * 500))
    message = pb.Query(root=pb.Expression(all=pb.Operands(operands=[inner] * 500)))
    assert message.ByteSize() > LARGEST_QUERY_BYTES
    started = time.process_time()
    with pytest.raises(QueryRefused):
        query_from_wire(message)
    assert time.process_time() - started < 0.1


def test_the_largest_text_that_parses_fits_into_the_bound_on_bytes() -> None:
    digits = "0." + "0" * 27 + "1"  # little text, and a denominator of 29 digits
    terms = " + ".join(f"{digits}*c{place}" for place in range(100))
    four_bytes_each = "\U0001f600" * 4
    labels = ", ".join(f'"{four_bytes_each}{place}"' for place in range(300))
    for text in (f"clip({terms})", f"c in {{{labels}}}"):
        assert LONGEST_TEXT // 2 < len(text) <= LONGEST_TEXT
        assert query_to_wire(text).ByteSize() < LARGEST_QUERY_BYTES // 2
