"""Quotes: what a call would be answered, asked for free.

That a quote charges nothing is measured as budgets are: what people have left afterwards, to the nanonat.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import grpc

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.party.party import Request
from localdp.randomizers.one_bit import OneBitRandomizer
from parties import codec
from parties.contract.budget_clauses import EXHAUSTED, require_left
from parties.contract.clause import Clause
from parties.contract.plan import ClausePlan, two_values
from parties.contract.subject import Broken, Subject, require_refused
from parties.wire.v1 import oracle_pb2 as pb

_QUOTED = 3


def free(subject: Subject, plan: ClausePlan) -> str:
    """Quotes of several requests, and then all of the budget; what was paid before would still be answered."""
    block, payment = plan.blocks["quote"], plan.payment // 2
    paid = plan.payment_of("quote paid", payment)
    subject.reports(paid, block)
    for number in range(_QUOTED):
        _require_granted(subject, plan.payment_of(f"quoted {number}", payment), block)
    require_left(subject, plan, "quote", plan.budget - payment)
    _require_granted(subject, paid, block)
    more = codec.request_to_wire(plan.cheap("quoted after"), block)
    require_refused("a quote with nothing left", subject.quote(more), EXHAUSTED)
    return f"{_QUOTED} quotes, nothing charged; what was paid for is granted"


def _require_granted(subject: Subject, request: Request, block: Cohort) -> None:
    cost = request.randomizer.epsilon.nanonats
    told = granted(subject, request, block).epsilon_nanonats
    if told != cost:
        raise Broken(f"a quote says {told} nanonats for a request of {cost}")


def granted(subject: Subject, request: Request, cohort: Cohort) -> pb.QuoteResponse:
    """What a quote tells of a request that would be answered."""
    reply = subject.quote(codec.request_to_wire(request, cohort))
    if reply.code is not grpc.StatusCode.OK:
        raise Broken(f"a quote of what would be answered was refused: {reply.name}")
    return reply.told


def unmoved(subject: Subject, plan: ClausePlan) -> str:
    """A quote before anybody has paid, after some have, and after all have; and of a request that nobody pays for."""
    block, request = plan.blocks["quiet"], plan.cheap("quoted twice")
    before = granted(subject, request, block)
    for some in (Cohort(block.start, block.start + 1), block):
        subject.reports(request, some)
        if granted(subject, request, block) != before:
            raise Broken("a quote tells something else once somebody has paid")
    if granted(subject, plan.cheap("never paid"), block) != before:
        raise Broken("quotes of two requests that ask the same differ, and one of the two was paid for")
    return f"{before.epsilon_nanonats} nanonats, {before.work_nanoseconds} ns of work, paid or not"


def by_shape(subject: Subject, plan: ClausePlan) -> str:
    """Quotes of pairs of queries that differ in a value alone, and of more and more people."""
    for one, other in _same_shape(plan):
        if granted(subject, one, plan.blocks["quiet"]) != granted(subject, other, plan.blocks["quiet"]):
            raise Broken(f"the quotes of {one.query!r} and of {other.query!r} differ")
    some = (Cohort(0, 1), plan.blocks["quiet"], plan.crowd)
    work = [granted(subject, plan.cheap("shape"), cohort).work_nanoseconds for cohort in some]
    if work != sorted(work) or not 0 < work[0] < work[-1]:
        raise Broken(f"work of {work} ns for more and more people: it should be there, and grow")
    return f"{work[0]} ns of work for one person, {work[-1]} ns for {plan.crowd.size()}"


def _same_shape(plan: ClausePlan) -> Iterator[tuple[Request, Request]]:
    grid = plan.requests["quarter"]
    yield grid, replace(grid, query="clip(0.75)")
    for one, other in (("true", "false"), *two_values(plan.schema, plan.column)):
        yield plan.cheap("shape", one), plan.cheap("shape", other)


def refused(subject: Subject, plan: ClausePlan) -> str:
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


def _refused(plan: ClausePlan) -> Iterator[tuple[str, pb.RandomizeRequest]]:
    one = Cohort(0, 1)
    yield "more than is left", codec.request_to_wire(plan.cheap("too poor"), plan.blocks["budget"])
    nobody = Cohort(plan.people, plan.people + 1)
    yield "people whom the party does not hold", codec.request_to_wire(plan.cheap("nobody"), nobody)
    spoiled = codec.request_to_wire(plan.cheap("spoiled"), one)
    spoiled.query = next(name for name in ("x", "y" * 64) if name not in plan.schema)
    yield "an unknown column", spoiled
    short = codec.request_to_wire(plan.cheap("short"), one)
    short.request_id = short.request_id[:1]
    yield "an identifier of one byte", short
    if plan.allows_no_more:
        over = OneBitRandomizer(Epsilon(plan.largest + max(1000, plan.largest >> 10)))
        yield "too much at once", codec.request_to_wire(plan.request("too much", "true", over), one)


CLAUSES = (
    Clause("C24", "a quote tells the price, charges nothing, and knows what was paid for", free),
    Clause("C25", "a quote of what would be refused is refused with the same error", refused),
    Clause("C32", "a quote is the same whether or not somebody has paid", unmoved),
    Clause(
        "C33", "a quote's work follows from the question's shape and the number of people alone", by_shape
    ),
)
