"""Share servers that are down, slow or lying, and uploads that come twice, late or too few: typed, and nothing released."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import grpc
import pytest

from localdp.cohorts import Cohort, Split
from localdp.errors import (
    CollectionClosed,
    DeadlineMissed,
    InvalidParameter,
    LocalDpError,
    PolicyRefused,
    ShareMismatch,
    TooFewReports,
    UnknownCollection,
    Unreachable,
)
from localdp.oracles.collecting import combined, run_collection
from localdp.oracles.shared import SharedOracle
from localdp.party.party import Party
from localdp.sharing.collection import Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.field import PRIME
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.share_server import ShareServer
from parties.coordinator import Peer
from parties.shares.collector import RemoteShareServers
from parties.shares.messages import block_to_wire
from parties.shares.service import ShareService
from parties.wire.v1 import cohort_pb2, share_server_pb2_grpc
from parties.wire.v1 import share_server_pb2 as pb
from tests.support.federations import KEYRING, ONE, Served, collection_of, parties_of, people, served

PEOPLE = 40
EVERYBODY = Cohort(0, PEOPLE)


class Moody(ShareService):
    """A share server that behaves as its mood says, and well without one."""

    def __init__(self, server: ShareServer) -> None:
        super().__init__(server)
        self.mood = ""
        self.released = 0

    async def OpenCollection(self, request: Any, context: Any) -> Any:  # noqa: N802
        answer = await super().OpenCollection(request, context)
        return pb.OpenCollectionResponse(digest=b"x" * 32) if self.mood == "wrong digest" else answer

    async def UploadShares(self, requests: AsyncIterator[Any], context: Any) -> Any:  # noqa: N802
        if self.mood == "stops reading":
            return pb.UploadSharesResponse(counted=10**6)
        if self.mood == "drops the stream":
            await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        return await super().UploadShares(requests, context)

    async def GetHolding(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.mood == "slow":
            await asyncio.Event().wait()
        answer = await super().GetHolding(request, context)
        if self.mood == "wrong set":
            answer.accepted = b"y" * 32
        if self.mood == "wrong number":
            answer.reports += 1
        if self.mood == "more reports than people":
            answer.reports = 2**63
        return answer

    async def Release(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.mood == "breaks at release":
            raise RuntimeError("the share is 4711")
        self.released += 1
        answer = await super().Release(request, context)
        if self.mood == "not a field element":
            return pb.ReleaseResponse(noisy_sums=PRIME.to_bytes(8, "little"))
        return pb.ReleaseResponse(noisy_sums=bytes(16)) if self.mood == "a sum too many" else answer


class Troupe:
    """A federation whose second share server has moods."""

    def __init__(self, parties: list[Party]) -> None:
        self.parties = parties
        self.services: list[Moody] = []

    def make(self, number: int, server: ShareServer) -> ShareService:
        self.services.append(Moody(server))
        return self.services[-1]


@pytest.fixture
def troupe() -> Iterator[tuple[Troupe, Served]]:
    """Two parties and two servers, over gRPC; calls wait for two seconds."""
    made = Troupe(parties_of(people(PEOPLE), 2))
    with served(made.parties, wrap_server=made.make, timeout_seconds=2.0) as federation:
        yield made, federation


def oracle(federation: Served, name: str = "analyst") -> SharedOracle:
    """The shared curator on that federation."""
    return SharedOracle(federation.shared, ONE, KEYRING.source(name), tier="additive")


MOODS: dict[str, type[LocalDpError]] = {
    "wrong digest": ShareMismatch,
    "stops reading": TooFewReports,
    "drops the stream": Unreachable,
    "slow": DeadlineMissed,
    "wrong set": ShareMismatch,
    "wrong number": ShareMismatch,
    "more reports than people": ShareMismatch,
    "not a field element": ShareMismatch,
    "a sum too many": ShareMismatch,
    "breaks at release": Unreachable,
}


@pytest.mark.parametrize(("mood", "error"), MOODS.items(), ids=MOODS)
def test_a_faulty_server_is_a_typed_error_and_the_oracle_goes_on_when_it_is_well(
    troupe: tuple[Troupe, Served], mood: str, error: type[LocalDpError]
) -> None:
    made, federation = troupe
    asking = oracle(federation)
    made.services[1].mood = mood
    with pytest.raises(error) as caught:
        asking.answer(["smoker"])
    assert type(caught.value) is error
    assert "4711" not in str(caught.value)
    paid = mood != "wrong digest"  # otherwise parties may have contributed: a claim never understates
    assert asking.cost.rounds == paid
    if mood not in (
        "not a field element",
        "a sum too many",
        "breaks at release",
    ):  # otherwise the honest server is asked at once, too
        assert [service.released for service in made.services] == [0, 0]
    made.services[1].mood = ""
    assert asking.answer(["smoker"])[0].reports == PEOPLE
    assert asking.cost.rounds == 1  # it went on with what was paid for
    assert {int(one) for party in made.parties for one in party.ledger.spent()} == {ONE.nanonats}


def test_a_server_that_is_down_is_unreachable_and_names_itself(troupe: tuple[Troupe, Served]) -> None:
    made, federation = troupe
    peers = [Peer(name, address) for name, address in federation.addresses.items()]
    dead = [peers[0], Peer("server-1", "127.0.0.1:1")]
    with (
        closing(RemoteShareServers(federation.remote, dead, 2.0)) as shared,
        pytest.raises(Unreachable, match="server-1"),
    ):
        SharedOracle(shared, ONE, KEYRING.source("down"), tier="additive").answer(["smoker"])
    assert [service.released for service in made.services] == [0, 0]
    assert oracle(federation).answer(["smoker"])[0].reports == PEOPLE


def test_reports_uploaded_twice_count_once(troupe: tuple[Troupe, Served]) -> None:
    made, federation = troupe
    collection = collection_of(made.parties)
    federation.shared.open(collection)
    assert federation.shared.contribute(collection, Cohort(0, 30)) == 30
    assert federation.shared.contribute(collection, Cohort(0, 30)) == 0
    assert federation.shared.contribute(collection, Cohort(25, PEOPLE)) == 10
    once = collection_of(made.parties, number=1)
    assert run_collection(federation.shared, once, EVERYBODY)[1] == PEOPLE
    assert federation.shared.agree(collection).reports == PEOPLE
    assert {holding.reports for holding in federation.shared.holdings(collection)} == {PEOPLE}


def test_a_sum_with_duplicates_is_the_sum_without(troupe: tuple[Troupe, Served]) -> None:
    # Equal collections, hence equal noise: the numbers are equal exactly when the sums are.
    made, federation = troupe
    twice = collection_of(made.parties)
    federation.shared.open(twice)
    federation.shared.contribute(twice, Cohort(3, 30))
    total, _ = run_collection(federation.shared, twice, EVERYBODY)
    with served(parties_of(people(PEOPLE), 2)) as fresh:
        assert run_collection(fresh.shared, collection_of(made.parties), EVERYBODY) == (total, PEOPLE)


def test_after_the_release_nothing_is_taken_and_the_number_stays(troupe: tuple[Troupe, Served]) -> None:
    made, federation = troupe
    collection = collection_of(made.parties)
    first = run_collection(federation.shared, collection, Cohort(0, 30))
    with pytest.raises(CollectionClosed):
        federation.shared.contribute(collection, EVERYBODY)
    holdings = federation.shared.holdings(collection)
    accepted, signed = holdings[0].accepted, [holding.signature for holding in holdings]
    again = federation.shared.release(collection, accepted, signed)
    assert combined(collection, again) == [int(first[0][0])]
    with pytest.raises(ShareMismatch):
        federation.shared.release(collection, b"another set", signed)
    assert federation.shared.open(collection)  # changes nothing, and says that the set is final
    assert federation.shared.release(collection, accepted, signed) == again
    assert run_collection(federation.shared, collection, EVERYBODY) == first


def test_below_the_minimum_batch_nothing_is_released(troupe: tuple[Troupe, Served]) -> None:
    made, federation = troupe
    collection = collection_of(made.parties, minimum_batch=PEOPLE)
    with pytest.raises(TooFewReports):
        run_collection(federation.shared, collection, Cohort(0, PEOPLE - 1))
    assert run_collection(federation.shared, collection, EVERYBODY)[1] == PEOPLE


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": ONE * 2},
        {"minimum_batch": 3},
        {"plan": NoisePlan.DIVIDED},
        {"query": "not smoker"},
        {"tier": "prio3"},
        {"servers": ("server-1", "server-0")},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_changed_collection_is_another_one_and_unknown_to_the_servers(
    troupe: tuple[Troupe, Served], changes: dict[str, Any]
) -> None:
    made, federation = troupe
    collection, changed = collection_of(made.parties), collection_of(made.parties, **changes)
    federation.shared.open(collection)
    assert changed.digest != collection.digest
    with pytest.raises(UnknownCollection):
        federation.shared.contribute(changed, EVERYBODY)
    with pytest.raises(UnknownCollection):
        federation.shared.holdings(changed)
    with pytest.raises(UnknownCollection):
        federation.shared.release(changed, b"", [])


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"minimum_batch": 1}, PolicyRefused),
        ({"servers": ("server-0", "stranger")}, InvalidParameter),
        ({"query": "clip(0.01*age)"}, InvalidParameter),
        ({"encoding": Encoding.sum(2)}, InvalidParameter),
        ({"parties": (Contributor("party-0", 19), Contributor("party-1", 20))}, InvalidParameter),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_party_refuses_a_collection_that_it_should_not_join_and_charges_nothing(
    troupe: tuple[Troupe, Served], changes: dict[str, Any], error: type[LocalDpError]
) -> None:
    made, federation = troupe
    with pytest.raises(error):
        federation.remote.contribute(collection_of(made.parties, **changes), Cohort(0, 20))
    assert made.parties[0].ledger.spent().sum() == 0


def raw_stub(federation: Served) -> tuple[grpc.Channel, Any]:
    """The first share server, without the coordinator's care."""
    channel = grpc.insecure_channel(federation.addresses["server-0"])
    stub: Any = share_server_pb2_grpc.ShareServerServiceStub(channel)
    return channel, stub


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (
            lambda m: m.MergeFrom(pb.UploadSharesRequest(shares=b"12345678")),
            grpc.StatusCode.INVALID_ARGUMENT,
        ),
        (
            lambda m: m.MergeFrom(pb.UploadSharesRequest(shares=b"\xff" * 320)),
            grpc.StatusCode.INVALID_ARGUMENT,
        ),
        (lambda m: m.MergeFrom(pb.UploadSharesRequest(party="stranger")), grpc.StatusCode.INVALID_ARGUMENT),
        (lambda m: m.MergeFrom(pb.UploadSharesRequest(collection=b"?")), grpc.StatusCode.NOT_FOUND),
        (
            lambda m: m.MergeFrom(
                pb.UploadSharesRequest(cohort=cohort_pb2.Cohort(stop=21), shares=bytes(21 * 8))
            ),
            grpc.StatusCode.OUT_OF_RANGE,
        ),
    ],
    ids=["a share too many", "no field elements", "a stranger", "no such collection", "people it has not"],
)
def test_a_malformed_upload_is_refused_whole(
    troupe: tuple[Troupe, Served], change: Callable[[Any], None], code: grpc.StatusCode
) -> None:
    made, federation = troupe
    collection = collection_of(made.parties)
    federation.shared.open(collection)
    message = block_to_wire(made.parties[0].share(collection, Cohort(0, 20))[0])
    change(message)
    channel, stub = raw_stub(federation)
    with channel, pytest.raises(grpc.RpcError) as caught:
        stub.UploadShares(iter([message]), timeout=5)
    assert caught.value.code() is code
    assert federation.servers[0].stored(collection.digest).size == 0


def test_a_collection_of_absurd_size_does_not_take_the_servers_memory(
    troupe: tuple[Troupe, Served],
) -> None:
    made, federation = troupe
    everybody_on_earth = collection_of(made.parties, parties=(Contributor("p", 1 << 32),))
    with pytest.raises(PolicyRefused):
        federation.shared.open(everybody_on_earth)
    large = collection_of(made.parties, parties=(Contributor("p", 1 << 28),))
    federation.shared.open(large)
    batch = made.parties[0].share(collection_of(made.parties), Cohort(0, 1))[0]
    # To find out who is in this split would take two gigabytes.
    absurd = replace(
        batch, party="p", cohort=Cohort(0, 1 << 28, Split(b"s" * 16, 1 << 16, 0)), collection=large.digest
    )
    channel, stub = raw_stub(federation)
    with channel, pytest.raises(grpc.RpcError) as caught:
        stub.UploadShares(iter([block_to_wire(absurd)]), timeout=5)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
