"""Traitor tracing (Definition 9.3): who put a key into a decoder, found from what it decrypts.

A scheme has n users with a key each.  `encrypt` makes a ciphertext that every user can decrypt; `mixed` makes one that
says 1 to the first i users and 0 to the others, which nobody can tell from the next one without the key of user i (Chor,
Fiat and Naor 1994; the scheme whose ciphertext has a part for every user).  A pirate's decoder is any procedure that
decrypts what everybody can: `trace` gives it mixed ciphertexts and names the user at whom its answers jump most.

What it has to do with releases (section 9.2.1): a record is a key, a query is "this ciphertext decrypts to 1", and whoever
answers such counts accurately is a decoder.  Tracing it names a record that was in the database, so an accurate release of
them is not private; and a private one is not accurate.

Claim.  A decoder of some users' keys that answers exactly what most of them decrypt is traced to one of them, always.
Checked in tests/unit/attacks/test_tracing.py.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.mechanisms.adder import TrustedCurator
from localdp.randomness.source import RandomSource, uniform_bytes

KEY_BYTES = 32
NONCE_BYTES = 16
Decoder = Callable[["Ciphertext"], float]  # how strongly it says 1: a count, or 0 and 1


@dataclass(frozen=True, slots=True)
class Ciphertext:
    """A part for every user: a bit under a pad that only the user's key makes."""

    nonce: bytes
    parts: tuple[bool, ...]


def user_keys(users: int, source: RandomSource) -> list[bytes]:
    """A key for everybody."""
    if users < 1:
        raise InvalidParameter("a scheme has at least one user")
    return [uniform_bytes(source, KEY_BYTES) for _ in range(users)]


def encrypt(bit: bool, keys: Sequence[bytes], source: RandomSource) -> Ciphertext:
    """A bit for everybody."""
    return mixed(len(keys) if bit else 0, keys, source)


def mixed(first: int, keys: Sequence[bytes], source: RandomSource) -> Ciphertext:
    """1 for the first so many users, and 0 for the others."""
    nonce = uniform_bytes(source, NONCE_BYTES)
    parts = tuple((place < first) ^ _pad(key, nonce) for place, key in enumerate(keys))
    return Ciphertext(nonce, parts)


def decrypt(place: int, key: bytes, ciphertext: Ciphertext) -> bool:
    """What the user at this place reads."""
    return ciphertext.parts[place] ^ _pad(key, ciphertext.nonce)


def trace(decoder: Decoder, keys: Sequence[bytes], source: RandomSource) -> int:
    """The user at whom the decoder's answers jump most."""
    told = [decoder(mixed(first, keys, source)) for first in range(len(keys) + 1)]
    return int(np.argmax(np.diff(told)))


def named_trial(users: int, members: int, each: Epsilon | None, source: RandomSource) -> float:
    """Whether somebody is named whose key is in a database that counts decryptions: exactly, or at this epsilon each."""
    keys = user_keys(users, source)
    chosen = np.argsort(source.raw(np.uint64, users))[:members].tolist()
    curator = TrustedCurator(source)

    def counted(ciphertext: Ciphertext) -> float:
        reads = np.array([[decrypt(place, keys[place], ciphertext)] for place in chosen], np.int64)
        return float(reads.sum() if each is None else curator.noisy_sums(reads, 1, each)[0])

    return float(trace(counted, keys, source) in chosen)


def _pad(key: bytes, nonce: bytes) -> bool:
    return bool(hmac.digest(key, nonce, "sha256")[0] & 1)
