"""What every node of an expression shares: its children, its depth and its size, bounded when it is made.

Claim.  A tree beyond the bounds below cannot be built, so recursion over an expression is always safe,
whether it came from text or from the network.  Checked in tests/unit/queries/test_expressions.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from localdp.domains import is_column_name
from localdp.domains.columns import LONGEST_LABEL, is_label
from localdp.errors import QueryRefused

MOST_DEPTH = 32
MOST_NODES = 4096  # labels, terms and the numbers of points count as nodes
MOST_DIGITS = 30  # of a literal, hence of the numerator and of the denominator of every number
Point: TypeAlias = tuple[Fraction, ...]
_NUMBERS_BELOW: int = 10**MOST_DIGITS


@dataclass(frozen=True, slots=True)
class Node:
    """Children, depth and size of the tree below; they follow from the other fields."""

    children: tuple[Node, ...] = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)


def bound(node: Node, children: Iterable[Node] = (), leaves: int = 0) -> None:
    """Fill in what follows from the children, or refuse a tree that is too deep or too large."""
    children = tuple(children)
    object.__setattr__(node, "children", children)
    object.__setattr__(node, "depth", 1 + max((child.depth for child in children), default=0))
    object.__setattr__(node, "size", 1 + leaves + sum(child.size for child in children))
    require(node.depth <= MOST_DEPTH, f"a query is at most {MOST_DEPTH} levels deep")
    require(node.size <= MOST_NODES, f"a query has at most {MOST_NODES} nodes")


def require(condition: bool, otherwise: str) -> None:
    """Refuse the query unless the condition holds."""
    if not condition:
        raise QueryRefused(otherwise)


def require_name(name: object) -> None:
    """Refuse what cannot be the name of a column."""
    require(is_column_name(name), "a column name is a letter or _, then at most 63 letters, digits or _")


def require_label(text: object) -> None:
    """Refuse what cannot be a label."""
    require(is_label(text), f"a label is printable text of at most {LONGEST_LABEL} characters")


def require_number(value: object) -> None:
    """Refuse what is no rational of bounded size."""
    bounded = isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) < _NUMBERS_BELOW
    require(bounded, f"a number is a fraction of integers of at most {MOST_DIGITS} digits")
