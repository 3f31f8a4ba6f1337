"""What a share server brings to joint noise, and what it keeps of it (plan `joint`, drawn in `localdp.computing`).

The servers draw one noise in shares, add it to the shares of their sums and verify all of it before anything is released.
An attempt may break off anywhere and is made again; so it is a function of things that stay:

    key         the server's, from the collection's secret; the server before it is told, and keeps it
    commitment  to the server's sums: other reports in the same places have another noise
    identity    of collection, agreed reports and all commitments: a server takes part under one for each collection, ever

The noise follows from keys and identity, hence every attempt that comes to its end has the same noisy sums.

    kept               when
    identity, key      before the first message that depends on them
    tag, noisy sums    when everything is verified; others may be told only then, and release when all have said so

Checked in tests/unit/computing/test_joint_release.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from localdp.errors import ShareMismatch
from localdp.framing import DIGEST_BYTES
from localdp.randomness.keys import KEY_BYTES, derive_key
from localdp.sharing.collection import Collection
from localdp.sharing.storage import Published


@dataclass(frozen=True, slots=True)
class JointRecord:
    """How far joint noise is, as it is kept: nothing, an identity, or what this server has of the noisy sums."""

    identity: bytes = b""
    key: bytes = field(default=b"", repr=False)  # of the next server
    tag: bytes = b""  # of the attempt that was verified
    sums: bytes = field(default=b"", repr=False)  # this server's two components of every noisy sum

    def packed(self) -> bytes:
        """As bytes, which nobody else may read."""
        return self.identity + self.key + self.tag + self.sums

    @classmethod
    def unpacked(cls, data: bytes) -> JointRecord:
        """From its bytes."""
        ends = DIGEST_BYTES, DIGEST_BYTES + KEY_BYTES, 2 * DIGEST_BYTES + KEY_BYTES
        return cls(data[: ends[0]], data[ends[0] : ends[1]], data[ends[1] : ends[2]], data[ends[2] :])

    def begun(self, identity: bytes, key: bytes) -> JointRecord:
        """With what an attempt begins; refused where another one began otherwise."""
        if self.identity and (self.identity, self.key) != (identity, key):
            raise ShareMismatch("the servers drew joint noise for this collection otherwise before")
        return replace(self, identity=identity, key=key)

    @property
    def published(self) -> Published:
        """What is released of it."""
        return Published(self.sums, self.tag)


@dataclass(frozen=True, slots=True)
class JointTerms:
    """What one server brings to joint noise on the sums of a collection."""

    collection: Collection
    server: int
    accepted: bytes  # digest of the agreed reports
    key: bytes = field(repr=False)
    commitment: bytes
    sums: Sequence[int] = field(repr=False)
    record: JointRecord

    @classmethod
    def of(
        cls,
        collection: Collection,
        server: int,
        accepted: bytes,
        secret: bytes,
        sums: Sequence[int],
        record: JointRecord,
    ) -> JointTerms:
        """From the collection's secret and the server's sums."""
        commitment = derive_key(secret, b"joint sums", accepted, collection.field.pack(sums))
        key = derive_key(secret, b"joint key", accepted)
        return cls(collection, server, accepted, key, commitment, sums, record)
