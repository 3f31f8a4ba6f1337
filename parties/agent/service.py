"""A party's agent: the LR oracle of Definition 12.2 as a gRPC service around `localdp.oracles.party.Party`.

Requests are handled one after the other on one worker thread, because a party's ledger is a sequence; the event loop
stays free for the network.  A request whose caller has gone or whose deadline has passed is not begun, so that no
budget is spent on an answer that nobody waits for.

Every call is observed (`parties.observability`): method, caller, digest, public query, outcome and time, and never a value.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import grpc

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import DeadlineMissed, InvalidParameter
from localdp.oracles.party import Draw, Party, Request, Shares
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.collection import Collection
from localdp.sharing.tiers import people_per_block
from parties import codec
from parties.identity import Identity, peer_name
from parties.observability.observer import Call, Observer
from parties.serving import CHUNK_BYTES, open_aio_channel
from parties.shares.client import upload
from parties.shares.messages import sealed_to_wire
from parties.shares.peers import SharePeer, require_known
from parties.status import answering, error_of, streaming
from parties.wire.v1 import oracle_pb2 as pb
from parties.wire.v1 import oracle_pb2_grpc

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["LocalRandomizerOracleService"].full_name
UPLOAD_SECONDS = 60.0
PEOPLE_PER_PART = 1 << 20

_Result = TypeVar("_Result")
Context = grpc.aio.ServicerContext[Any, Any]


class AgentService(oracle_pb2_grpc.LocalRandomizerOracleServiceServicer):
    """Serves one party."""

    def __init__(
        self,
        party: Party,
        share_servers: Mapping[str, str],
        identity: Identity | None = None,
        observer: Observer | None = None,
    ) -> None:
        """`share_servers`: where the servers listen that the party is willing to upload to, and perhaps their keys."""
        self._party = party
        self._identity = identity
        self._observer = observer or Observer("agent", party.name)
        self._peers = {name: SharePeer.parse(text) for name, text in share_servers.items()}
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="party")

    def register(self, server: grpc.aio.Server) -> None:
        """Add the service to a server."""
        oracle_pb2_grpc.add_LocalRandomizerOracleServiceServicer_to_server(self, server)

    async def close(self) -> None:
        """Let go of channels and the worker."""
        for channel in self._channels.values():
            await channel.close()
        self._worker.shutdown(wait=True, cancel_futures=True)

    @answering
    async def Describe(self, request: pb.DescribeRequest, context: Context) -> pb.DescribeResponse:  # noqa: N802
        """Who the party is."""
        with self._observer.call("Describe", peer_name(context) or ""):
            return pb.DescribeResponse(
                name=self._party.name,
                people=self._party.people,
                schema=codec.schema_to_wire(self._party.records.schema),
                budget_nanonats=self._party.ledger.limit.nanonats,
                largest_request_nanonats=self._party.policy.largest_epsilon.nanonats,
                share_servers=list(self._peers),
                by_row=self._party.by_row,
                by_content=self._party.policy.by_content,
            )

    @streaming
    async def Randomize(  # noqa: N802
        self, request: pb.RandomizeRequest, context: Context
    ) -> AsyncIterator[pb.RandomizeResponse]:
        """Reports of a cohort, in parts."""
        with self._observer.call("Randomize", peer_name(context) or "") as call:
            asked, cohort = codec.request_from_wire(request)
            draw = await self._work(context, lambda: self._charged(call, asked, cohort))
            for part in cohort.parts(reports_per_part(asked)):
                packed = await self._work(context, functools.partial(_packed, asked, draw, part))
                call.reports += packed.reports
                if packed.reports:  # of a split cohort a stretch of people may have nobody
                    yield packed

    @answering
    async def Contribute(self, request: pb.ContributeRequest, context: Context) -> pb.ContributeResponse:  # noqa: N802
        """Upload shares to every server of the collection."""
        caller = peer_name(context) or ""
        with self._observer.call("Contribute", caller) as call:
            collection, cohort = self._collected(call, request)
            shares = await self._work(context, lambda: self._party.shared(collection, cohort, caller))
            channels = [self._channel(name) for name in collection.servers]
            outcomes = await upload(
                channels, self._blocks(context, collection, cohort, shares), UPLOAD_SECONDS
            )
            return pb.ContributeResponse(counted=min(map(_counted, collection.servers, outcomes)))

    @streaming
    async def ContributeSealed(  # noqa: N802
        self, request: pb.ContributeSealedRequest, context: Context
    ) -> AsyncIterator[pb.ContributeSealedResponse]:
        """Shares for every server of the collection, each of which only that server can read."""
        caller = peer_name(context) or ""
        with self._observer.call("ContributeSealed", caller) as call:
            collection, cohort = self._collected(call, request, sealed=True)
            shares = await self._work(context, lambda: self._party.shared(collection, cohort, caller))
            async for blocks in self._blocks(context, collection, cohort, shares):
                for number, block in enumerate(blocks):
                    sealed = sealed_to_wire(block, collection.servers[number], collection.keys[number])
                    yield pb.ContributeSealedResponse(server=number, upload=sealed)

    @answering
    async def Quote(self, request: pb.QuoteRequest, context: Context) -> pb.QuoteResponse:  # noqa: N802
        """What a call would charge each person, if it would be answered now; nothing is charged."""
        with self._observer.call("Quote", peer_name(context) or "") as call:
            price = await self._work(context, self._granted(call, request))
            return pb.QuoteResponse(epsilon_nanonats=price.nanonats)

    def _granted(self, call: Call, request: pb.QuoteRequest) -> Callable[[], Epsilon]:
        """The question to the party, decoded within the bounds of the call that it is about."""
        match request.WhichOneof("call"):
            case "randomize":
                asked, people = codec.request_from_wire(request.randomize)
                _note(call, asked, people)
                return lambda: self._party.granted(asked, people, call.caller)
            case "contribute":
                collection, cohort = self._collected(call, request.contribute)
            case "contribute_sealed":
                collection, cohort = self._collected(call, request.contribute_sealed, sealed=True)
            case _:
                raise InvalidParameter("a quote is about one call, of a kind that this agent knows")
        return lambda: self._party.granted_shares(collection, cohort, call.caller)

    def _collected(
        self,
        call: Call,
        request: pb.ContributeRequest | pb.ContributeSealedRequest,
        *,
        sealed: bool = False,
    ) -> tuple[Collection, Cohort]:
        """What is collected from whom, by share servers that the party knows."""
        collection = codec.collection_from_wire(request.collection)
        cohort = codec.cohort_from_wire(request.cohort)
        call.about(collection.digest, cohort.stop - cohort.start, collection.epsilon, collection.query)
        require_known(self._peers, collection, sealed=sealed)
        return collection, cohort

    async def _blocks(
        self, context: Context, collection: Collection, cohort: Cohort, shares: Shares
    ) -> AsyncIterator[list[ShareBlock]]:
        """The shares of a cohort in parts that fit into messages: a block for each server at a time."""
        for part in cohort.parts(people_per_block(collection)):
            yield await self._work(context, functools.partial(shares, part))

    def _charged(self, call: Call, asked: Request, cohort: Cohort) -> Draw:
        _note(call, asked, cohort)
        return self._party.charged(asked, cohort, call.caller)

    async def _work(self, context: Context, job: Callable[[], _Result]) -> _Result:
        def begin() -> _Result:
            left = context.time_remaining()  # None without a deadline, and 0.0 once it has passed
            if context.cancelled() or (left is not None and left <= 0):
                raise DeadlineMissed("the caller is gone; whatever was not begun is not begun")
            return job()

        return await asyncio.get_running_loop().run_in_executor(self._worker, begin)

    def _channel(self, server: str) -> grpc.aio.Channel:
        if server not in self._channels:
            # With TLS it must be that server, and not anybody with a certificate: all shares together are the records.
            self._channels[server] = open_aio_channel(self._peers[server].address, self._identity, server)
        return self._channels[server]


def _note(call: Call, asked: Request, cohort: Cohort) -> None:
    people = cohort.stop - cohort.start  # before a split: who is in its part takes memory to find out
    call.about(asked.digest(asked.query), people, asked.randomizer.epsilon, asked.query)


def _counted(server: str, outcome: int | grpc.RpcError) -> int:
    if isinstance(outcome, grpc.RpcError):
        raise error_of(outcome, f"share server {server}")
    return outcome


def reports_per_part(request: Request) -> int:
    """How many reports fill one message; few enough that drawing them takes bounded memory."""
    return min(PEOPLE_PER_PART, max(8, CHUNK_BYTES * 8 // request.randomizer.report_bits // 8 * 8))


def _packed(request: Request, draw: Draw, part: Cohort) -> pb.RandomizeResponse:
    reports = draw(part)
    return pb.RandomizeResponse(reports=len(reports), packed=request.randomizer.pack(reports))
