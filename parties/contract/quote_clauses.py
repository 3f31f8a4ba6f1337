"""Quotes: what a call would be answered, asked for free.

That a quote charges nothing is measured as budgets are: what people have left afterwards, to the nanonat.
"""

from __future__ import annotations

from collections.abc import Iterator

import grpc

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.oracles.party import Request
from localdp.randomizers.one_bit import OneBitRandomizer
from parties import codec
from parties.contract.budget_clauses import EXHAUSTED, require_left
from parties.contract.clause import Clause
from parties.contract.plan import Plan
from parties.contract.subject import Broken, Subject, require_refused
from parties.wire.v1 import oracle_pb2 as pb

_QUOTED = 3


def free(subject: Subject, plan: Plan) -> str:
    """Quotes of several requests, and then all of the budget; what was paid before would still be answered."""
    block, payment = plan.blocks["quote"], plan.payment // 2
    paid = plan.payment_of("quote paid", payment)
    subject.reports(paid, block)
    for number in range(_QUOTED):
        _require_granted(subject, plan.payment_of(f"quoted {number}", payment), block)
    require_left(subject, plan, "quote", plan.budget - payment)
    _require_granted(subject, paid, block)
    more = codec.request_to_wire(plan.payment_of("quoted after", 1), block)
    require_refused("a quote of 1 nanonat with nothing left", subject.quote(more), EXHAUSTED)
    return f"{_QUOTED} quotes, nothing charged; what was paid for is granted"


def _require_granted(subject: Subject, request: Request, block: Cohort) -> None:
    cost = request.randomizer.epsilon.nanonats
    reply = subject.quote(codec.request_to_wire(request, block))
    if reply.code is not grpc.StatusCode.OK:
        raise Broken(f"a quote of what would be answered was refused: {reply.name}")
    if reply.price != cost:
        raise Broken(f"a quote says {reply.price} nanonats for a request of {cost}")


def refused(subject: Subject, plan: Plan) -> str:
    """What is refused as a request is refused as a quote, in the same words; comes after the block `budget` was spent."""
    count = 0
    for what, message in _refused(plan):
        asked, quoted = subject.send(message), subject.quote(message)
        if asked.code is grpc.StatusCode.OK:
            raise Broken(f"{what} was answered")
        require_refused(f"a quote of {what}", quoted, asked.name)
        count += 1
    nothing = subject.quoted(pb.QuoteRequest())
    require_refused("a quote of nothing", nothing, "INVALID_ARGUMENT INVALID_PARAMETER")
    return f"{count} requests, and none at all"


def _refused(plan: Plan) -> Iterator[tuple[str, pb.RandomizeRequest]]:
    one = Cohort(0, 1)
    yield "more than is left", codec.request_to_wire(plan.payment_of("too poor", 1), plan.blocks["budget"])
    nobody = Cohort(plan.people, plan.people + 1)
    yield "people whom the party does not hold", codec.request_to_wire(plan.payment_of("nobody", 1), nobody)
    spoiled = codec.request_to_wire(plan.payment_of("spoiled", 1), one)
    spoiled.query.root.column = next(name for name in ("x", "y" * 64) if name not in plan.schema)
    yield "an unknown column", spoiled
    short = codec.request_to_wire(plan.payment_of("short", 1), one)
    short.request_id = short.request_id[:1]
    yield "an identifier of one byte", short
    if plan.allows_no_more:
        over = OneBitRandomizer(Epsilon(plan.largest + max(1000, plan.largest >> 10)))
        yield "too much at once", codec.request_to_wire(plan.request("too much", "true", over), one)


CLAUSES = (
    Clause("C24", "a quote tells the price, charges nothing, and knows what was paid for", free),
    Clause("C25", "a quote of what would be refused is refused with the same error", refused),
)
