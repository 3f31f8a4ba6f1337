"""What the servers of a collection sign for each other, with the witness keys that it names (`binding`).

    opening   "this is the commitment to my secret of this collection": a server that opened it a second time has another
    sealed    "this set of reports, with these openings, is on my record, and no other ever will be"
    said      "this is what I say at this step of proving my noise" (`proving_noise`)

A server releases with the `sealed` of all servers in its hand, each about its own opening.  So a second release, of another
set or under another secret, needs that it was put back itself, state and secrets, and that every other server lies or was
put back as well: there is one release while one other honest server remembers.  What liars sign is worth nothing.

Checked in tests/unit/sharing/test_binding.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from localdp.errors import ShareMismatch
from localdp.framing import digest, framed
from localdp.sharing.binding import Binding, Opening

SIGNATURE_BYTES = 64


@dataclass(frozen=True, slots=True)
class WitnessKey:
    """What a server signs with, while it remembers."""

    public: bytes
    _private: Ed25519PrivateKey = field(repr=False, compare=False)

    @classmethod
    def derived(cls, secret: bytes) -> WitnessKey:
        """The key pair that follows from 32 secret bytes."""
        private = Ed25519PrivateKey.from_private_bytes(secret)
        return cls(private.public_key().public_bytes_raw(), private)

    def opening(self, collection: bytes, secret: bytes) -> Opening:
        """That a collection was opened with a secret."""
        commitment = commitment_of(secret)
        return Opening(commitment, self._private.sign(_opening(collection, commitment)))

    def sealed(self, collection: bytes, accepted: bytes) -> bytes:
        """That a set of reports is on record."""
        return self._private.sign(_sealed(collection, accepted))

    def said(self, collection: bytes, accepted: bytes, step: bytes, said: bytes) -> bytes:
        """That this is what the server says at a step of its proof of noise."""
        return self._private.sign(_said(collection, accepted, step, said))


def commitment_of(secret: bytes) -> bytes:
    """What an opening says of a secret."""
    return digest(b"localdp collection secret v1", secret)


def require_openings(
    servers: Sequence[str],
    collection: bytes,
    binding: Binding,
    openings: Sequence[Opening],
    own: int | None = None,
) -> bytes:
    """Refuse openings that are not those of the collection's servers; returns the digest of all.

    `own`: whose is not looked at, because the server of that number compares it with what it has.
    """
    if len(openings) != len(servers):
        raise ShareMismatch("every server of a collection opens it")
    for number, (server, opening) in enumerate(zip(servers, openings, strict=True)):
        message = _opening(collection, opening.secret)
        if number != own and not _is_signed(binding.witnesses[number], opening.signature, message):
            raise ShareMismatch(f"there is no opening of the collection that share server {server} signed")
    return digest(b"localdp openings v1", *(opening.secret for opening in openings))


def require_sealed(
    servers: Sequence[str],
    collection: bytes,
    accepted: bytes,
    binding: Binding,
    signed: Sequence[bytes],
    own: int | None = None,
) -> None:
    """Refuse to go on before this set of reports is on record at every server; `own` as above."""
    if len(signed) != len(servers):
        raise ShareMismatch("a release needs that the set of reports is on record at every server")
    message = _sealed(collection, accepted)
    for number, (server, signature) in enumerate(zip(servers, signed, strict=True)):
        if number != own and not _is_signed(binding.witnesses[number], signature, message):
            raise ShareMismatch(f"there is no signature of share server {server} for this set of reports")


def require_said(
    server: str,
    witness: bytes,
    collection: bytes,
    accepted: bytes,
    step: bytes,
    said: bytes,
    signature: bytes,
) -> None:
    """Refuse what a server did not say about its noise."""
    if not _is_signed(witness, signature, _said(collection, accepted, step, said)):
        raise ShareMismatch(
            f"there is nothing about its noise that share server {server} signed at this step"
        )


def _said(collection: bytes, accepted: bytes, step: bytes, said: bytes) -> bytes:
    return framed([b"localdp noise v1", collection, accepted, step, digest(said)])


def _opening(collection: bytes, commitment: bytes) -> bytes:
    return framed([b"localdp opening v1", collection, commitment])


def _sealed(collection: bytes, accepted: bytes) -> bytes:
    return framed([b"localdp sealed set v1", collection, accepted])


def _is_signed(public: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
