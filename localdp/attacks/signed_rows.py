"""Databases that are hard to sanitize (Definitions 9.1 and 9.2, Theorem 9.1), with signatures (Ed25519).

A row is a message and its signature under a key that nobody else has; the query is "valid under this public key", and all
rows of the database are.  A synthesizer is useful for a class of queries if its rows answer each of them within alpha
(Definition 9.1).  Whoever makes rows without the key makes none that the query counts, or could forge signatures; so what
is useful for this query has rows of the database in it, and those are records.  That makes the distribution hard to
sanitize (Definition 9.2) by synthetic data, although the count itself is released with noise of order 1 / epsilon.

Claim.  Every valid row of a synthesizer that has no key is a row of the database.
Checked in tests/unit/attacks/test_signed_rows.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from localdp.errors import InvalidParameter
from localdp.randomness.source import RandomSource, uniform_bytes

MESSAGE_BYTES, SIGNATURE_BYTES = 8, 64
Row: TypeAlias = tuple[bytes, bytes]  # a message and its signature
Synthesizer: TypeAlias = Callable[[Sequence[Row], RandomSource], list[Row]]


@dataclass(frozen=True, slots=True)
class SignedRows:
    """A database whose rows are signed under one key, of which everybody knows the public part."""

    rows: tuple[Row, ...]
    key: Ed25519PublicKey

    @classmethod
    def drawn(cls, people: int, source: RandomSource) -> SignedRows:
        """Uniform messages, and a key that is forgotten."""
        if people < 1:
            raise InvalidParameter("a database has at least one row")
        key = Ed25519PrivateKey.from_private_bytes(uniform_bytes(source, 32))
        messages = [uniform_bytes(source, MESSAGE_BYTES) for _ in range(people)]
        return cls(tuple((message, key.sign(message)) for message in messages), key.public_key())

    def valid(self, row: Row) -> bool:
        """The query."""
        message, signature = row
        try:
            self.key.verify(signature, message)
        except InvalidSignature:
            return False
        return True

    def counted(self, rows: Sequence[Row]) -> float:
        """Which fraction of these rows the query counts; of the database it is 1."""
        return sum(map(self.valid, rows)) / len(rows)

    def records(self, rows: Sequence[Row]) -> float:
        """Which fraction of these rows are somebody's."""
        own = set(self.rows)
        return sum(row in own for row in rows) / len(rows)


def independent(rows: Sequence[Row], source: RandomSource) -> list[Row]:
    """Every bit by itself, as often one as it is among the rows: all that one-way marginals say."""
    table = np.array([list(message + signature) for message, signature in rows], np.uint8)
    ones = np.unpackbits(table, axis=1).sum(axis=0)
    drawn = source.below(len(rows), len(rows) * len(ones)).reshape(len(rows), -1) < ones.astype(np.uint64)
    made = [row.tobytes() for row in np.packbits(drawn, axis=1)]
    return [(row[:MESSAGE_BYTES], row[MESSAGE_BYTES:]) for row in made]


def product(rows: Sequence[Row], source: RandomSource) -> list[Row]:
    """Messages and signatures as they are, each drawn by itself."""
    count = len(rows)
    messages, signatures = (source.below(count, count).tolist() for _ in range(2))
    return [(rows[m][0], rows[s][1]) for m, s in zip(messages, signatures, strict=True)]


def turned(rows: Sequence[Row], source: RandomSource) -> list[Row]:
    """Messages of their own under signatures that are there."""
    return [(uniform_bytes(source, MESSAGE_BYTES), signature) for _, signature in rows]


def copied(rows: Sequence[Row], source: RandomSource) -> list[Row]:
    """Rows drawn from the database."""
    return [rows[place] for place in source.below(len(rows), len(rows)).tolist()]
