"""Randomness that two of three servers share without a message: AES keystreams from pairwise keys.

Server i draws a key k_i when a collection is opened and gives it to server i - 1; so server i holds k_i ("own") and
k_{i+1} ("next"), and not k_{i+2}, which both others hold.  From a key, the name of the computation and a purpose a
stream is derived (`randomness/keys.py`), and is never used for a second purpose:

- *lasting* streams (noise, resharing) are the same in every attempt, so that a repeated attempt has the same noise;
- *fresh* streams (masks, proofs, challenges) also depend on 16 octets of each server, made anew for every attempt, so
  that a server that was killed, or put back to an older state, never masks two values with one pad.

A field element is the next word, or pair of words, that is below the prime; others are skipped, in order, so that
both holders agree.  (Reducing would favour small elements by 2**-32.)

Claim.  As long as AES and HMAC-SHA256 are pseudorandom, what server i does not hold is uniform to it.
Checked in tests/unit/computing/test_keyed_streams.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from localdp.computing.dialogue import SERVERS
from localdp.errors import InvalidParameter
from localdp.framing import digest
from localdp.randomness.keys import KEY_BYTES, derive_key
from localdp.randomness.keystream import fill, keystream
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Words

NONCE_BYTES = 16


class SharedStream(Protocol):
    """Words and elements that both holders of a key draw alike."""

    def words(self, count: int) -> Words:
        """Uniform words."""
        ...

    def elements(self, kernel: Kernel, count: int) -> Words:
        """Uniform field elements, of shape (limbs, count)."""
        ...


class KeyedStream:
    """The AES-CTR keystream of a derived key."""

    def __init__(self, key: bytes) -> None:
        self._cipher = keystream(key)

    def words(self, count: int) -> Words:
        octets = np.empty(8 * count, np.uint8)
        fill(self._cipher, octets)
        return octets.view("<u8").astype(np.uint64, copy=False)

    def elements(self, kernel: Kernel, count: int) -> Words:
        limbs = kernel.limbs
        drawn = self.words(limbs * count).reshape(count, limbs)
        skipped = kernel.unreduced(drawn.T)
        if skipped.any():
            missing = self.elements(kernel, int(np.count_nonzero(skipped)))
            drawn = np.concatenate([drawn[~skipped], missing.T])
        return np.ascontiguousarray(drawn.T)


class StreamPair(NamedTuple):
    """The streams of one purpose that a server holds."""

    own: SharedStream
    next: SharedStream

    def words(self, *shape: int) -> Words:
        """Both components of shared random words: of shape (2, *shape)."""
        count = int(np.prod(shape))
        return np.stack([self.own.words(count), self.next.words(count)]).reshape(2, *shape)

    def elements(self, kernel: Kernel, count: int) -> Words:
        """Both components of shared random elements: of shape (2, limbs, count)."""
        return np.stack([self.own.elements(kernel, count), self.next.elements(kernel, count)])


@dataclass(frozen=True, slots=True)
class HeldKeys:
    """The two keys that a server holds: its own, and that of the next server."""

    own: bytes
    next: bytes

    def __post_init__(self) -> None:
        if {len(self.own), len(self.next)} != {KEY_BYTES}:
            raise InvalidParameter(f"a key of a computation has {KEY_BYTES} bytes")

    def derived(self, *context: bytes) -> tuple[bytes, bytes]:
        """32 octets of the own key, which the previous server has too, and 32 of the next one's."""
        return derive_key(self.own, *context), derive_key(self.next, *context)

    def streams(self, *context: bytes) -> StreamPair:
        """The streams of one purpose."""
        return StreamPair(*map(KeyedStream, self.derived(*context)))


class Attempt(Protocol):
    """What a server draws from while it tries a computation once."""

    @property
    def tag(self) -> bytes:
        """Names the attempt: in every message, so that honest servers never work with different streams."""
        ...

    def lasting(self, purpose: bytes) -> StreamPair:
        """Streams that every attempt has alike."""
        ...

    def fresh(self, purpose: bytes) -> StreamPair:
        """Streams of this attempt alone."""
        ...

    def secrets(self, label: bytes) -> tuple[bytes, bytes]:
        """32 octets of the own key, which the previous server has too, and 32 of the next one's."""
        ...


class KeyedAttempt:
    """One attempt of one computation, under the keys of one server."""

    def __init__(
        self, keys: HeldKeys, computation: bytes, nonces: tuple[bytes, ...], inputs: tuple[bytes, ...] = ()
    ) -> None:
        """`computation`: the digest of all that is public; of servers 0, 1 and 2 `nonces`, and digests of `inputs`."""
        if len(nonces) != SERVERS or {len(nonce) for nonce in nonces} != {NONCE_BYTES}:
            raise InvalidParameter(f"an attempt has {SERVERS} nonces of {NONCE_BYTES} bytes")
        self._keys, self._computation, self._nonces = keys, computation, b"".join(nonces)
        self.tag = digest(b"attempt", computation, self._nonces, *inputs)

    def lasting(self, purpose: bytes) -> StreamPair:
        return self._keys.streams(self._computation, purpose)

    def fresh(self, purpose: bytes) -> StreamPair:
        return self._keys.streams(self._computation, self._nonces, purpose)

    def secrets(self, label: bytes) -> tuple[bytes, bytes]:
        return self._keys.derived(self._computation, self._nonces, b"challenge", label)
