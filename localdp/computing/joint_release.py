"""Joint noise on the sums of a collection: what one of three share servers says, from its greeting to what it releases.

    greet     each to both: the commitment to its sums; to the one before: its key
    keep      identity and key are on record, once for a collection; others than before are refused
    compute   agree on fresh streams, reshare the sums, draw the noise, verify every gate (`attempts`)
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

from localdp.computing.attempts import (
    ReleasedComponents,
    combined_release,
    computation_name,
    in_attempt,
    released_sums,
)
from localdp.computing.dialogue import SERVERS, Dialogue, Exchange, others, run_together
from localdp.computing.keyed_streams import NONCE_BYTES, HeldKeys
from localdp.errors import ComputationAborted
from localdp.framing import DIGEST_BYTES, digest
from localdp.randomness.keys import KEY_BYTES, derive_key
from localdp.sharing.collection import Collection
from localdp.sharing.joint_terms import JointRecord, JointTerms
from localdp.sharing.prio3.batch.kernels import elements, kernel_for
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Published

_KEPT = b"k"

Keep = Callable[[JointRecord], None]


def joint_release(terms: JointTerms, nonce: bytes, keep: Keep) -> Dialogue[Published]:
    """One server's part; `nonce`: 16 octets that were never used; a record is on disk when `keep` returns."""
    record = yield from _greeted(terms)
    keep(record)
    kernel = kernel_for(terms.collection.field)
    keys = HeldKeys(terms.key, record.key)
    sums, law = elements(kernel, terms.sums)[:, :, 0], terms.collection.noise.joint_law
    made = yield from in_attempt(
        terms.server, keys, record.identity, nonce, kernel, lambda seat: released_sums(seat, sums, law)
    )
    record = replace(record, tag=made.tag, sums=made.own + made.next)
    keep(record)
    told = yield Exchange(_KEPT, _KEPT, len(_KEPT), len(_KEPT))
    if told != (_KEPT, _KEPT):
        raise ComputationAborted.by("what was verified is not kept everywhere", others(terms.server))
    return record.published


def _greeted(terms: JointTerms) -> Dialogue[JointRecord]:
    """What the servers draw noise from, as it was before or for the first time."""
    said, (previous, following) = terms.commitment, others(terms.server)
    told = yield Exchange(said + terms.key, said, DIGEST_BYTES, DIGEST_BYTES + KEY_BYTES)
    heard = {terms.server: said, previous: told.previous, following: told.next[:DIGEST_BYTES]}
    collection = terms.collection
    name = computation_name(
        collection.digest, terms.accepted, collection.noise.joint_law, collection.encoding.length
    )
    identity = digest(name, *(heard[server] for server in range(SERVERS)))
    return terms.record.begun(identity, told.next[DIGEST_BYTES:])


def combined_components(collection: Collection, published: Sequence[Published]) -> list[int]:
    """The noisy sums, from what each of three servers published: every component must have come from two, alike."""
    made = []
    for server, one in enumerate(published):
        middle = len(one.noisy_sums) // 2
        made.append(
            ReleasedComponents(server, one.attempt, one.noisy_sums[:middle], one.noisy_sums[middle:])
        )
    return combined_release(collection.field, made)


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
        # In one process there is no second attempt.
        nonce = derive_key(terms.key, b"only attempt")[:NONCE_BYTES]
        return joint_release(terms, nonce, lambda record: server.keep_joint(name, record))

    drawn = run_together([part(server) for server in servers])
    together_released = zip(servers, drawn, strict=True)
    return [server.release(name, accepted, signed, one).published for server, one in together_released]
