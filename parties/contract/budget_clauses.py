"""Budgets: spent to the last nanonat and not one further, by the true epsilon of what was asked, once for each request.

What a person has left is measured from outside: a request for one nanonat more is refused, one for exactly the rest is
answered, and after it not even the smallest that the party allows.
"""

from __future__ import annotations

from itertools import count

import grpc
import numpy as np

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, NANONATS_PER_NAT
from localdp.cohorts import Cohort
from localdp.party.party import Request
from localdp.randomizers.finite_channel import FiniteChannel
from parties import codec
from parties.contract.clause import Clause
from parties.contract.plan import ClausePlan
from parties.contract.subject import Broken, Subject, require_refused
from parties.wire.v1 import randomizer_pb2

EXHAUSTED = "RESOURCE_EXHAUSTED BUDGET_EXHAUSTED"
UNPAID_PARTS = 3
_AT_ONCE = 6


def exact(subject: Subject, plan: ClausePlan) -> str:
    """The budget that was announced, to the nanonat; replays of what was paid stay free."""
    block = plan.blocks["budget"]
    first = plan.payment_of("budget first", plan.payment // 2)
    before = subject.reports(first, block)
    require_left(subject, plan, "budget", plan.budget - plan.payment // 2)
    if not np.array_equal(before, subject.reports(first, block)):
        raise Broken("after the budget was spent, a repeated request has other reports")
    subject.reports(first, Cohort(block.start, block.start + 1))
    return f"{plan.budget} nanonats, then {EXHAUSTED}; replays are free"


def whole(subject: Subject, plan: ClausePlan) -> str:
    """A cohort in which some can pay and others cannot; comes after the block `budget` was spent."""
    block, request = plan.blocks["budget"], plan.cheap("mixed")
    mixed = Cohort(block.start - 1, block.stop)
    require_refused("one person with budget among others without", subject.ask(request, mixed), EXHAUSTED)
    subject.reports(request, Cohort(block.start - 1, block.start))
    return "refused whole; the one who can pay is answered alone"


def channel(subject: Subject, plan: ClausePlan) -> str:
    """A channel is described by its matrix alone: its epsilon is the agent's to find out."""
    block = plan.blocks["channel"]
    law = plan.channel(min(plan.payment, plan.budget // 2))
    subject.reports(plan.request("channel", plan.column, law), block)
    require_left(subject, plan, "channel", plan.budget - law.epsilon.nanonats)
    _require_over_largest_refused(subject, plan)
    message = codec.request_to_wire(plan.request("no epsilon", plan.column, law), Cohort(0, 1))
    rows = [[0] * (plan.values - 1) + [plan.values], [1] * plan.values]
    del message.randomizer.finite_channel.rows[:]
    for row in (rows[min(x, 1)] for x in range(plan.values)):
        message.randomizer.finite_channel.rows.append(randomizer_pb2.ChannelRow(weights=row))
    reply = subject.send(message)
    require_refused("a channel without an epsilon", reply, "INVALID_ARGUMENT INVALID_PARAMETER")
    return f"charged {law.epsilon.nanonats} nanonats, as the matrix has"


def _require_over_largest_refused(subject: Subject, plan: ClausePlan) -> None:
    over = plan.largest + NANONATS_PER_NAT // 2
    if over < LARGEST_EPSILON_NATS * NANONATS_PER_NAT:
        law: FiniteChannel = plan.channel(over)
        reply = subject.ask(plan.request("over", plan.column, law), Cohort(0, 1))
        require_refused("a channel over the announced largest", reply, "PERMISSION_DENIED POLICY_REFUSED")


def cut_off(subject: Subject, plan: ClausePlan) -> str:
    """A call whose deadline passes, two that are cancelled, before and after the first reports, and the same again."""
    block, request = plan.blocks["retry"], plan.payment_of("retry", plan.payment // 2)
    hurried = subject.stub.Randomize(codec.request_to_wire(request, block), timeout=0.001)
    subject.ended(hurried, block.size())
    subject.began(request, block).cancel()
    call = subject.began(request, block)
    next(iter(call))
    call.cancel()
    first, second = (subject.reports(request, block) for _ in range(2))
    if not np.array_equal(first, second):
        raise Broken("after a call was cut off, its reports differ from one call to the next")
    require_left(subject, plan, "retry", plan.budget - plan.payment // 2)
    return "cut off, cancelled, answered; charged once"


def rush(subject: Subject, plan: ClausePlan) -> str:
    """Six requests at once, where the budget is enough for two."""
    block = plan.blocks["rush"]
    left = _paid_down(subject, plan, "rush", plan.budget, plan.payment)
    requests = [plan.payment_of(f"rush {number}", left // 2) for number in range(_AT_ONCE)]
    calls = [subject.began(request, block) for request in requests]
    replies = [subject.ended(call, block.size()) for call in calls]
    answered = sum(reply.code is grpc.StatusCode.OK for reply in replies)
    for reply in replies:
        if reply.code is not grpc.StatusCode.OK:
            require_refused("one of several requests at once", reply, EXHAUSTED)
    if answered != 2:
        raise Broken(
            f"the budget was enough for 2 of {_AT_ONCE} requests at once; {answered} were answered"
        )
    return f"2 of {_AT_ONCE} answered"


def require_left(subject: Subject, plan: ClausePlan, name: str, left: int) -> None:
    """Each person of the block has exactly so many nanonats left; spends them."""
    block = plan.blocks[name]
    left = _paid_down(subject, plan, name, left, plan.payment - 1)
    more = subject.ask(plan.payment_of(f"{name} over", left + 1), block)
    require_refused(f"{left + 1} nanonats with {left} left", more, EXHAUSTED)
    if left:
        _pay(subject, plan.payment_of(f"{name} rest", left), block)
    more = subject.ask(plan.cheap(f"{name} after"), block)
    require_refused(f"{plan.smallest} nanonats with nothing left", more, EXHAUSTED)


def require_untouched(subject: Subject, plan: ClausePlan, people: Cohort) -> None:
    """These people of the block `unpaid` have all that is left to them: what was refused before has charged nobody."""
    left = unpaid_left(subject, plan)
    label = f"unpaid {people.start}"
    more = subject.ask(plan.payment_of(f"{label} over", left + 1), people)
    require_refused(f"{left + 1} nanonats with {left} left", more, EXHAUSTED)
    rest = subject.ask(plan.payment_of(f"{label} rest", left), people)
    if rest.code is not grpc.StatusCode.OK:
        raise Broken(f"what was refused has charged somebody: of {left} nanonats not all are left")


def unpaid_left(subject: Subject, plan: ClausePlan) -> int:
    """What each person of the block `unpaid` has left: less than one payment, and half of one at least."""
    return _paid_down(subject, plan, "unpaid", plan.budget, plan.payment - 1)


def unpaid_part(plan: ClausePlan, number: int) -> Cohort:
    """A part of the block `unpaid`, for one clause."""
    block = plan.blocks["unpaid"]
    size = block.size() // UNPAID_PARTS
    return Cohort(block.start + number * size, block.start + (number + 1) * size)


def _paid_down(subject: Subject, plan: ClausePlan, name: str, left: int, to: int) -> int:
    """Spend until at most `to` is left, and about half of it at least."""
    for number in count():
        if left <= to:
            return left
        payment = min(plan.payment, left - to // 2)
        _pay(subject, plan.payment_of(f"{name} {number}", payment), plan.blocks[name])
        left -= payment
    raise AssertionError


def _pay(subject: Subject, request: Request, block: Cohort) -> None:
    """Once: what was paid in this check is not asked for again."""
    message, cost = codec.request_to_wire(request, block), request.randomizer.epsilon
    if message.SerializeToString() in subject.answered:
        return
    reply = subject.send(message)
    if reply.code is not grpc.StatusCode.OK:
        raise Broken(f"{cost} was within the announced budget (is the agent fresh?), but: {reply.name}")


CLAUSES = (
    Clause("C13", "the announced budget is enforced to the nanonat, and repetitions are free", exact),
    Clause("C22", "a request is refused whole if one of its people cannot pay", whole),
    Clause("C15", "a channel is charged by the epsilon that its matrix has", channel),
    Clause("C18", "a call that was cut off can be repeated, and is charged once", cut_off),
    Clause("C21", "requests made at once do not overspend together", rush),
)
