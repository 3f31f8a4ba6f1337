"""The words of the query language: a bounded text cut into tokens, each with its position, and a place among them.

Every text of at most `LONGEST_TEXT` characters is either cut completely or refused at a named character; nothing is ever
evaluated.  Texts come from anywhere, so what a parser does for one is bounded by its words: arithmetic is carried out while
parsing, and sums of numbers leave no nodes to count.

Claim.  Nesting is counted, so recursive descent has a bounded stack, and every refusal has a position.
Checked in tests/unit/queries/test_parser.py and, for the texts of numbers, test_text.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

from localdp.domains import RESERVED_WORDS, is_column_name
from localdp.domains.columns import LONGEST_LABEL
from localdp.domains.schema import LONGEST_NAME
from localdp.errors import QueryRefused
from localdp.queries.nodes import MOST_DEPTH, MOST_DIGITS, MOST_NODES

LONGEST_TEXT = 1 << 16
MOST_OPERANDS = 4 * MOST_NODES  # a term of a linear form has three: numerator, denominator and column
_OPERANDS = frozenset({"name", "number", "string"})
_EXCERPT = 30  # characters shown on each side of a mistake

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\n]+)
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<string>"(?:[^"\\]|\\["\\])*")
    | (?P<sign>==|!=|<=|>=|[<>()+\-*/{},:;\[\]])
    """,
    re.VERBOSE,
)
_HINTS = {
    "=": "equality is written ==",
    "!": "negation is written `not`",
    "'": 'labels are written between double quotes, as in "Paris"',
    '"': "this label is not closed, or escapes something else than a quote or a backslash",
    "&": "conjunction is written `and`",
    "|": "disjunction is written `or`",
}


@dataclass(frozen=True, slots=True)
class Token:
    """One word: its kind is `number`, `name`, `string` or `end`, or the keyword or sign itself."""

    kind: str
    text: str
    position: int


def require_text(text: object) -> None:
    """Refuse what is too long to be looked at."""
    if not isinstance(text, str):
        raise QueryRefused("a query is text")
    if len(text) > LONGEST_TEXT:
        raise QueryRefused(f"a query is at most {LONGEST_TEXT} characters long; this one has {len(text)}")


def tokens(text: str) -> list[Token]:
    """All tokens of a text, then one of kind `end`."""
    require_text(text)
    found: list[Token] = []
    position = operands = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise refused(text, position, _HINTS.get(text[position], "this character means nothing here"))
        if match.lastgroup != "space":
            found.append(_token(text, match))
            operands += found[-1].kind in _OPERANDS
            if operands > MOST_OPERANDS:
                raise refused(
                    text, position, f"a query has at most {MOST_OPERANDS} columns, numbers and labels"
                )
        position = match.end()
    return [*found, Token("end", "", len(text))]


def _token(text: str, match: re.Match[str]) -> Token:
    word, position = match.group(), match.start()
    match match.lastgroup:
        case "word" if word in RESERVED_WORDS:
            return Token(word, word, position)
        case "word":
            if not is_column_name(word):
                raise refused(text, position, f"a column name is at most {LONGEST_NAME} characters long")
            return Token("name", word, position)
        case "string":
            return Token("string", _unquoted(text, word, position), position)
        case "number":
            return Token("number", word, position)
        case _:
            return Token(word, word, position)


def _unquoted(text: str, literal: str, position: int) -> str:
    label = re.sub(r"\\(.)", r"\1", literal[1:-1])
    if len(label) > LONGEST_LABEL:
        raise refused(text, position, f"a label is at most {LONGEST_LABEL} characters long")
    if not label.isprintable():
        raise refused(text, position, "a label holds printable characters only")
    return label


def number_value(literal: str) -> Fraction:
    """The exact value of a decimal literal; its size is bounded before any power is computed."""
    mantissa, _, exponent = literal.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    if len(whole) + len(decimals) > MOST_DIGITS:
        raise QueryRefused(f"a number has at most {MOST_DIGITS} digits")
    if len(exponent) > 3 or abs(int(exponent or "0")) > MOST_DIGITS:
        raise QueryRefused(f"an exponent is at most {MOST_DIGITS}, written with one or two digits")
    return Fraction(int(whole + decimals)) * Fraction(10) ** (int(exponent or "0") - len(decimals))


def refused(text: str, position: int, reason: str) -> QueryRefused:
    """The refusal with the reason, the position (from 1) and a caret under it."""
    start = max(0, position - _EXCERPT)
    excerpt = text[start : position + _EXCERPT]
    # Control characters of a hostile text must not reach a terminal or a log.
    shown = "".join(character if character.isprintable() else "?" for character in excerpt)
    caret = " " * (position - start)
    return QueryRefused(f"{reason}, at character {position + 1}:\n    {shown}\n    {caret}^")


def number_text(value: Fraction) -> str:
    """A decimal when one of few enough digits is exact, a fraction otherwise."""
    scale = MOST_DIGITS - 1
    scaled = abs(value) * 10**scale
    digits = str(scaled.numerator).zfill(scale + 1)
    whole, decimals = digits[:-scale], digits[-scale:].rstrip("0")
    if scaled.denominator != 1 or len(whole) + len(decimals) > MOST_DIGITS:
        return f"{value.numerator}/{value.denominator}"
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"


class Cursor:
    """The tokens of one text, and the next one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._index = 0
        self._nesting = 0

    @property
    def _token(self) -> Token:
        return self._tokens[self._index]

    @property
    def _calls(self) -> bool:
        """Whether the next token is the name of a call: elsewhere it may be the name of a column."""
        return self._token.kind == "name" and self._tokens[self._index + 1].kind == "("

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
