"""From text to expression, by recursive descent over a bounded list of tokens.

    query      ::=  or | "vector" "(" or ("," or)* ")"
    or         ::=  and ("or" and)*
    and        ::=  not ("and" not)*
    not        ::=  "not" not | comparison
    comparison ::=  sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum | "in" "{" string ("," string)* "}"]
    sum        ::=  product (("+" | "-") product)*
    product    ::=  prefix (("*" | "/") prefix)*
    prefix     ::=  "-" prefix | atom
    atom       ::=  number | string | name | "true" | "false" | "clip" "(" sum ")" | "(" or ")"

Arithmetic is carried out exactly while parsing: what is left is a `Number`, a `Column` or a `Linear`.

Claim.  Any text gives an expression or `QueryRefused`, in bounded stack and time: the nesting is counted
while parsing.  Checked in tests/unit/queries/test_parser.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from localdp.errors import QueryRefused
from localdp.queries.arithmetic import product, quotient, scaled, total
from localdp.queries.expressions import (
    COMPARISONS,
    MOST_DEPTH,
    And,
    Clip,
    Column,
    Compare,
    Comparison,
    Condition,
    Expression,
    Label,
    Member,
    Not,
    Number,
    Numeric,
    Operand,
    Or,
    Truth,
    Vector,
)
from localdp.queries.tokens import Token, number_value, refused, tokens

_MINUS_ONE = Fraction(-1)


def parse(text: str) -> Expression:
    """The expression that a text means; its columns are not looked up yet."""
    return _Parser(text).query()


class _Parser:
    """One pass over the tokens, with a method for each rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._index = 0
        self._nesting = 0

    def query(self) -> Expression:
        expression = self._vector() if self._token.kind == "vector" else self._or()
        if self._token.kind != "end":
            raise self._refused(self._token, "expected an operator or the end of the query")
        return expression

    def _vector(self) -> Expression:
        opening = self._token
        self._index += 1
        self._expect("(", "expected ( after `vector`")
        components = [self._component()]
        while self._take(","):
            components.append(self._component())
        self._expect(")", "expected a comma or )")
        with self._placed(opening):
            return Vector(tuple(components))

    def _component(self) -> Condition | Clip:
        start = self._token
        with self._nested(start):
            component = self._or()
        if not isinstance(component, Condition | Clip):
            raise self._refused(start, "the components of a vector are conditions or clipped numbers")
        return component

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
            parts.append(part if sign.kind == "+" else scaled(part, _MINUS_ONE))
        with self._placed(start):
            return total(parts)

    def _product(self) -> Expression:
        start = self._token
        result = self._prefix()
        while (sign := self._token).kind in ("*", "/"):
            self._index += 1
            operand = self._token
            left, right = self._numeric(result, start), self._numeric(self._prefix(), operand)
            with self._placed(sign):
                result = product(left, right) if sign.kind == "*" else quotient(left, right)
        return result

    def _prefix(self) -> Expression:
        start = self._token
        if not self._take("-"):
            return self._atom()
        inner = self._token
        with self._nested(start):
            return scaled(self._numeric(self._prefix(), inner), _MINUS_ONE)

    def _atom(self) -> Expression:
        token = self._token
        if token.kind in ("(", "clip"):
            return self._enclosed()
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
        raise self._refused(token, "expected a column, a number, a label, `not`, `clip` or (")

    def _enclosed(self) -> Expression:
        opening = self._token
        clip = self._take("clip")
        self._expect("(", "expected ( after `clip`")
        start = self._token
        with self._nested(opening):
            inner = self._sum() if clip else self._or()
        self._expect(")", "expected an operator or )")
        if not clip:
            return inner
        operand = self._numeric(inner, start)
        with self._placed(opening):
            return Clip(operand)

    @property
    def _token(self) -> Token:
        return self._tokens[self._index]

    def _take(self, kind: str) -> bool:
        taken = self._token.kind == kind
        self._index += taken
        return taken

    def _expect(self, kind: str, otherwise: str) -> Token:
        token = self._token
        if not self._take(kind):
            raise self._refused(token, otherwise)
        return token

    @contextmanager
    def _nested(self, token: Token) -> Iterator[None]:
        self._nesting += 1
        if self._nesting > MOST_DEPTH:
            raise self._refused(token, f"a query is at most {MOST_DEPTH} levels deep")
        yield
        self._nesting -= 1

    @contextmanager
    def _placed(self, token: Token) -> Iterator[None]:
        """Gives the refusals of the constructors a position."""
        try:
            yield
        except QueryRefused as refusal:
            raise self._refused(token, str(refusal)) from None

    def _refused(self, token: Token, reason: str) -> QueryRefused:
        return refused(self._text, token.position, reason)

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
