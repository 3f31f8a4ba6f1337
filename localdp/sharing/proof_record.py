"""What a share server keeps about proved noise, and the seeds that it tells the others, one after the other.

Each seed is the digest of the next, and the first is what the server committed to when it opened the collection: nobody
chooses them after that, and the same set of reports has the same public coins, however often it is gone through.

    opening  <-  key  <-  coins  <-  factors  <-  delta  <-  the collection's secret

Checked in tests/unit/sharing/test_proving_noise.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import NamedTuple

from localdp.framing import digest, framed
from localdp.randomness.keys import derive_key


class ProofStep(IntEnum):
    """What is asked of every server, with the answers of all to the step before."""

    FIX = 0
    KEY = 1
    TIE = 2
    COINS = 3
    SAY = 4
    FACTORS = 5
    RESPOND = 6
    DELTA = 7
    PROVE = 8
    CHECK = 9


class NoiseSeeds(NamedTuple):
    """Of one server."""

    key: bytes
    coins: bytes
    factors: bytes
    delta: bytes

    @classmethod
    def of(cls, secret: bytes) -> NoiseSeeds:
        """From the secret of a collection."""
        return cls.ending(derive_key(secret, b"noise challenges"))

    @classmethod
    def ending(cls, delta: bytes) -> NoiseSeeds:
        """From the last one."""
        factors = before(delta)
        coins = before(factors)
        return cls(before(coins), coins, factors, delta)


def before(seed: bytes) -> bytes:
    """The seed that is told before this one."""
    return digest(b"localdp noise seed v1", seed)


@dataclass(frozen=True, slots=True)
class ProofRecord:
    """How far the proofs are; every list has an entry for each server, or is empty."""

    openings: Sequence[bytes] = ()  # what each committed to
    fixed: Sequence[bytes] = ()  # the first that each signed; another one is refused
    tied: Sequence[bytes] = ()
    said: Sequence[bytes] = ()
    responses: Sequence[bytes] = ()
    deltas: Sequence[bytes] = ()  # the last seeds, and so all of them
    checked: Sequence[
        bytes
    ] = ()  # of each other server: the digest of the sums that it proved; or nothing yet
    released: Sequence[bytes] = ()  # this server's sums with noise

    def packed(self) -> bytes:
        """As bytes, which nobody else may read."""
        return framed(framed(entries) for entries in astuple(self))

    @classmethod
    def unpacked(cls, data: bytes) -> ProofRecord:
        """From its bytes; nothing, from none."""
        return cls(*(_unframed(entries) for entries in _unframed(data)))


def _unframed(data: bytes) -> list[bytes]:
    entries, at = [], 0
    while at < len(data):
        start = at + 8
        at = start + int.from_bytes(data[start - 8 : start], "big")
        entries.append(data[start:at])
    return entries
