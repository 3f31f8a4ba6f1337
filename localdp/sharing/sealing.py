"""Shares sealed to one server, so that somebody else may carry them: HPKE (`hpke.py`).

The `info` of a seal binds collection, party, server and block: a sealed block
that is opened as another one does not open.  One seal a block of reports, however many there are in it.

What a seal does not say is who made it: whoever relays shares can put its own in a party's place, as it could pretend to
be more parties.  Nobody's answer becomes known by that.

Checked in tests/unit/sharing/test_sealing.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from localdp.errors import MalformedReport
from localdp.framing import framed
from localdp.sharing import hpke


@dataclass(frozen=True, slots=True)
class SealingKey:
    """A server's key pair."""

    public: bytes
    _private: X25519PrivateKey = field(repr=False, compare=False)

    @classmethod
    def derived(cls, secret: bytes) -> SealingKey:
        """The key pair that follows from 32 secret bytes."""
        private = X25519PrivateKey.from_private_bytes(secret)
        return cls(private.public_key().public_bytes_raw(), private)

    def opened(self, sealed: bytes, collection: bytes, party: str, server: str, block: bytes) -> bytes:
        """What was sealed for this place and no other."""
        try:
            return hpke.opened(self._private, sealed, _info(collection, party, server, block))
        except (InvalidTag, ValueError):
            raise MalformedReport(
                "sealed shares could not be opened by this server in this place"
            ) from None


def sealed_to(
    public: bytes, data: bytes, collection: bytes, party: str, server: str, block: bytes
) -> bytes:
    """Data that only the holder of a key can read, and only as this block of this party's shares."""
    key = X25519PublicKey.from_public_bytes(public)
    return hpke.seal(key, data, _info(collection, party, server, block))


def _info(collection: bytes, party: str, server: str, block: bytes) -> bytes:
    return framed([b"localdp sealed shares v1", collection, party.encode(), server.encode(), block])
