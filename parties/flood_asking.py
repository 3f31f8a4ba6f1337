"""The shuffler's side of a flooded round over gRPC: its parties' quotes, and their sealed messages, all at once.

Each stream is read by a thread of its own: an agent that is not listened to gives up, and sealing takes it a while.

Checked in tests/contract/test_flooded.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from google.protobuf.message import Message

from localdp.errors import LocalDpError
from localdp.sharing.flooded_batch import Messages, message_bytes
from localdp.sharing.flooded_round import FloodedRound
from parties.flood_codec import flood_to_wire, received
from parties.receiving import Reception
from parties.repeating import Begin, Persistence, UnaryCall, outcomes

Flooded = tuple[
    int, Messages | LocalDpError
]  # the number of a part, and its messages or why there are none
_MOST_STREAMS = 32  # that are read at once
_MOST_QUOTES = 256
_MESSAGE_SECONDS = (
    2e-3  # that a message may take: many times what sealing takes, because an agent may share its core
)


def flood_seconds(messages: int) -> float:
    """What so many messages may take beside a call."""
    return messages * _MESSAGE_SECONDS


class FloodedPeer(Protocol):
    """A party over its channel."""

    name: str  # "party" and what it calls itself

    def quote(self, call: Message) -> UnaryCall:
        """Whether it would answer."""
        ...

    def flood(self, request: Message) -> Begin:
        """Its messages."""
        ...


@dataclass(frozen=True, slots=True)
class FloodAsking:
    """Parties, and what a call to one may take."""

    parties: Sequence[FloodedPeer]
    seconds: float
    persistence: Persistence

    def granted(self, asked: FloodedRound) -> list[LocalDpError | None]:
        """Of each part, why its party would not answer now."""
        named, told = self._by_name(), list[LocalDpError | None]()
        for start in range(0, len(asked.parts), _MOST_QUOTES):
            some = asked.parts[start : start + _MOST_QUOTES]
            calls = [named[part.name].quote(flood_to_wire(asked, part.cohort)) for part in some]
            said = outcomes(calls, self.seconds, self.persistence)
            told += [one if isinstance(one, LocalDpError) else None for one in said]
        return told

    def messages(self, asked: FloodedRound, parts: Sequence[int]) -> Iterator[Flooded]:
        """The messages of these parts, in order, or why there are none."""
        if not parts:
            return
        one = partial(self._one, asked, self._by_name())
        with ThreadPoolExecutor(min(_MOST_STREAMS, len(parts)), thread_name_prefix="flood") as pool:
            yield from zip(parts, pool.map(one, parts), strict=True)

    def _one(
        self, asked: FloodedRound, named: Mapping[str, FloodedPeer], number: int
    ) -> Messages | LocalDpError:
        part = asked.parts[number]
        peer, size = named[part.name], asked.plan.size(part.people)
        begin, seconds = peer.flood(flood_to_wire(asked, part.cohort)), self.seconds + flood_seconds(size)
        try:
            pieces = Reception(begin, peer.name, seconds, self.persistence).counted(size)
            return received(pieces, message_bytes(asked.question.second_key))
        except LocalDpError as error:
            return error

    def _by_name(self) -> dict[str, FloodedPeer]:
        return {party.name.removeprefix("party "): party for party in self.parties}
