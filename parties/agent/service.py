"""A party's agent: the LR oracle of Definition 12.2 as a gRPC service around `localdp.party.party.Party`.

A call takes these steps, each refused before the next one is begun: the caller is known, it has a place among the
answers in progress, its message is read, its work is predicted (`plan`) and within the limits (`work`), its people
are charged; then one part of the answer after the other is made and sent.  All of it but the first two runs on one
worker thread, because a party's ledger is a sequence; callers take turns there, and what has to do with records
leaves at public times (`scheduler`).  The event loop stays free for the network.  A step whose caller has gone or
whose deadline has passed is not begun; what was charged and not drawn may be drawn when it is asked for again.

Reading a message and refusing it takes as long as it takes: no record is looked at, so its time is the caller's own
affair.

Every call is observed (`parties.observability`): method, caller, digest, public query, outcome and time, and never a
value.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import TypeVar

import grpc

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, RequestExpired
from localdp.party.party import Party, Request
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.collection import Collection
from localdp.sharing.flooded_round import FloodedRound
from localdp.sharing.prio3.batch.engine import is_ready, warm_up
from localdp.sharing.prio3_tier import Prio3Tier
from parties import codec
from parties.admission import Door, Registry
from parties.agent import packing
from parties.agent.answers import KeptAnswers
from parties.agent.desk import Desk
from parties.agent.plan import WorkPlan, share_plan, wants_compiled
from parties.agent.progress import Progress
from parties.agent.reporting import planned, reporting
from parties.agent.undecoded import Undecoding, decoded
from parties.agent.work import WorkLimits
from parties.identity import Context, Identity, peer_name
from parties.observability.observer import Call, Observer
from parties.serving import open_aio_channel
from parties.shares.client import counted_by, upload
from parties.shares.peers import SharePeer, require_known
from parties.status import answering, streaming
from parties.wire.v1 import oracle_pb2 as pb
from parties.wire.v1 import oracle_pb2_grpc
from parties.wire.v1.flooding_pb2 import FloodRequest, FloodResponse

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["LocalRandomizerOracleService"].full_name
UPLOAD_SECONDS = 60.0
DESCRIBE_SECONDS = 0.002  # of a step that is the same for everybody
BUDGET_SECONDS = 20e-9  # for each person whose budget is looked at
# Of one connection; further calls wait at their caller, and their messages take no memory here.
SERVER_OPTIONS = (("grpc.max_concurrent_streams", 64),)

_Contribution = pb.ContributeRequest | pb.ContributeSealedRequest
_Made = TypeVar("_Made")
_Result = TypeVar("_Result")


class AgentService(oracle_pb2_grpc.LocalRandomizerOracleServiceServicer):
    """Serves one party."""

    def __init__(
        self,
        party: Party,
        share_servers: Mapping[str, str],
        identity: Identity | None = None,
        observer: Observer | None = None,
        limits: WorkLimits | None = None,
        kept: KeptAnswers | None = None,
        refresh: Callable[[], None] = lambda: None,
        recall: Callable[[bytes], None] = lambda name: None,
        door: Door | None = None,
    ) -> None:
        """`share_servers`: where the servers listen that the party is willing to upload to, and perhaps their keys.

        Without `limits` nothing waits and no work is refused, and without `kept` answers are drawn anew whenever they are
        asked for, as in a simulation.  `refresh` enters the epoch that is open, before anything is read or charged, and
        `recall` has at hand what was charged under a name: that takes as long as it takes, and so belongs to reading.
        """
        self._party = party
        self._identity = identity
        self._observer = observer or Observer("agent", party.name)
        self._peers = {name: SharePeer.parse(text) for name, text in share_servers.items()}
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._kept = kept
        self._refresh, self._recall = refresh, recall
        self._door = door or Door.of(party.policy, self._observer)
        self._limits = limits = limits or WorkLimits.unbounded()
        self._desk = Desk(limits, self._observer)
        self._compiling = asyncio.Lock()

    def register(self, server: Registry) -> None:
        """Add the service to a server."""
        oracle_pb2_grpc.add_LocalRandomizerOracleServiceServicer_to_server(self, Undecoding(server))

    def admit(self, method: str, context: Context) -> None:
        """Refuse a caller whom the owner did not name, before anything of its message is read."""
        self._door.admit(method, context)

    async def close(self) -> None:
        """Let go of channels and the worker: nothing new is begun, and the part that is being made is short."""
        for channel in self._channels.values():
            await channel.close()
        await self._desk.close()

    @answering
    async def Describe(self, request: pb.DescribeRequest, context: Context) -> pb.DescribeResponse:  # noqa: N802
        """Who the party is."""
        caller = peer_name(context) or ""
        with self._observer.call("Describe", caller), self._desk.place(context, request, quote=True):
            decoded(request)  # there is nothing in it, but it may be no message
            with self._desk.promised(caller, DESCRIBE_SECONDS) as done:
                return await self._desk.step(context, self._fresh(self._described), DESCRIBE_SECONDS, done)

    def _described(self) -> pb.DescribeResponse:
        return packing.described(self._party, list(self._peers), self._kept, self._limits)

    @streaming
    async def Randomize(  # noqa: N802
        self, request: pb.RandomizeRequest, context: Context
    ) -> AsyncIterator[pb.RandomizeResponse]:
        """Reports of a cohort, in parts."""
        with (
            self._observer.call("Randomize", peer_name(context) or "") as call,
            self._desk.place(context, request, quote=False) as place,
        ):
            asked, plan = await self._desk.read(context, request, functools.partial(self._randomized, call))
            charge = functools.partial(self._reporting, asked, plan.cohort, call.caller)
            progress = Progress(context, place, self._limits.stall_seconds)
            made = self._made(context, plan, charge, packing.packed_reports)
            async with contextlib.aclosing(made) as parts:
                async for packed in parts:
                    call.reports += packed.reports
                    if packed.reports:  # of a split cohort a stretch of people may have nobody
                        with progress.expected():
                            yield packed

    @answering
    async def Contribute(self, request: pb.ContributeRequest, context: Context) -> pb.ContributeResponse:  # noqa: N802
        """Upload shares to every server of the collection that did not acknowledge them before."""
        with (
            self._observer.call("Contribute", peer_name(context) or "") as call,
            self._desk.place(context, request, quote=False),
        ):
            read = functools.partial(self._collected, call)
            collection, plan = await self._desk.read(context, request, read)
            asked = functools.partial(self._undelivered, collection, plan.cohort, call.caller)
            servers = await self._step(context, plan, call.caller, asked)
            if not servers:
                return pb.ContributeResponse(counted=0)
            await self._compile(context, collection, plan, call.caller)
            outcomes = await self._uploaded(context, collection, plan, servers)
            return pb.ContributeResponse(counted=min(map(counted_by, servers, outcomes)))

    async def _uploaded(
        self, context: Context, collection: Collection, plan: WorkPlan, servers: list[str]
    ) -> list[int | grpc.RpcError]:
        """Charge and upload to these servers; what one of them acknowledged is kept, whatever becomes of the rest."""
        caller, heard = peer_name(context) or "", list[int]()
        numbers = [collection.number_of(server) for server in servers]
        charge = functools.partial(self._sharing, collection, plan.cohort, caller)
        made = self._made(context, plan, charge, lambda part, blocks: [blocks[one] for one in numbers])
        channels = [self._channel(server) for server in servers]
        try:
            async with contextlib.aclosing(made) as blocks:
                return await upload(channels, blocks, UPLOAD_SECONDS, heard.append)
        finally:
            if self._kept is not None and heard:
                names = [servers[one] for one in heard]
                note = functools.partial(self._kept.deliver, collection.digest, plan.cohort, names)
                await self._desk.note(caller, self._fresh(note), plan.charge)

    @streaming
    async def ContributeSealed(  # noqa: N802
        self, request: pb.ContributeSealedRequest, context: Context
    ) -> AsyncIterator[pb.ContributeSealedResponse]:
        """Shares for every server of the collection, each of which only that server can read."""
        caller = peer_name(context) or ""
        with (
            self._observer.call("ContributeSealed", caller) as call,
            self._desk.place(context, request, quote=False) as place,
        ):
            read = functools.partial(self._collected, call, sealed=True)
            collection, plan = await self._desk.read(context, request, read)
            await self._compile(context, collection, plan, caller)
            charge = functools.partial(self._sharing, collection, plan.cohort, caller)
            progress = Progress(context, place, self._limits.stall_seconds)
            made = self._made(context, plan, charge, functools.partial(packing.sealed_shares, collection))
            async with contextlib.aclosing(made) as parts:
                async for sealed in parts:
                    for message in sealed:
                        with progress.expected():
                            yield message

    @streaming
    async def Flood(self, request: FloodRequest, context: Context) -> AsyncIterator[FloodResponse]:  # noqa: N802
        """Messages of one part of a flooded round, each sealed by itself to the analyst."""
        caller = peer_name(context) or ""
        with (
            self._observer.call("Flood", caller) as call,
            self._desk.place(context, request, quote=False) as place,
        ):
            (asked, cohort), plan = await self._desk.read(
                context, request, functools.partial(self._flooded, call)
            )
            progress = Progress(context, place, self._limits.stall_seconds)
            charge = functools.partial(packing.flooding, self._party, self._kept, asked, cohort, caller)
            made = self._made(context, plan, charge, packing.packed_flood)
            async with contextlib.aclosing(made) as parts:
                async for some in parts:
                    with progress.expected():
                        yield some

    @answering
    async def Quote(self, request: pb.QuoteRequest, context: Context) -> pb.QuoteResponse:  # noqa: N802
        """What a call would charge each person, if it would be answered now; nothing is charged."""
        caller = peer_name(context) or ""
        with self._observer.call("Quote", caller) as call, self._desk.place(context, request, quote=True):
            granted, plan = await self._desk.read(context, request, functools.partial(self._granted, call))
            self._desk.require(caller, plan)
            price = await self._step(context, plan, caller, granted)
            return pb.QuoteResponse(
                epsilon_nanonats=price.nanonats,
                work_nanoseconds=packing.nanoseconds(self._desk.seconds(plan.seconds)),
                answer_nanoseconds=packing.nanoseconds(self._desk.answer_seconds(plan)),
            )

    @answering
    async def Budgets(self, request: pb.BudgetsRequest, context: Context) -> pb.BudgetsResponse:  # noqa: N802
        """How many people have how much left, in coarse steps; nothing is charged."""
        caller = peer_name(context) or ""
        with self._observer.call("Budgets", caller), self._desk.place(context, request, quote=True):
            decoded(request)
            seconds = DESCRIBE_SECONDS + self._party.people * BUDGET_SECONDS
            asked = functools.partial(self._party.budgets, caller)
            with self._desk.promised(caller, seconds) as done:
                left = await self._desk.step(context, self._fresh(asked), seconds, done)
            return codec.budgets_to_wire(left)

    async def _made(
        self,
        context: Context,
        plan: WorkPlan,
        charge: Callable[[], Callable[[Cohort], _Made]],
        finished: Callable[[Cohort, _Made], _Result],
    ) -> AsyncGenerator[_Result, None]:
        """Charge, and the parts of the answer, one after the other; the first one in the same step as the charge."""
        parts, caller = plan.parts(), peer_name(context) or ""
        first = next(parts, None)
        with self._desk.promised(caller, plan.seconds) as done:
            if first is None:  # nobody is asked, and that is refused or charged all the same
                await self._desk.step(context, self._fresh(charge), plan.charge, done)
                return

            def begin() -> tuple[Callable[[Cohort], _Made], _Result]:
                answer = charge()
                return answer, finished(first, answer(first))

            price = plan.charge + plan.work.of(first)
            answer, made = await self._desk.step(context, self._fresh(begin), price, done)
            yield made
            for part in parts:
                make = functools.partial(_part, answer, part, finished)
                yield await self._desk.step(context, make, plan.work.of(part), done)

    async def _step(
        self, context: Context, plan: WorkPlan, caller: str, job: Callable[[], _Result]
    ) -> _Result:
        """What is done beside an answer, at the price of a charge."""
        with self._desk.promised(caller, plan.charge) as done:
            return await self._desk.step(context, self._fresh(job), plan.charge, done)

    def _fresh(self, job: Callable[[], _Result]) -> Callable[[], _Result]:
        """The job, in the epoch that is open when it is begun."""

        def begun() -> _Result:
            self._refresh()
            return job()

        return begun

    def _reporting(self, asked: Request, cohort: Cohort, caller: str) -> Callable[[Cohort], bytes]:
        """Charge for reports; what is returned has those of any part."""
        return reporting(self._party, self._kept, asked, cohort, caller)

    def _sharing(
        self, collection: Collection, cohort: Cohort, caller: str
    ) -> Callable[[Cohort], list[ShareBlock]]:
        """Charge; what is returned has the shares of any part, from the inputs of the first time."""
        charged = self._party.shared(collection, cohort, caller)
        kept = self._kept
        return charged if kept is None else lambda part: kept.shares(charged, part, caller)

    def _undelivered(self, collection: Collection, cohort: Cohort, caller: str) -> list[str]:
        """The servers that have not acknowledged the shares that the party would make."""
        self._party.granted_shares(collection, cohort, caller)
        kept, name, servers = self._kept, collection.digest, collection.servers
        return [one for one in servers if kept is None or not kept.is_delivered(name, cohort, one)]

    def _would_report(self, asked: Request, cohort: Cohort, caller: str) -> Epsilon:
        """The price of reports, if `reporting` would answer."""
        try:
            return self._party.granted(asked, cohort, caller)
        except RequestExpired:
            if self._kept is None:
                raise
            name = self._party.had(asked, cohort, caller)
            self._kept.fetching(name, asked.randomizer, asked.epoch)
            return asked.randomizer.epsilon

    def _randomized(self, call: Call, request: pb.RandomizeRequest) -> tuple[Request, WorkPlan]:
        """What is asked of whom, and how it will be answered."""
        asked, cohort = codec.request_from_wire(request)
        people, cost = cohort.stop - cohort.start, asked.randomizer.epsilon  # before a split
        call.about(asked.digest(asked.query), people, cost, asked.query)
        plan = planned(self._party, asked, cohort, self._limits, self._recall)
        text = asked.question(self._party.records.schema).text  # by which the ledger knows it
        call.about(asked.digest(text), people, cost, text)
        return asked, plan

    def _collected(
        self, call: Call, request: _Contribution, *, sealed: bool = False
    ) -> tuple[Collection, WorkPlan]:
        """What is collected from whom, by share servers that the party knows, and how it will be answered."""
        collection = codec.collection_from_wire(request.collection)
        cohort = codec.cohort_from_wire(request.cohort)
        call.about(collection.digest, cohort.stop - cohort.start, collection.epsilon, collection.query)
        require_known(self._peers, collection, sealed=sealed)
        epoch, limits = self._party.epoch, self._limits
        schema, sampled = epoch.records.schema, epoch.samples
        plan = share_plan(collection, cohort, epoch.people, schema, limits, sealed=sealed, sampled=sampled)
        self._recall(collection.digest)
        return collection, plan

    def _flooded(self, call: Call, request: FloodRequest) -> tuple[tuple[FloodedRound, Cohort], WorkPlan]:
        """A flooded round and the people of a part of it, and how they will be answered."""
        return packing.read_flood(self._party, call, request, self._limits, self._recall)

    def _granted(self, call: Call, request: pb.QuoteRequest) -> tuple[Callable[[], Epsilon], WorkPlan]:
        """The question to the party, read within the bounds of the call that it is about, and that call's plan."""
        match request.WhichOneof("call"):
            case "randomize":
                asked, plan = self._randomized(call, request.randomize)
                return lambda: self._would_report(asked, plan.cohort, call.caller), plan
            case "flood":
                flood, plan = self._flooded(call, request.flood)
                return lambda: self._party.granted_flooded(*flood, call.caller), plan
            case "contribute":
                collection, plan = self._collected(call, request.contribute)
            case "contribute_sealed":
                collection, plan = self._collected(call, request.contribute_sealed, sealed=True)
            case _:
                raise InvalidParameter("a quote is about one call, of a kind that this agent knows")
        return lambda: self._party.granted_shares(collection, plan.cohort, call.caller), plan

    async def _compile(self, context: Context, collection: Collection, plan: WorkPlan, caller: str) -> None:
        """Have compiled code ready where proofs want it, if the party would answer; others are served meanwhile."""
        if not wants_compiled(collection, self._party.people, self._limits.piece_seconds):
            return
        prio3 = Prio3Tier(collection).prio3
        if is_ready(prio3, sharding=True):
            return
        granted = functools.partial(self._party.granted_shares, collection, plan.cohort, caller)
        await self._step(context, plan, caller, granted)
        async with self._compiling:
            await asyncio.to_thread(warm_up, prio3, sharding=True)

    def _channel(self, server: str) -> grpc.aio.Channel:
        if server not in self._channels:
            # With TLS it must be that server, and not anybody with a certificate: all shares together are the records.
            self._channels[server] = open_aio_channel(self._peers[server].address, self._identity, server)
        return self._channels[server]


def _part(
    answer: Callable[[Cohort], _Made], part: Cohort, finished: Callable[[Cohort, _Made], _Result]
) -> _Result:
    return finished(part, answer(part))
