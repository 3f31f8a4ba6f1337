"""The canonical text of an expression, with no more parentheses than its tree needs.

Claim.  parse(to_text(e)) == e for every expression whose text is within the parser's bound on length.
Checked in tests/unit/queries/test_text.py.
"""

from __future__ import annotations

from fractions import Fraction

from localdp.queries.expressions import (
    And,
    Clip,
    Column,
    Compare,
    DecisionList,
    Expression,
    Label,
    Linear,
    Member,
    Not,
    Number,
    OfRows,
    Or,
    Parity,
    Several,
    Term,
    Truth,
    UnitDecisionList,
)
from localdp.queries.tokens import number_text
from localdp.queries.vector_text import call_text

_LIST, _OR, _AND, _NOT, _TIGHT = range(5)  # how tightly a text binds


def to_text(expression: Expression) -> str:
    """The canonical text."""
    return _text(expression)[0]


def _text(expression: Expression) -> tuple[str, int]:
    match expression:
        case Or(operands):
            return " or ".join(_within(operand, _AND) for operand in operands), _OR
        case And(operands):
            return " and ".join(_within(operand, _NOT) for operand in operands), _AND
        case Not(operand):
            return f"not {_within(operand, _NOT)}", _NOT
        case Compare(op, left, right):
            return f"{to_text(left)} {op} {to_text(right)}", _TIGHT
        case Clip(operand):
            return f"clip({to_text(operand)})", _TIGHT
        case OfRows(how, rows, of):
            return f"{how}({rows})" if of is None else f"{how}({rows}: {to_text(of)})", _TIGHT
        case Parity(operands):
            return f"parity({', '.join(map(to_text, operands))})", _TIGHT
        case DecisionList() | UnitDecisionList():
            return _rules(expression), _LIST
        case _ if isinstance(expression, Several):
            return call_text(expression, to_text), _TIGHT
        case _:
            return _leaf(expression), _TIGHT


def _rules(chosen: DecisionList | UnitDecisionList) -> str:
    rules = [f"if {_within(when, _OR)} then {_within(value, _OR)}" for when, value in chosen.rules]
    return f"{' else '.join(rules)} else {_within(chosen.otherwise, _OR)}"


def _within(expression: Expression, least: int) -> str:
    text, binds = _text(expression)
    return text if binds >= least else f"({text})"


def _leaf(expression: Column | Number | Label | Truth | Linear | Member) -> str:
    match expression:
        case Column(name):
            return name
        case Number(value):
            return number_text(value)
        case Label(text):
            return _quoted(text)
        case Truth(value):
            return "true" if value else "false"
        case Member(column, labels):
            return f"{column} in {{{', '.join(map(_quoted, labels))}}}"
        case Linear():
            return _linear(expression)


def _quoted(label: str) -> str:
    escaped = label.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _linear(form: Linear) -> str:
    parts = [(coefficient < 0, _term(abs(coefficient), column)) for coefficient, column in form.terms]
    if form.constant:
        parts.append((form.constant < 0, number_text(abs(form.constant))))
    (negative, first), *rest = parts
    tail = "".join(f" - {part}" if minus else f" + {part}" for minus, part in rest)
    return f"-{first}{tail}" if negative else f"{first}{tail}"


def _term(coefficient: Fraction, term: Term) -> str:
    text = term if isinstance(term, str) else to_text(term)
    return text if coefficient == 1 else f"{number_text(coefficient)}*{text}"
