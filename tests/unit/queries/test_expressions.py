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
    Clip,
    Column,
    Compare,
    Expression,
    Label,
    Linear,
    Member,
    Not,
    Number,
    Or,
    Truth,
    columns_of,
)

A, B, ONE = Column("a"), Column("b"), Fraction(1)


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
    for _ in range(8):
        tree = And((tree, tree))
    assert tree.size == MOST_NODES - 1
    with pytest.raises(QueryRefused, match="512 nodes"):
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
    ],
)
def test_the_columns_of_an_expression_are_all_found(expression: Expression, columns: set[str]) -> None:
    assert columns_of(expression) == columns
