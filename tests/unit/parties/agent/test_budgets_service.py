"""An agent's `Budgets`: for those who may ask, observed, a function of charges alone, and never a charge."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, MemoryLedger
from localdp.accounting.remaining import STEPS
from localdp.cohorts import Cohort
from localdp.domains import Ownership, Records
from localdp.errors import MalformedReport
from localdp.party.party import Party
from localdp.party.policy import Policy
from parties import codec
from parties.agent.service import AgentService
from parties.observability.observer import Observer, WatchedLedger
from parties.wire.v1 import oracle_pb2 as pb
from tests.support.callers import Context
from tests.support.federations import KEYRING, ONE, people, request

PEOPLE = 20
LIMIT = Epsilon.requested("3.5")


def party_of(
    records: Records | None = None, ownership: Ownership | None = None, **rules: Any
) -> tuple[Party, Observer]:
    observer = Observer("agent", "party-0")
    ledger = WatchedLedger(MemoryLedger(PEOPLE, LIMIT), observer)
    policy = Policy(aggregators=frozenset({"analyst"}), **rules)
    return Party(
        "party-0", records or people(PEOPLE), KEYRING.party(0), ledger, policy, ownership
    ), observer


def told(holder: Party, observer: Observer | None = None, caller: str = "analyst") -> Any:
    """How many people have at least 10, 3, 1, 0.3, 0.1 and 0 nats, or the status."""
    agent = AgentService(holder, {}, observer=observer)
    context: Any = Context(caller)

    async def call() -> Any:
        try:
            answer = await agent.Budgets(pb.BudgetsRequest(), context)
            return [step.people for step in answer.steps]
        except grpc.aio.AbortError:
            assert context.code is not None
            return context.code.name
        finally:
            await agent.close()

    return asyncio.run(call())


def test_steps_follow_what_was_charged_and_charge_nothing() -> None:
    holder, observer = party_of()
    assert told(holder, observer) == [0, 20, 20, 20, 20, 20]
    holder.charged(request(), Cohort(0, 5), "analyst")
    assert told(holder, observer) == [0, 15, 20, 20, 20, 20]
    assert holder.ledger.spent().sum() == 5 * ONE.nanonats
    assert 'localdp_calls_total{method="Budgets",code="OK"} 2' in observer.exposition()


def test_whoever_may_not_ask_is_told_nothing() -> None:
    holder, observer = party_of()
    assert told(holder, observer, "mallory") == "PERMISSION_DENIED"
    assert 'method="Budgets",code="PERMISSION_DENIED"' in observer.exposition()


@pytest.mark.parametrize(
    ("rules", "shown"), [({}, 15), ({"minimum_cohort": 5}, 15), ({"minimum_cohort": 6}, 0)]
)
def test_a_group_below_the_minimum_cohort_is_not_told_apart(rules: dict[str, Any], shown: int) -> None:
    holder, _ = party_of(**rules)
    holder.ledger.charge(Charge(b"by somebody else", b"", Cohort(0, 5), ONE, "whatever"))
    assert told(holder)[1] == shown


def test_no_record_and_no_owner_has_a_part_in_it() -> None:
    """Two parties whose records and whose owners of rows differ, and who were charged alike."""
    everybody, found = people(2 * PEOPLE), []
    for first, owners in ((0, [0, 1, 1, 1]), (PEOPLE, [0, 0, 1, 1])):
        rows = np.concatenate([np.array(owners) + 2 * pair for pair in range(5)])
        records, whose = everybody.slice(first, first + PEOPLE), Ownership(rows, "each")
        holder, _ = party_of(records, whose, most_rows=3, minimum_cohort=2)
        holder.charged(request(), Cohort(0, 7), "analyst")
        found.append(told(holder))
    assert found[0] == found[1] == [0, 13, 20, 20, 20, 20]


@pytest.mark.parametrize(
    "counts",
    [(), (20,), (0, 0, 0, 0, 0, 19), (0, 2, 1, 20, 20, 20), (0, 0, 0, 0, 0, 20, 20), (0, 0, 0, 0, 0, 21)],
)
def test_what_is_no_such_answer_is_not_believed(counts: tuple[int, ...]) -> None:
    amounts = [*(step.nanonats for step in STEPS), 0]
    said = [
        pb.BudgetStep(at_least_nanonats=amount, people=count)
        for amount, count in zip(amounts, counts, strict=False)
    ]
    with pytest.raises(MalformedReport):
        codec.budgets_from_wire(pb.BudgetsResponse(steps=said), PEOPLE)
    other = pb.BudgetsResponse(steps=[pb.BudgetStep(at_least_nanonats=9, people=PEOPLE)] * len(STEPS))
    with pytest.raises(MalformedReport):
        codec.budgets_from_wire(other, PEOPLE)
