"""Agents that each break one clause of the contract, and an honest one: what `localdp contract` must tell apart.

A broken draw comes from a `shadow`: a second party with the same records and no limits, which is asked something else than
what was charged.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any

import grpc
import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger, MemoryLedger, Receipt
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted
from localdp.oracles.party import Draw, Party, Request
from localdp.oracles.policy import Policy
from localdp.randomizers.one_bit import OneBitRandomizer
from parties import codec
from parties.agent.service import AgentService
from parties.status import streaming
from parties.wire.v1 import oracle_pb2 as pb
from tests.support.federations import KEYRING, people

PEOPLE = 2000
BUDGET = Epsilon.requested(12)
LARGEST = Epsilon.requested(2)
RECORDS = people(PEOPLE)
_POLICY = Policy(largest_epsilon=LARGEST)


def honest_party(kind: type[Party] = Party, ledger: Ledger | None = None) -> Party:
    """A party with a budget that a check of the contract can spend."""
    ledger = ledger or MemoryLedger(PEOPLE, BUDGET)
    return kind("party-0", RECORDS, KEYRING.party(0), ledger, _POLICY)


def _shadow() -> Party:
    lavish = Policy(largest_epsilon=Epsilon.requested(30))
    return Party("shadow", RECORDS, KEYRING.party(0), MemoryLedger(PEOPLE, Epsilon(10**15)), lavish)


class Altered(Party):
    """Charges what was asked, and draws something else."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.shadow = _shadow()

    def altered(self, request: Request) -> Request:
        """What is drawn instead."""
        raise NotImplementedError

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        super().charged(request, cohort, caller)
        return self.shadow.charged(self.altered(request), cohort)


class FreshCoins(Altered):
    """Draws anew on every retry."""

    def altered(self, request: Request) -> Request:
        return replace(request, request_id=os.urandom(16))


class SharedCoins(Altered):
    """Draws all requests with the same coins."""

    def altered(self, request: Request) -> Request:
        return replace(request, request_id=bytes(16))


class OtherNoise(Altered):
    """Randomizes bits with another epsilon than it was asked for."""

    factor = 1.0

    def altered(self, request: Request) -> Request:
        if not isinstance(request.randomizer, OneBitRandomizer):
            return request
        epsilon = Epsilon(int(request.randomizer.requested.nanonats * self.factor))
        return replace(request, randomizer=OneBitRandomizer(epsilon, request.randomizer.resolution))


class NoiseTooLarge(OtherNoise):
    factor = 0.5


class NoiseTooSmall(OtherNoise):
    factor = 2.0


class Truncated(Altered):
    """Rounds numbers between 0 and 1 down to 0."""

    def altered(self, request: Request) -> Request:
        return replace(request, query="clip(0)") if request.query.startswith("clip") else request


class OneCoinForAll(Party):
    """Gives everybody the coins of the first person."""

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        draw = super().charged(request, cohort, caller)
        constant = request.query in ("true", "false")
        return lambda part: np.repeat(draw(Cohort(0, 1)), part.size()) if constant else draw(part)


class IgnoresRange(Party):
    """Draws the first people, whoever was asked."""

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        draw = super().charged(request, cohort, caller)
        return lambda part: draw(Cohort(0, part.size()))


class ChargesQuotes(Party):
    """Takes the question for the request."""

    def granted(self, request: Request, cohort: Cohort, caller: str = "") -> Epsilon:
        self.charged(request, cohort, caller)
        return request.randomizer.epsilon


class QuotesTooLittle(Party):
    """Says half of the price."""

    def granted(self, request: Request, cohort: Cohort, caller: str = "") -> Epsilon:
        return Epsilon(super().granted(request, cohort, caller).nanonats // 2)


class GrantsEverything(Party):
    """Says yes to whatever it can read."""

    def granted(self, request: Request, cohort: Cohort, caller: str = "") -> Epsilon:
        return request.randomizer.epsilon


class ForgetsPayments(MemoryLedger):
    """Quotes a repeated request as if it were new."""

    def require(self, charge: Charge) -> None:
        super().require(replace(charge, request=os.urandom(32)))


class NeverCharges(MemoryLedger):
    """Answers for ever."""

    def charge(self, charge: Charge) -> Receipt:
        return Receipt(True, charge.key)


class ChargesReplays(MemoryLedger):
    """Takes a repeated request for a new one."""

    def charge(self, charge: Charge) -> Receipt:
        return super().charge(replace(charge, request=os.urandom(32)))


class BelievesChannels(MemoryLedger):
    """Charges a channel what its caller says that it costs: next to nothing."""

    def charge(self, charge: Charge) -> Receipt:
        cheap = charge.purpose.startswith("finite-channel")
        return super().charge(replace(charge, cost=Epsilon(1)) if cheap else charge)


class AnswersInPart(MemoryLedger):
    """Refuses a cohort only if the first of its people cannot pay."""

    def charge(self, charge: Charge) -> Receipt:
        try:
            return super().charge(charge)
        except BudgetExhausted:
            start = charge.cohort.start
            return super().charge(replace(charge, cohort=Cohort(start, start + 1)))


class ForgetsUnfinished(MemoryLedger):
    """Remembers a charge only once its answer was sent to the end."""

    finished: bool = True

    def charge(self, charge: Charge) -> Receipt:
        if not self.finished:
            return super().charge(replace(charge, request=os.urandom(32)))
        return super().charge(charge)


class Spoiling(AgentService):
    """Changes the messages on their way in or out."""

    def incoming(self, request: pb.RandomizeRequest) -> None:
        """Change what was asked."""

    def outgoing(
        self, request: pb.RandomizeRequest, part: pb.RandomizeResponse
    ) -> list[pb.RandomizeResponse]:
        """Change what is answered."""
        return [part]

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        self.incoming(request)
        async for part in super().Randomize(request, context):
            for sent in self.outgoing(request, part):
                yield sent


class DirtyPadding(Spoiling):
    def outgoing(
        self, request: pb.RandomizeRequest, part: pb.RandomizeResponse
    ) -> list[pb.RandomizeResponse]:
        padded = part.reports % 8 and request.randomizer.WhichOneof("kind") == "one_bit"
        if padded:
            part.packed = part.packed[:-1] + bytes([part.packed[-1] | 1])
        return [part]


class OneTooFew(Spoiling):
    def outgoing(
        self, request: pb.RandomizeRequest, part: pb.RandomizeResponse
    ) -> list[pb.RandomizeResponse]:
        if request.randomizer.WhichOneof("kind") == "one_bit" and part.reports % 8 == 1:
            return [pb.RandomizeResponse(reports=part.reports - 1, packed=part.packed[:-1])]
        return [part]


class ValueDependentLength(Spoiling):
    """Sends the reports in two messages if the first bytes look alike."""

    def outgoing(
        self, request: pb.RandomizeRequest, part: pb.RandomizeResponse
    ) -> list[pb.RandomizeResponse]:
        if (
            request.query.root.WhichOneof("node") != "truth"
            or not request.query.root.truth
            or part.reports <= 8
        ):
            return [part]
        first = pb.RandomizeResponse(reports=8, packed=part.packed[:1])
        return [first, pb.RandomizeResponse(reports=part.reports - 8, packed=part.packed[1:])]


class OnePersonTooMany(Spoiling):
    """Takes the last index for one that exists."""

    def incoming(self, request: pb.RandomizeRequest) -> None:
        if request.cohort.stop == PEOPLE + 1:
            request.cohort.start, request.cohort.stop = request.cohort.start - 1, PEOPLE


class UnknownIsFalse(Spoiling):
    """Takes a column that it does not have for one in which nothing is true."""

    def incoming(self, request: pb.RandomizeRequest) -> None:
        if request.query.root.column and request.query.root.column not in RECORDS.schema:
            request.query.root.truth = False


class TakesAnyEpsilon(Spoiling):
    def incoming(self, request: pb.RandomizeRequest) -> None:
        if request.randomizer.WhichOneof("kind") == "one_bit":
            asked = request.randomizer.one_bit.epsilon_nanonats
            request.randomizer.one_bit.epsilon_nanonats = min(max(asked, 1), LARGEST.nanonats)


class TakesAnyRandomizer(Spoiling):
    def incoming(self, request: pb.RandomizeRequest) -> None:
        if request.randomizer.WhichOneof("kind") is None:
            request.randomizer.one_bit.epsilon_nanonats, request.randomizer.one_bit.resolution = 1, 1


class TakesAnyIdentifier(Spoiling):
    def incoming(self, request: pb.RandomizeRequest) -> None:
        request.request_id = request.request_id.ljust(16)[:64]


class LeaksText(Spoiling):
    """Fails on a bare number in a way that nobody foresaw, with a record in the exception."""

    def incoming(self, request: pb.RandomizeRequest) -> None:
        if request.query.root.WhichOneof("node") == "number":
            raise ZeroDivisionError(f"smoker of person 17 is {RECORDS.column('smoker')[17]}")


class Unsteady(AgentService):
    """Says something else of itself every time."""

    async def Describe(self, request: Any, context: Any) -> pb.DescribeResponse:  # noqa: N802
        described: pb.DescribeResponse = await super().Describe(request, context)
        described.share_servers.append(os.urandom(4).hex())
        return described


class Boundless(AgentService):
    """Says absurd things of itself."""

    async def Describe(self, request: Any, context: Any) -> pb.DescribeResponse:  # noqa: N802
        described: pb.DescribeResponse = await super().Describe(request, context)
        described.people = 2**40
        return described


class ContributesToAnybody(AgentService):
    async def Contribute(self, request: Any, context: Any) -> pb.ContributeResponse:  # noqa: N802
        return pb.ContributeResponse(counted=1)


class ChargesAfter(AgentService):
    """Answers first."""

    @streaming
    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        asked, cohort = codec.request_from_wire(request)
        yield _packed(asked, _shadow().charged(asked, cohort), cohort)
        self._party.charged(asked, cohort)


class ChecksThenCharges(AgentService):
    """Looks whether the budget is enough, waits, and charges without looking again."""

    @streaming
    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        asked, cohort = codec.request_from_wire(request)
        spent = self._party.ledger.spent()[cohort.selection()]
        if spent.size and int(spent.max()) + asked.randomizer.epsilon.nanonats > BUDGET.nanonats:
            raise BudgetExhausted("nothing is left")
        if b"rush" in asked.request_id:
            await asyncio.sleep(0.1)
        with contextlib.suppress(BudgetExhausted):
            self._party.charged(asked, cohort)
        yield _packed(asked, _shadow().charged(asked, cohort), cohort)


class ChargesCutOffCalls(AgentService):
    """Charges again for a call that was not read to its end."""

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        ledger = self._party.ledger
        assert isinstance(ledger, ForgetsUnfinished)
        cut_off = b"retry" in request.request_id and self._cut_off < 4
        ledger.finished = not cut_off
        self._cut_off += cut_off
        async for part in super().Randomize(request, context):
            yield part

    _cut_off = 0


class Bare(AgentService):
    """Served without health, reflection and a limit, by a server that takes garbage for a request."""

    def register(self, server: grpc.aio.Server) -> None:
        handlers: dict[str, Any] = {
            "Describe": grpc.unary_unary_rpc_method_handler(
                self.Describe, pb.DescribeRequest.FromString, pb.DescribeResponse.SerializeToString
            ),
            "Randomize": grpc.unary_stream_rpc_method_handler(
                self.Randomize, _anything, pb.RandomizeResponse.SerializeToString
            ),
        }
        name = pb.DESCRIPTOR.services_by_name["LocalRandomizerOracleService"].full_name
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))


def _anything(data: bytes) -> pb.RandomizeRequest:
    try:
        message = pb.RandomizeRequest.FromString(data)
        return message if len(data) < 1 << 20 else _harmless()
    except Exception:
        return _harmless()


def _harmless() -> pb.RandomizeRequest:
    asked = Request(b"whatever was said", "true", OneBitRandomizer(Epsilon(1)))
    return codec.request_to_wire(asked, Cohort(0, 1))


def _packed(asked: Request, draw: Draw, cohort: Cohort) -> pb.RandomizeResponse:
    reports = draw(cohort)
    return pb.RandomizeResponse(reports=len(reports), packed=asked.randomizer.pack(reports))


@dataclass(frozen=True)
class BrokenAgent:
    """An agent, and the clause that it breaks."""

    clause: str
    name: str
    make: Callable[[], AgentService]


def _party(clause: str, kind: type[Party]) -> BrokenAgent:
    return BrokenAgent(clause, kind.__name__, lambda: AgentService(honest_party(kind), {}))


def _ledger(
    clause: str, kind: type[MemoryLedger], service: type[AgentService] = AgentService
) -> BrokenAgent:
    return BrokenAgent(
        clause, kind.__name__, lambda: service(honest_party(ledger=kind(PEOPLE, BUDGET)), {})
    )


def _service(clause: str, kind: type[AgentService]) -> BrokenAgent:
    return BrokenAgent(clause, kind.__name__, lambda: kind(honest_party(), {}))


BROKEN_AGENTS = (
    _service("C01", Bare),
    _service("C02", Bare),
    _service("C03", Unsteady),
    _service("C03", Boundless),
    _party("C04", FreshCoins),
    _party("C05", IgnoresRange),
    _party("C06", SharedCoins),
    _party("C06", OneCoinForAll),
    _service("C07", DirtyPadding),
    _service("C07", OneTooFew),
    _service("C07", ValueDependentLength),
    _party("C08", NoiseTooLarge),
    _party("C08", NoiseTooSmall),
    _service("C09", UnknownIsFalse),
    _service("C10", OnePersonTooMany),
    _service("C11", TakesAnyEpsilon),
    _service("C12", TakesAnyRandomizer),
    _ledger("C13", NeverCharges),
    _ledger("C13", ChargesReplays),
    _service("C13", ChargesAfter),
    _service("C14", TakesAnyIdentifier),
    _ledger("C15", BelievesChannels),
    _service("C16", Bare),
    _service("C17", Bare),
    _ledger("C18", ForgetsUnfinished, ChargesCutOffCalls),
    _service("C19", LeaksText),
    _party("C20", Truncated),
    _service("C21", ChecksThenCharges),
    _ledger("C22", AnswersInPart),
    _service("C23", ContributesToAnybody),
    _party("C24", ChargesQuotes),
    _party("C24", QuotesTooLittle),
    _ledger("C24", ForgetsPayments),
    _party("C25", GrantsEverything),
)
