"""Epochs and what is kept: a request is of one epoch, and whoever was answered can be answered again.

The end of an epoch cannot be brought about over the wire.  What can be seen is the open one: a request that names another
is refused, one that names it is the request that names none, and what was sent comes again as it was.  What happens when an
epoch ends is checked in tests/unit/parties/contract/test_expired_answers.py.
"""

from __future__ import annotations

import time
from dataclasses import replace

import grpc
import numpy as np

from localdp.party.party import Request
from parties import codec
from parties.contract.budget_clauses import EXHAUSTED, require_untouched, unpaid_left, unpaid_part
from parties.contract.clause import Clause
from parties.contract.plan import ClausePlan
from parties.contract.subject import Answered, Broken, Reply, Subject, require_refused, unpacked

EXPIRED = "FAILED_PRECONDITION REQUEST_EXPIRED"
_NO_EPOCH = (1 << 64) - 1


def another(subject: Subject, plan: ClausePlan) -> str:
    """Epochs that are over, or not yet there, as requests and as quotes; then all that was left is left."""
    now = _open_epoch(subject)
    unpaid_left(subject, plan)
    people = unpaid_part(plan, 1)
    others = [epoch for epoch in (now - 1, now + 1, _NO_EPOCH) if epoch > 0]
    for epoch in others:
        request = plan.cheap(f"of epoch {epoch % 1000}")
        message = codec.request_to_wire(replace(request, epoch=epoch), people)
        for what, reply in (("a request", subject.send(message)), ("a quote", subject.quote(message))):
            require_refused(f"{what} of epoch {epoch}, where {now} is open", reply, EXPIRED)
    require_untouched(subject, plan, people)
    return f"{len(others)} epochs other than {now}; nobody was charged"


def _open_epoch(subject: Subject) -> int:
    number = subject.describe().epoch
    if number < 1:
        raise Broken("no epoch is announced: they are numbered from 1 on")
    return number


def same(subject: Subject, plan: ClausePlan) -> str:
    """A request for all that is left, without an epoch, with it, and without it again."""
    now, people = _open_epoch(subject), unpaid_part(plan, 2)
    request = plan.payment_of("of the open epoch", unpaid_left(subject, plan))
    first = subject.reports(request, people)
    for epoch in (now, 0):
        again = replace(request, epoch=epoch)
        reply = subject.ask(again, people)
        if reply.name == EXHAUSTED:
            raise Broken(f"a request is charged again if it names epoch {epoch}")
        if not np.array_equal(first, unpacked(again, people, reply)):
            raise Broken(f"a request that names epoch {epoch} has other reports than one that named none")
    return f"0 and {now}, one charge"


def kept(subject: Subject, plan: ClausePlan) -> str:
    """Every ordinary request once more, however long ago it was answered: the very same messages."""
    first = [(request, _first(subject, plan, request)) for request in plan.requests.values()]
    for request, answered in first:
        reply = subject.ask(request, plan.crowd)
        if _may_be_gone(plan, answered) and reply.name == EXPIRED:
            continue
        _require_as_sent(request, answered, reply)
    ago = time.monotonic() - min(answered.at for _, answered in first)
    told = f"for {plan.keep_seconds} s" if plan.keep_seconds else "not promised beyond the epoch"
    return f"{len(first)} requests, up to {ago:.0f} s old; kept: {told}"


def _first(subject: Subject, plan: ClausePlan, request: Request) -> Answered:
    """What was sent for a request of this check; it is made now, if it was not."""
    message = codec.request_to_wire(request, plan.crowd)
    key = message.SerializeToString()
    if key not in subject.answered:
        unpacked(request, plan.crowd, subject.send(message))
    return subject.answered[key]


def _may_be_gone(plan: ClausePlan, answered: Answered) -> bool:
    return 0 < plan.keep_seconds <= time.monotonic() - answered.at


def _require_as_sent(request: Request, answered: Answered, reply: Reply) -> None:
    if reply.code is not grpc.StatusCode.OK:
        raise Broken(f"a repetition of {request.query} was refused: {reply.name}")
    if reply.parts != answered.parts:
        raise Broken(f"a repetition of {request.query} came in other messages than the first answer")


CLAUSES = (
    Clause("C29", "a request of another epoch than the open one is refused, and charges nobody", another),
    Clause("C30", "a request that names the open epoch is the one that names none", same),
    Clause("C31", "what was sent is kept as long as is announced, and comes again byte for byte", kept),
)
