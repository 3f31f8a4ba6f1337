"""Shares that somebody carries: the same answer as when parties upload, and nothing to read on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import closing
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.cohorts import Cohort, Split
from localdp.errors import InvalidParameter, LocalDpError, MalformedReport, PolicyRefused, UnknownCollection
from localdp.oracles.collecting import run_collection
from localdp.oracles.lr import cohorts_by_party
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.party.party import Party
from localdp.sharing.collection import Collection, Tier
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault
from parties.agent.service import AgentService
from parties.coordinator import Peer
from parties.shares.collector import RemoteShareServers
from parties.shares.messages import block_to_wire, sealed_to_wire
from parties.shares.service import ShareService
from parties.wire.v1 import cohort_pb2, oracle_pb2
from parties.wire.v1 import share_server_pb2 as pb
from tests.support.federations import (
    KEYRING,
    ONE,
    Served,
    collection_of,
    parties_of,
    people,
    served,
    share_servers_of,
)
from tests.support.shares import bits, blocks_of, bound

PEOPLE = 40
EVERYBODY = Cohort(0, PEOPLE)
NAMES = ("server-0", "server-1")
KEYS = tuple(server.sealing_key.public for server in share_servers_of(2))


def unreachable(party: Party, addresses: dict[str, str]) -> AgentService:
    """An agent that knows the servers' keys and could not reach them."""
    return AgentService(party, out_of_reach(addresses))


def out_of_reach(names: Iterable[str]) -> dict[str, str]:
    return {name: f"127.0.0.1:1#{key.hex()}" for name, key in zip(names, KEYS, strict=True)}


def carrier(federation: Served) -> RemoteShareServers:
    peers = [Peer(name, address) for name, address in federation.addresses.items()]
    return RemoteShareServers(federation.remote, peers, 20, relayed=True)


@pytest.mark.parametrize("tier", ["additive", "prio3"])
def test_carried_shares_give_the_answer_of_uploaded_ones(tier: Tier) -> None:
    parties = parties_of(people(PEOPLE), 2)
    collection = collection_of(parties, tier=tier, relayed=True)
    here = InProcessShareServers(parties_of(people(PEOPLE), 2), share_servers_of(2))
    expected = run_collection(here, collection, EVERYBODY)
    with served(parties, wrap_agent=unreachable) as federation, closing(carrier(federation)) as shared:
        sums, reports = run_collection(shared, collection, EVERYBODY)
    assert (sums.tolist(), reports) == (expected[0].tolist(), expected[1])


def test_a_block_that_is_carried_twice_counts_once_and_what_is_changed_is_refused() -> None:
    parties = parties_of(people(PEOPLE), 1)
    collection = collection_of(parties, relayed=True)
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


def test_a_collector_cannot_put_reports_of_its_own_in_places_of_parties_that_upload() -> None:
    """It needs no certificate of theirs to seal, and could fill a minimum batch with people who are not there."""
    parties = parties_of(people(PEOPLE), 1)
    collection = collection_of(parties)
    with served(parties) as federation, closing(carrier(federation)) as shared:
        shared.open(collection)
        for number, block in enumerate(blocks_of(collection, bits(*[0] * PEOPLE))):
            forged = sealed_to_wire(block, collection.servers[number], collection.keys[number])
            with pytest.raises(InvalidParameter, match="upload themselves"):
                shared._carried(number, forged)
            assert federation.servers[number].stored(collection.digest).size == 0
        assert federation.shared.contribute(collection, EVERYBODY) == PEOPLE


def test_shares_travel_the_way_that_the_collection_says_and_nobody_is_charged_for_another() -> None:
    parties = parties_of(people(PEOPLE), 1)
    own, carried = collection_of(parties), collection_of(parties, relayed=True)
    with served(parties, wrap_agent=unreachable) as federation, closing(carrier(federation)) as shared:
        for collection in (own, carried):
            shared.open(collection)
        with pytest.raises(InvalidParameter, match="upload themselves"):
            list(federation.remote.sealed(own, EVERYBODY))
        with pytest.raises(InvalidParameter, match="carried"):
            federation.remote.contribute(carried, EVERYBODY)
        assert parties[0].ledger.spent().sum() == 0
        block = iter([block_to_wire(blocks_of(carried, bits(1))[0])])
        with pytest.raises(grpc.RpcError, match="carried"):
            shared._stubs[0].UploadShares(block, timeout=5)


def test_a_collector_that_carries_says_so_and_an_operator_has_to_allow_it() -> None:
    parties = parties_of(people(PEOPLE), 1)

    def strict(number: int, server: ShareServer) -> ShareService:
        return ShareService(ShareServer(server.name, MemoryVault(KEYRING.server(number))))

    with (
        served(parties, wrap_agent=unreachable, wrap_server=strict) as federation,
        closing(carrier(federation)) as shared,
        pytest.raises(PolicyRefused, match="allow relayed collections"),
    ):
        SharedOracle(shared, ONE, KEYRING.source("carried")).answer(["smoker"])
    assert parties[0].ledger.spent().sum() == 0
    with served(parties, wrap_agent=unreachable) as federation, closing(carrier(federation)) as shared:
        oracle = SharedOracle(shared, ONE, KEYRING.source("carried"))
        assert oracle.answer(["smoker"])[0].reports == PEOPLE


class Meddling(AgentService):
    """A party that hands over sealed shares in other places than it was asked for, after its own."""

    def __init__(self, *about: Any, elsewhere: dict[str, Any]) -> None:
        super().__init__(*about)
        self._elsewhere = elsewhere

    async def ContributeSealed(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        async for own in super().ContributeSealed(request, context):
            yield own
        kept = {field.name: value for field, value in own.upload.ListFields()}
        upload = pb.UploadSealedRequest(**(kept | self._elsewhere))
        yield oracle_pb2.ContributeSealedResponse(server=0, upload=upload)


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"party": "party-1"},
        {"collection": bytes(32)},
        {"cohort": cohort_pb2.Cohort(start=0, stop=PEOPLE)},
        {"cohort": cohort_pb2.Cohort(start=3, stop=PEOPLE // 2 + 1)},
        {"cohort": cohort_pb2.Cohort(start=2, stop=PEOPLE // 2)},
        {"cohort": cohort_pb2.Cohort(start=3, stop=9, split=cohort_pb2.Split(seed=bytes(16), parts=2))},
    ],
    ids=["another party", "another collection", "more people", "one more", "one before", "a split"],
)
def test_a_party_cannot_have_shares_carried_to_places_that_it_was_not_asked_about(
    elsewhere: dict[str, Any],
) -> None:
    parties = parties_of(people(PEOPLE), 2)
    collection = collection_of(parties, relayed=True)

    def meddling(party: Party, addresses: dict[str, str]) -> AgentService:
        return Meddling(party, out_of_reach(addresses), elsewhere=elsewhere)

    with served(parties, wrap_agent=meddling) as federation:
        parts = federation.remote.sealed(collection, Cohort(3, PEOPLE))
        assert [next(parts).upload.party for _ in collection.servers] == ["party-0", "party-0"]
        with pytest.raises(MalformedReport, match=r"^party party-0 "):
            next(parts)


def test_sealed_shares_of_a_part_of_a_split_are_carried() -> None:
    parties = parties_of(people(PEOPLE), 2)
    collection, some = collection_of(parties, relayed=True), Cohort(3, PEOPLE, Split(bytes(16), 2, 1))
    with served(parties, wrap_agent=unreachable) as federation, closing(carrier(federation)) as shared:
        shared.open(collection)
        asked = sum(part.size() for _, part in cohorts_by_party(some, [one.people for one in parties]))
        assert shared.contribute(collection, some) == asked > 5


def test_what_the_carrier_sees_does_not_hold_the_shares() -> None:
    parties = parties_of(people(PEOPLE), 1)
    collection = collection_of(parties, relayed=True)
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
    collection: Collection = collection_of(parties, relayed=True, **changed)
    with served(parties, wrap_agent=unreachable) as federation, pytest.raises(error):
        list(federation.remote.sealed(collection, EVERYBODY))
    assert parties[0].ledger.spent().sum() == 0
