"""All clauses against one agent: bounded in time, announced before it spends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import grpc

from localdp.errors import InvalidParameter, LocalDpError
from parties import codec
from parties.contract import (
    budget_clauses,
    epoch_clauses,
    law_clauses,
    left_clauses,
    load_clauses,
    quote_clauses,
    refusal_clauses,
    report_clauses,
    serving_clauses,
    time_clauses,
)
from parties.contract.clause import Clause, ClauseFinding, Verdict
from parties.contract.plan import Announced, ClausePlan, plan_of
from parties.contract.subject import Broken, Subject
from parties.identity import Identity
from parties.status import error_of
from parties.wire.v1 import oracle_pb2 as pb

SECONDS = 100.0
CLAUSES: tuple[Clause, ...] = (
    *serving_clauses.FIRST,
    *report_clauses.CLAUSES,
    *law_clauses.CLAUSES,
    *refusal_clauses.CLAUSES,
    *budget_clauses.CLAUSES,
    *quote_clauses.CLAUSES,
    *time_clauses.CLAUSES,
    *epoch_clauses.CLAUSES,
    *load_clauses.CLAUSES,
    *left_clauses.CLAUSES,
    *serving_clauses.LAST,
)


@dataclass(frozen=True, slots=True)
class ContractOutcome:
    """What was found out about an agent."""

    target: str
    announcement: str
    findings: tuple[ClauseFinding, ...]  # in the order of their names

    @property
    def holds(self) -> bool:
        """Whether every clause does."""
        return all(finding.verdict == "holds" for finding in self.findings)

    def to_data(self) -> dict[str, object]:
        """Plain data."""
        return {
            "target": self.target,
            "spends": self.announcement,
            "clauses": [finding.to_data() for finding in self.findings],
        }


def check_contract(
    target: str,
    identity: Identity | None = None,
    *,
    announce: Callable[[str], None] = lambda text: None,
    progress: Callable[[Clause], None] = lambda clause: None,
    seconds: float = SECONDS,
    clauses: Sequence[Clause] = CLAUSES,
) -> ContractOutcome:
    """Check every clause; `announce` is told what will be spent before anything is.

    Those up to C25 rest on each other, and are checked together or not at all; each of the others stands for itself.
    """
    with closing(Subject(target, identity, seconds)) as subject:
        described = _described(subject)
        try:
            plan = _plan(described)
        except Broken as broken:
            return ContractOutcome(target, "nothing", _without_a_plan(clauses, str(broken)))
        announce(plan.announcement())
        findings = []
        for clause in clauses:
            progress(clause)
            findings.append(_checked(clause, subject, plan))
    return ContractOutcome(
        target, plan.announcement(), tuple(sorted(findings, key=lambda finding: finding.clause))
    )


def _described(subject: Subject) -> pb.DescribeResponse:
    try:
        return subject.describe()
    except grpc.RpcError as failure:
        raise error_of(failure, f"the agent at {subject.address}") from None


def _plan(described: pb.DescribeResponse) -> ClausePlan:
    try:
        serving_clauses.require_description(described)
        schema = codec.schema_from_wire(described.schema)
    except InvalidParameter as error:
        raise Broken(f"the schema is none: {error}") from None
    return plan_of(
        Announced(
            described.name,
            schema,
            described.people,
            described.budget_nanonats,
            described.largest_request_nanonats,
            max(1, described.smallest_request_nanonats),
            described.keep_seconds,
            described.quantum_nanoseconds,
        )
    )


def _without_a_plan(clauses: Sequence[Clause], reason: str) -> tuple[ClauseFinding, ...]:
    """An agent that describes itself absurdly breaks that clause; nothing else can be asked of it."""
    return tuple(
        ClauseFinding(clause.name, clause.sentence, "broken", reason, 0.0)
        if clause.name == "C03"
        else ClauseFinding(
            clause.name, clause.sentence, "not checked", "the agent's description is no use", 0.0
        )
        for clause in sorted(clauses, key=lambda clause: clause.name)
    )


def _checked(clause: Clause, subject: Subject, plan: ClausePlan) -> ClauseFinding:
    began = time.monotonic()
    verdict, reason = _verdict(clause, subject, plan)
    return ClauseFinding(clause.name, clause.sentence, verdict, reason, round(time.monotonic() - began, 3))


def _verdict(clause: Clause, subject: Subject, plan: ClausePlan) -> tuple[Verdict, str]:
    if subject.out_of_time:
        return "not checked", "the time for the whole check was over"
    try:
        return "holds", clause.check(subject, plan)
    except (Broken, LocalDpError) as error:
        return "broken", str(error)
    except grpc.RpcError as failure:
        return "broken", f"a call that should succeed failed with {failure.code().name}"
