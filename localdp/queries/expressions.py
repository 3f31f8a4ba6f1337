"""Statistical queries as data: the syntax of Definition 12.4, functions of one record into [0, 1].

    Condition  ::=  Column | Truth | Compare | Member | And | Or | Not        true or false of a record
    Operand    ::=  Column | Number | Label | Truth | Linear                  what a comparison compares
    Numeric    ::=  Column | Number | Linear                                  what `clip` brings into [0, 1]
    Expression ::=  Condition | Operand | Clip | Vector                       a vector stands at the top only

Claims.  A tree beyond the bounds below cannot be built, so recursion over an expression is always safe,
whether it came from text or from the network.  Every tree has one canonical text, which parses back to that
very tree: hence a `Linear` is never a bare number or a bare column.  Checked in
tests/unit/queries/test_expressions.py and test_text.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from localdp.domains import is_column_name
from localdp.domains.columns import LONGEST_LABEL, is_label
from localdp.errors import QueryRefused

MOST_DEPTH = 32
MOST_NODES = 512
MOST_DIGITS = 30  # of a literal, hence of the numerator and of the denominator of every number
_NUMBERS_BELOW: int = 10**MOST_DIGITS

Comparison: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)


@dataclass(frozen=True, slots=True)
class _Node:
    """Depth and size of the tree below, bounded at construction; they follow from the other fields."""

    depth: int = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Column(_Node):
    """The value of a column; by itself a condition when the column is a bit."""

    name: str

    def __post_init__(self) -> None:
        _require_name(self.name)
        _bound(self)


@dataclass(frozen=True, slots=True)
class Number(_Node):
    """An exact rational."""

    value: Fraction

    def __post_init__(self) -> None:
        _require_number(self.value)
        _bound(self)


@dataclass(frozen=True, slots=True)
class Label(_Node):
    """One of the labels of a category."""

    text: str

    def __post_init__(self) -> None:
        _require_label(self.text)
        _bound(self)


@dataclass(frozen=True, slots=True)
class Truth(_Node):
    """True of every record, or of none."""

    value: bool

    def __post_init__(self) -> None:
        _require(isinstance(self.value, bool), "a truth value is true or false")
        _bound(self)


@dataclass(frozen=True, slots=True)
class Linear(_Node):
    """constant + sum of coefficient * column, over different columns; bits count as 0 and 1."""

    constant: Fraction
    terms: tuple[tuple[Fraction, str], ...]

    def __post_init__(self) -> None:
        _require(isinstance(self.terms, tuple) and len(self.terms) >= 1, "a linear form needs a column")
        _require_number(self.constant)
        for coefficient, column in self.terms:
            _require_number(coefficient)
            _require_name(column)
        names = {column for _, column in self.terms}
        _require(len(names) == len(self.terms), "a linear form names each column once")
        bare = self.constant == 0 and len(self.terms) == 1 and self.terms[0][0] == 1
        _require(not bare, "a linear form that is a bare column is written as that column")
        _bound(self, leaves=len(self.terms))


@dataclass(frozen=True, slots=True)
class Compare(_Node):
    """left op right."""

    op: Comparison
    left: Operand
    right: Operand

    def __post_init__(self) -> None:
        _require(self.op in COMPARISONS, "a comparison is one of == != < <= > >=")
        for operand in (self.left, self.right):
            _require(
                isinstance(operand, Operand), "a comparison compares columns, numbers, labels and truths"
            )
        _bound(self, (self.left, self.right))


@dataclass(frozen=True, slots=True)
class Member(_Node):
    """column in {labels}: the category is one of these."""

    column: str
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        _require_name(self.column)
        _require(isinstance(self.labels, tuple) and len(self.labels) >= 1, "a set of labels is not empty")
        _bound(self, leaves=len(self.labels))
        for label in self.labels:
            _require_label(label)


@dataclass(frozen=True, slots=True)
class And(_Node):
    """All of at least two conditions."""

    operands: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _require_conditions(self.operands)
        _bound(self, self.operands)


@dataclass(frozen=True, slots=True)
class Or(_Node):
    """At least one of at least two conditions."""

    operands: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _require_conditions(self.operands)
        _bound(self, self.operands)


@dataclass(frozen=True, slots=True)
class Not(_Node):
    """The opposite of a condition."""

    operand: Condition

    def __post_init__(self) -> None:
        _require(isinstance(self.operand, Condition), "`not` takes a condition")
        _bound(self, (self.operand,))


@dataclass(frozen=True, slots=True)
class Clip(_Node):
    """A number brought into [0, 1]: max(0, min(1, operand))."""

    operand: Numeric

    def __post_init__(self) -> None:
        _require(isinstance(self.operand, Numeric), "`clip` takes a number, a column or a linear form")
        _bound(self, (self.operand,))


@dataclass(frozen=True, slots=True)
class Vector(_Node):
    """Several values of one record at once, each a condition or a clipped number."""

    components: tuple[Condition | Clip, ...]

    def __post_init__(self) -> None:
        _require(
            isinstance(self.components, tuple) and len(self.components) >= 1, "a vector has a component"
        )
        for component in self.components:
            _require(
                isinstance(component, Condition | Clip),
                "the components of a vector are conditions or clipped",
            )
        _bound(self, self.components)


Condition: TypeAlias = Column | Truth | Compare | Member | And | Or | Not
Operand: TypeAlias = Column | Number | Label | Truth | Linear
Numeric: TypeAlias = Column | Number | Linear
Expression: TypeAlias = (
    Column
    | Number
    | Label
    | Truth
    | Compare
    | Member
    | And
    | Or
    | Not
    | Linear
    | Clip
    | Vector  # every node
)


def columns_of(expression: Expression) -> frozenset[str]:
    """The names of the columns that an expression looks at."""
    match expression:
        case Column(name) | Member(name):
            return frozenset({name})
        case Linear(_, terms):
            return frozenset(column for _, column in terms)
        case Compare(_, left, right):
            return columns_of(left) | columns_of(right)
        case Not(operand) | Clip(operand):
            return columns_of(operand)
        case And(operands) | Or(operands) | Vector(operands):
            return frozenset[str]().union(*map(columns_of, operands))
        case _:
            return frozenset()


def _bound(node: _Node, children: Iterable[_Node] = (), leaves: int = 0) -> None:
    children = tuple(children)
    object.__setattr__(node, "depth", 1 + max((child.depth for child in children), default=0))
    object.__setattr__(node, "size", 1 + leaves + sum(child.size for child in children))
    _require(node.depth <= MOST_DEPTH, f"a query is at most {MOST_DEPTH} levels deep")
    _require(node.size <= MOST_NODES, f"a query has at most {MOST_NODES} nodes")


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise QueryRefused(otherwise)


def _require_name(name: object) -> None:
    _require(is_column_name(name), "a column name is a letter or _, then at most 63 letters, digits or _")


def _require_label(text: object) -> None:
    _require(is_label(text), f"a label is printable text of at most {LONGEST_LABEL} characters")


def _require_number(value: object) -> None:
    bounded = isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) < _NUMBERS_BELOW
    _require(bounded, f"a number is a fraction of integers of at most {MOST_DIGITS} digits")


def _require_conditions(operands: object) -> None:
    _require(
        isinstance(operands, tuple) and len(operands) >= 2, "`and` and `or` take at least two conditions"
    )
    for operand in operands if isinstance(operands, tuple) else ():
        _require(isinstance(operand, Condition), "`and` and `or` take conditions")
