"""What a share server brings to joint noise, and what it keeps of it (plan `joint`, drawn in `localdp.computing`).

The servers draw one noise in shares, add it to the shares of their sums and verify all of it before anything is released.
An attempt may break off anywhere and is made again; so it is a function of things that stay:

    key         the server's, from the collection's secret; the server before it is told, and keeps it
    commitment  to the server's sums: other reports in the same places have another noise
    identity    of collection, agreed reports and all commitments: a server takes part under one for each collection, ever
    inputs      of each server a digest of what it entered, which nobody could otherwise tell from something else

The noise follows from keys and identity, hence every attempt that comes to its end has the same noisy sums.

    kept                     when
    identity, key, inputs    before the first message that depends on the noise
    tag, noisy sums          when everything is verified; others may be told only then, and release when all have said so

Checked in tests/unit/computing/test_joint_release.py and tests/fault/test_changed_inputs.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from localdp.errors import ComputationAborted
from localdp.framing import DIGEST_BYTES
from localdp.randomness.keys import KEY_BYTES, derive_key
from localdp.sharing.collection import Collection
from localdp.sharing.storage import Published

_INPUTS_BYTES = 3 * DIGEST_BYTES


@dataclass(frozen=True, slots=True)
class JointRecord:
    """How far joint noise is, as it is kept: nothing, an identity, or what this server has of the noisy sums."""

    identity: bytes = b""
    key: bytes = field(default=b"", repr=False)  # of the next server
    inputs: bytes = b""  # digests of what servers 0, 1 and 2 entered
    tag: bytes = b""  # of the attempt that was verified
    sums: bytes = field(default=b"", repr=False)  # this server's two components of every noisy sum

    def packed(self) -> bytes:
        """As bytes, which nobody else may read."""
        return self.identity + self.key + self.inputs + self.tag + self.sums

    @classmethod
    def unpacked(cls, data: bytes) -> JointRecord:
        """From its bytes."""
        ends = [0, *accumulate((DIGEST_BYTES, KEY_BYTES, _INPUTS_BYTES, DIGEST_BYTES)), len(data)]
        return cls(*(data[start:end] for start, end in pairwise(ends)))

    def begun(self, identity: bytes, key: bytes, others: tuple[int, int]) -> JointRecord:
        """With what an attempt begins, as this server heard it from the two others; refused where another one began
        otherwise."""
        if self.identity and self.identity != identity:
            raise ComputationAborted.by("other sums than in the first attempt", others)
        if self.identity and self.key != key:
            raise ComputationAborted.by("another key than in the first attempt", others[1:])
        return replace(self, identity=identity, key=key)

    def entered(self, inputs: Sequence[bytes], others: tuple[int, int]) -> JointRecord:
        """With what each server entered; refused where one entered something else before.

        What the next server enters is hidden with a key that the one behind it has told it, so it may be either of them;
        the previous one has this server's key.
        """
        before = [
            self.inputs[start : start + DIGEST_BYTES] for start in range(0, len(self.inputs), DIGEST_BYTES)
        ]
        changed = {server for server, known in enumerate(before) if known != inputs[server]}
        if changed:
            suspects = others[:1] if changed == {others[0]} else others
            raise ComputationAborted.by("another input than in the first attempt", suspects)
        return replace(self, inputs=b"".join(inputs))

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
