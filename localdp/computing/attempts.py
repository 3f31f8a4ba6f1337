"""One attempt of a computation, from its name to what each server gives the analyst: nonces, tags, noise, proof, release.

    nonces | reshare  ->  noise  ->  VERIFY  ->  verdicts of both others  ->  two components for the analyst

The name of a computation is a digest of all that is public about it (`computation_name`): the collection, the sealed
set of reports, epsilon, sensitivity and thresholds; a server takes part in one name a collection, ever.  Every
attempt begins with 16 fresh octets of each server, and every message after that carries the attempt's tag and the
number of its round: two honest servers never work with different streams, and a message of another attempt, another
round or another length is refused.

Nobody can tell what a server enters when it reshares; but it must be the same in every attempt.  Otherwise a dishonest
one could ask a selection again, with other inputs and the same noise, and the price would grow with each index that it
learns.  So together with its nonce a server tells the one before it what it enters, and the one behind it a digest of
that, under the key that only the first two hold.  The digests of all three are in the attempt's tag, and on record at
every server before the next message.

What a server is given to store before it releases is a `ReleasedComponents`; the analyst adds them up only if both
holders of each component sent the same, under one tag.

Checked in tests/unit/computing/test_attempts.py and tests/fault/test_cheating_servers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from localdp.computing.dialogue import SERVERS, Dialogue, Exchange, Received, others
from localdp.computing.gates import elements_in, entered, pack_elements
from localdp.computing.joint_noise import noisy_sums
from localdp.computing.keyed_streams import NONCE_BYTES, HeldKeys, KeyedAttempt
from localdp.computing.seat import Seat, SharedElements
from localdp.computing.verification import verified
from localdp.errors import ComputationAborted, InvalidParameter
from localdp.framing import DIGEST_BYTES, digest
from localdp.sharing import additive
from localdp.sharing.digit_coins import LaplaceCoins
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.prio3.fields import PrimeField
from localdp.sharing.selection_law import SelectionLaw

T = TypeVar("T")
RESHARE, INPUT = b"reshare", b"input"
_ROUND_BYTES = 4
HEADER_BYTES = DIGEST_BYTES + _ROUND_BYTES


def computation_name(
    collection: bytes, sealed: bytes, law: LaplaceCoins | SelectionLaw, count: int
) -> bytes:
    """The digest that names noise on so many sums, or a selection among them; `collection` and `sealed` are digests."""
    return digest(b"computation", collection, sealed, law.text.encode(), str(count).encode())


def tagged(dialogue: Dialogue[T], tag: bytes, server: int) -> Dialogue[T]:
    """The same dialogue with tag and round in front of every message; what has others, or another length, is refused."""
    number, received = 0, None
    while True:
        try:
            asked = next(dialogue) if received is None else dialogue.send(received)
        except StopIteration as stop:
            result: T = stop.value
            return result
        header = tag + number.to_bytes(_ROUND_BYTES, "big")
        received = yield from _carried(asked, header, server)
        number += 1


def _carried(asked: Exchange, header: bytes, server: int) -> Generator[Exchange, Received, Received]:
    came = yield Exchange(
        header + asked.to_previous if asked.to_previous else b"",
        header + asked.to_next if asked.to_next else b"",
        asked.from_previous and HEADER_BYTES + asked.from_previous,
        asked.from_next and HEADER_BYTES + asked.from_next,
    )
    expected = (asked.from_previous, asked.from_next)
    return Received(*(_payload(server, place, came[place], expected[place], header) for place in (0, 1)))


def _payload(server: int, place: int, octets: bytes, expected: int, header: bytes) -> bytes:
    size = HEADER_BYTES + expected if expected else 0
    if len(octets) != size or octets[DIGEST_BYTES:HEADER_BYTES] != header[DIGEST_BYTES:][:size]:
        raise ComputationAborted.by("a message of another round or length", (others(server)[place],))
    if octets[:DIGEST_BYTES] != header[:DIGEST_BYTES][:size]:
        # The sender may be honest, and the third server may have told the two of us different nonces.
        raise ComputationAborted.by("a message of another attempt", others(server))
    return octets[HEADER_BYTES:]


class Begun(NamedTuple):
    """What the servers have told each other when an attempt begins."""

    nonces: tuple[bytes, ...]  # of servers 0, 1 and 2
    inputs: tuple[bytes, ...]  # the same for digests of what they entered
    shared: SharedElements


def begun(
    server: int, keys: HeldKeys, computation: bytes, nonce: bytes, kernel: Kernel, additive: Words
) -> Dialogue[Begun]:
    """Tell nonces and reshare, in one round; `nonce` is fresh, from the operating system, and never used again."""
    if len(nonce) != NONCE_BYTES:
        raise InvalidParameter(f"a nonce has {NONCE_BYTES} bytes")
    previous, following = others(server)
    component = entered(kernel, keys.streams(computation, RESHARE), additive)
    octets = pack_elements(component)
    own, _ = keys.derived(computation, INPUT, octets)
    came = yield Exchange(
        nonce + octets, nonce + own, NONCE_BYTES + DIGEST_BYTES, NONCE_BYTES + len(octets)
    )
    told = came.next[NONCE_BYTES:]
    _, theirs = keys.derived(computation, INPUT, told)
    shared = SharedElements(np.stack([component, elements_in(kernel, told, following)]))
    nonces = {server: nonce, previous: came.previous[:NONCE_BYTES], following: came.next[:NONCE_BYTES]}
    inputs = {server: own, previous: came.previous[NONCE_BYTES:], following: theirs}
    return Begun(_in_order(nonces), _in_order(inputs), shared)


def _in_order(said: Mapping[int, bytes]) -> tuple[bytes, ...]:
    return tuple(said[number] for number in range(SERVERS))


@dataclass(frozen=True, slots=True)
class ReleasedComponents:
    """What one server stores in one transaction, and then gives the analyst."""

    server: int
    tag: bytes
    own: bytes
    next: bytes


def in_attempt(
    server: int,
    keys: HeldKeys,
    computation: bytes,
    nonce: bytes,
    kernel: Kernel,
    additive: Words,
    keep: Callable[[tuple[bytes, ...]], None],
    part: Callable[[Seat, SharedElements], Dialogue[T]],
) -> Dialogue[T]:
    """A server's part under a fresh tag: what it computes of the shared inputs, it computes in a seat of this attempt.

    `additive`: its shares of all inputs, of shape (limbs, count); `keep`: has digests of what each server entered on
    record, or raises where others are.
    """
    start = begun(server, keys, computation, nonce, kernel, additive)
    nonces, inputs, shared = yield from tagged(start, digest(b"begin", computation), server)
    keep(inputs)
    attempt = KeyedAttempt(keys, computation, nonces, inputs)
    return (yield from tagged(part(Seat(server, attempt, kernel), shared), attempt.tag, server))


def released_sums(seat: Seat, sums: SharedElements, law: LaplaceCoins) -> Dialogue[ReleasedComponents]:
    """Shared sums in, components of the noisy sums out, all gates verified."""
    noisy = yield from noisy_sums(seat, sums, law)
    yield from verified(seat)
    own, following = (pack_elements(component) for component in noisy.both)
    return ReleasedComponents(seat.server, seat.attempt.tag, own, following)


def combined_release(field: PrimeField, released: Sequence[ReleasedComponents]) -> list[int]:
    """The noisy sums, each read as the representative of least absolute value; every component must have come twice."""
    by_server = {one.server: one for one in released}
    if sorted(by_server) != list(range(SERVERS)) or len({one.tag for one in released}) != 1:
        raise ComputationAborted("a release is three servers' components of one attempt")
    for server, one in by_server.items():
        previous, _ = others(server)
        if by_server[previous].next != one.own:
            raise ComputationAborted.by(
                f"component {server} was released in two versions", (server, previous)
            )
    components = [field.unpack(by_server[server].own) for server in range(SERVERS)]
    return additive.combined(components, field.modulus)
