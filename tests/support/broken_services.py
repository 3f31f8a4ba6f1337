"""Services that each break one clause of the contract, around a party that keeps it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any

import grpc

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.domains import is_column_name
from localdp.errors import BudgetExhausted
from localdp.party.party import Draw, Request
from localdp.randomizers.one_bit import OneBitRandomizer
from parties import codec
from parties.admission import Registry
from parties.agent.service import AgentService
from parties.status import streaming
from parties.wire.v1 import oracle_pb2 as pb
from parties.wire.v1 import oracle_pb2_grpc
from tests.support.broken_holders import BUDGET, LARGEST, PEOPLE, RECORDS, ForgetsUnfinished, shadow


class Decoded(AgentService):
    """Gets its requests decoded, and not as bytes: so it can look at them."""

    def register(self, server: Registry) -> None:
        oracle_pb2_grpc.add_LocalRandomizerOracleServiceServicer_to_server(self, server)


class Spoiling(Decoded):
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
        if request.query != "true" or part.reports <= 8:
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
        if is_column_name(request.query) and request.query not in RECORDS.schema:
            request.query = "false"


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
        if request.query == "0.5":
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


class ChargesAfter(Decoded):
    """Answers first."""

    @streaming
    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        asked, cohort = codec.request_from_wire(request)
        yield _packed(asked, shadow().charged(asked, cohort), cohort)
        self._party.charged(asked, cohort)


class ChecksThenCharges(Decoded):
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
        yield _packed(asked, shadow().charged(asked, cohort), cohort)


class ChargesCutOffCalls(Decoded):
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

    def register(self, server: Registry) -> None:
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
