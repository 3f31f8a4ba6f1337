"""Hybrid public key encryption, base mode (RFC 9180): X25519, HKDF-SHA256 and AES-128-GCM, one message a key.

    shared secret  =  ExtractAndExpand(DH(fresh key, receiver's key), both public keys)         section 4.1
    key, nonce     =  KeySchedule(shared secret, info)                                          section 5.1
    sealed         =  fresh public key || AES-128-GCM(key, nonce, data)                         section 6.1

Newer versions of `cryptography` have it built in.  This one runs on the older ones, too, which other frameworks hold on to,
and it takes every primitive from there.

Claim.  Byte for byte that of the RFC.  Checked with its vector A.1.1 and in both directions against `cryptography` in
tests/unit/sharing/test_hpke.py.
"""

from __future__ import annotations

import hmac
from functools import lru_cache

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from localdp.errors import InvalidParameter

_KEM = b"KEM" + bytes([0, 0x20])  # DHKEM(X25519, HKDF-SHA256)
_SUITE = b"HPKE" + bytes([0, 0x20, 0, 1, 0, 1])  # with HKDF-SHA256 and AES-128-GCM
_BASE_MODE = b"\x00"
PUBLIC_BYTES = 32
OVERHEAD_BYTES = PUBLIC_BYTES + 16  # of what is sealed, over the data
_SECRET_BYTES, _KEY_BYTES, _NONCE_BYTES = 32, 16, 12


def seal(
    receiver: X25519PublicKey, data: bytes, info: bytes, fresh: X25519PrivateKey | None = None
) -> bytes:
    """Data that only the receiver can open, and only under the same info.

    A `fresh` key that is given must never have sealed other data: it is for whoever has to seal the same data to the
    same bytes.
    """
    fresh = fresh or X25519PrivateKey.generate()
    public = fresh.public_key().public_bytes_raw()
    key, nonce = key_schedule(_shared(fresh.exchange(receiver), public, receiver), info)
    return public + AESGCM(key).encrypt(nonce, data, None)


def opened(receiver: X25519PrivateKey, sealed: bytes, info: bytes) -> bytes:
    """The data again; raises InvalidTag, or ValueError where there is no public key, for whatever was not sealed so."""
    public, rest = sealed[:PUBLIC_BYTES], sealed[PUBLIC_BYTES:]
    secret = receiver.exchange(X25519PublicKey.from_public_bytes(public))  # refuses points of small order
    key, nonce = key_schedule(_shared(secret, public, receiver.public_key()), info)
    return AESGCM(key).decrypt(nonce, rest, None)


def key_schedule(shared: bytes, info: bytes) -> tuple[bytes, bytes]:
    """The key and the nonce of the first message."""
    context = _context(info)
    secret = _extract(_SUITE, shared, b"secret", b"")
    return (
        _expand(_SUITE, secret, b"key", context, _KEY_BYTES),
        _expand(_SUITE, secret, b"base_nonce", context, _NONCE_BYTES),
    )


def public_of(secret: bytes) -> bytes:
    """The key that goes with a secret one."""
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def require_public(key: bytes) -> None:
    """Refuse what nothing can be sealed to: a point of small order."""
    try:
        X25519PrivateKey.from_private_bytes(bytes(_SECRET_BYTES)).exchange(
            X25519PublicKey.from_public_bytes(key)
        )
    except ValueError:
        raise InvalidParameter("this is no key that messages can be sealed to") from None


@lru_cache(maxsize=16)
def _context(info: bytes) -> bytes:
    """The same for all messages of one info."""
    no_identity = _extract(_SUITE, b"", b"psk_id_hash", b"")
    return _BASE_MODE + no_identity + _extract(_SUITE, b"", b"info_hash", info)


def _shared(secret: bytes, fresh: bytes, receiver: X25519PublicKey) -> bytes:
    """What both sides derive from one exchange of keys."""
    extracted = _extract(_KEM, b"", b"eae_prk", secret)
    return _expand(_KEM, extracted, b"shared_secret", fresh + receiver.public_bytes_raw(), _SECRET_BYTES)


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    return hmac.digest(salt, b"HPKE-v1" + suite + label + material, "sha256")


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """One block of HKDF, which is all that is needed here."""
    labelled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, labelled + b"\x01", "sha256")[:length]
