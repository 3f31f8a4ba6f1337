"""How the servers of a collection agree on its reports: the first server leads, the others answer it (a star).

    check    leader to all     which of these reports do you have, and what do you say about them?
    vote     leader to all     this is what all say: which do you accept?
    commit   leader, then all  exactly those that all accept count; a report that somebody lacks is left for later
    seal     leader, then all  nothing more is decided: sign for it, with the openings of all

The leader decides on its own record first and tells the helpers then.  If one of them is away, the decision stands,
and is told again: a helper can always follow, because it has stored every report that it ever voted for.  So a
failure at any point delays a batch, and never loses one.

These functions are the whole of it, in process; `parties.shares.leading` runs the same steps over the network.
Checked in tests/unit/sharing/test_agreement.py and tests/fault/test_share_operations.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from localdp.errors import ShareMismatch
from localdp.sharing.binding import Opening
from localdp.sharing.blame import answer_of
from localdp.sharing.blocks import POSITION_BYTES, Mask, Octets, Positions
from localdp.sharing.collection import Collection
from localdp.sharing.proof_record import ProofStep
from localdp.sharing.proving_noise import run_proofs
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Holding, Job
from localdp.sharing.tiers import sharing_of

VERIFIED_AT_ONCE = 1 << 14  # reports: each decision is synced, which takes as long as thousands of counts
ADDED_AT_ONCE = 1 << 17  # entries of reports without proofs
LARGEST_BLOCK_BYTES = 8 << 20
LARGEST_VOTE_BYTES = 3 << 20  # what all servers say about a block, and its positions: it is one message


class Helper(Protocol):
    """A server that does not lead, as the leader sees it."""

    @property
    def name(self) -> str:
        """What the collection calls it."""
        ...

    def check(self, collection: bytes, verify_key: bytes, positions: Positions) -> tuple[Mask, Octets]:
        """Which reports it has, and what it says about them."""
        ...

    def vote(self, collection: bytes, positions: Positions, verifiers: Sequence[Octets]) -> Mask:
        """Which reports it accepts, given what every server says about them."""
        ...

    def commit(self, collection: bytes, job: Job) -> None:
        """Have it count a job."""
        ...

    def opening(self, collection: bytes) -> Opening:
        """That it opened the collection, once."""
        ...

    def seal(
        self, collection: bytes, expected: Holding | None = None, openings: Sequence[Opening] = ()
    ) -> Holding:
        """Have it make the set of reports final, and sign for it."""
        ...

    def holding(self, collection: bytes) -> Holding:
        """What it counts."""
        ...


def block_size(collection: Collection) -> int:
    """How many reports are verified together: their rows fit into memory, and their verifier rows into a message."""
    if collection.tier == "additive":
        return max(1, ADDED_AT_ONCE // collection.encoding.length)
    sharing = sharing_of(collection)
    row = sharing.public_bytes + sharing.input_bytes(0)
    said = len(collection.servers) * sharing.verifier_bytes + POSITION_BYTES
    return max(1, min(VERIFIED_AT_ONCE, LARGEST_BLOCK_BYTES // row, LARGEST_VOTE_BYTES // said))


def proposals(leader: ShareServer, collection: Collection) -> Iterator[Positions]:
    """What the leader has and nothing was decided about, in blocks."""
    stored = leader.stored(collection.digest)
    size = block_size(collection)
    for start in range(0, len(stored), size):
        yield stored[start : start + size]


def verify(leader: ShareServer, helpers: Sequence[Helper], collection: bytes, positions: Positions) -> None:
    """Decide about the reports of a block that all servers have."""
    servers: list[Helper] = [leader, *helpers]
    key = leader.verify_key(collection)
    checked = [server.check(collection, key, positions) for server in servers]
    held = held_by_all(leader, collection, positions, checked)
    if not held.all():
        if held.any():
            verify(leader, helpers, collection, positions[held])
        return
    verifiers = [rows for _, rows in checked]
    votes = [server.vote(collection, positions, verifiers) for server in servers]
    job = leader.decide(collection, positions, votes)
    for helper in helpers:
        helper.commit(collection, job)


def catch_up(leader: ShareServer, helper: Helper, collection: bytes) -> None:
    """Tell a helper every decision that it may have missed, and make sure that it counts what the leader counts."""
    theirs, own = helper.holding(collection), leader.holding(collection)
    require_newest(own, theirs)
    if theirs.jobs != own.jobs:
        for job in leader.jobs(collection):
            helper.commit(collection, job)
    require_same_set(leader, helper.name, collection, helper.holding(collection))


def agree(leader: ShareServer, helpers: Sequence[Helper], collection: Collection) -> Holding:
    """The whole agreement, readably: verify, decide, compare, seal.  Done again, it goes on where it stopped."""
    name = collection.digest
    if not leader.in_progress(name):
        return leader.holding(name)
    if not leader.holding(name).sealed:
        for helper in helpers:
            catch_up(leader, helper, name)
        for positions in proposals(leader, collection):
            verify(leader, helpers, name, positions)
        leader.require_enough(name)
    for helper in helpers:
        catch_up(leader, helper, name)
    holding = leader.holding(name)
    if not holding.sealed or not all(helper.holding(name).sealed for helper in helpers):
        openings = [server.opening(name) for server in (leader, *helpers)]
        holding = leader.seal(name, None, openings)
        for helper in helpers:
            helper.seal(name, holding, openings)
    return holding


def held_by_all(
    leader: ShareServer, collection: bytes, positions: Positions, checked: Sequence[tuple[Mask, Octets]]
) -> Mask:
    """Which of these reports everybody has, given what each server answered; the leader takes note of who lacks some."""
    leader.note_checked(collection, positions, checked)
    return np.asarray(np.logical_and.reduce([mask for mask, _ in checked]))


def require_newest(own: Holding, theirs: Holding) -> None:
    """Refuse to lead helpers that know of decisions which the leader forgot: it decides first, and tells them then."""
    if not own.sealed and (theirs.jobs > own.jobs or theirs.sealed):
        raise ShareMismatch(
            "this share server leads, and its state is older than the others': they have on record what it has not"
            " decided, or one of them lies; begin a new collection"
        )


def require_same_set(leader: ShareServer, helper: str, collection: bytes, theirs: Holding) -> None:
    """Refuse a helper that counts other reports; where one of the two has sealed its set, the other's seal will tell."""
    own = leader.holding(collection)
    sets = own.accepted == theirs.accepted or own.sealed != theirs.sealed
    with answer_of(helper, leader.blame(collection)):
        if not sets or (own.reports, own.jobs) != (theirs.reports, theirs.jobs):
            raise ShareMismatch("it does not count the reports that all agreed on; nothing was released")


def prove_together(
    servers: Sequence[ShareServer], collection: bytes, accepted: bytes, signed: Sequence[bytes]
) -> None:
    """Have every server prove its noise to the others, where all are in this process."""

    def ask(step: ProofStep, messages: Sequence[bytes]) -> list[bytes]:
        return [server.prove_noise(collection, accepted, signed, step, messages) for server in servers]

    run_proofs(len(servers), ask)
