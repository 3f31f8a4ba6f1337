"""Joint noise on the sums of a collection: what one of three share servers says, from its greeting to what it releases.

    greet     each to both: 16 fresh octets and the commitment to its sums; to the one before: its key
    keep      identity and key are on record, once for a collection; others than before are refused
    agree     each to both: the tag of the attempt; two honest servers never work with different streams
    compute   reshare the sums, draw the noise, verify every gate (`joint_noise`, `verification`)
    keep      the two components of every noisy sum are on record
    agree     each to both: they are; only then does anybody release

Nothing that depends on a secret leaves before everything is verified.  An attempt that broke off is made again from the
start: with the same noise and the same sums under new masks.

Claim.  Whatever one dishonest server does, the two others release at most one noisy sum for each entry: that of the agreed
reports and of the one joint noise, shifted by what the dishonest one added to its own share of the sums.
Checked in tests/unit/computing/test_joint_release.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from localdp.computing.dialogue import SERVERS, Dialogue, Exchange, others, run_together
from localdp.computing.gates import pack_elements
from localdp.computing.joint_noise import noisy_sums
from localdp.computing.keyed_streams import NONCE_BYTES, HeldKeys, KeyedAttempt
from localdp.computing.seat import Seat, SharedElements
from localdp.computing.verification import verified
from localdp.framing import DIGEST_BYTES
from localdp.randomness.keys import KEY_BYTES, derive_key
from localdp.sharing.collection import Collection
from localdp.sharing.joint_terms import JointRecord, JointTerms
from localdp.sharing.prio3.batch.kernels import elements, kernel_for
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Published

_GREETING = NONCE_BYTES + DIGEST_BYTES
_KEPT = b"k"

Keep = Callable[[JointRecord], None]


def joint_release(terms: JointTerms, nonce: bytes, keep: Keep) -> Dialogue[Published]:
    """One server's part; `nonce`: 16 octets that were never used; a record is on disk when `keep` returns."""
    record, attempt = yield from _begun(terms, nonce, keep)
    seat = Seat(terms.server, attempt, kernel_for(terms.collection.field))
    noisy = yield from _noisy_sums(seat, terms)
    own, following = map(pack_elements, noisy.both)
    record = replace(record, tag=attempt.tag, sums=own + following)
    keep(record)
    yield from _agreed(seat, _KEPT, "what was verified is not on record everywhere")
    return record.published


def _begun(terms: JointTerms, nonce: bytes, keep: Keep) -> Dialogue[tuple[JointRecord, KeyedAttempt]]:
    """The attempt that all three mean."""
    greeting, (previous, following) = nonce + terms.commitment, others(terms.server)
    told = yield Exchange(greeting + terms.key, greeting, _GREETING, _GREETING + KEY_BYTES)
    greetings = {terms.server: greeting, previous: told.previous, following: told.next[:_GREETING]}
    ordered = [greetings[server] for server in range(SERVERS)]
    identity = terms.identity([one[NONCE_BYTES:] for one in ordered])
    record = terms.record.begun(identity, told.next[_GREETING:])
    keep(record)
    nonces = tuple(one[:NONCE_BYTES] for one in ordered)
    attempt = KeyedAttempt(HeldKeys(terms.key, record.key), identity, nonces)
    seat = Seat(terms.server, attempt, kernel_for(terms.collection.field))
    yield from _agreed(seat, attempt.tag, "the servers were told different things about this attempt")
    return record, attempt


def _agreed(seat: Seat, said: bytes, otherwise: str) -> Dialogue[None]:
    """Each says the same to both."""
    told = yield Exchange(said, said, len(said), len(said))
    if told != (said, said):
        raise seat.aborted(otherwise)


def _noisy_sums(seat: Seat, terms: JointTerms) -> Dialogue[SharedElements]:
    """Shares of the sums with their noise, verified."""
    sums = elements(seat.kernel, terms.sums)[:, :, 0]
    noisy = yield from noisy_sums(seat, sums, terms.collection.noise.joint_law)
    yield from verified(seat)
    return noisy


def run_joint_release(
    servers: Sequence[ShareServer],
    collection: Collection,
    accepted: bytes,
    signed: Sequence[bytes],
) -> list[Published]:
    """The whole protocol in one process, readably: what each of three servers releases."""
    name = collection.digest

    def part(server: ShareServer) -> Dialogue[Published]:
        terms = server.joint_terms(name, accepted, signed)
        nonce = derive_key(terms.key, b"only attempt")[
            :NONCE_BYTES
        ]  # in one process there is no second one
        return joint_release(terms, nonce, lambda record: server.keep_joint(name, record))

    drawn = run_together([part(server) for server in servers])
    together_released = zip(servers, drawn, strict=True)
    return [server.release(name, accepted, signed, one).published for server, one in together_released]
