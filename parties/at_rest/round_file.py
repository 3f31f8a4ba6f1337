"""A round as a file: one request, handed to every party that is to answer it with a file of reports.

It is JSON: an identifier that nobody guesses, the query's text, and the randomizer as it travels in calls, beside its
words and its price for whoever reads it.  These must be those of the randomizer: nobody signs off one and answers another.

Checked in tests/unit/parties/at_rest/test_round_file.py.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Schema
from localdp.errors import InvalidParameter, LocalDpError
from localdp.party.party import Request
from localdp.queries.parser import parse
from localdp.queries.text import to_text
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.memoised import epsilon_charged
from localdp.randomness.source import RandomSource
from parties.codec import query_text, randomizer_from_bytes, randomizer_to_bytes
from parties.durable import write_atomically

_FORMAT = "localdp round 1"
_LONGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class RoundFile:
    """What is asked, of whoever answers."""

    request: Request

    @classmethod
    def fresh(cls, query: str, randomizer: LocalRandomizer, source: RandomSource) -> RoundFile:
        """A new round."""
        return cls(Request.fresh(query, randomizer, source))

    def digest(self, schema: Schema) -> bytes:
        """What names the round: the same for all who answer it, and for no other round."""
        return self.request.digest(self.request.question(schema).text)

    @property
    def charged(self) -> Epsilon:
        """What everybody pays: of permanent answers, that of all reports of an epoch together."""
        return epsilon_charged(self.request.randomizer)

    def canonical(self) -> str:
        """The query in the one way that parties write it, whatever their schema."""
        return to_text(parse(self.request.query))

    def require_asked(self, name: bytes, query: str, randomizer: LocalRandomizer) -> None:
        """Refuse what names another round, query or randomizer."""
        mine = query == self.canonical() and randomizer == self.request.randomizer
        if not mine or name != self.request.digest(query):
            raise InvalidParameter("this is an answer to another round than the one that is asked about")

    def write(self, path: Path) -> None:
        """As JSON."""
        write_atomically(path, json.dumps(self._told(), indent=2) + "\n")

    def _told(self) -> dict[str, object]:
        request = self.request
        return {
            "format": _FORMAT,
            "request_id": request.request_id.hex(),
            "query": request.query,
            "randomizer": b64encode(randomizer_to_bytes(request.randomizer)).decode(),
            "in_words": request.randomizer.canonical,
            "epsilon_of_a_report": float(request.randomizer.epsilon),
            "epsilon_charged": float(self.charged),
        }

    @classmethod
    def read(cls, path: Path) -> RoundFile:
        """The round again, checked: it says what it would say if it were written from what it asks with."""
        with path.open("rb") as file:
            text = file.read(_LONGEST + 1)
        try:
            told = json.loads(text) if len(text) <= _LONGEST else {}
            if told["format"] != _FORMAT:
                raise ValueError
            randomizer = randomizer_from_bytes(b64decode(told["randomizer"], validate=True))
            made = cls(Request(bytes.fromhex(told["request_id"]), query_text(told["query"]), randomizer))
        except (LocalDpError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise InvalidParameter(f"{path} is no round: `localdp reports ask` writes one") from error
        if told != made._told():
            raise InvalidParameter(
                f"{path} says another randomizer or epsilon in words than it asks with: have it written again"
            )
        return made
