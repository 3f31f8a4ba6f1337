"""From text to expressions with one value, by recursive descent over a bounded list of tokens.

    scalar     ::=  or | "if" or "then" or ("else" "if" or "then" or)* "else" or
    or         ::=  and ("or" and)*
    and        ::=  not ("and" not)*
    not        ::=  "not" not | comparison
    comparison ::=  sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum | "in" "{" string ("," string)* "}"]
    sum        ::=  product (("+" | "-") product)*
    product    ::=  prefix (("*" | "/") prefix)*
    prefix     ::=  "-" prefix | atom
    atom       ::=  number | string | name | "true" | "false" | "clip" "(" sum ")" | "(" scalar ")"
                 |  "parity" "(" scalar ("," scalar)* ")"
                 |  how "(" name [":" scalar] ")"
    how        ::=  "any" | "all" | "count" | "sum" | "mean" | "max" | "min" | "first" | "last"

Arithmetic is carried out exactly while parsing: what is left is a `Number`, a `Column` or a `Linear`.  A factor, a sign or
a summand behind parentheses handles all terms within them once more, so terms are counted as they are handled.
Checked in tests/unit/queries/test_parser.py and test_parsing_time.py.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from fractions import Fraction
from typing import TypeVar

from localdp.queries.arithmetic import product, quotient, scaled, total
from localdp.queries.nodes import MOST_NODES
from localdp.queries.scalars import (
    COMPARISONS,
    HOWS,
    VALUES,
    And,
    Clip,
    Column,
    Compare,
    Comparison,
    Condition,
    DecisionList,
    Label,
    Member,
    Not,
    Number,
    Numeric,
    OfRows,
    Operand,
    Or,
    Parity,
    Truth,
    UnitDecisionList,
    Value,
    decision_list,
)
from localdp.queries.tokens import MOST_OPERANDS, Cursor, Token, number_value
from localdp.queries.vector_text import NAMES

T = TypeVar("T")
_MINUS_ONE = Fraction(-1)
# A term is multiplied, negated and added; and the largest form may be gone through some dozen times.
MOST_HANDLED = 4 * MOST_OPERANDS
Expression = Condition | Operand | Clip | UnitDecisionList


class ScalarParser(Cursor):
    """One pass over the tokens, with a method for each rule of the grammar."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._handled = 0

    def _scalar(self) -> Expression:
        if self._token.kind != "if":
            return self._or()
        opening = self._token
        rules: list[tuple[Condition, Value]] = []
        while self._take("if"):
            when = self._rule_condition()
            self._expect("then", "expected an operator or `then`")
            rules.append((when, self._value()))
            self._expect("else", "expected an operator or `else`")
        otherwise = self._value()
        if isinstance(otherwise, DecisionList | UnitDecisionList):  # the same, written with parentheses
            rules, otherwise = [*rules, *otherwise.rules], otherwise.otherwise
        with self._placed(opening):
            return decision_list(tuple(rules), otherwise)

    def _rule_condition(self) -> Condition:
        start = self._token
        return self._condition(self._or(), start)

    def _value(self) -> Value:
        start = self._token
        value = self._or()
        if not isinstance(value, Value):
            raise self._refused(start, VALUES)
        return value

    def _or(self) -> Expression:
        return self._chain("or", self._and, Or)

    def _and(self) -> Expression:
        return self._chain("and", self._not, And)

    def _chain(self, word: str, part: Callable[[], Expression], node: type[Or] | type[And]) -> Expression:
        start = self._token
        first = part()
        if self._token.kind != word:
            return first
        operands = [self._condition(first, start)]
        while self._take(word):
            start = self._token
            operands.append(self._condition(part(), start))
        with self._placed(start):
            return node(tuple(operands))

    def _not(self) -> Expression:
        start = self._token
        if not self._take("not"):
            return self._comparison()
        inner = self._token
        with self._nested(start):
            operand = self._condition(self._not(), inner)
        with self._placed(start):
            return Not(operand)

    def _comparison(self) -> Expression:
        start = self._token
        left = self._sum()
        if self._token.kind == "in":
            return self._member(left, start)
        op = self._comparison_sign()
        if op is None:
            return left
        middle = self._token
        operands = self._operand(left, start), self._operand(self._sum(), middle)
        if self._comparison_sign() is not None:
            raise self._refused(
                self._tokens[self._index - 1], "comparisons do not chain; join two with `and`"
            )
        with self._placed(start):
            return Compare(op, *operands)

    def _comparison_sign(self) -> Comparison | None:
        return next((op for op in COMPARISONS if self._take(op)), None)

    def _member(self, left: Expression, start: Token) -> Expression:
        if not isinstance(left, Column):
            raise self._refused(start, "only a column can be `in` a set of labels")
        self._expect("in", "expected `in`")
        self._expect("{", "expected { after `in`")
        labels = [self._expect("string", 'expected a label, as in {"Paris"}').text]
        while self._take(","):
            labels.append(self._expect("string", "expected a label after the comma").text)
        self._expect("}", "expected a comma or }")
        with self._placed(start):
            return Member(left.name, tuple(labels))

    def _sum(self) -> Expression:
        start = self._token
        first = self._product()
        if self._token.kind not in ("+", "-"):
            return first
        parts = [self._numeric(first, start)]
        while (sign := self._token).kind in ("+", "-"):
            self._index += 1
            operand = self._token
            part = self._numeric(self._product(), operand)
            parts.append(part if sign.kind == "+" else self._scaled(part, sign))
        self._handle(start, *parts)
        with self._placed(start):
            return total(parts)

    def _product(self) -> Expression:
        start = self._token
        result = self._prefix()
        while (sign := self._token).kind in ("*", "/"):
            self._index += 1
            operand = self._token
            left, right = self._numeric(result, start), self._numeric(self._prefix(), operand)
            self._handle(sign, left, right)
            with self._placed(sign):
                result = product(left, right) if sign.kind == "*" else quotient(left, right)
        return result

    def _prefix(self) -> Expression:
        start = self._token
        if not self._take("-"):
            return self._atom()
        inner = self._token
        with self._nested(start):
            return self._scaled(self._numeric(self._prefix(), inner), start)

    def _scaled(self, operand: Numeric, minus: Token) -> Numeric:
        self._handle(minus, operand)
        return scaled(operand, _MINUS_ONE)

    def _handle(self, place: Token, *operands: Numeric) -> None:
        """Count the terms that an operation is about to go through, and refuse a text that repeats them without end."""
        self._handled += sum(operand.size for operand in operands)
        if self._handled > MOST_HANDLED:
            raise self._refused(place, "this is too much arithmetic: multiply out the parentheses")

    def _atom(self) -> Expression:
        token = self._token
        if token.kind in ("(", "clip"):
            return self._enclosed()
        if self._calls:
            return self._parity() if token.text not in HOWS else self._of_rows()
        self._index += 1
        with self._placed(token):
            match token.kind:
                case "number":
                    return Number(number_value(token.text))
                case "string":
                    return Label(token.text)
                case "name":
                    return Column(token.text)
                case "true" | "false":
                    return Truth(token.kind == "true")
        raise self._refused(token, _misplaced(token))

    def _enclosed(self) -> Expression:
        opening = self._token
        clip = self._take("clip")
        self._expect("(", "expected ( after `clip`")
        start = self._token
        with self._nested(opening):
            inner = self._sum() if clip else self._scalar()
        self._expect(")", "expected an operator or )")
        if not clip:
            return inner
        operand = self._numeric(inner, start)
        with self._placed(opening):
            return Clip(operand)

    def _parity(self) -> Parity:
        opening = self._token
        if opening.text != "parity":
            raise self._refused(opening, _no_value(opening.text))
        self._index += 2
        with self._nested(opening):
            operands = self._listed(self._truth)
        self._expect(")", "expected a comma or )")
        with self._placed(opening):
            return Parity(operands)

    def _of_rows(self) -> OfRows:
        opening = self._token
        how = next(one for one in HOWS if one == opening.text)
        self._index += 2
        rows = self._expect("name", _rows_expected(how))
        with self._nested(opening):
            of = self._truth() if self._take(":") else None
        self._expect(")", _rows_expected(how))
        if of is None and how != "count":
            raise self._refused(opening, _rows_expected(how))
        with self._placed(opening):
            return OfRows(how, rows.text, of)

    def _listed(self, part: Callable[[], T]) -> tuple[T, ...]:
        parts = [part()]
        while self._take(","):
            if len(parts) >= MOST_NODES:  # refused here, before the rest of a hostile list is read
                raise self._refused(self._token, f"a query has at most {MOST_NODES} nodes")
            parts.append(part())
        return tuple(parts)

    def _truth(self) -> Condition:
        start = self._token
        return self._condition(self._scalar(), start)

    def _condition(self, expression: Expression, start: Token) -> Condition:
        if not isinstance(expression, Condition):
            raise self._refused(start, "`and`, `or` and `not` take conditions, which are true or false")
        return expression

    def _operand(self, expression: Expression, start: Token) -> Operand:
        if not isinstance(expression, Operand):
            raise self._refused(start, "a comparison takes columns, numbers, labels and linear forms")
        return expression

    def _numeric(self, expression: Expression, start: Token) -> Numeric:
        if not isinstance(expression, Numeric):
            raise self._refused(start, "arithmetic takes numbers and columns")
        return expression


def _rows_expected(how: str) -> str:
    inner = "(visit)" if how == "count" else "(visit: died)"
    told = f"`{how}` is of the rows of one person, as in {how}{inner}"
    if how in ("count", "sum", "mean"):
        told += (
            "; every answer is a mean over people: of them ask for a condition, or for clip(column / bound)"
        )
    return told


def _misplaced(token: Token) -> str:
    if token.kind == "if":
        return "a decision list inside of something else stands between parentheses"
    return "expected a column, a number, a label, `not`, `clip` or ("


def _no_value(name: str) -> str:
    if name in NAMES.values():
        return f"`{name}` has more than one value: it stands at the top, or as an argument of another"
    if name.lower() in ("avg", "average"):
        return "every answer is a mean over people: ask for a condition, or for a column as clip(column / bound)"
    known = get_close_matches(name, ["parity", "clip", *HOWS, *NAMES.values()], n=1)
    return f"there is no function of this name{f'; did you mean {known[0]!r}?' if known else ''}"
