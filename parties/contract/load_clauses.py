"""Work and unread answers: what one request may cost the agent, and that nothing keeps it from answering the next.

A caller sees its own calls alone.  That callers take turns, and that memory is bounded, cannot be seen by one of them: that
is checked in tests/unit/parties/agent/test_scheduler.py and test_agent_work.py.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import grpc

from localdp.cohorts import Cohort
from localdp.party.party import Request
from parties import codec
from parties.contract.budget_clauses import require_untouched, unpaid_left, unpaid_part
from parties.contract.clause import Clause
from parties.contract.plan import ClausePlan
from parties.contract.subject import PROMPT_SECONDS, Broken, Reply, Subject, require_refused, unpacked
from parties.repeating import Begun, Stub
from parties.wire.v1 import oracle_pb2_grpc

TOO_MUCH = "RESOURCE_EXHAUSTED WORK_REFUSED"
BUSY = ("RESOURCE_EXHAUSTED BUSY", "RESOURCE_EXHAUSTED")
GIVEN_UP = "DEADLINE_EXCEEDED DEADLINE_MISSED"
STREAMS = 64
_MOST_PEOPLE = 16  # in an answer that is left unread
_PAUSE = 0.05
_READ_NOTHING_AHEAD = (  # or next to nothing: otherwise gRPC takes in megabytes that nobody reads
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 1 << 14),
)


def work(subject: Subject, plan: ClausePlan) -> str:
    """As much work as can be asked of everybody: refused, or cut into parts between which others are answered."""
    unpaid_left(subject, plan)
    people, request = unpaid_part(plan, 0), plan.large("large")
    message = codec.request_to_wire(request, Cohort(0, people.stop))
    quoted = subject.quote(message)
    if quoted.code is grpc.StatusCode.OK:
        return _beside(subject, plan, request, quoted)
    require_refused("a quote of as much work as can be asked", quoted, TOO_MUCH)
    require_refused("as much work as can be asked", subject.send(message), TOO_MUCH)
    require_untouched(subject, plan, people)
    return "as much as can be asked is refused, and charges nobody"


def _beside(subject: Subject, plan: ClausePlan, request: Request, quoted: Reply) -> str:
    """The agent grants it to everybody: so it has to answer other calls while it works for some of them."""
    block = plan.blocks["quiet"]
    other = _paid(subject, plan)
    call = subject.began(request, block)
    try:
        seconds = _require_awake(subject, plan, other, "while it answers a request of much work")
        if call.done():
            unpacked(request, block, subject.ended(call, block.size()))
    finally:
        call.cancel()
    promised = quoted.told.work_nanoseconds / 1e9
    return f"{promised:.3g} s of work are granted; beside them the next call took {seconds:.2f} s"


def unread(subject: Subject, plan: ClausePlan) -> str:
    """Answers that nobody reads, of about a hundred kilobytes each, all of one request that was paid for."""
    block = plan.blocks["quiet"]
    people = Cohort(block.start, min(block.stop, block.start + _MOST_PEOPLE))
    request, other = plan.wide("unread"), _paid(subject, plan)
    subject.reports(request, people)
    with _left_unread(subject, request, people) as calls:
        seconds = _require_awake(subject, plan, other, f"with {STREAMS} unread answers", *BUSY)
        refused = _turned_away(subject, calls, people) + _read(subject, calls, request, people)
    _require_room(subject, other, block)
    return f"{STREAMS} at once, {refused} of them refused; beside them the next call took {seconds:.2f} s"


@contextmanager
def _left_unread(subject: Subject, request: Request, people: Cohort) -> Iterator[Sequence[Begun]]:
    """So many calls, over a connection of their own, which nobody reads; cancelled in the end."""
    message = codec.request_to_wire(request, people)
    with subject.another_channel(*_READ_NOTHING_AHEAD) as channel:
        stub: Stub = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
        calls = [stub.Randomize(message, timeout=subject.timeout) for _ in range(STREAMS)]
        try:
            yield calls
        finally:
            for call in calls:
                call.cancel()


def _turned_away(subject: Subject, calls: Sequence[Begun], people: Cohort) -> int:
    """How many were refused at once, each as it should be."""
    replies = [subject.ended(call, people.size()) for call in calls if call.done()]
    refused = [reply for reply in replies if reply.code is not grpc.StatusCode.OK]
    for reply in refused:
        require_refused("one unread answer too many", reply, *BUSY)
    return len(refused)


def _read(subject: Subject, calls: Sequence[Begun], request: Request, people: Cohort) -> int:
    """An answer that waited is read after all: it is whole, unless the agent has given it up in so many words.

    Returns how many were refused meanwhile.
    """
    waiting = [call for call in calls if not call.done()]
    for refused, call in enumerate(reversed(waiting)):
        reply = subject.ended(call, people.size())
        if reply.name not in BUSY:
            if reply.name != GIVEN_UP:
                unpacked(request, people, reply)
            return refused
    raise Broken("no answer waits for its reader: all of them ended by themselves")


def _paid(subject: Subject, plan: ClausePlan) -> Request:
    """A request of little work that was paid for, so that it is answered at once."""
    request = plan.cheap("beside")
    subject.reports(request, plan.blocks["quiet"])
    return request


def _require_awake(
    subject: Subject, plan: ClausePlan, request: Request, when: str, *refusals: str
) -> float:
    """Describe and Quote are answered promptly, and a request, too, unless it may be refused; the longest time of them."""
    message, began = codec.request_to_wire(request, plan.blocks["quiet"]), time.monotonic()
    with subject.hurried():
        try:
            subject.describe()
        except grpc.RpcError as failure:
            raise Broken(f"{when}: Describe ended with {failure.code().name}, {_LIMIT}") from None
        described = time.monotonic() - began
        quoted, asked = subject.quote(message), subject.send(message)
    for what, reply, allowed in (("Quote", quoted, ()), ("Randomize", asked, refusals)):
        if reply.code is not grpc.StatusCode.OK and reply.name not in allowed:
            raise Broken(f"{when}: {what} ended with {reply.name}, {_LIMIT}")
    return max(described, quoted.seconds, asked.seconds)


def _require_room(subject: Subject, request: Request, cohort: Cohort) -> None:
    """Once the unread answers are given up, requests are answered again."""
    ends = time.monotonic() + PROMPT_SECONDS
    while (reply := subject.ask(request, cohort)).name in BUSY and time.monotonic() < ends:
        time.sleep(_PAUSE)
    unpacked(request, cohort, reply)


_LIMIT = f"with {PROMPT_SECONDS:g} s to answer"

CLAUSES = (
    Clause("C34", "a request of too much work is refused, or the next one does not wait for it", work),
    Clause("C35", "answers that nobody reads do not keep the agent from answering", unread),
)
