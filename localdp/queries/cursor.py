"""A place in the tokens of a text: what a parser takes, expects and refuses there.

Claim.  Nesting is counted, so recursive descent has a bounded stack, and every refusal has a position.
Checked in tests/unit/queries/test_parser.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from localdp.errors import QueryRefused
from localdp.queries.nodes import MOST_DEPTH
from localdp.queries.tokens import Token, refused, tokens


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
