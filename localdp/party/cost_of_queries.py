"""What a query costs: a price for each kind of node, and one for the entries of the vectors that it makes.

A node is some numpy calls, whatever the number of people, and some memory for each of them.  A price is

    (fixed us, ns a person), and the same for each operand: child, label, term or coordinate.

Checked in tests/unit/party/test_cost.py: every kind of node has a price.
"""

from __future__ import annotations

from typing import NamedTuple

from localdp.domains import CategoryDomain, Domain, IntegerDomain
from localdp.party.cost import Work
from localdp.queries.encoded import Query
from localdp.queries.expressions import (
    And,
    At,
    Ball,
    BallVector,
    Cells,
    Clip,
    Column,
    Compare,
    DecisionList,
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
)
from localdp.queries.nodes import Node
from localdp.queries.vector_query import VectorQuery

_US, _NS = 1e-6, 1e-9


class _Price(NamedTuple):
    """What a node costs besides its children."""

    fixed: float  # us
    person: float  # ns
    operand_fixed: float = 0.0  # us
    operand: float = 0.0  # ns


PRICES: dict[type[Node], _Price] = {
    Column: _Price(1.5, 0.05),
    Number: _Price(1.0, 0.2),
    Label: _Price(0.5, 0.0),
    Truth: _Price(2.5, 0.2),
    Linear: _Price(8.0, 1.0, 4.0, 1.5),
    Compare: _Price(24.0, 0.8),
    Member: _Price(8.0, 2.5, 0.7, 0.0),
    Not: _Price(2.0, 0.2),
    And: _Price(3.0, 0.1, 1.0, 0.05),
    Or: _Price(3.0, 0.1, 1.0, 0.05),
    Parity: _Price(3.0, 0.1, 1.0, 0.05),
    Clip: _Price(10.0, 4.0),
    DecisionList: _Price(4.0, 1.0, 3.0, 2.5),
    UnitDecisionList: _Price(8.0, 3.0, 3.0, 2.5),
    Which: _Price(4.0, 1.5, 1.5, 4.0),
    Cells: _Price(10.0, 2.0, 6.0, 3.0),
    Vector: _Price(8.0, 2.0, 3.0, 0.0),
    Ball: _Price(30.0, 5.0, 8.0, 0.0),
    Sphere: _Price(30.0, 5.0, 8.0, 0.0),
    Signed: _Price(8.0, 3.0),
    Moments: _Price(20.0, 5.0, 6.0, 0.0),
    Gradient: _Price(60.0, 30.0, 5.0, 3.0),
    At: _Price(15.0, 5.0),
    Nearest: _Price(15.0, 10.0, 5.0, 2.5),
    Parities: _Price(8.0, 2.0, 5.0, 3.0),
}
_ENTRY = Work(1.0 * _US, 25 * _NS)  # of a vector that is made for a record
_GRID = Work(15 * _US, 1 * _NS)  # an answer as the randomizer's input
_LISTED = 4096  # values of a column, up to which there is a table of all of them
_LOOKED_UP = Work(30 * _US, 15 * _NS)
_SORTED = Work(30 * _US, 150 * _NS)
_HASHED_SECONDS = 2 * _US  # of one value's text


def query_work(query: Query) -> Work:
    """Evaluating a query on the records of a part, and putting it on a grid."""
    entries = query.entries if isinstance(query, VectorQuery) and _makes_vectors(query) else 0
    return _nodes(query.expression) + _GRID + Work(entries * _ENTRY.fixed, entries * _ENTRY.person)


def fingerprint_work(query: Query) -> Work:
    """The same for a bare column whose values are hashed."""
    (name,) = query.columns
    domain = query.schema[name]
    values = _values(domain)
    hashed = Work(person=_HASHED_SECONDS) if values > _LISTED else Work(values * _HASHED_SECONDS)
    return query_work(query) + (_LOOKED_UP if isinstance(domain, CategoryDomain) else _SORTED) + hashed


def _nodes(node: Node) -> Work:
    """Of a node and all below it."""
    price = PRICES[type(node)]
    below = sum(child.size for child in node.children)
    operands = len(node.children) + node.size - 1 - below
    own = Work(
        (price.fixed + operands * price.operand_fixed) * _US,
        (price.person + operands * price.operand) * _NS,
    )
    for child in node.children:
        own += _nodes(child)
    return own


def _makes_vectors(query: VectorQuery) -> bool:
    return isinstance(query.expression, BallVector | Vector | Nearest | Cells | Which)


def _values(domain: Domain) -> int:
    """How many values a column can have."""
    match domain:
        case CategoryDomain(labels):
            return len(labels)
        case IntegerDomain(low, high):
            return high - low + 1
    return 2
