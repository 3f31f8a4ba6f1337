"""All clauses against one agent: bounded in time, announced before it spends."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import grpc

from localdp.errors import InvalidParameter, LocalDpError
from parties import codec
from parties.contract import (
    budget_clauses,
    law_clauses,
    quote_clauses,
    refusal_clauses,
    report_clauses,
    serving_clauses,
)
from parties.contract.clause import Clause, Finding, Verdict
from parties.contract.plan import Plan, plan_of
from parties.contract.subject import Broken, Subject
from parties.identity import Identity
from parties.status import error_of
from parties.wire.v1 import oracle_pb2 as pb

SECONDS = 50.0
CLAUSES: tuple[Clause, ...] = (
    *serving_clauses.FIRST,
    *report_clauses.CLAUSES,
    *law_clauses.CLAUSES,
    *refusal_clauses.CLAUSES,
    *budget_clauses.CLAUSES,
    *quote_clauses.CLAUSES,
    *serving_clauses.LAST,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found out about an agent."""

    target: str
    announcement: str
    findings: tuple[Finding, ...]  # in the order of their names

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
) -> Outcome:
    """Check every clause; `announce` is told what will be spent before anything is."""
    with closing(Subject(target, identity, seconds)) as subject:
        described = _described(subject)
        try:
            plan = _plan(described)
        except Broken as broken:
            return Outcome(target, "nothing", _without_a_plan(str(broken)))
        announce(plan.announcement())
        findings = []
        for clause in CLAUSES:
            progress(clause)
            findings.append(_checked(clause, subject, plan))
    return Outcome(target, plan.announcement(), tuple(sorted(findings, key=lambda finding: finding.clause)))


def _described(subject: Subject) -> pb.DescribeResponse:
    try:
        return subject.describe()
    except grpc.RpcError as failure:
        raise error_of(failure, f"the agent at {subject.address}") from None


def _plan(described: pb.DescribeResponse) -> Plan:
    try:
        serving_clauses.require_description(described)
        schema = codec.schema_from_wire(described.schema)
    except InvalidParameter as error:
        raise Broken(f"the schema is none: {error}") from None
    amounts = described.budget_nanonats, described.largest_request_nanonats
    return plan_of(described.name, schema, described.people, *amounts)


def _without_a_plan(reason: str) -> tuple[Finding, ...]:
    """An agent that describes itself absurdly breaks that clause; nothing else can be asked of it."""
    return tuple(
        Finding(clause.name, clause.sentence, "broken", reason, 0.0)
        if clause.name == "C03"
        else Finding(clause.name, clause.sentence, "not checked", "the agent's description is no use", 0.0)
        for clause in sorted(CLAUSES, key=lambda clause: clause.name)
    )


def _checked(clause: Clause, subject: Subject, plan: Plan) -> Finding:
    began = time.monotonic()
    verdict, reason = _verdict(clause, subject, plan)
    return Finding(clause.name, clause.sentence, verdict, reason, round(time.monotonic() - began, 3))


def _verdict(clause: Clause, subject: Subject, plan: Plan) -> tuple[Verdict, str]:
    if subject.out_of_time:
        return "not checked", "the time for the whole check was over"
    try:
        return "holds", clause.check(subject, plan)
    except (Broken, LocalDpError) as error:
        return "broken", str(error)
    except grpc.RpcError as failure:
        return "broken", f"a call that should succeed failed with {failure.code().name}"
