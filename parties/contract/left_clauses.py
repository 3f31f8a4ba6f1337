"""What people have left, as the agent tells it for free: in the steps of the contract, and never more than is left.

The people of the block `quiet` are spent down to less than a step, so that is known of them from outside; the clause comes
after all others that ask them.
"""

from __future__ import annotations

import grpc

from localdp.accounting.remaining import STEPS, Step
from localdp.errors import MalformedReport
from parties import codec
from parties.contract.budget_clauses import EXHAUSTED
from parties.contract.clause import Clause
from parties.contract.plan import MOST_PAYMENTS, ClausePlan
from parties.contract.subject import Broken, Subject, reply_of, require_refused
from parties.wire.v1 import oracle_pb2 as pb

_REFUSED = "PERMISSION_DENIED POLICY_REFUSED"
_PLENTY = 4  # times a step: whoever has so much left is counted there


def left(subject: Subject, plan: ClausePlan) -> str:
    """Before and after a block of people is spent down; asking changes nothing."""
    before = _told(subject, plan)
    if before is None:
        return "refused, as an agent may whose people own several rows"
    floor = max(plan.smallest, STEPS[-2].nanonats)
    _spend_down(subject, plan, floor)
    after, again = (_told(subject, plan) for _ in range(2))
    if after is None or after != again:
        raise Broken("what people have left is told otherwise the second time, and nobody was charged")
    if any(one.people > other.people for one, other in zip(after, before, strict=True)):
        raise Broken("after people have spent, more of them have something left")
    step = next(one for one in reversed(after) if one.at_least.nanonats >= floor)
    poor = plan.blocks["quiet"].size()
    if step.people > plan.people - poor:
        raise Broken(
            f"{step.people} people have {step.at_least} nats left, but {poor} of {plan.people} do not"
        )
    plenty = plan.budget - plan.cost_of_crowd.nanonats >= _PLENTY * step.at_least.nanonats
    if plenty and not step.people:
        raise Broken(f"nobody has {step.at_least} nats left, but {plan.crowd.size()} people do")
    return f"{step.people} of {plan.people} people have {step.at_least} nats left at least"


def _told(subject: Subject, plan: ClausePlan) -> tuple[Step, ...] | None:
    """The steps, if they are those of the contract; None where they are refused and may be."""
    try:
        told: pb.BudgetsResponse = subject.stub.Budgets(pb.BudgetsRequest(), timeout=subject.timeout)
        return codec.budgets_from_wire(told, plan.people)
    except MalformedReport as error:
        raise Broken(str(error)) from None
    except grpc.RpcError as failure:
        if reply_of(failure).name == _REFUSED and subject.describe().by_row:
            return None
        raise


def _spend_down(subject: Subject, plan: ClausePlan, floor: int) -> None:
    """Have the block pay until it has less than so many nanonats left."""
    block, amount = plan.blocks["quiet"], plan.payment
    for number in range(2 * MOST_PAYMENTS):
        reply = subject.ask(plan.payment_of(f"left {number}", amount), block)
        if reply.code is grpc.StatusCode.OK:
            continue
        require_refused("a payment beyond what is left", reply, EXHAUSTED)
        if amount == floor:
            return
        amount = max(floor, amount // 2)
    raise Broken("people pay, and have as much left as before")


CLAUSES = (
    Clause("C36", "what people have left is told in steps, by how many, and never more than is left", left),
)
