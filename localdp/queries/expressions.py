"""Queries as data: the syntax of Definition 12.4, and of the queries that ask for more than one number.

    Expression  ::=  Condition | Operand | Unit | Categorical | Vector | BallVector | Parities

`scalars` has the nodes with one value for each record, `vectors` the others, `nodes` the bounds on all trees.
"""

from __future__ import annotations

from typing import TypeAlias

from localdp.queries.nodes import MOST_DEPTH, MOST_DIGITS, MOST_NODES, Node
from localdp.queries.scalars import (
    COMPARISONS,
    And,
    Clip,
    Column,
    Compare,
    Comparison,
    Condition,
    DecisionList,
    Label,
    Linear,
    Member,
    Not,
    Number,
    Numeric,
    Operand,
    Or,
    Parity,
    Scalar,
    Truth,
    Unit,
    UnitDecisionList,
    Value,
    decision_list,
)
from localdp.queries.vectors import (
    LOSSES,
    At,
    Ball,
    BallVector,
    Categorical,
    Cells,
    Component,
    Gradient,
    Loss,
    Moments,
    Nearest,
    Parities,
    Point,
    Signed,
    Sphere,
    Vector,
    Which,
)

__all__ = [
    "COMPARISONS",
    "LOSSES",
    "MOST_DEPTH",
    "MOST_DIGITS",
    "MOST_NODES",
    "And",
    "At",
    "Ball",
    "BallVector",
    "Categorical",
    "Cells",
    "Clip",
    "Column",
    "Compare",
    "Comparison",
    "Component",
    "Condition",
    "DecisionList",
    "Expression",
    "Gradient",
    "Label",
    "Linear",
    "Loss",
    "Member",
    "Moments",
    "Nearest",
    "Not",
    "Number",
    "Numeric",
    "Operand",
    "Or",
    "Parities",
    "Parity",
    "Point",
    "Scalar",
    "Several",
    "Signed",
    "Sphere",
    "Truth",
    "Unit",
    "UnitDecisionList",
    "Value",
    "Vector",
    "Which",
    "columns_of",
    "decision_list",
]

Several: TypeAlias = Vector | Which | Cells | Nearest | BallVector | Parities  # the nodes of `vectors`
Expression: TypeAlias = Condition | Operand | Clip | UnitDecisionList | Several  # every node


def columns_of(expression: Node) -> frozenset[str]:
    """The names of the columns that an expression looks at."""
    match expression:
        case Column(name) | Member(name):
            return frozenset({name})
        case Linear(_, terms):
            return frozenset(column for _, column in terms)
        case _:
            return frozenset[str]().union(*map(columns_of, expression.children))
