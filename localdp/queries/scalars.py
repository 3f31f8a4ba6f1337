"""Expressions with one value for each record: conditions, numbers, and numbers brought into [0, 1].

    Condition ::=  Column | OfRows | Truth | Compare | Member | And | Or | Not | Parity | DecisionList   true or false
    Operand   ::=  Column | OfRows | Number | Label | Truth | Linear            what a comparison compares
    Numeric   ::=  Column | OfRows | Number | Linear                            what `clip` brings into [0, 1]
    Unit      ::=  Clip | UnitDecisionList                                      a number in [0, 1]

Claim.  Every tree has one canonical text, which parses back to that very tree: hence a `Linear` is never a
bare number or a bare column, a decision list never ends in another one, and one of numbers has a number.
Checked in tests/unit/queries/test_expressions.py and test_text.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from localdp.queries.nodes import Node, bound, require, require_label, require_name, require_number

Comparison: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)
How: TypeAlias = Literal["any", "all", "count", "sum", "mean", "max", "min", "first", "last"]
HOWS: tuple[How, ...] = get_args(How)


@dataclass(frozen=True, slots=True)
class Column(Node):
    """The value of a column; by itself a condition when the column is a bit."""

    name: str

    def __post_init__(self) -> None:
        require_name(self.name)
        bound(self)


@dataclass(frozen=True, slots=True)
class OfRows(Node):
    """One value of all rows of a person: whether a condition holds in any of them, the sum of a column, how many."""

    how: How
    rows: str
    of: Condition | None = None  # None: the rows themselves, which can be counted

    def __post_init__(self) -> None:
        require(self.how in HOWS, f"rows are brought down to one value by {', '.join(HOWS)}")
        require_name(self.rows)
        needs = self.how != "count" and self.of is None
        require(not needs, f"`{self.how}` takes rows and what is looked at in each, as in any(visit: died)")
        of_condition = self.how in ("any", "all", "count")
        known = self.of is None or isinstance(self.of, Condition if of_condition else Column)
        require(known, f"`{self.how}` takes a {'condition' if of_condition else 'column'} of each row")
        bound(self, () if self.of is None else (self.of,))


@dataclass(frozen=True, slots=True)
class Number(Node):
    """An exact rational."""

    value: Fraction

    def __post_init__(self) -> None:
        require_number(self.value)
        bound(self)


@dataclass(frozen=True, slots=True)
class Label(Node):
    """One of the labels of a category."""

    text: str

    def __post_init__(self) -> None:
        require_label(self.text)
        bound(self)


@dataclass(frozen=True, slots=True)
class Truth(Node):
    """True of every record, or of none."""

    value: bool

    def __post_init__(self) -> None:
        require(isinstance(self.value, bool), "a truth value is true or false")
        bound(self)


@dataclass(frozen=True, slots=True)
class Linear(Node):
    """constant + sum of coefficient * column, over different columns, or values of rows; bits count as 0 and 1."""

    constant: Fraction
    terms: tuple[tuple[Fraction, Term], ...]

    def __post_init__(self) -> None:
        require(isinstance(self.terms, tuple) and len(self.terms) >= 1, "a linear form needs a column")
        require_number(self.constant)
        for coefficient, term in self.terms:
            require_number(coefficient)
            if not isinstance(term, OfRows):
                require_name(term)
        names = {column for _, column in self.terms}
        require(len(names) == len(self.terms), "a linear form names each column once")
        bare = self.constant == 0 and len(self.terms) == 1 and self.terms[0][0] == 1
        require(not bare, "a linear form that is a bare column is written as that column")
        of_rows = [term for _, term in self.terms if isinstance(term, OfRows)]
        bound(self, of_rows, leaves=len(self.terms))


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """left op right."""

    op: Comparison
    left: Operand
    right: Operand

    def __post_init__(self) -> None:
        require(self.op in COMPARISONS, "a comparison is one of == != < <= > >=")
        for operand in (self.left, self.right):
            require(
                isinstance(operand, Operand), "a comparison compares columns, numbers, labels and truths"
            )
        bound(self, (self.left, self.right))


@dataclass(frozen=True, slots=True)
class Member(Node):
    """column in {labels}: the category is one of these."""

    column: str
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        require_name(self.column)
        require(isinstance(self.labels, tuple) and len(self.labels) >= 1, "a set of labels is not empty")
        bound(self, leaves=len(self.labels))
        for label in self.labels:
            require_label(label)


@dataclass(frozen=True, slots=True)
class And(Node):
    """All of at least two conditions."""

    operands: tuple[Condition, ...]

    def __post_init__(self) -> None:
        require_conditions(self.operands, "a conjunction or disjunction")
        bound(self, self.operands)


@dataclass(frozen=True, slots=True)
class Or(Node):
    """At least one of at least two conditions."""

    operands: tuple[Condition, ...]

    def __post_init__(self) -> None:
        require_conditions(self.operands, "a conjunction or disjunction")
        bound(self, self.operands)


@dataclass(frozen=True, slots=True)
class Not(Node):
    """The opposite of a condition."""

    operand: Condition

    def __post_init__(self) -> None:
        require(isinstance(self.operand, Condition), "`not` takes a condition")
        bound(self, (self.operand,))


@dataclass(frozen=True, slots=True)
class Clip(Node):
    """A number brought into [0, 1]: max(0, min(1, operand))."""

    operand: Numeric

    def __post_init__(self) -> None:
        require(isinstance(self.operand, Numeric), "`clip` takes a number, a column or a linear form")
        bound(self, (self.operand,))


@dataclass(frozen=True, slots=True)
class Parity(Node):
    """Whether an odd number of the conditions hold."""

    operands: tuple[Condition, ...]

    def __post_init__(self) -> None:
        require_conditions(self.operands, "`parity`", least=1)
        bound(self, self.operands)


@dataclass(frozen=True, slots=True)
class DecisionList(Node):
    """The value of the first rule whose condition holds, or else the last value; all of them conditions."""

    rules: tuple[tuple[Condition, Condition], ...]
    otherwise: Condition

    def __post_init__(self) -> None:
        _require_rules(self.rules, self.otherwise)
        values = (*(value for _, value in self.rules), self.otherwise)
        require(
            all(isinstance(value, Condition) for value in values),
            "the values of a decision list of conditions are conditions",
        )
        bound(self, [*(part for rule in self.rules for part in rule), self.otherwise])


@dataclass(frozen=True, slots=True)
class UnitDecisionList(Node):
    """The same with numbers in [0, 1], at least one of them not a condition."""

    rules: tuple[tuple[Condition, Value], ...]
    otherwise: Value

    def __post_init__(self) -> None:
        _require_rules(self.rules, self.otherwise)
        values = (*(value for _, value in self.rules), self.otherwise)
        for value in values:
            within = not isinstance(value, Number) or 0 <= value.value <= 1
            require(isinstance(value, Value) and within, VALUES)
        require(
            not all(isinstance(value, Condition) for value in values),
            "a decision list whose values are all conditions is a condition",
        )
        bound(self, [*(part for rule in self.rules for part in rule), self.otherwise])


VALUES = "the values of a decision list are conditions, clipped numbers, or numbers between 0 and 1"

Term: TypeAlias = str | OfRows  # of a linear form: a column by its name, or a value of rows
Condition: TypeAlias = Column | OfRows | Truth | Compare | Member | And | Or | Not | Parity | DecisionList
Operand: TypeAlias = Column | OfRows | Number | Label | Truth | Linear
Numeric: TypeAlias = Column | OfRows | Number | Linear
Unit: TypeAlias = Clip | UnitDecisionList
Component: TypeAlias = Condition | Clip | UnitDecisionList  # of a vector
Value: TypeAlias = Condition | Clip | UnitDecisionList | Number  # of a rule
Scalar: TypeAlias = Condition | Clip | UnitDecisionList | Number | Linear  # what can be a number


def require_conditions(operands: object, what: str, least: int = 2) -> None:
    """Refuse what is not a tuple of enough conditions."""
    fewest = "a condition" if least == 1 else "at least two conditions"
    require(isinstance(operands, tuple) and len(operands) >= least, f"{what} takes {fewest}")
    for operand in operands if isinstance(operands, tuple) else ():
        require(isinstance(operand, Condition), f"{what} takes conditions")


def decision_list(
    rules: tuple[tuple[Condition, Value], ...], otherwise: Value
) -> DecisionList | UnitDecisionList:
    """The one decision list that these rules make: a condition when all values are."""
    values = (*(value for _, value in rules), otherwise)
    if all(isinstance(value, Condition) for value in values):
        return DecisionList(rules, otherwise)  # type: ignore[arg-type]
    return UnitDecisionList(rules, otherwise)


def _require_rules(rules: object, otherwise: object) -> None:
    require(isinstance(rules, tuple) and len(rules) >= 1, "a decision list has a rule")
    for rule in rules if isinstance(rules, tuple) else ():
        require(isinstance(rule, tuple) and len(rule) == 2, "a rule is a condition and a value")
        require(isinstance(rule[0], Condition), "`if` takes a condition")
    require(
        not isinstance(otherwise, DecisionList | UnitDecisionList),
        "a decision list that ends in another one is written as one: else if",
    )
