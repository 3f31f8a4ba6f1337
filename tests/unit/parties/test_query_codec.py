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
@settings(deadline=None)
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


def operands(*nodes: pb.Expression) -> pb.Operands:
    """Several operands."""
    return pb.Operands(operands=nodes)


def rules(conditions: list[Any], values: list[Any], otherwise: pb.Expression | None) -> pb.Expression:
    """A decision list."""
    listed = pb.DecisionList(conditions=conditions, values=values, otherwise=otherwise)
    return pb.Expression(decision_list=listed)


BALL = pb.Expression(ball=operands(BIT))
POINT = pb.Point(coordinates=[HALF])


def gradient(**changed: Any) -> pb.Expression:
    """A gradient that would be taken, but for what is changed."""
    parts: dict[str, Any] = {"loss": pb.LOSS_HINGE, "point": POINT, "vector": BALL, "target": BIT}
    return pb.Expression(gradient=pb.Gradient(**(parts | changed)))


def tower(levels: int) -> pb.Expression:
    """Moments of moments of ..."""
    node = BALL
    for _ in range(levels):
        node = pb.Expression(moments=pb.Moments(vector=node))
    return node


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
    "a parity of nothing": pb.Expression(parity=pb.Operands()),
    "a parity of numbers": pb.Expression(parity=operands(number("1", "1"))),
    "a decision list without rules": rules([], [], BIT),
    "a decision list without its last value": rules([BIT], [BIT], None),
    "a decision list with too few values": rules([BIT, BIT], [BIT], BIT),
    "a decision list with too many values": rules([BIT], [BIT, BIT], BIT),
    "a decision list of labels": rules([BIT], [pb.Expression(label="x")], BIT),
    "a decision list of large numbers": rules([BIT], [number("2", "1")], BIT),
    "a decision list on numbers": rules([number("1", "1")], [BIT], BIT),
    "a decision list that ends in another": rules([BIT], [BIT], rules([BIT], [BIT], BIT)),
    "which of nothing": pb.Expression(which=pb.Operands()),
    "which of vectors": pb.Expression(which=operands(BALL)),
    "cells of nothing": pb.Expression(cells=pb.Operands()),
    "cells of numbers": pb.Expression(cells=operands(number("1", "1"))),
    "a ball of nothing": pb.Expression(ball=pb.Operands()),
    "a ball of balls": pb.Expression(ball=operands(BALL)),
    "a ball of labels": pb.Expression(sphere=operands(pb.Expression(label="x"))),
    "a vector of vectors": pb.Expression(vector=operands(BALL)),
    "a conjunction of vectors": pb.Expression(all=operands(BALL, BALL)),
    "nearest to nothing": pb.Expression(nearest=pb.Nearest(vector=BALL)),
    "nearest of a bit": pb.Expression(nearest=pb.Nearest(vector=BIT, centres=[POINT])),
    "an empty centre": pb.Expression(nearest=pb.Nearest(vector=BALL, centres=[pb.Point()])),
    "a centre of no numbers": pb.Expression(
        nearest=pb.Nearest(vector=BALL, centres=[pb.Point(coordinates=[pb.Rational()])])
    ),
    "a million coordinates": pb.Expression(
        nearest=pb.Nearest(vector=BALL, centres=[pb.Point(coordinates=[HALF] * 10**5)])
    ),
    "many centres": pb.Expression(nearest=pb.Nearest(vector=BALL, centres=[POINT] * (MOST_NODES + 1))),
    "a sign without a vector": pb.Expression(signed=pb.Signed(condition=BIT)),
    "a sign without a condition": pb.Expression(signed=pb.Signed(vector=BALL)),
    "moments of a bit": pb.Expression(moments=pb.Moments(vector=BIT)),
    "moments with an empty target": pb.Expression(moments=pb.Moments(vector=BALL, target=pb.Expression())),
    "moments with a vector as target": pb.Expression(moments=pb.Moments(vector=BALL, target=BALL)),
    "an unknown loss": gradient(loss=99),
    "an unspecified loss": gradient(loss=pb.LOSS_UNSPECIFIED),
    "a gradient at no point": gradient(point=pb.Point()),
    "a gradient of a bit": gradient(vector=BIT),
    "a gradient without a label": gradient(target=pb.Expression()),
    "a gradient with a number as label": gradient(target=number("1", "2")),
    "a block of no category": pb.Expression(at=pb.At(category=BALL, vector=BALL)),
    "a block without a vector": pb.Expression(at=pb.At(category=BIT)),
    "parities of nothing": pb.Expression(parities=pb.Parities(order=1)),
    "parities of order 0": pb.Expression(parities=pb.Parities(conditions=[BIT])),
    "parities of too high an order": pb.Expression(parities=pb.Parities(order=2, conditions=[BIT])),
    "parities of a huge order": pb.Expression(parities=pb.Parities(order=2**32 - 1, conditions=[BIT] * 61)),
    "too many parities": pb.Expression(parities=pb.Parities(order=20, conditions=[BIT] * 61)),
    "parities of too many bits": pb.Expression(parities=pb.Parities(order=1, conditions=[BIT] * 62)),
    "parities with an empty label": pb.Expression(
        parities=pb.Parities(order=1, conditions=[BIT], label=pb.Expression())
    ),
    "a tower of moments": tower(45),
}


@pytest.mark.parametrize("tree", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_tree_is_refused(tree: pb.Expression) -> None:
    with pytest.raises(QueryRefused) as caught:
        query_from_wire(pb.Query(root=tree))
    assert len(str(caught.value)) < 200


def test_the_deepest_trees_that_are_allowed_come_through_as_bytes() -> None:
    chosen, vectors = pb.Expression(column="smoker"), BALL
    for _ in range(MOST_DEPTH - 1):
        chosen = rules([chosen], [BIT], BIT)
    for _ in range(MOST_DEPTH - 2):
        vectors = pb.Expression(at=pb.At(category=BIT, vector=vectors))
    for tree in (nested(MOST_DEPTH), chosen, vectors):
        sent = pb.Query(root=tree).SerializeToString()
        assert "smoker" in query_from_wire(pb.Query.FromString(sent))


def test_the_gradient_of_the_hostile_list_would_be_taken_unchanged() -> None:
    assert query_from_wire(pb.Query(root=gradient())) == "gradient(hinge, [0.5], ball(smoker), smoker)"


@pytest.mark.parametrize("inside", [500, 4000])
def test_a_wide_tree_is_refused_before_it_is_built(inside: int) -> None:
    # Conjunctions of many leaves: each is within the bounds, and only their sum is not.
    inner = pb.Expression(all=pb.Operands(operands=[pb.Expression(truth=True)] * inside))
    within = pb.Query(root=pb.Expression(all=pb.Operands(operands=[inner] * (100_000 // inside))))
    beyond = pb.Query(root=pb.Expression(all=pb.Operands(operands=[inner] * (200_000 // inside))))
    assert within.ByteSize() < LARGEST_QUERY_BYTES < beyond.ByteSize()
    for message in (within, beyond):
        started = time.process_time()
        with pytest.raises(QueryRefused):
            query_from_wire(message)
        assert time.process_time() - started < 0.2


def test_the_largest_text_that_parses_fits_into_the_bound_on_bytes() -> None:
    digits = "0." + "0" * 27 + "1"  # little text, and a denominator of 29 digits
    terms = " + ".join(f"{digits}*c{place}" for place in range(1500))
    four_bytes_each = "\U0001f600" * 60
    labels = ", ".join(f'"{four_bytes_each}{place}"' for place in range(900))
    numbers = ", ".join(["[0, 1, 0, 1]"] * 1000)
    for text in (f"clip({terms})", f"c in {{{labels}}}", f"nearest(ball(c, c, c, c), {numbers})"):
        assert len(text) <= LONGEST_TEXT
        assert query_to_wire(text).ByteSize() < LARGEST_QUERY_BYTES * 3 // 4
    assert len(terms) > LONGEST_TEXT * 3 // 4 and len(labels) > LONGEST_TEXT * 3 // 4
