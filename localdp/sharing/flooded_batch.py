"""A batch of a flooded round: the messages of some people, with their part of the noise, filled up to a public size.

    number of messages  =  people * messages of a person  +  room for noise          (`FloodPlan.size`)

Each message is a code of three bytes: 0 for a dummy, and for +1 and -1 of entry e the codes 2 e + 1 and 2 e + 2.  For each
entry, Z+ and F more messages +1 and Z- and F messages -1 are drawn, of a negative binomial and a Poisson law whose shape is
the part that these people are of all honest ones (`accounting/flooding.py`).  Where they do not fit the room, no noise is
sent at all, whatever the values are; that is paid for in delta.  What is left of the size is dummies.

Every message is sealed by itself, under a key pair of its own, so that all have the same length and no two of them can
be told to come together.  Sealed together they would show the analyst each agent's own sum with a sliver of the noise.
The key pairs follow from the batch's secret and from its codes: the same batch has the same bytes, and other codes, for
whatever reason, never meet the same key.

Claim.  The number of messages and their length depend on the plan and the number of people alone.
Checked in tests/unit/sharing/test_flooded_batch.py, with twins that send a dummy for each 0, or seal messages together.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from numpy.typing import NDArray

from localdp.accounting.flood_plan import FloodPlan
from localdp.framing import framed
from localdp.randomness.keys import derive_key
from localdp.randomness.lanes import LanedSource
from localdp.randomness.negative_binomial import NegativeBinomial
from localdp.randomness.poisson import Poisson
from localdp.randomness.source import Integers, RandomSource, uniform_bytes
from localdp.sharing import hpke

CODE_BYTES = 3
SEALED_BYTES = CODE_BYTES + hpke.OVERHEAD_BYTES
TWICE_BYTES = SEALED_BYTES + hpke.OVERHEAD_BYTES  # of a message that is sealed to a second shuffler, too
DUMMY = 0
_SECRET_BYTES = 32

Codes = NDArray[np.uint32]
Messages = NDArray[np.unsignedinteger]  # codes, or a row of sealed bytes for each


@dataclass(frozen=True, slots=True)
class FloodedBatch:
    """The messages of one part, not sealed yet; in the order of their codes, which nobody sees who could read them."""

    codes: Codes
    digest: bytes  # of the round
    key: bytes  # the analyst's; none: messages stay as they are
    second_key: bytes  # of a second shuffler, if there is one
    _plain: bytes = field(repr=False)
    _secret: bytes = field(repr=False)  # from which key pairs are derived

    @classmethod
    def of(
        cls, codes: Codes, secret: bytes, digest: bytes, key: bytes, second_key: bytes = b""
    ) -> FloodedBatch:
        """These codes, for the holder of a key, behind that of a second one; the secret is the batch's alone."""
        plain = packed_codes(codes) if key else b""
        return cls(
            codes, digest, key, second_key, plain, derive_key(secret, hashlib.sha256(plain).digest())
        )

    def __len__(self) -> int:
        return len(self.codes)

    def messages(self, start: int, stop: int) -> Messages:
        """Some of them as they leave: each sealed by itself, to the same bytes whenever it is."""
        if not self.key:
            return self.codes[start:stop]
        plain = self._plain[CODE_BYTES * start : CODE_BYTES * stop]
        places = range(start, stop)
        sealed = _sealed(plain, self.key, sealed_under(self.digest), self._secret, places)
        if self.second_key:
            outer = derive_key(self._secret, b"second shuffler")
            sealed = _sealed(sealed, self.second_key, sealed_again_under(self.digest), outer, places)
        return np.frombuffer(sealed, np.uint8).reshape(-1, message_bytes(self.second_key))


def message_bytes(second_key: bytes) -> int:
    """How long a message is as it leaves an agent."""
    return TWICE_BYTES if second_key else SEALED_BYTES


def _sealed(plain: bytes, key: bytes, info: bytes, secret: bytes, places: range) -> bytes:
    """Messages of one length, each sealed by itself, by key pairs that follow from a secret and the message's place."""
    secrets = uniform_bytes(LanedSource(secret, places), _SECRET_BYTES * len(places))
    receiver, size = X25519PublicKey.from_public_bytes(key), len(plain) // max(1, len(places))
    return b"".join(
        hpke.seal(
            receiver,
            plain[size * number : size * (number + 1)],
            info,
            X25519PrivateKey.from_private_bytes(secrets[_SECRET_BYTES * number :][:_SECRET_BYTES]),
        )
        for number in range(len(places))
    )


def batch_codes(plan: FloodPlan, people: int, sums: Integers, source: RandomSource) -> Codes:
    """The codes of the messages of so many people, whose values add up to these sums."""
    plus, minus = _with_noise(plan, people, sums, source)
    kinds = np.arange(1, 2 * plan.flooded.entries + 1, dtype=np.uint32)
    sent = np.repeat(kinds, np.stack([plus, minus], axis=1).reshape(-1))
    codes = np.full(plan.size(people), DUMMY, np.uint32)
    codes[: len(sent)] = sent
    return codes


def _with_noise(
    plan: FloodPlan, people: int, sums: Integers, source: RandomSource
) -> tuple[Integers, Integers]:
    """How many messages +1 and -1 of each entry there are."""
    share, entries = plan.share(people), plan.flooded.entries
    parts, shape = share.denominator, share.numerator
    geometric = NegativeBinomial(plan.flood.rate, parts, shape).sample(source, 2 * entries)
    pairs = Poisson(plan.flood.pairs * share).sample(source, entries)
    plus, minus = geometric[:entries] + pairs, geometric[entries:] + pairs
    fits = int(plus.sum() + minus.sum()) <= plan.room(people)
    return sums + fits * plus, fits * minus


def packed_codes(codes: Codes) -> bytes:
    """Three bytes each, the highest first."""
    return codes.astype(">u4").view(np.uint8).reshape(-1, 4)[:, 1:].tobytes()


def unpacked_codes(packed: bytes) -> Codes:
    """The codes again."""
    rows = np.frombuffer(packed, np.uint8).reshape(-1, CODE_BYTES).astype(np.uint32)
    return rows @ np.array([1 << 16, 1 << 8, 1], np.uint32)


def sealed_under(digest: bytes) -> bytes:
    """The info of a seal: a message that was sealed for another round does not open."""
    return framed([b"localdp flooded message v1", digest])


def sealed_again_under(digest: bytes) -> bytes:
    """The info of the seal that a second shuffler takes away."""
    return framed([b"localdp flooded message behind a second shuffler v1", digest])


def opened_codes(secret: bytes, digest: bytes, sealed: Messages) -> Codes:
    """The codes of sealed messages; one that does not open counts as a dummy, as whoever sent it might have sent one."""
    return unpacked_codes(_opened(secret, sealed_under(digest), sealed, CODE_BYTES))


def opened_once(secret: bytes, digest: bytes, twice: Messages) -> Messages:
    """What a second shuffler makes of messages: still sealed to the analyst; zeros, which open to a dummy, for others."""
    once = _opened(secret, sealed_again_under(digest), twice, SEALED_BYTES)
    return np.frombuffer(once, np.uint8).reshape(-1, SEALED_BYTES)


def _opened(secret: bytes, info: bytes, sealed: Messages, size: int) -> bytes:
    """What was sealed, one after the other: zeros for what does not open, or has another size."""
    key, nothing = X25519PrivateKey.from_private_bytes(secret), bytes(size)

    def one(message: bytes) -> bytes:
        try:
            plain = hpke.opened(key, message, info)
        except (InvalidTag, ValueError):
            return nothing
        return plain if len(plain) == size else nothing

    return b"".join(one(row.tobytes()) for row in sealed)


def added(codes: Codes, entries: int) -> Integers:
    """The sums of entries that messages say: +1 and -1 for each; others mean nothing."""
    counts = np.bincount(codes[codes <= 2 * entries], minlength=2 * entries + 1).astype(np.int64)
    sums: Integers = counts[1::2] - counts[2::2]
    return sums
