"""Flooded rounds to the wire and back; what comes is checked by the constructors of what it becomes.

Checked in tests/unit/parties/test_flood_codec.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.flood_plan import Flooded, FloodPlan
from localdp.accounting.flooding import Flood, Moved
from localdp.accounting.promise_ledger import TRILLION
from localdp.cohorts import Cohort
from localdp.errors import MalformedReport
from localdp.sharing.flooded_batch import SEALED_BYTES, Messages
from localdp.sharing.flooded_round import RATE_GRID, FloodedPart, FloodedQuestion, FloodedRound
from parties import codec
from parties.receiving import Piece
from parties.wire.v1 import flooding_pb2 as pb

MESSAGES_OF_A_PART = (1 << 18) // SEALED_BYTES  # that one response holds


def question_to_wire(question: FloodedQuestion) -> pb.FloodedQuestion:
    """A question as a message."""
    plan, sums = question.plan, question.plan.flooded
    return pb.FloodedQuestion(
        round_id=question.round_id,
        query=question.query,
        steps=question.steps,
        epsilon_nanonats=plan.epsilon.nanonats,
        delta_trillionths=int(plan.delta * TRILLION),
        sums=pb.FloodedSums(
            entries=sums.entries,
            largest=sums.moved.largest,
            rising=sums.moved.rising,
            falling=sums.moved.falling,
            messages=sums.messages,
        ),
        rate_billionths=int(plan.flood.rate * RATE_GRID),
        pairs=plan.flood.pairs,
        people=plan.people,
        honest=plan.honest,
        key=question.key,
        second_key=question.second_key,
    )


def question_from_wire(message: pb.FloodedQuestion) -> FloodedQuestion:
    """A question, checked: also that its noise is enough for what it promises."""
    sums = message.sums
    plan = FloodPlan(
        Epsilon(message.epsilon_nanonats),
        Fraction(message.delta_trillionths, TRILLION),
        Flooded(sums.entries, Moved(sums.largest, sums.rising, sums.falling), sums.messages),
        Flood(Fraction(message.rate_billionths, RATE_GRID), message.pairs),
        message.people,
        message.honest,
    )
    text = codec.query_text(message.query)
    return FloodedQuestion(message.round_id, text, message.steps, plan, message.key, message.second_key)


def round_to_wire(asked: FloodedRound) -> pb.FloodedRound:
    """A round as a message."""
    parts = [pb.FloodedPart(name=part.name, start=part.start, stop=part.stop) for part in asked.parts]
    return pb.FloodedRound(question=question_to_wire(asked.question), parts=parts)


def round_from_wire(message: pb.FloodedRound) -> FloodedRound:
    """A round, checked."""
    parts = tuple(FloodedPart(part.name, part.start, part.stop) for part in message.parts)
    return FloodedRound(question_from_wire(message.question), parts)


def flood_to_wire(asked: FloodedRound, cohort: Cohort) -> pb.FloodRequest:
    """The request of one part's messages."""
    return pb.FloodRequest(round=round_to_wire(asked), cohort=codec.cohort_to_wire(cohort))


def packed(messages: Messages) -> pb.FloodResponse:
    """Some sealed messages."""
    return pb.FloodResponse(reports=len(messages), packed=messages.tobytes())


def slices(count: int) -> Iterator[slice]:
    """How so many messages are cut into responses."""
    for start in range(0, count, MESSAGES_OF_A_PART):
        yield slice(start, min(start + MESSAGES_OF_A_PART, count))


def received(pieces: Iterable[Piece], size: int = SEALED_BYTES) -> Messages:
    """The messages of a stream, each of this size, a row each."""
    rows = [_rows(piece, size) for piece in pieces]
    return np.concatenate(rows) if rows else np.zeros((0, size), np.uint8)


def _rows(piece: Piece, size: int) -> Messages:
    if len(piece.packed) != piece.reports * size:
        raise MalformedReport(f"a sealed message has {size} bytes here")
    return np.frombuffer(piece.packed, np.uint8).reshape(-1, size)
