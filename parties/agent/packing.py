"""What an agent says: who it is, and the parts of its answers, as the messages that they leave in.

Of a flooded round a part is a range of messages: their noise is drawn for all people at once, and what takes long is to
seal them.

Checked in tests/contract/test_lr_oracle.py, tests/integration/test_sealed_shares.py and tests/contract/test_flooded.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from localdp.accounting.promise_ledger import TRILLION
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter
from localdp.party.flood_drawing import FloodDrawing
from localdp.party.party import Party
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.collection import Collection
from localdp.sharing.flooded_batch import Messages
from localdp.sharing.flooded_round import FloodedRound
from parties import codec, flood_codec
from parties.agent.answers import KeptAnswers
from parties.agent.plan import WorkPlan, flood_plan
from parties.agent.work import WorkLimits
from parties.observability.observer import Call
from parties.shares.messages import sealed_to_wire
from parties.wire.v1 import oracle_pb2 as pb
from parties.wire.v1.flooding_pb2 import FloodRequest, FloodResponse


def described(
    party: Party, share_servers: Sequence[str], kept: KeptAnswers | None, limits: WorkLimits
) -> pb.DescribeResponse:
    """Who the party is, and what may be asked."""
    return pb.DescribeResponse(
        name=party.name,
        people=party.people,
        schema=codec.schema_to_wire(party.records.schema),
        budget_nanonats=party.ledger.limit.nanonats,
        largest_request_nanonats=party.policy.largest_epsilon.nanonats,
        smallest_request_nanonats=party.policy.smallest_epsilon.nanonats,
        share_servers=share_servers,
        by_row=party.by_row,
        samples=party.samples,
        by_content=party.policy.by_content,
        epoch=party.epoch.number,
        keep_seconds=0 if kept is None else kept.keeping.seconds,
        quantum_nanoseconds=nanoseconds(limits.quantum_seconds),
    )


def nanoseconds(seconds: float) -> int:
    """As they travel."""
    return min(round(seconds * 1e9), (1 << 64) - 1)


def packed_reports(part: Cohort, packed: bytes) -> pb.RandomizeResponse:
    """Reports of some people."""
    return pb.RandomizeResponse(reports=part.size(), packed=packed)


def sealed_shares(
    collection: Collection, part: Cohort, blocks: list[ShareBlock]
) -> list[pb.ContributeSealedResponse]:
    """Shares of some people, for each server."""
    wrapped = map(sealed_to_wire, blocks, collection.servers, collection.keys)
    return [pb.ContributeSealedResponse(server=number, upload=one) for number, one in enumerate(wrapped)]


def read_flood(
    party: Party, call: Call, request: FloodRequest, limits: WorkLimits, recall: Callable[[bytes], None]
) -> tuple[tuple[FloodedRound, Cohort], WorkPlan]:
    """A flooded round that is asked of some of a party's people, and how it will be answered.

    To work out anew what its noise hides takes seconds where a person moves sums far: not for whoever may not ask at all.
    """
    question = request.round.question
    party.policy.require_caller(call.caller)
    party.policy.require_flooded(
        Fraction(question.delta_trillionths, TRILLION), call.caller, question.second_key
    )
    asked = flood_codec.round_from_wire(request.round)
    cohort = codec.cohort_from_wire(request.cohort)
    call.about(asked.digest, cohort.stop - cohort.start, asked.plan.epsilon, asked.question.query)
    if not asked.question.key:
        raise InvalidParameter("flooded messages leave a party sealed: the round has no key of the analyst")
    drawing = FloodDrawing.of(asked, asked.part_of(party.name, cohort), party.epoch.records.schema)
    recall(drawing.name)
    return (asked, cohort), flood_plan(drawing, cohort, limits, sampled=party.epoch.samples)


def flooding(
    party: Party, kept: KeptAnswers | None, asked: FloodedRound, cohort: Cohort, caller: str
) -> Callable[[Cohort], Messages]:
    """Charge and draw; what is returned seals any range of the messages."""
    charged = party.flooded(asked, cohort, caller)
    batch = charged(cohort) if kept is None else kept.flooded(charged, cohort, caller)
    return lambda part: batch.messages(part.start, part.stop)


def packed_flood(part: Cohort, messages: Messages) -> FloodResponse:
    """Some of the messages."""
    return flood_codec.packed(messages)
