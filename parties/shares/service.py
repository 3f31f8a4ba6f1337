"""A share server as a gRPC service around `localdp.sharing.share_server.ShareServer`.

One worker thread owns the server's state: verification and the disk do not hold up the network, and every step is
whole.  Off loopback the methods of the leader are for the certificate of the collection's first server, and a release
is for that of whoever opened the collection.  Every call is observed (`parties.observability`), by what is public
about it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from localdp.errors import CollectionClosed, InvalidParameter, PolicyRefused
from localdp.sharing.additive import MOST_SERVERS
from localdp.sharing.agreement import block_size
from localdp.sharing.blocks import Positions, ShareBlock
from localdp.sharing.collection import Collection
from localdp.sharing.prio3_tier import prepare_all
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Holding
from localdp.sharing.tiers import sharing_of
from parties import codec
from parties.admission import Registry
from parties.identity import Context, Identity, may_speak_for, peer_name
from parties.observability.observer import Observer
from parties.serving import open_aio_channel
from parties.shares import messages
from parties.shares.helper import RemoteHelper
from parties.shares.intake import Intake
from parties.shares.joint import JointNoise
from parties.shares.leading import Leading
from parties.shares.verifying import Verifying
from parties.shares.warming import Warming
from parties.status import answering, require_message, streaming
from parties.wire.v1 import share_server_pb2 as pb
from parties.wire.v1 import share_server_pb2_grpc

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["ShareServerService"].full_name

# A server keeps five bytes for each person that a collection announces, where reports came.
MOST_PEOPLE = 1 << 28
STORED_AT_ONCE = 8 << 20  # bytes of an upload that are synced together
MOST_WAITING = 256 << 20  # bytes of all uploads that wait for the rest of their stream
BLOCK_BYTES = 1 << 10  # what a block takes in memory, however little is in it
MOST_CHANNELS = 2 * MOST_SERVERS

_Result = TypeVar("_Result")
_Upload = TypeVar("_Upload", bound=Message)


class ShareService(share_server_pb2_grpc.ShareServerServiceServicer):
    """Serves one share server."""

    def __init__(
        self,
        server: ShareServer,
        observer: Observer | None = None,
        *,
        identity: Identity | None = None,
        peers: Mapping[str, str] | None = None,
        collectors: frozenset[str] | None = None,
        told: Callable[[str], None] | None = None,
        workers: int = 1,
    ) -> None:
        """`peers`: where the servers listen that this one may lead; without it the collector says where they are.

        `collectors`: whose certificates may open collections; without it everybody's.  `told` hears what is waited for.
        `workers`: cores that check reports (`verifying`).
        """
        self._server = server
        self._observer = observer or Observer("share-server", server.name)
        self._identity = identity
        self._peers = peers
        self._collectors = collectors
        self._channels: dict[tuple[str, str], grpc.aio.Channel] = {}
        self._leading: dict[bytes, asyncio.Lock] = {}
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="shares")
        self._intake = Intake(server, self._work)
        self._verifying = Verifying(server, self._work, workers)
        self._warming = Warming(server.name, told)
        self._joint = JointNoise(server, self._work, self._reach, self._warming, self._observer)
        self._waiting = 0  # bytes of uploads that are not on their way to the disk yet

    def register(self, server: Registry) -> None:
        """Add the service to a server."""
        share_server_pb2_grpc.add_ShareServerServiceServicer_to_server(self, server)

    def warm(self) -> None:
        """Have the verification of proofs compiled, or loaded, before anybody is charged for a collection."""
        self._warming.begin(prepare_all(self._warming.tell))

    async def expire(self) -> None:
        """Drop the collections that have ended."""
        await self._work(self._server.expire)

    async def close(self) -> None:
        """Let go of channels and the worker."""
        await self._joint.close()
        for channel in self._channels.values():
            await channel.close()
        self._verifying.close()
        self._worker.shutdown(wait=True, cancel_futures=True)

    @answering
    async def DescribeServer(  # noqa: N802
        self, request: pb.DescribeServerRequest, context: Context
    ) -> pb.DescribeServerResponse:
        """Who the server is."""
        with self._observer.call("DescribeServer", peer_name(context) or ""):
            return pb.DescribeServerResponse(
                name=self._server.name,
                sealing_key=self._server.sealing_key.public,
                witness_key=self._server.witness_key,
                commitment=self._committed(request.collection_id),
            )

    @answering
    async def OpenCollection(  # noqa: N802
        self, request: pb.OpenCollectionRequest, context: Context
    ) -> pb.OpenCollectionResponse:
        """Get ready for a collection."""
        with self._observer.call("OpenCollection", peer_name(context) or "") as call:
            collection = codec.collection_from_wire(request.collection)
            call.about(collection.digest, collection.people, collection.epsilon, collection.query)
            self._require_collector(peer_name(context), collection)
            if collection.people > MOST_PEOPLE:
                raise PolicyRefused(f"this share server takes collections of at most {MOST_PEOPLE} people")
            sealed = await self._work(lambda: self._server.open(collection, peer_name(context) or ""))
            self._warming.begin(
                await self._work(lambda: sharing_of(collection).prepare(self._warming.tell))
            )
            await self._work(lambda: self._joint.prepare(collection))
            return pb.OpenCollectionResponse(digest=collection.digest, sealed=sealed)

    @answering
    async def UploadShares(  # noqa: N802
        self, requests: AsyncIterator[pb.UploadSharesRequest], context: Context
    ) -> pb.UploadSharesResponse:
        """Store shares."""
        caller = peer_name(context)
        with self._observer.call("UploadShares", caller or ""):

            def opened(request: pb.UploadSharesRequest) -> ShareBlock:
                if not may_speak_for(caller, request.party):
                    raise PolicyRefused("a party uploads its own shares, under the name in its certificate")
                self._require_open(request.collection, relayed=False)
                return messages.block_from_wire(request)

            return pb.UploadSharesResponse(counted=await self._stored(requests, opened))

    @answering
    async def UploadSealed(  # noqa: N802
        self, requests: AsyncIterator[pb.UploadSealedRequest], context: Context
    ) -> pb.UploadSealedResponse:
        """Store shares that somebody carries."""
        with self._observer.call("UploadSealed", peer_name(context) or ""):

            def opened(request: pb.UploadSealedRequest) -> ShareBlock:
                self._require_owner(request.collection, context)
                self._require_open(request.collection, relayed=True)
                key = self._server.sealing_key_of(request.collection)
                return messages.block_from_sealed(request, self._server.name, key)

            return pb.UploadSealedResponse(counted=await self._stored(requests, opened))

    @answering
    async def AgreeOnReports(  # noqa: N802
        self, request: pb.AgreeOnReportsRequest, context: Context
    ) -> pb.AgreeOnReportsResponse:
        """Lead the servers to an agreement."""
        with self._observer.call("AgreeOnReports", peer_name(context) or ""):
            self._require_owner(request.collection, context)
            complete, holding = await self._agreed(request.collection, list(request.addresses))
            return pb.AgreeOnReportsResponse(complete=complete, holding=messages.holding_to_wire(holding))

    @answering
    async def CheckReports(  # noqa: N802
        self, request: pb.CheckReportsRequest, context: Context
    ) -> pb.CheckReportsResponse:
        """Verifier shares."""
        with self._observer.call("CheckReports", peer_name(context) or ""):
            collection = await self._led(request.collection, context)
            positions = _block(collection, messages.positions_from_wire(request.positions))
            held, rows = await self._verifying.check(request.collection, request.verify_key, positions)
            return pb.CheckReportsResponse(held=messages.mask_to_wire(held), verifiers=rows.tobytes())

    @answering
    async def VoteOnReports(  # noqa: N802
        self, request: pb.VoteOnReportsRequest, context: Context
    ) -> pb.VoteOnReportsResponse:
        """What the server accepts."""
        with self._observer.call("VoteOnReports", peer_name(context) or ""):
            collection = await self._led(request.collection, context)
            positions = _block(collection, messages.positions_from_wire(request.positions))
            said = [messages.rows_of(rows, len(positions)) for rows in request.verifiers]
            vote = await self._work(lambda: self._server.vote(request.collection, positions, said))
            return pb.VoteOnReportsResponse(accepted=messages.mask_to_wire(vote))

    @answering
    async def CommitJob(self, request: pb.CommitJobRequest, context: Context) -> pb.CommitJobResponse:  # noqa: N802
        """Count what all accept."""
        with self._observer.call("CommitJob", peer_name(context) or ""):
            collection = await self._led(request.collection, context)
            job = messages.job_from_wire(request)
            _block(collection, job.positions)
            await self._work(lambda: self._server.commit(request.collection, job))
            return pb.CommitJobResponse()

    @answering
    async def SealReports(self, request: pb.SealReportsRequest, context: Context) -> pb.SealReportsResponse:  # noqa: N802
        """Make the set final."""
        with self._observer.call("SealReports", peer_name(context) or ""):
            await self._led(request.collection, context)
            expected = messages.holding_from_wire(request.expected)
            openings = [messages.opening_from_wire(one) for one in request.openings]
            holding = await self._work(lambda: self._server.seal(request.collection, expected, openings))
            await self._work(lambda: self._name(request.collection))
            return pb.SealReportsResponse(holding=messages.holding_to_wire(holding))

    @answering
    async def GetOpening(self, request: pb.GetOpeningRequest, context: Context) -> pb.GetOpeningResponse:  # noqa: N802
        """That the server opened a collection."""
        with self._observer.call("GetOpening", peer_name(context) or ""):
            await self._led(request.collection, context)
            opening = await self._work(lambda: self._server.opening(request.collection))
            return messages.opening_to_wire(opening)

    @answering
    async def GetHolding(self, request: pb.GetHoldingRequest, context: Context) -> pb.GetHoldingResponse:  # noqa: N802
        """Which reports the server counts."""
        with self._observer.call("GetHolding", peer_name(context) or ""):
            holding = await self._work(lambda: self._server.holding(request.collection))
            told = messages.holding_to_wire(holding)
            told.round = self._joint.round_of(request.collection)
            return told

    @answering
    async def Release(self, request: pb.ReleaseRequest, context: Context) -> pb.ReleaseResponse:  # noqa: N802
        """The noisy sums."""
        with self._observer.call("Release", peer_name(context) or ""):
            self._require_owner(request.collection, context)
            name, accepted, signed = request.collection, request.accepted, list(request.signatures)
            released, rounds, octets = await self._joint.released(
                name, accepted, signed, list(request.addresses)
            )
            return pb.ReleaseResponse(
                noisy_sums=released.noisy_sums, attempt=released.attempt, rounds=rounds, octets=octets
            )

    @answering
    async def ProveNoise(  # noqa: N802
        self, request: pb.ProveNoiseRequest, context: Context
    ) -> pb.ProveNoiseResponse:
        """A step of proving noise."""
        with self._observer.call("ProveNoise", peer_name(context) or ""):
            self._require_owner(request.collection, context)
            name, step = request.collection, messages.step_of(request.step)
            terms = name, request.accepted, list(request.signatures)
            try:
                said = await self._work(
                    lambda: self._server.prove_noise(*terms, step, list(request.messages))
                )
            finally:
                await self._work(lambda: self._name(name))
            return pb.ProveNoiseResponse(message=said)

    @streaming
    async def Compute(  # noqa: N802
        self, requests: AsyncIterator[pb.ComputeRequest], context: Context
    ) -> AsyncIterator[pb.ComputeResponse]:
        """Draw joint noise with a server that calls."""
        with self._observer.call("Compute", peer_name(context) or ""):
            async for response in self._joint.answered(requests, peer_name(context)):
                yield response

    def _committed(self, collection_id: bytes) -> bytes:
        return self._server.commitment(collection_id) if collection_id else b""

    def _name(self, name: bytes) -> None:
        """Log and count who stood in the way of reports, as far as this server can know."""
        if self._server.in_progress(name):
            self._observer.names(name, self._server.blame(name).servers)

    async def _agreed(self, name: bytes, addresses: list[str]) -> tuple[bool, Holding]:
        """Come nearer to an agreement, one call after the other; a released collection needs none."""
        if not self._server.in_progress(name):
            return True, await self._work(lambda: self._server.holding(name))
        collection = await self._work(lambda: self._server.collection(name))
        helpers = self._helpers(collection, addresses)
        await self._let_go()
        async with self._leading.setdefault(name, asyncio.Lock()):
            try:
                leading = Leading(self._server, helpers, collection, self._work, self._verifying.check)
                complete, holding = await leading.agree()
            finally:
                await self._work(lambda: self._name(name))
        if complete:
            self._leading.pop(name, None)
        return complete, holding

    async def _stored(
        self, requests: AsyncIterator[_Upload], opened: Callable[[_Upload], ShareBlock]
    ) -> int:
        """Store a stream of blocks, synced every few megabytes and at its end."""
        counted, waiting, size = 0, list[ShareBlock](), 0
        try:
            async for request in requests:
                added = BLOCK_BYTES + require_message(request).ByteSize()
                size, self._waiting = size + added, self._waiting + added
                waiting.append(opened(request))
                if size >= STORED_AT_ONCE or self._waiting >= MOST_WAITING:
                    counted += await self._intake.store(waiting)
                    self._waiting -= size
                    waiting, size = [], 0
            return counted + await self._intake.store(waiting)
        finally:
            self._waiting -= size

    def _work(self, job: Callable[[], _Result]) -> Awaitable[_Result]:
        return asyncio.get_running_loop().run_in_executor(self._worker, job)

    def _require_collector(self, caller: str | None, collection: Collection) -> None:
        if caller is None:
            return
        if self._collectors is not None and caller not in self._collectors:
            raise PolicyRefused("this share server does not open collections for this caller")
        if any(may_speak_for(caller, party.name) for party in collection.parties):
            raise PolicyRefused(
                "no party of a collection may be whoever opened it: it could fill the batch with reports that it knows"
            )

    def _require_owner(self, collection: bytes, context: Context) -> None:
        """A collection is sealed and released for whoever opened it, and for nobody else with a certificate."""
        caller, owner = peer_name(context), self._server.owner(collection)
        if caller is not None and owner not in ("", caller):
            raise PolicyRefused("the collection was opened by somebody else")

    def _require_open(self, collection: bytes, *, relayed: bool) -> None:
        """Refuse what is for no collection in progress, or came another way than it says, before it waits for anything."""
        if not self._server.in_progress(collection):
            self._server.owner(collection)  # or nobody opened it here
            raise CollectionClosed("the collection was released: it takes no more reports")
        self._server.collection(collection).require_way(relayed=relayed)

    async def _led(self, name: bytes, context: Context) -> Collection:
        """The collection of that name, if it is its leader that asks."""
        caller = peer_name(context)
        collection = await self._work(lambda: self._server.collection(name))
        if caller is not None and caller != collection.servers[0]:
            raise PolicyRefused("only the first server of a collection leads it")
        return collection

    def _helpers(self, collection: Collection, addresses: list[str]) -> list[RemoteHelper]:
        leader, *names = collection.servers
        if leader != self._server.name:
            raise InvalidParameter("the first server of a collection leads, and this is another")
        blame = self._server.blame(collection.digest)
        return [RemoteHelper(*pair, blame) for pair in self._reach(names, addresses)]

    def _reach(self, names: Sequence[str], addresses: Sequence[str]) -> list[tuple[str, grpc.aio.Channel]]:
        """Channels to servers, where this one was told that they are, or else where the collector says."""
        if self._peers is not None:
            addresses = [self._peers.get(name, "") for name in names]
        if len(addresses) != len(names) or not all(addresses):
            raise InvalidParameter(
                "a share server must know where the other servers of the collection listen"
            )
        return [self._channel(pair) for pair in zip(names, addresses, strict=True)]

    def _channel(self, peer: tuple[str, str]) -> tuple[str, grpc.aio.Channel]:
        """A channel to a server, which shows that it is the server of that name if there is TLS."""
        name, address = peer
        channel = self._channels.pop(peer, None)
        if channel is None:
            role = None if self._identity is None else name
            channel = open_aio_channel(address, self._identity, role)
        self._channels[peer] = channel  # the last one is the one that was used last
        return name, channel

    async def _let_go(self) -> None:
        """Close the channels that were used longest ago, if there are too many: whoever collects may name any address."""
        while len(self._channels) > MOST_CHANNELS:
            await self._channels.pop(next(iter(self._channels))).close()


def _block(collection: Collection, positions: Positions) -> Positions:
    """Positions that a leader may ask about at once: what a block needs fits into memory."""
    most = block_size(collection)
    if len(positions) > most:
        raise InvalidParameter(f"servers verify at most {most} reports of this collection at once")
    return positions
