"""Unambiguous bytes for hashing: every field is preceded by its length, so no two lists of fields collide."""

import hashlib
from collections.abc import Iterable

DIGEST_BYTES = 32


def framed(fields: Iterable[bytes]) -> bytes:
    """The fields, each behind its length in eight big-endian bytes."""
    return b"".join([len(field).to_bytes(8, "big") + field for field in fields])


def digest(*fields: bytes) -> bytes:
    """SHA-256 of the framed fields."""
    return hashlib.sha256(framed(fields)).digest()
