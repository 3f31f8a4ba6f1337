"""Joint noise on sums, or a selection from them (section 9.3): what one of three share servers says, to its release.

    greet     each to both: the commitment to its sums; to the one before: its key
    begin     reshare the sums, and agree on fresh streams (`attempts`)
    keep      identity, key and what was entered are on record, once for a collection; others than before are refused
    compute   draw the noise, verify every gate
    keep      the two components of every noisy sum are on record; of a selection, the index, which all three know
    agree     each to both: they are; only then does anybody release

Nothing that depends on a secret leaves before everything is verified.  An attempt that broke off is made again from the
start: with the same noise and the same sums under new masks.

Claim.  Whatever one dishonest server does, the two others release at most one noisy sum for each entry: that of the agreed
reports and of the one joint noise, shifted by what the dishonest one added to its own share of the sums.  Of a selection
they open one index at most, and no sums: which of the two it is stands in the collection's digest.  One of the two may even
have been put back to any earlier state.
Checked in tests/unit/computing/test_joint_release.py, tests/fault/test_dishonest_lives.py and test_changed_inputs.py there.
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
from localdp.computing.dialogue import SERVERS, Dialogue, Exchange, Traffic, others, run_together
from localdp.computing.keyed_streams import NONCE_BYTES, HeldKeys
from localdp.computing.noisy_maximum import noisy_maximum
from localdp.computing.seat import Seat, SharedElements
from localdp.errors import ComputationAborted
from localdp.framing import DIGEST_BYTES, digest
from localdp.randomness.keys import KEY_BYTES, derive_key
from localdp.sharing.collection import Collection
from localdp.sharing.joint_terms import JointRecord, JointTerms
from localdp.sharing.prio3.batch.kernels import elements, kernel_for
from localdp.sharing.selection import Selection
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Published

_KEPT = b"k"

Keep = Callable[[JointRecord], None]


def joint_release(terms: JointTerms, nonce: bytes, keep: Keep) -> Dialogue[Published]:
    """One server's part; `nonce`: 16 octets that were never used; a record is on disk when `keep` returns."""
    record, kernel = (yield from _greeted(terms)), kernel_for(terms.collection.field)

    def keep_inputs(inputs: tuple[bytes, ...]) -> None:
        nonlocal record
        record = record.entered(inputs, others(terms.server))
        keep(record)

    made = yield from in_attempt(
        terms.server,
        HeldKeys(terms.key, record.key),
        record.identity,
        nonce,
        kernel,
        elements(kernel, _inputs(terms))[:, :, 0],
        keep_inputs,
        lambda seat, shared: _computed(seat, shared, terms.collection),
    )
    record = replace(record, tag=made.attempt, sums=made.noisy_sums)
    keep(record)
    told = yield Exchange(_KEPT, _KEPT, len(_KEPT), len(_KEPT))
    if told != (_KEPT, _KEPT):
        raise ComputationAborted.by("what was verified is not kept everywhere", others(terms.server))
    return record.published


def _inputs(terms: JointTerms) -> Sequence[int]:
    """This server's shares of what is computed from: the sums, or what is linear of scores."""
    collection = terms.collection
    if collection.selection is None:
        return terms.sums
    return collection.selection.shares_of_scores(collection.field, terms.sums, first=terms.server == 0)


def _computed(seat: Seat, shared: SharedElements, collection: Collection) -> Dialogue[Published]:
    """What is released of the sums: with noise, or the index of one of the scores that they become."""
    selection, law = collection.selection, collection.selection_law
    if selection is None or law is None:
        made = yield from released_sums(seat, shared, collection.noise.coin_law)
        return Published(made.own + made.next, made.tag)
    index = yield from noisy_maximum(seat, shared, law, selection.rule)
    return Published(collection.field.pack([index]), seat.attempt.tag)


def _greeted(terms: JointTerms) -> Dialogue[JointRecord]:
    """What the servers draw noise from, as it was before or for the first time."""
    said, (previous, following) = terms.commitment, others(terms.server)
    told = yield Exchange(said + terms.key, said, DIGEST_BYTES, DIGEST_BYTES + KEY_BYTES)
    heard = {terms.server: said, previous: told.previous, following: told.next[:DIGEST_BYTES]}
    collection = terms.collection
    law = collection.selection_law or collection.noise.coin_law
    name = computation_name(collection.digest, terms.accepted, law, collection.encoding.length)
    identity = digest(name, *(heard[server] for server in range(SERVERS)))
    return terms.record.begun(identity, told.next[DIGEST_BYTES:], (previous, following))


def combined_components(collection: Collection, published: Sequence[Published]) -> list[int]:
    """The noisy sums, from what each of three servers published: every component must have come from two, alike.

    Of a selection the index, which must have come from all.
    """
    if collection.selection is not None:
        return [_selected(collection, collection.selection, published)]
    made = []
    for server, one in enumerate(published):
        middle = len(one.noisy_sums) // 2
        made.append(
            ReleasedComponents(server, one.attempt, one.noisy_sums[:middle], one.noisy_sums[middle:])
        )
    return combined_release(collection.field, made)


def _selected(collection: Collection, selection: Selection, published: Sequence[Published]) -> int:
    if len(set(published)) > 1:
        odd = [server for server, one in enumerate(published) if published.count(one) == 1]
        raise ComputationAborted.by("the index was released in two versions", tuple(odd))
    (index,) = collection.field.unpack(published[0].noisy_sums)
    if index >= selection.candidates:
        raise ComputationAborted("the servers released an index that no candidate has")
    return index


def run_joint_release(
    servers: Sequence[ShareServer],
    collection: Collection,
    accepted: bytes,
    signed: Sequence[bytes],
    traffic: Traffic | None = None,
) -> list[Published]:
    """The whole protocol in one process, readably: what each of three servers releases."""
    name = collection.digest

    def part(server: ShareServer) -> Dialogue[Published]:
        terms = server.joint_terms(name, accepted, signed)
        # In one process there is no second attempt.
        nonce = derive_key(terms.key, b"only attempt")[:NONCE_BYTES]
        return joint_release(terms, nonce, lambda record: server.keep_joint(name, record))

    drawn = run_together([part(server) for server in servers], traffic=traffic)
    together_released = zip(servers, drawn, strict=True)
    return [server.release(name, accepted, signed, one).published for server, one in together_released]
