"""What a party sends in a flooded round: the query, its messages and the coins of a part (`sharing/flooded_batch.py`).

The plan is worked out anew, and the encoding read off the query: whoever says that less noise is enough, or that a person
moves less, is refused.  Coins follow from the party's key, the round's digest and the part, so the same round has the same
messages, and a round with another n, with other people or to another key has coins of its own, and a charge.

Checked in tests/unit/party/test_flood_drawing.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from localdp.cohorts import Asked
from localdp.domains import Schema
from localdp.errors import InvalidParameter
from localdp.framing import digest
from localdp.queries.asked import query_of
from localdp.queries.encoded import Query
from localdp.queries.in_messages import InMessages
from localdp.randomizers.definition import Values
from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.lanes import LanedSource
from localdp.sharing.flooded_batch import FloodedBatch, batch_codes
from localdp.sharing.flooded_round import FloodedPart, FloodedRound


@dataclass(frozen=True, slots=True)
class FloodDrawing:
    """How one part of a round is drawn."""

    asked: FloodedRound
    part: FloodedPart
    query: Query
    encoding: InMessages

    @classmethod
    def of(cls, asked: FloodedRound, part: FloodedPart, schema: Schema) -> FloodDrawing:
        """The query checked against a schema; refused if it has other messages than the plan is for."""
        query = query_of(asked.question.query, schema)
        encoding = InMessages.of(query, asked.question.steps)
        if encoding.flooded != asked.plan.flooded:
            raise InvalidParameter("the answers to this query move other sums than the flooded round says")
        asked.plan.size(part.people)  # refuses what would be too many
        return cls(asked, part, query, encoding)

    @property
    def name(self) -> bytes:
        """What the ledger calls it, and coins are keyed by."""
        place = f"{self.part.start} {self.part.stop} {self.part.name}"
        return digest(b"localdp flooded part v1", self.asked.digest, place.encode())

    @property
    def purpose(self) -> str:
        """What it is for, as it stands in ledgers."""
        plan, key = self.asked.plan, self.asked.question.key
        return (
            f"flooded messages of {self.query.text}, delta {float(plan.delta):.3g}, noise of {plan.honest} of {plan.people}"
            f" people, analyst's key {key[:4].hex() or 'none'}"
        )

    def batch(self, key: bytes, people: Asked, values: Values) -> FloodedBatch:
        """The messages of these people, all at once: their noise is drawn for them together."""
        sums = self.encoding.sums(values, LanedSource(derive_key(key, b"rounding"), people.lanes()))
        noise = KeystreamSource(derive_key(key, b"noise"))
        codes = batch_codes(self.asked.plan, self.part.people, sums, noise)
        question, seals = self.asked.question, derive_key(key, b"seals")
        return FloodedBatch.of(codes, seals, self.asked.digest, question.key, question.second_key)
