"""Collections, blocks of shares and whole batches in process, for tests of share servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.oracles.shared import binding_of
from localdp.randomness.keyring import Keyring
from localdp.randomness.keys import derive_key
from localdp.randomness.lanes import LanedSource
from localdp.sharing import additive
from localdp.sharing.agreement import agree
from localdp.sharing.binding import Binding, Opening
from localdp.sharing.blocks import Mask, Positions, ShareBlock
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import ShareStorage
from localdp.sharing.tiers import sharing_of
from localdp.sharing.vault import MemoryVault

KEYRING = Keyring.insecurely_seeded(77)
COINS = derive_key(bytes(32), b"coins of the parties")
ONE = Epsilon.requested(1)
QUIET = Epsilon.requested(30)  # noise on a count is zero but for 1 in 10**13


def collection_of(**changes: Any) -> Collection:
    """Two servers, two parties of 100 and 50 people, one bit each, without proofs; and what the test wants otherwise."""
    fields: dict[str, Any] = {
        "collection_id": bytes(16),
        "query": "smoker",
        "encoding": Encoding.count(),
        "epsilon": ONE,
        "plan": NoisePlan.EACH_SERVER,
        "servers": ("server-0", "server-1"),
        "parties": (Contributor("party-0", 100), Contributor("party-1", 50)),
        "minimum_batch": 10,
    }
    fields |= changes
    if "binding" not in fields:
        fields["binding"] = bound(fields["servers"], fields["collection_id"])
    return Collection(**fields)


def bound(
    names: Sequence[str], collection_id: bytes = bytes(16), keyring: Keyring = KEYRING, **changes: Any
) -> Binding:
    """What ties a collection to the servers of these tests."""
    made = [ShareServer(name, MemoryVault(keyring.server(number))) for number, name in enumerate(names)]
    return replace(binding_of(made, collection_id), **changes)


def servers_for(
    collection: Collection, storages: Sequence[ShareStorage] | None = None
) -> list[ShareServer]:
    """The servers of a collection, which is open."""
    made = [
        ShareServer(name, MemoryVault(KEYRING.server(number)), storages[number] if storages else None)
        for number, name in enumerate(collection.servers)
    ]
    for server in made:
        server.open(collection)
    return made


def blocks_of(
    collection: Collection,
    values: NDArray[np.int64],
    start: int = 0,
    party: str = "party-0",
    secret: bytes = COINS,
) -> list[ShareBlock]:
    """Shares of rows of entries, of consecutive people of a party, for each server."""
    cohort = Cohort(start, start + len(values))
    coins = LanedSource(derive_key(secret, collection.digest, party.encode()), cohort.lanes())
    rows = sharing_of(collection).split(values, coins)
    return [ShareBlock(collection.digest, party, cohort, one) for one in rows]


def bits(*values: int) -> NDArray[np.int64]:
    """Rows of one entry."""
    return np.array(values, np.int64)[:, None]


def one_hot(length: int, *buckets: int) -> NDArray[np.int64]:
    """Rows with a one in their bucket."""
    return np.eye(length, dtype=np.int64)[list(buckets)]


def upload(servers: Sequence[ShareServer], blocks: Sequence[ShareBlock]) -> list[int]:
    """Each server gets its block."""
    return [server.accept(block) for server, block in zip(servers, blocks, strict=True)]


def vote_unproved(server: ShareServer, collection: Collection, positions: Positions) -> Mask:
    """What a server votes on reports without proofs, where all servers say the same about them: nothing."""
    key = servers_for(collection)[0].verify_key(collection.digest)
    _, nothing = server.check(collection.digest, key, positions)
    return server.vote(collection.digest, positions, [nothing] * len(collection.servers))


def released(servers: Sequence[ShareServer], collection: Collection) -> list[int]:
    """Agree, release, add up."""
    agree(servers[0], servers[1:], collection)
    return additive.combined(published(servers, collection), collection.field.modulus)


def openings_of(servers: Sequence[ShareServer], collection: Collection) -> list[Opening]:
    """That each server opened a collection."""
    return [server.opening(collection.digest) for server in servers]


def signed_by(servers: Sequence[ShareServer], collection: Collection) -> list[bytes]:
    """That each server has its set of reports on record, in its own hand."""
    return [server.holding(collection.digest).signature for server in servers]


def published(servers: Sequence[ShareServer], collection: Collection) -> list[tuple[int, ...]]:
    """What each server releases of what all have sealed."""
    accepted = servers[0].holding(collection.digest).accepted
    signed = signed_by(servers, collection)
    made = [server.release(collection.digest, accepted, signed) for server in servers]
    return [tuple(collection.field.unpack(one.noisy_sums)) for one in made]


def exact_sums(servers: Sequence[ShareServer], collection: Collection) -> list[int]:
    """The sums that the servers hold between them before they release, without noise."""
    held = [server._task(collection.digest).sums for server in servers]
    return additive.combined(held, collection.field.modulus)


def renamed(block: ShareBlock, **changes: Any) -> ShareBlock:
    """A block with something else in it."""
    return replace(block, **changes)
