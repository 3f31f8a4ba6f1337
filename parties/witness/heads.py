"""The head of a ledger's chain, signed by its agent and countersigned by a witness.  No file, no network.

A ledger is a chain of numbered entries, each with a link that is a digest of the entry and of the link before.  So the
number of entries and the last link, the *head*, stand for all of it.  An agent signs its head; a witness keeps the newest
head of each party and countersigns it.

Each request names the head *after* which the new one comes: the last one that this ledger had countersigned.  A witness
accepts it only if that is what it has on record (compare and swap), or if the new head itself is (a repetition).

Claim.  The heads that a witness which keeps its own record countersigns for one party are each named by the next: they are
one line.  An agent that names a head only if it is in its own chain therefore has every head of the line in its chain, up
to its own last one.  So of two copies of an agent that went different ways at most one has its charges countersigned: the
other one's request names a head that is not on record, and the head on record is not in its chain.  An older copy is the
same case.  What the agent charged after the last head, and did not have countersigned, the witness cannot know.

All bytes that are signed are framed (localdp/framing.py) and begin with their purpose.

Checked in tests/unit/parties/witness/test_witness_heads.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from localdp.errors import InvalidParameter, RolledBack
from localdp.framing import framed
from localdp.sharing.collection import LONGEST_NAME

LINK_BYTES = KEY_BYTES = NONCE_BYTES = 32
MOST_ENTRIES = (1 << 63) - 1
_HEAD, _STEP, _COUNTERSIGNED, _LATEST = (
    b"localdp ledger head v1",
    b"localdp step v1",
    b"localdp countersigned head v1",
    b"localdp latest head v1",
)


@dataclass(frozen=True, slots=True)
class Head:
    """How far a party's ledger has come."""

    party: str
    entries: int
    link: bytes

    def __post_init__(self) -> None:
        require_party(self.party)
        if not 0 <= self.entries <= MOST_ENTRIES or len(self.link) != LINK_BYTES:
            raise InvalidParameter(
                f"a head has 0 to {MOST_ENTRIES} entries and a link of {LINK_BYTES} bytes"
            )

    def encoded(self) -> bytes:
        """What an agent signs."""
        return framed((_HEAD, self.party.encode(), b"%d" % self.entries, self.link))


class Witness(Protocol):
    """Whoever remembers how far a ledger has come."""

    @property
    def key(self) -> bytes | None:
        """What it signs with; None while it has not answered."""
        ...

    @property
    def named(self) -> bool:
        """Whether the ledger's owner named that key."""
        ...

    def latest(self) -> Head | None:
        """The newest head that it knows; None if it knows none."""
        ...

    def countersign(self, head: Head, after: Head | None) -> None:
        """Have it know this head; raises `RolledBack` if it knows neither this one nor the one `after` which it comes."""
        ...


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head with its agent's signature, which is valid: others cannot be made."""

    head: Head
    public_key: bytes
    signature: bytes

    def __post_init__(self) -> None:
        require_signature(self.public_key, self.signature, self.head.encoded(), "the agent's")


@dataclass(frozen=True, slots=True)
class SignedStep:
    """A signed head, and after which one it comes, with its agent's signature over both, which is valid."""

    signed: SignedHead
    after: Head | None
    signature: bytes

    def __post_init__(self) -> None:
        step = _step(self.signed.head, self.after)
        require_signature(self.signed.public_key, self.signature, step, "the agent's")


@dataclass(frozen=True, slots=True)
class CountersignedHead:
    """A signed head with the signature of a witness, which is valid: others cannot be made."""

    signed: SignedHead
    witness_key: bytes
    countersignature: bytes

    def __post_init__(self) -> None:
        require_signature(
            self.witness_key, self.countersignature, _countersigned(self.signed), "the witness's"
        )


def sign(head: Head, signer: Ed25519PrivateKey) -> SignedHead:
    """An agent's signature."""
    return SignedHead(head, public_key_of(signer), signer.sign(head.encoded()))


def sign_step(head: Head, after: Head | None, signer: Ed25519PrivateKey) -> SignedStep:
    """An agent's request."""
    return SignedStep(sign(head, signer), after, signer.sign(_step(head, after)))


def countersign(signed: SignedHead, signer: Ed25519PrivateKey) -> CountersignedHead:
    """A witness's signature."""
    return CountersignedHead(signed, public_key_of(signer), signer.sign(_countersigned(signed)))


def latest_answer(party: str, nonce: bytes, latest: CountersignedHead | None) -> bytes:
    """What a witness signs when it says what is on record: for this question alone."""
    return framed((_LATEST, party.encode(), nonce, b"" if latest is None else latest.countersignature))


def require_follows(newest: Head | None, head: Head, after: Head | None) -> None:
    """Refuse what is not the newest head again, and not one with more entries that comes after exactly it."""
    if head == newest:
        return
    if newest is not None and head.entries <= newest.entries:
        raise RolledBack(
            f"the witness knows {newest.entries} entries of this ledger, and not these {head.entries}"
        )
    if after != newest:
        known = "no head" if newest is None else f"another head, of {newest.entries} entries,"
        raise RolledBack(f"the witness knows {known} of this ledger")


def require_party(name: str) -> None:
    """Refuse what cannot be a party's name."""
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise InvalidParameter(f"a party's name has 1 to {LONGEST_NAME} printable characters")


def require_signature(public_key: bytes, signature: bytes, message: bytes, whose: str) -> None:
    """Refuse a signature that is not of this key over this message."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise InvalidParameter(f"{whose} signature is not of the key beside it") from None


def public_key_of(signer: Ed25519PrivateKey) -> bytes:
    """The public half of a key: 32 bytes."""
    return signer.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def _step(head: Head, after: Head | None) -> bytes:
    return framed((_STEP, head.encoded(), b"" if after is None else after.encoded()))


def _countersigned(signed: SignedHead) -> bytes:
    return framed((_COUNTERSIGNED, signed.head.encoded(), signed.public_key, signed.signature))
