"""The abstract syntax: what cannot be built, and how large a tree may be."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from localdp.errors import QueryRefused
from localdp.queries.expressions import (
    MOST_DEPTH,
    MOST_NODES,
    And,
    At,
    Ball,
    Cells,
    Clip,
    Column,
    Compare,
    DecisionList,
    Expression,
    Gradient,
    Label,
    Linear,
    Member,
    Moments,
    Nearest,
    Not,
    Number,
    Or,
    Parities,
    Parity,
    Signed,
    Sphere,
    Truth,
    UnitDecisionList,
    Vector,
    Which,
    columns_of,
)

A, B, ONE = Column("a"), Column("b"), Fraction(1)
HALF, BALL = Number(ONE / 2), Ball((A,))


@pytest.mark.parametrize(
    ("node", "arguments"),
    [
        (Column, ("and",)),
        (Column, ("a b",)),
        (Column, (3,)),
        (Number, (1,)),
        (Number, (0.5,)),
        (Number, (Fraction(10**30),)),
        (Number, (Fraction(1, 10**30),)),
        (Label, ("\n",)),
        (Label, ("x" * 257,)),
        (Truth, (1,)),
        (Linear, (ONE, ())),
        (Linear, (Fraction(0), ((ONE, "a"),))),
        (Linear, (ONE, ((ONE, "a"), (ONE, "a")))),
        (Linear, (ONE, ((ONE, "not"),))),
        (Linear, (ONE, ((2, "a"),))),
        (Linear, (ONE, [(ONE, "a")])),
        (Compare, ("=", A, B)),
        (Compare, ("==", A, Not(B))),
        (Compare, ("==", Clip(A), B)),
        (Compare, ("==", "a", "b")),
        (Member, ("a", ())),
        (Member, ("a", ["x"])),
        (Member, ("a", (3,))),
        (Member, ("a", ("x",) * MOST_NODES)),
        (And, ((A,),)),
        (And, ([A, B],)),
        (And, ((A, Number(ONE)),)),
        (Or, ((),)),
        (Or, ((A, Clip(B)),)),
        (Not, (Label("x"),)),
        (Clip, (Truth(True),)),
        (Clip, (Clip(A),)),
        (Parity, ((),)),
        (Parity, ([A],)),
        (Parity, ((HALF,),)),
        (DecisionList, ((), A)),
        (DecisionList, ([(A, B)], A)),
        (DecisionList, (((A,),), A)),
        (DecisionList, (((A, HALF),), A)),
        (DecisionList, (((HALF, A),), A)),
        (DecisionList, (((A, B),), DecisionList(((A, B),), A))),
        (UnitDecisionList, (((A, B),), A)),
        (UnitDecisionList, (((A, Number(ONE * 2)),), A)),
        (UnitDecisionList, (((A, Number(-ONE)),), A)),
        (UnitDecisionList, (((A, Linear(ONE, ((ONE, "a"),))),), A)),
        (UnitDecisionList, (((A, HALF),), DecisionList(((A, B),), A))),
        (Which, ((),)),
        (Which, ((HALF,),)),
        (Cells, ((),)),
        (Cells, ((HALF,),)),
        (Cells, ((BALL,),)),
        (Vector, ((),)),
        (Vector, ((HALF,),)),
        (Ball, ((),)),
        (Ball, ((Label("x"),),)),
        (Ball, ((BALL,),)),
        (Sphere, ([A],)),
        (Signed, (HALF, BALL)),
        (Signed, (A, A)),
        (Moments, (A,)),
        (Moments, (BALL, BALL)),
        (Moments, (BALL, Label("x"))),
        (Nearest, (A, ((ONE,),))),
        (Nearest, (BALL, ())),
        (Nearest, (BALL, ((),))),
        (Nearest, (BALL, ((1,),))),
        (Nearest, (BALL, ([ONE],))),
        (Nearest, (BALL, ((ONE,) * MOST_NODES,))),
        (Gradient, ("cubic", (ONE,), BALL, A)),
        (Gradient, ("hinge", (), BALL, A)),
        (Gradient, ("hinge", (ONE,), A, A)),
        (Gradient, ("hinge", (ONE,), BALL, HALF)),
        (Gradient, ("squared", (ONE,), BALL, BALL)),
        (At, (HALF, BALL)),
        (At, (A, A)),
        (Parities, (1, ())),
        (Parities, (0, (A,))),
        (Parities, (2, (A,))),
        (Parities, (True, (A,))),
        (Parities, (1, (HALF,))),
        (Parities, (1, (A,), HALF)),
        (Parities, (1, (A,) * 62)),
        (Parities, (23, (A,) * 23)),
        (Parities, (5, (A,) * 61)),
    ],
)
def test_a_malformed_node_cannot_be_built(node: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(QueryRefused):
        node(*arguments)


def test_a_tree_grows_to_its_depth_and_no_further() -> None:
    tree: Any = A
    for _ in range(MOST_DEPTH - 1):
        tree = Not(tree)
    assert tree.depth == MOST_DEPTH
    with pytest.raises(QueryRefused, match="32 levels deep"):
        Not(tree)


def test_a_tree_that_shares_its_branches_still_counts_every_node() -> None:
    tree: Any = A
    for _ in range(11):
        tree = And((tree, tree))
    assert tree.size == MOST_NODES - 1
    with pytest.raises(QueryRefused, match="4096 nodes"):
        And((tree, tree))


def test_depth_and_size_are_no_part_of_equality() -> None:
    assert Not(A) == Not(Column("a"))
    assert hash(Not(A)) == hash(Not(Column("a")))
    assert repr(Not(A)) == "Not(operand=Column(name='a'))"


@pytest.mark.parametrize(
    ("expression", "columns"),
    [
        (Truth(True), set()),
        (Compare("<", Linear(ONE, ((ONE, "a"), (ONE, "b"))), Column("c")), {"a", "b", "c"}),
        (Or((A, And((Not(B), Member("c", ("x",)))))), {"a", "b", "c"}),
        (Clip(A), {"a"}),
        (Compare("==", A, Label("x")), {"a"}),
        (DecisionList(((A, B),), Column("c")), {"a", "b", "c"}),
        (Gradient("squared", (ONE,), Ball((A,)), B), {"a", "b"}),
        (At(Cells((A, Which((B,)))), Moments(Sphere((Column("c"),)), Column("d"))), {"a", "b", "c", "d"}),
        (Nearest(Signed(A, Ball((B,))), ((ONE,),)), {"a", "b"}),
        (Parities(1, (A, B), Column("c")), {"a", "b", "c"}),
        (Vector((Parity((A,)), Clip(B))), {"a", "b"}),
    ],
)
def test_the_columns_of_an_expression_are_all_found(expression: Expression, columns: set[str]) -> None:
    assert columns_of(expression) == columns


def test_the_most_parities_are_allowed_and_no_more() -> None:
    assert Parities(22, (A,) * 22).number == 2**22 - 1
    assert Parities(22, (A,) * 22, B).number == 2**22
