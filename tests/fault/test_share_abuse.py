"""What share servers are asked that no honest party, leader, collector or operator would ask of them.

Each of these was possible once: a second release of servers that were put back, memory that grows with messages that carry
nothing, blocks that no memory holds, channels to any number of addresses, a collector that is kept busy or runs into
an error of numpy's.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.errors import (
    CollectionClosed,
    InvalidParameter,
    MalformedReport,
    ShareMismatch,
    UnknownCollection,
)
from localdp.oracles.collecting import run_collection
from localdp.oracles.shared import InProcessShareServers, binding_of
from localdp.sharing import agreement
from localdp.sharing.blocks import ShareBlock, pack_positions
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import Encoding
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Holding, Job, Published
from localdp.sharing.vault import MemoryVault
from parties.shares import service as share_service
from parties.shares.messages import block_from_wire, block_to_wire
from parties.shares.service import MOST_CHANNELS, STORED_AT_ONCE, ShareService
from parties.shares.vault import FileVault
from parties.status import error_of
from parties.wire.v1 import share_server_pb2 as pb
from parties.wire.v1 import share_server_pb2_grpc
from tests.support import federations
from tests.support.federations import parties_of, people, served
from tests.support.shares import (
    KEYRING,
    bits,
    blocks_of,
    collection_of,
    exact_sums,
    one_hot,
    openings_of,
    released,
    servers_for,
    upload,
)

PEOPLE = 30
EVERYBODY = Cohort(0, PEOPLE)


class Unknowing(FileVault):
    """Broken twin: a vault that does not know what was released."""

    def destroy(self, collection: bytes, accepted: bytes | None = None) -> None:
        super().destroy(collection)


def released_again(kind: type[FileVault], directory: Path, tier: str) -> list[list[int]]:
    """What servers release that are put back to how they were before a collection, with its reports and with others."""
    with ExitStack() as stack:
        vaults = [kind(directory / name) for name in ("server-0", "server-1")]
        for vault in vaults:
            stack.callback(vault.close)

        def put_back() -> list[ShareServer]:
            return [ShareServer(f"server-{number}", vault) for number, vault in enumerate(vaults)]

        collection = collection_of(
            tier=tier,
            minimum_batch=2,
            encoding=Encoding.sum(1000),
            binding=binding_of(put_back(), bytes(16)),
        )
        # In the end somebody puts reports of his own in people's places.
        answers = (bits(5, 900), bits(5, 900), bits(5, 0))
        return [run_of(put_back(), collection, blocks_of(collection, one)) for one in answers]


def run_of(servers: list[ShareServer], collection: Collection, blocks: list[ShareBlock]) -> list[int]:
    for server in servers:
        server.open(collection)
    upload(servers, blocks)
    return released(servers, collection)


@pytest.mark.parametrize("tier", ["additive", "prio3"])
def test_servers_put_back_to_an_older_state_release_nothing_a_second_time(
    tier: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidParameter, match="does not remember"):
        released_again(FileVault, tmp_path, tier)


def test_and_servers_that_do_not_know_what_they_released_would(tmp_path: Path) -> None:
    first, second, other = released_again(Unknowing, tmp_path, "additive")
    assert first not in (second, other)


def empty_blocks(count: int) -> list[pb.UploadSharesRequest]:
    nothing = ShareBlock(bytes(32), "party-0", Cohort(0, 0), _no_rows())
    return [block_to_wire(nothing)] * count


def _no_rows() -> Any:
    return blocks_of(collection_of(), bits(1))[0].rows.take(slice(0, 0))


class Watched:
    """In the place of the intake: how many blocks came at once."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    async def store(self, blocks: Sequence[ShareBlock]) -> int:
        self.lengths.append(len(blocks))
        return 0


def test_messages_that_carry_nothing_do_not_fill_the_memory() -> None:
    service, watched = ShareService(ShareServer("server-0", MemoryVault(KEYRING.server(0)))), Watched()
    service._intake = watched  # type: ignore[assignment]

    async def stream() -> AsyncIterator[pb.UploadSharesRequest]:
        for request in empty_blocks(20_000):
            yield request

    asyncio.run(service._stored(stream(), block_from_wire))
    assert sum(watched.lengths) == 20_000 and max(watched.lengths) <= STORED_AT_ONCE >> 10
    assert service._waiting == 0


def test_streams_that_do_not_end_hold_a_bounded_amount_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_service, "MOST_WAITING", 64 << 10)
    service, watched = ShareService(ShareServer("server-0", MemoryVault(KEYRING.server(0)))), Watched()
    service._intake = watched  # type: ignore[assignment]
    largest = 0

    async def stream() -> AsyncIterator[pb.UploadSharesRequest]:
        nonlocal largest
        for request in empty_blocks(50):
            yield request
            largest = max(largest, service._waiting)
            await asyncio.sleep(0)

    async def all_at_once() -> None:
        read = block_from_wire
        await asyncio.gather(*(service._stored(stream(), read) for _ in range(40)))

    asyncio.run(all_at_once())
    assert 32 << 10 < largest <= 64 << 10 and service._waiting == 0


def test_a_stream_that_breaks_off_is_not_counted_for_ever() -> None:
    service = ShareService(ShareServer("server-0", MemoryVault(KEYRING.server(0))))

    async def stream() -> AsyncIterator[pb.UploadSharesRequest]:
        yield empty_blocks(1)[0]
        raise ConnectionError

    with pytest.raises(ConnectionError):
        asyncio.run(service._stored(stream(), block_from_wire))
    assert service._waiting == 0


def test_a_long_message_that_carries_no_share_is_counted_at_its_length() -> None:
    service = ShareService(ShareServer("server-0", MemoryVault(KEYRING.server(0))))
    long = pb.UploadSharesRequest(collection=bytes(32), party="p" * (1 << 20))
    counted: list[int] = []

    def opened(request: pb.UploadSharesRequest) -> ShareBlock:
        counted.append(service._waiting)  # before anything of it is taken
        return block_from_wire(request)

    async def stream() -> AsyncIterator[pb.UploadSharesRequest]:
        yield long

    with pytest.raises(MalformedReport):
        asyncio.run(service._stored(stream(), opened))
    assert counted[0] >= 1 << 20 and service._waiting == 0


def test_nothing_is_kept_for_a_collection_that_is_not_in_progress() -> None:
    """The stream does not end: what was sent on it would stay in memory for as long as the sender likes."""
    holders, asked = parties_of(people(PEOPLE), 1), threading.Event()

    def endless(collection: Collection) -> Iterator[pb.UploadSharesRequest]:
        yield block_to_wire(blocks_of(collection, bits(1))[0])
        asked.wait(10)

    with served(holders) as federation:
        stub = share_server_pb2_grpc.ShareServerServiceStub(federation.shared._channels.channels[0])
        ended = federations.collection_of(holders, 1, minimum_batch=2)
        run_collection(federation.shared, ended, EVERYBODY)
        try:
            for collection, error in ((collection_of(), UnknownCollection), (ended, CollectionClosed)):
                with pytest.raises(error):
                    _call(stub.UploadShares, endless(collection))
        finally:
            asked.set()


def test_a_leader_cannot_have_more_reports_verified_at_once_than_fit_into_memory() -> None:
    holders = parties_of(people(PEOPLE), 1)
    collection = federations.collection_of(
        holders, query="region", encoding=Encoding.histogram(4), tier="prio3"
    )
    with served(holders) as federation:
        federation.shared.open(collection)
        stub = share_server_pb2_grpc.ShareServerServiceStub(federation.shared._channels.channels[1])
        most = agreement.block_size(collection)
        positions = pack_positions(np.arange(most + 1, dtype=np.uint32))
        name, bit = collection.digest, bytes((most + 8) // 8)
        calls: list[tuple[Any, Any]] = [
            (
                stub.CheckReports,
                pb.CheckReportsRequest(collection=name, verify_key=bytes(32), positions=positions),
            ),
            (stub.VoteOnReports, pb.VoteOnReportsRequest(collection=name, positions=positions)),
            (stub.CommitJob, pb.CommitJobRequest(collection=name, positions=positions, accepted=bit)),
        ]
        for method, request in calls:
            with pytest.raises(InvalidParameter, match=f"at most {most}"):
                _call(method, request)


def _call(method: Any, request: Any) -> Any:
    try:
        return method(request, timeout=5)
    except grpc.RpcError as failure:
        raise error_of(failure, "server") from None


class Overflowing(InProcessShareServers):
    """The second server releases an element that makes the sum as large as the field allows."""

    def release(self, collection: Collection, accepted: bytes, signed: Sequence[bytes]) -> list[Published]:
        first, second = super().release(collection, accepted, signed)
        field = collection.field
        larger = [(entry + (1 << 126)) % field.modulus for entry in field.unpack(second.noisy_sums)]
        return [first, Published(field.pack(larger))]


def test_a_release_that_is_no_part_of_any_sum_is_a_typed_error() -> None:
    holders = parties_of(people(PEOPLE), 1)
    collection = federations.collection_of(
        holders, query="region", encoding=Encoding.histogram(4), tier="prio3"
    )
    servers = Overflowing(holders, federations.share_servers_of(2))
    with pytest.raises(ShareMismatch, match="cannot be a part"):
        run_collection(servers, collection, EVERYBODY)


def test_a_leader_that_is_sent_to_ever_new_addresses_lets_old_channels_go() -> None:
    collection = collection_of()

    async def run() -> int:
        server = ShareServer("server-0", MemoryVault(KEYRING.server(0)))
        server.open(collection)
        service = ShareService(server)
        try:
            for port in range(MOST_CHANNELS + 50):
                service._helpers(collection, [f"127.0.0.1:{port + 1}"])
                await service._let_go()
            return len(service._channels)
        finally:
            await service.close()

    assert asyncio.run(run()) == MOST_CHANNELS


class Busy(ShareService):
    """A leader that always has one decision more, and never all."""

    calls = 0

    async def AgreeOnReports(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.calls += 1
        return pb.AgreeOnReportsResponse(holding=pb.GetHoldingResponse(jobs=self.calls))


def test_a_leader_that_claims_progress_without_end_is_left() -> None:
    holders = parties_of(people(PEOPLE), 1)
    collection = federations.collection_of(holders)
    leaders: list[Busy] = []

    def make(number: int, server: ShareServer) -> ShareService:
        leaders.append(Busy(server))
        return leaders[-1]

    with served(holders, wrap_server=make) as federation:
        federation.shared.open(collection)
        with pytest.raises(ShareMismatch, match="more decisions"):
            federation.shared.agree(collection)
    assert leaders[0].calls == PEOPLE + 1


def two_faced(
    collection: Collection, servers: Sequence[ShareServer], faces: Sequence[np.ndarray[Any, Any]]
) -> list[Holding]:
    """A leader that tells each helper another decision, and has each seal what it was told."""
    leader = servers[0]
    positions = leader.stored(collection.digest)
    key = leader.verify_key(collection.digest)
    rows = [server.check(collection.digest, key, positions)[1] for server in servers]
    openings = openings_of(servers, collection)
    held = []
    for server, face in zip(servers, faces, strict=True):
        server.vote(collection.digest, positions, rows)
        server.commit(collection.digest, Job(0, positions, face))
        held.append(server.seal(collection.digest, None, openings))
    return held


@pytest.mark.parametrize("tier", ["additive", "prio3"])
def test_a_leader_that_shows_each_helper_another_set_learns_nothing_even_with_the_collector(
    tier: str,
) -> None:
    names = ("server-0", "server-1", "server-2")
    collection = collection_of(tier=tier, servers=names, minimum_batch=5, encoding=Encoding.histogram(8))
    servers = servers_for(collection)
    upload(servers, blocks_of(collection, one_hot(8, *[0, 1, 2, 3, 4, 5, 6, 7] * 2)))
    some, fewer = np.ones(16, np.bool_), np.ones(16, np.bool_)
    fewer[3] = False
    holdings = two_faced(collection, servers, [some, some, fewer])
    assert len({holding.accepted for holding in holdings}) == 2
    # Who compares what the servers count, as every collector of ours does, asks for no release; and who asks gets none,
    # because another server has not signed for it.
    signed = [holding.signature for holding in holdings]
    for server, holding in zip(servers, holdings, strict=True):
        with pytest.raises(ShareMismatch, match="no signature of share server"):
            server.release(collection.digest, holding.accepted, signed)
    # If they did release: where a report is in one helper's sum and not in the other's, its share there hides everything,
    # bucket 3 or, with shares of all entries, all of them.
    assert all(abs(entry) > 1 << 40 for entry in exact_sums(servers, collection))
