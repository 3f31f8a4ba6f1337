"""What a server sends and waits for, as a generator: one `Exchange` a round, no network and no clock.

A server's part of a protocol is a `Dialogue`: it yields what it sends to its two neighbours and how many octets it
waits for, is resumed with what they sent, and returns its result.  Servers stand in a circle: server i has the
neighbours i - 1 ("previous") and i + 1 ("next"), modulo 3.  In a round each server sends at most one message to each
other one; all three parts have the same number of rounds.  Whoever drives a dialogue (this module in one process, a
stream of octets elsewhere) decides nothing: it only carries.

`together` runs independent dialogues of one server in the same rounds.  Its children are resumed in their order, so
that both holders of a keystream draw from it in the same order.

Checked in tests/unit/computing/test_dialogue.py.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

from localdp.errors import ComputationAborted

SERVERS = 3
T = TypeVar("T")


class Received(NamedTuple):
    """What the neighbours sent in one round."""

    previous: bytes = b""
    next: bytes = b""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one server sends in one round, and how many octets it expects; nothing is sent where there are none."""

    to_previous: bytes = b""
    to_next: bytes = b""
    from_previous: int = 0
    from_next: int = 0


Dialogue: TypeAlias = Generator[Exchange, Received, T]
# (round, sender, receiver, octets) to what arrives: how tests let a server lie.
Carrier: TypeAlias = Callable[[int, int, int, bytes], bytes]


def others(server: int) -> tuple[int, int]:
    """The previous and the next server."""
    return (server - 1) % SERVERS, (server + 1) % SERVERS


def together(*dialogues: Dialogue[T]) -> Dialogue[list[T]]:
    """The results of several dialogues of one server, in as many rounds as the longest of them has."""
    results: dict[int, T] = {}
    waiting: dict[int, Exchange] = {}

    def advance(place: int, received: Received | None) -> None:
        dialogue = dialogues[place]
        try:
            waiting[place] = next(dialogue) if received is None else dialogue.send(received)
        except StopIteration as stop:
            waiting.pop(place, None)
            results[place] = stop.value

    for place in range(len(dialogues)):
        advance(place, None)
    while waiting:
        asked = dict(sorted(waiting.items()))
        received = yield _merged(list(asked.values()))
        for place, part in zip(asked, _split(received, list(asked.values())), strict=True):
            advance(place, part)
    return [results[place] for place in range(len(dialogues))]


def _merged(exchanges: Sequence[Exchange]) -> Exchange:
    return Exchange(
        b"".join(exchange.to_previous for exchange in exchanges),
        b"".join(exchange.to_next for exchange in exchanges),
        sum(exchange.from_previous for exchange in exchanges),
        sum(exchange.from_next for exchange in exchanges),
    )


def _split(received: Received, exchanges: Sequence[Exchange]) -> list[Received]:
    parts, left, right = [], 0, 0
    for exchange in exchanges:
        left_end, right_end = left + exchange.from_previous, right + exchange.from_next
        parts.append(Received(received.previous[left:left_end], received.next[right:right_end]))
        left, right = left_end, right_end
    return parts


@dataclass(slots=True)
class Traffic:
    """What a computation cost on the way: rounds, and octets that each server sent."""

    rounds: int = 0
    octets: tuple[int, ...] = (0,) * SERVERS

    def add(self, rounds: int, octets: Sequence[int]) -> None:
        """Count another computation."""
        self.rounds += rounds
        self.octets = tuple(sum(pair) for pair in zip(self.octets, octets, strict=True))


def outcomes(
    dialogues: Sequence[Dialogue[T]], carry: Carrier | None = None, traffic: Traffic | None = None
) -> list[T | ComputationAborted]:
    """All three parts to their ends: the result of each server, or why it stopped.

    Whoever waits for a server that has stopped stops as well.
    """
    ends: dict[int, T | ComputationAborted] = {}
    asked: dict[int, Exchange] = {}
    received: dict[int, Received | None] = dict.fromkeys(range(SERVERS))
    number = 0
    while received:
        for server, arrived in received.items():
            _resume(dialogues, server, arrived, asked, ends)
        received = {server: _arrived(server, asked, number, carry) for server in asked}
        if asked:
            number += 1
            _count(asked, traffic)
        for server in [server for server in asked if _is_left_alone(server, asked)]:
            ends[server] = ComputationAborted.by("another server stopped", others(server))
            del asked[server], received[server]
    return [ends[server] for server in range(SERVERS)]


def _resume(
    dialogues: Sequence[Dialogue[T]],
    server: int,
    arrived: Received | None,
    asked: dict[int, Exchange],
    ends: dict[int, T | ComputationAborted],
) -> None:
    try:
        dialogue = dialogues[server]
        asked[server] = next(dialogue) if arrived is None else dialogue.send(arrived)
    except StopIteration as stop:
        asked.pop(server, None)
        ends[server] = stop.value
    except ComputationAborted as stopped:
        asked.pop(server, None)
        ends[server] = stopped


def _arrived(server: int, asked: dict[int, Exchange], number: int, carry: Carrier | None) -> Received:
    previous, following = others(server)
    sent = {
        previous: asked[previous].to_next if previous in asked else b"",
        following: asked[following].to_previous if following in asked else b"",
    }
    if carry is not None:
        sent = {who: carry(number, who, server, octets) for who, octets in sent.items()}
    return Received(sent[previous], sent[following])


def _is_left_alone(server: int, asked: dict[int, Exchange]) -> bool:
    """Whether it waits for somebody who has stopped."""
    exchange = asked[server]
    previous, following = others(server)
    gone = previous not in asked and exchange.from_previous, following not in asked and exchange.from_next
    return bool(gone[0] or gone[1])


def _count(asked: dict[int, Exchange], traffic: Traffic | None) -> None:
    if traffic is not None:
        said = (asked.get(server, Exchange()) for server in range(SERVERS))
        traffic.add(1, [len(one.to_previous) + len(one.to_next) for one in said])


def run_together(
    dialogues: Sequence[Dialogue[T]], carry: Carrier | None = None, traffic: Traffic | None = None
) -> list[T]:
    """The results of all three servers, run in this process; raises the first server's reason if one stopped."""
    results = []
    for end in outcomes(dialogues, carry, traffic):
        if isinstance(end, ComputationAborted):
            raise end
        results.append(end)
    return results
