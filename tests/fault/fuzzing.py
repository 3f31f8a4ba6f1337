"""Hostile messages: valid ones of every kind, and what becomes of them when bytes are changed, lost, repeated or mixed.

The generator is its own and knows nothing of the code under test.  The same seed gives the same messages.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.party.party import Request
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.finite_channel import FiniteChannel
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.memoised import memoised_symmetric_unary
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.unary import OptimizedUnaryEncoding
from parties import codec
from parties.wire.v1 import oracle_pb2 as pb
from tests.support.federations import ONE, collection_of, party, people

_LONG = 4096
_SPLIT = Split(b"public coins 16b", 3, 1)
_QUESTIONS: list[tuple[str, LocalRandomizer]] = [
    ("smoker", OneBitRandomizer(ONE)),
    ('age >= 65 and not (region in {"north", "west"}) or smoker == false', OneBitRandomizer(ONE)),
    ("clip(1/50*bmi - 0.3*smoker + 7/10)", OneBitRandomizer(ONE, 1 << 16)),
    ("region", KaryRandomizedResponse(ONE, 4)),
    ("region", FiniteChannel(((5, 1, 1, 1), (1, 5, 1, 1), (1, 1, 5, 1), (1, 1, 1, 5)))),
    ("region", OptimizedUnaryEncoding(ONE, 4)),
    ("region", memoised_symmetric_unary(Epsilon.requested(2), ONE, 4)),
    ("age", MemoisedHashing(ONE, Epsilon.requested(2), 8)),
]


def valid_requests() -> list[bytes]:
    """Calls of Randomize that an honest coordinator might make."""
    cohorts = [Cohort(0, 3), Cohort(0, 40, _SPLIT), Cohort(2, 2)]
    return [
        codec.request_to_wire(
            Request(number.to_bytes(16, "big"), query, randomizer), cohort
        ).SerializeToString()
        for number, (query, randomizer) in enumerate(_QUESTIONS)
        for cohort in cohorts
    ]


def valid_contributions() -> list[bytes]:
    """Calls of Contribute that an honest coordinator might make."""
    collection = codec.collection_to_wire(collection_of([party(people(40))]))
    cohort = codec.cohort_to_wire(Cohort(0, 40, _SPLIT))
    return [pb.ContributeRequest(collection=collection, cohort=cohort).SerializeToString()]


def hostile(seed: int, count: int, seeds: Sequence[bytes]) -> Iterator[bytes]:
    """So many messages, each one a few random edits away from a valid one."""
    choice = random.Random(seed)  # noqa: S311 - it chooses messages, not coins
    below = choice.randrange
    for _ in range(count):
        message = bytearray(seeds[below(len(seeds))])
        for _ in range(1 + below(3)):
            _EDITS[below(len(_EDITS))](message, choice, seeds)
        yield bytes(message)


def noise(seed: int, count: int) -> Iterator[bytes]:
    """So many messages of random bytes."""
    choice = random.Random(seed)  # noqa: S311
    for _ in range(count):
        yield choice.randbytes(choice.randrange(64))


def _flip(message: bytearray, choice: random.Random, seeds: Sequence[bytes]) -> None:
    if message:
        message[choice.randrange(len(message))] ^= 1 << choice.randrange(8)


def _set(message: bytearray, choice: random.Random, seeds: Sequence[bytes]) -> None:
    if message:
        message[choice.randrange(len(message))] = choice.choice((0, 1, 0x7F, 0x80, 0xFF))


def _lose(message: bytearray, choice: random.Random, seeds: Sequence[bytes]) -> None:
    start = choice.randrange(len(message) + 1)
    del message[start : start + choice.randrange(8)]


def _repeat(message: bytearray, choice: random.Random, seeds: Sequence[bytes]) -> None:
    start = choice.randrange(len(message) + 1)
    part = message[start : start + choice.randrange(16)]
    if len(message) < _LONG:
        message[start:start] = part * choice.choice((1, 2, 16))


def _mix(message: bytearray, choice: random.Random, seeds: Sequence[bytes]) -> None:
    other = seeds[choice.randrange(len(seeds))]
    start = choice.randrange(len(message) + 1)
    message[start:] = other[choice.randrange(len(other) + 1) :]


def _append(message: bytearray, choice: random.Random, seeds: Sequence[bytes]) -> None:
    """A second value for what stands there already: the last one counts, and messages are merged."""
    if len(message) < _LONG:
        message += seeds[choice.randrange(len(seeds))]


def _swell(message: bytearray, choice: random.Random, seeds: Sequence[bytes]) -> None:
    """A number that is as large as a number can be."""
    place = choice.randrange(len(message) + 1)
    message[place : place + 1] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"


_EDITS = (_flip, _flip, _set, _lose, _repeat, _mix, _append, _swell)
