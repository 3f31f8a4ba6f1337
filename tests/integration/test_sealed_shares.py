"""Shares that somebody carries: the same answer as when parties upload, and nothing to read on the way."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, LocalDpError, MalformedReport, PolicyRefused, UnknownCollection
from localdp.oracles.party import Party
from localdp.oracles.shared import InProcessShareServers, run_collection
from localdp.sharing.collection import Collection, Tier
from parties.agent.service import AgentService
from parties.coordinator import Peer
from parties.shares.collector import RemoteShareServers
from parties.wire.v1 import share_server_pb2 as pb
from tests.support.federations import Served, collection_of, parties_of, people, served, share_servers_of
from tests.support.shares import bound

PEOPLE = 40
EVERYBODY = Cohort(0, PEOPLE)
NAMES = ("server-0", "server-1")
KEYS = tuple(server.sealing_key.public for server in share_servers_of(2))


def unreachable(party: Party, addresses: dict[str, str]) -> AgentService:
    """An agent that knows the servers' keys and could not reach them."""
    return AgentService(
        party, {name: f"127.0.0.1:1#{key.hex()}" for name, key in zip(addresses, KEYS, strict=True)}
    )


def carrier(federation: Served) -> RemoteShareServers:
    peers = [Peer(name, address) for name, address in federation.addresses.items()]
    return RemoteShareServers(federation.remote, peers, 20, relayed=True)


@pytest.mark.parametrize("tier", ["additive", "prio3"])
def test_carried_shares_give_the_answer_of_uploaded_ones(tier: Tier) -> None:
    parties = parties_of(people(PEOPLE), 2)
    collection = collection_of(parties, tier=tier)
    here = InProcessShareServers(parties_of(people(PEOPLE), 2), share_servers_of(2))
    expected = run_collection(here, collection, EVERYBODY)
    with served(parties, wrap_agent=unreachable) as federation, closing(carrier(federation)) as shared:
        sums, reports = run_collection(shared, collection, EVERYBODY)
    assert (sums.tolist(), reports) == (expected[0].tolist(), expected[1])


def test_a_block_that_is_carried_twice_counts_once_and_what_is_changed_is_refused() -> None:
    parties = parties_of(people(PEOPLE), 1)
    collection = collection_of(parties)
    with served(parties, wrap_agent=unreachable) as federation, closing(carrier(federation)) as shared:
        shared.open(collection)
        blocks = list(federation.remote.sealed(collection, EVERYBODY))
        assert [block.server for block in blocks] == [0, 1]
        assert shared._carried(0, blocks[0].upload) == PEOPLE
        assert shared._carried(0, blocks[0].upload) == 0
        for wrong in changes(blocks[1].upload):
            with pytest.raises((MalformedReport, InvalidParameter, UnknownCollection)):
                shared._carried(1, wrong)
        with pytest.raises(MalformedReport):
            shared._carried(1, blocks[0].upload)  # for the other server
        assert federation.servers[1].stored(collection.digest).size == 0


def changes(upload: pb.UploadSealedRequest) -> list[pb.UploadSealedRequest]:
    copies = [pb.UploadSealedRequest.FromString(upload.SerializeToString()) for _ in range(4)]
    copies[0].sealed = copies[0].sealed[:-1] + bytes([copies[0].sealed[-1] ^ 1])
    copies[1].party = "party-1"
    copies[2].cohort.stop -= 1
    copies[3].collection = bytes(32)
    return copies


def test_what_the_carrier_sees_does_not_hold_the_shares() -> None:
    parties = parties_of(people(PEOPLE), 1)
    collection = collection_of(parties)
    with served(parties, wrap_agent=unreachable) as federation:
        seen = b"".join(
            block.SerializeToString() for block in federation.remote.sealed(collection, EVERYBODY)
        )
    shares = parties[0].share(collection, EVERYBODY)
    for block in shares:
        rows: np.ndarray[Any, Any] = block.rows.inputs
        assert not any(row.tobytes() in seen for row in rows)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"binding": bound(NAMES, keys=(KEYS[1], KEYS[0]))}, InvalidParameter),
        ({"binding": bound(NAMES, keys=(KEYS[0], bytes(32)))}, InvalidParameter),
        ({"minimum_batch": 1}, PolicyRefused),
    ],
    ids=["keys swapped", "a key of its own", "a party's policy"],
)
def test_a_coordinator_cannot_have_shares_sealed_to_other_keys(
    changed: dict[str, Any], error: type[LocalDpError]
) -> None:
    parties = parties_of(people(PEOPLE), 1)
    collection: Collection = collection_of(parties, **changed)
    with served(parties, wrap_agent=unreachable) as federation, pytest.raises(error):
        list(federation.remote.sealed(collection, EVERYBODY))
    assert parties[0].ledger.spent().sum() == 0
