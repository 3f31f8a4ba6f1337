"""A shuffler as a gRPC service around `localdp.oracles.shuffler.Shuffler`.

Requests are handled one after the other on one worker thread, which waits for the agents; the event loop stays free for the
network.  The first byte of an answer leaves when the last report has arrived, so that its timing says no more than how long
the slowest party took.

Checked in tests/contract/test_shuffler.py and tests/integration/test_shuffler.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from localdp.accounting.promise_ledger import trillionths_above
from localdp.errors import DeadlineMissed, InvalidParameter, PolicyRefused
from localdp.oracles.second_shuffler import SecondShuffler
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.sharing.collection import LONGEST_NAME
from parties import codec
from parties.admission import Registry
from parties.agent.plan import reports_per_part
from parties.flood_codec import question_from_wire, slices
from parties.identity import Context, peer_name
from parties.observability.observer import Observer
from parties.status import answering, streaming
from parties.wire.v1 import shuffler_pb2 as pb
from parties.wire.v1 import shuffler_pb2_grpc

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["ShufflerService"].full_name

_Result = TypeVar("_Result")


class ShufflerService(shuffler_pb2_grpc.ShufflerServiceServicer):
    """Serves one shuffler."""

    def __init__(
        self,
        name: str,
        shuffler: Shuffler | SecondShuffler,
        *,
        aggregators: frozenset[str] | None = None,
        observer: Observer | None = None,
    ) -> None:
        """`aggregators`: who may ask, by the name in the certificate; None: anybody."""
        if shuffler.promise is None or not 0 < len(name) <= LONGEST_NAME:
            raise InvalidParameter("a shuffler that serves others has a name, and makes a promise")
        self._name = name
        self._shuffler = shuffler
        self._promise: Promise = shuffler.promise
        self._aggregators = aggregators
        self._observer = observer or Observer("shuffler", name)
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="shuffler")

    def register(self, server: Registry) -> None:
        """Add the service to a server."""
        shuffler_pb2_grpc.add_ShufflerServiceServicer_to_server(self, server)

    async def close(self) -> None:
        """Let go of the worker."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    @answering
    async def DescribeShuffler(  # noqa: N802
        self, request: pb.DescribeShufflerRequest, context: Context
    ) -> pb.DescribeShufflerResponse:
        """Who may be asked, and what is promised."""
        with self._observer.call("DescribeShuffler", peer_name(context) or ""):
            return pb.DescribeShufflerResponse(
                name=self._name,
                people=self._shuffler.people,
                schema=codec.schema_to_wire(self._shuffler.schema),
                epsilon_nanonats=self._promise.epsilon.nanonats,
                delta_trillionths=trillionths_above(self._promise.delta),
                colluding_parties=self._promise.colluding,
                hiding_people=self._shuffler.hiding,
                requests=self._promise.requests,
                minimum_cohort=self._promise.minimum_cohort,
                second_key=self._shuffler.second_key,
                samples=self._shuffler.samples,
            )

    @streaming
    async def Shuffle(  # noqa: N802
        self, request: pb.ShuffleRequest, context: Context
    ) -> AsyncIterator[pb.ShuffleResponse]:
        """Everybody's reports, mixed."""
        caller = peer_name(context) or ""
        with self._observer.call("Shuffle", caller) as call:
            self._require_named(caller)
            asked, cohort = codec.request_from_wire(request.request)
            people = cohort.stop - cohort.start
            call.about(asked.digest(asked.query), people, asked.randomizer.epsilon, asked.query)
            mixed = await self._work(context, lambda: list(self._shuffler.reports(asked, cohort)))
            step = reports_per_part(asked)
            for reports in mixed:
                for start in range(0, len(reports), step):
                    part = reports[start : start + step]
                    call.reports += len(part)
                    yield pb.ShuffleResponse(reports=len(part), packed=asked.randomizer.pack(part))

    @streaming
    async def ShuffleFlooded(  # noqa: N802
        self, request: pb.ShuffleFloodedRequest, context: Context
    ) -> AsyncIterator[pb.ShuffleFloodedResponse]:
        """Everybody's sealed messages, mixed."""
        caller = peer_name(context) or ""
        with self._observer.call("ShuffleFlooded", caller) as call:
            self._require_named(caller)
            # Checked by the worker: to work out anew what noise hides may take a second, in which others are answered.
            question = await self._work(context, lambda: question_from_wire(request.question))
            if not question.key:
                raise InvalidParameter("a flooded round that travels has a key of the analyst")
            cohorts = [codec.cohort_from_wire(cohort) for cohort in request.cohorts]
            call.about(question.digest, question.plan.people, question.plan.epsilon, question.query)
            mixed = await self._work(context, lambda: self._shuffler.flooded(question, cohorts))
            for part in slices(len(mixed.messages)):
                call.reports += part.stop - part.start
                yield pb.ShuffleFloodedResponse(
                    reports=part.stop - part.start,
                    packed=mixed.messages[part].tobytes(),
                    people=mixed.people,
                    roster=mixed.roster,
                    messages=len(mixed.messages),
                )

    def _require_named(self, caller: str) -> None:
        if self._aggregators is not None and caller not in self._aggregators:
            raise PolicyRefused("the shuffler does not answer this analyst")

    async def _work(self, context: Context, job: Callable[[], _Result]) -> _Result:
        def begin() -> _Result:
            left = context.time_remaining()  # None without a deadline, and 0.0 once it has passed
            if context.cancelled() or (left is not None and left <= 0):
                raise DeadlineMissed("the caller is gone; whatever was not begun is not begun")
            return job()

        return await asyncio.get_running_loop().run_in_executor(self._worker, begin)
