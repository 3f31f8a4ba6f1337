"""What a query costs: a price for each kind of node, and one for the entries of the vectors that it makes.

A node is some numpy calls, whatever the number of people, and some memory for each of them.  A price is

    (fixed us, ns a person), and the same for each operand: child, label, term or coordinate.

Checked in tests/unit/party/test_cost.py: every kind of node has a price.
"""

from __future__ import annotations

from typing import NamedTuple

from localdp.cohorts import Cohort
from localdp.domains import CategoryDomain, Domain, IntegerDomain, Schema
from localdp.party.cost import Work
from localdp.queries.blocks import PeopleInBlocks
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
    OfRows,
    Or,
    Parities,
    Parity,
    Road,
    Signed,
    Sphere,
    Truth,
    UnitDecisionList,
    Vector,
    Which,
)
from localdp.queries.nodes import Node
from localdp.queries.of_rows import rows_of
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
    OfRows: _Price(30.0, 6.0, 8.0, 2.0),  # of one row of each person
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
    Road: _Price(120.0, 40.0, 30.0, 25.0),
    Parities: _Price(8.0, 2.0, 5.0, 3.0),
}
_ENTRY = Work(1.0 * _US, 25 * _NS)  # of a vector that is made for a record
_GRID = Work(15 * _US, 1 * _NS)  # an answer as the randomizer's input
_LISTED = 4096  # values of a column, up to which there is a table of all of them
_LOOKED_UP = Work(30 * _US, 15 * _NS)
_SORTED = Work(30 * _US, 150 * _NS)
_PARTITIONED_SECONDS = 150 * _NS  # a word of coins, and its place among all
_PASS_SECONDS, _PASS_PERSON_SECONDS = 30 * _US, 3 * _NS  # of numpy over everybody
_SOLVED_LINE_SECONDS = 60 * _US  # of the matrices of all blocks together
_SOLVED_PAIR_SECONDS, _SOLVED_TRIPLE_SECONDS = 12 * _NS, 1 * _NS  # of lines, of the matrix of one block
_HASHED_SECONDS = 2 * _US  # of one value's text


def query_work(query: Query) -> Work:
    """Evaluating a query on the records of a part, and putting it on a grid."""
    entries = query.entries if isinstance(query, VectorQuery) and _makes_vectors(query) else 0
    return (
        _nodes(query.expression, query.schema)
        + _GRID
        + Work(entries * _ENTRY.fixed, entries * _ENTRY.person)
    )


def blocks_seconds(blocks: PeopleInBlocks, people: int, number: int) -> float:
    """Computing an estimate of each of a `number` of blocks: in one piece, since every block is of all people."""
    inputs, estimator = blocks.estimate.inputs, blocks.estimate.estimator
    passes = estimator.passes(inputs.length)
    once = query_work(inputs).of(Cohort(0, people)) + people * _PARTITIONED_SECONDS
    gone_through = passes * (_PASS_SECONDS + people * _PASS_PERSON_SECONDS)
    return once + gone_through + estimator.solves * _solved_seconds(inputs.length, number)


def _solved_seconds(lines: int, blocks: int) -> float:
    """Solving a matrix of so many lines for each block."""
    one = lines**2 * _SOLVED_PAIR_SECONDS + lines**3 * _SOLVED_TRIPLE_SECONDS
    return lines * _SOLVED_LINE_SECONDS + blocks * one


def fingerprint_work(query: Query) -> Work:
    """The same for a bare column whose values are hashed."""
    (name,) = query.columns
    domain = query.schema[name]
    values = _values(domain)
    hashed = Work(person=_HASHED_SECONDS) if values > _LISTED else Work(values * _HASHED_SECONDS)
    return query_work(query) + (_LOOKED_UP if isinstance(domain, CategoryDomain) else _SORTED) + hashed


def _nodes(node: Node, schema: Schema) -> Work:
    """Of a node and all below it; what is below rows is done for each of them."""
    price = PRICES[type(node)]
    below = sum(child.size for child in node.children)
    operands = len(node.children) + node.size - 1 - below
    own = Work(
        (price.fixed + operands * price.operand_fixed) * _US,
        (price.person + operands * price.operand) * _NS,
    )
    inside = schema.of_one_row if isinstance(node, OfRows) else schema
    for child in node.children:
        own += _nodes(child, inside)
    return own if not isinstance(node, OfRows) else own.times(rows_of(node, schema).most)


def _makes_vectors(query: VectorQuery) -> bool:
    return isinstance(query.expression, BallVector | Vector | Nearest | Road | Cells | Which)


def _values(domain: Domain) -> int:
    """How many values a column can have."""
    match domain:
        case CategoryDomain(labels):
            return len(labels)
        case IntegerDomain(low, high):
            return high - low + 1
    return 2
