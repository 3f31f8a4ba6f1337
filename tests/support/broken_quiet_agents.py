"""Agents that each break one clause about times, epochs, what is kept, quotes, work or unread answers."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace
from typing import Any, ClassVar

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, RequestExpired, WorkRefused
from localdp.party.party import Draw, Party, Request
from parties.agent.desk import Desk
from parties.agent.scheduler import FairWorker
from parties.agent.service import AgentService
from parties.agent.undecoded import decoded
from parties.agent.work import WorkLimits
from parties.contract.subject import PROMPT_SECONDS
from parties.status import streaming
from parties.wire.v1 import oracle_pb2 as pb
from tests.support.broken_holders import Altered
from tests.support.broken_services import Decoded, Spoiling

QUANTUM = WorkLimits(quantum_seconds=0.02)
SHORT = WorkLimits(request_seconds=0.5)
_FEW = 8  # unread answers


class Describing(AgentService):
    """Says something else of itself than is so."""

    said: ClassVar[dict[str, int]]

    async def Describe(self, request: Any, context: Any) -> pb.DescribeResponse:  # noqa: N802
        described: pb.DescribeResponse = await super().Describe(request, context)
        for name, value in self.said.items():
            setattr(described, name, value)
        return described


class LowerFloor(Describing):
    """Answers for less than it announces."""

    said: ClassVar = {"smallest_request_nanonats": 100_000}


class NoEpoch(Describing):
    said: ClassVar = {"epoch": 0}


class LeavesEarly(AgentService):
    """Announces a quantum, and answers as soon as it can."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._desk.worker = FairWorker()


class _RefusesAtOnce(FairWorker):
    def _done(self, job: Any) -> tuple[Any, Exception | None]:
        try:
            job.work()
        except Exception as error:
            return None, error
        return super()._done(job)


class RefusesEarly(AgentService):
    """Answers at its time, and refuses as soon as it can."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._desk.worker = _RefusesAtOnce(self._limits.quantum_seconds)


class RepeatsEarly(AgentService):
    """Answers at its time, and repeats as soon as it can."""

    async def _made(self, context: Any, plan: Any, charge: Any, finished: Any) -> AsyncGenerator[Any, None]:
        name = charge.args[0].request_id
        if name not in self._seen:
            self._seen.add(name)
            async for part in super()._made(context, plan, charge, finished):
                yield part
            return
        answer = await self._desk.worker.run("", charge, None)
        for part in plan.parts():
            yield finished(part, answer(part))

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._seen: set[bytes] = set()


class Quoting(Decoded):
    """Tells something else in quotes than is so."""

    def told(self, request: pb.RandomizeRequest, quote: pb.QuoteResponse) -> None:
        """Change what is told."""
        raise AssertionError

    async def Quote(self, request: Any, context: Any) -> pb.QuoteResponse:  # noqa: N802
        quote: pb.QuoteResponse = await super().Quote(request, context)
        self.told(request.randomize, quote)
        return quote


class QuotesTooLong(Quoting):
    """Answers before the time that it tells."""

    def told(self, request: pb.RandomizeRequest, quote: pb.QuoteResponse) -> None:
        quote.answer_nanoseconds *= 20


class QuotesFinely(Quoting):
    """Tells times that are no quanta."""

    def told(self, request: pb.RandomizeRequest, quote: pb.QuoteResponse) -> None:
        quote.answer_nanoseconds -= quote.work_nanoseconds


class QuotesByTruth(Quoting):
    """Expects less work where nothing is true."""

    def told(self, request: pb.RandomizeRequest, quote: pb.QuoteResponse) -> None:
        if request.query == "false":
            quote.work_nanoseconds -= 1


class QuotesFlat(Quoting):
    """Expects the same work of any number of people."""

    def told(self, request: pb.RandomizeRequest, quote: pb.QuoteResponse) -> None:
        quote.work_nanoseconds = 1_000_000


class QuotesWhatIsKept(Quoting):
    """Expects less work where an answer is kept."""

    _kept_names: frozenset[bytes] = frozenset()

    def told(self, request: pb.RandomizeRequest, quote: pb.QuoteResponse) -> None:
        if request.request_id in self._kept_names:
            quote.work_nanoseconds //= 2

    def _reporting(self, asked: Request, cohort: Cohort, caller: str) -> Callable[[Cohort], bytes]:
        self._kept_names |= {asked.request_id}
        return super()._reporting(asked, cohort, caller)


class QuotesWhatIsPaid(Party):
    """Says that a request costs nothing once it was paid for."""

    _paid: frozenset[bytes] = frozenset()

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        draw = super().charged(request, cohort, caller)
        self._paid |= {draw.name}
        return draw

    def granted(self, request: Request, cohort: Cohort, caller: str = "") -> Epsilon:
        price = super().granted(request, cohort, caller)
        return Epsilon(0) if self._billed(request, caller)[1].name in self._paid else price


class SlowIfTrue(AgentService):
    """Takes longer where much is true, and longer than its slot."""

    def _reporting(self, asked: Request, cohort: Cohort, caller: str) -> Callable[[Cohort], bytes]:
        reports = super()._reporting(asked, cohort, caller)

        def slowly(part: Cohort) -> bytes:
            if "true and true" in asked.query:
                time.sleep(0.08)
            return reports(part)

        return slowly


class IgnoresEpochs(Spoiling):
    """Answers from the open epoch, whichever was named."""

    def incoming(self, request: pb.RandomizeRequest) -> None:
        request.epoch = 0


class QuotesAnyEpoch(Party):
    """Grants what it would refuse."""

    def granted(self, request: Request, cohort: Cohort, caller: str = "") -> Epsilon:
        return super().granted(replace(request, epoch=0), cohort, caller)


class ChargesExpired(Party):
    """Charges, and then finds that the request is of another epoch."""

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        draw = super().charged(replace(request, epoch=0), cohort, caller)
        if request.epoch not in (0, self.epoch.number):
            raise RequestExpired("another epoch is open")
        return draw


class EpochInTheName(Party):
    """Takes a request that names its epoch for another one than the same that does not."""

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        name = (
            request.request_id[:-1] + bytes([request.epoch % 256]) if request.epoch else request.request_id
        )
        return super().charged(replace(request, request_id=name), cohort, caller)


class EpochInTheCoins(Altered):
    """Draws a request that names its epoch with other coins."""

    def altered(self, request: Request) -> Request:
        return replace(request, request_id=bytes(16), epoch=0) if request.epoch else request


class ForgetsAnswers(Describing):
    """Keeps three answers, and announces an hour."""

    said: ClassVar = {"keep_seconds": 3600}

    def _reporting(self, asked: Request, cohort: Cohort, caller: str) -> Callable[[Cohort], bytes]:
        name = asked.digest(asked.query)
        if name in self._gone and name not in self._last:
            raise RequestExpired("what was sent is no longer kept")
        self._gone.add(name)
        self._last.append(name)
        return super()._reporting(asked, cohort, caller)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._gone: set[bytes] = set()
        self._last: deque[bytes] = deque(maxlen=3)


class OtherMessages(Spoiling):
    """Cuts a repetition otherwise than the first answer."""

    _sent: frozenset[bytes] = frozenset()

    def outgoing(
        self, request: pb.RandomizeRequest, part: pb.RandomizeResponse
    ) -> list[pb.RandomizeResponse]:
        name = request.SerializeToString()
        again, self._sent = name in self._sent, self._sent | {name}
        if not again or request.randomizer.WhichOneof("kind") != "one_bit" or part.reports <= 8:
            return [part]
        first = pb.RandomizeResponse(reports=8, packed=part.packed[:1])
        return [first, pb.RandomizeResponse(reports=part.reports - 8, packed=part.packed[1:])]


class _ChargingDesk(Desk):
    party: Party

    async def read(self, context: Any, request: Any, read: Any) -> Any:
        try:
            return await super().read(context, request, read)
        except WorkRefused:
            asked, plan = read(decoded(request))
            if isinstance(asked, Request):
                self.party.charged(asked, plan.cohort)
            raise


class ChargesTooMuchWork(AgentService):
    """Charges, and then finds that it would be too much work."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._desk = _ChargingDesk(self._limits, self._observer)
        self._desk.party = self._party


class QuotesWithoutLimits(AgentService):
    """Grants as much work as anybody wants, and refuses it."""

    async def Quote(self, request: Any, context: Any) -> pb.QuoteResponse:  # noqa: N802
        self._desk._limits = WorkLimits.unbounded()
        try:
            quote: pb.QuoteResponse = await super().Quote(request, context)
            return quote
        finally:
            self._desk._limits = self._limits


class OneAfterTheOther(AgentService):
    """Makes an answer of much work in one piece."""

    def _reporting(self, asked: Request, cohort: Cohort, caller: str) -> Callable[[Cohort], bytes]:
        if asked.query.startswith("moments"):
            time.sleep(PROMPT_SECONDS + 0.5)
        return super()._reporting(asked, cohort, caller)


class Crowded(AgentService):
    """Does something silly once it has a few answers in progress."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._free = asyncio.Semaphore(_FEW)

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        async with self._free:
            async for part in super().Randomize(request, context):
                yield part


class WaitsForReaders(Crowded):
    """Answers nobody until somebody reads."""

    async def Describe(self, request: Any, context: Any) -> pb.DescribeResponse:  # noqa: N802
        async with self._free:
            described: pb.DescribeResponse = await super().Describe(request, context)
            return described


class RefusesReaders(Crowded):
    """Says that a request is invalid where it is one too many."""

    @streaming
    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        if self._free.locked():
            raise InvalidParameter("one too many")
        async for part in super().Randomize(request, context):
            yield part


class CutsAnswersShort(AgentService):
    """Sends half of an answer that has to wait."""

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        self._running += 1
        try:
            async for part in super().Randomize(request, context):
                yield part if self._running <= _FEW else _half(part)
        finally:
            self._running -= 1

    _running = 0


def _half(part: pb.RandomizeResponse) -> pb.RandomizeResponse:
    """Of reports that fill whole bytes."""
    return pb.RandomizeResponse(reports=part.reports // 2, packed=part.packed[: len(part.packed) // 2])
