"""Proofs are compiled, which takes seconds, only for whom the party would answer: a refusal starts no work."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import grpc
import pytest

from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import Encoding
from localdp.sharing.prio3.batch.engine import WITHOUT_NUMBA
from parties import codec
from parties.agent.plan import wants_compiled
from parties.agent.service import AgentService
from parties.agent.work import WorkLimits
from parties.identity import Context
from parties.wire.v1 import oracle_pb2 as pb
from tests.support.callers import Context as Caller
from tests.support.federations import KEYRING, ONE, collection_of, people, share_servers_of

PEOPLE = 20
LIMITS = WorkLimits(quantum_seconds=0.0, piece_seconds=0.1)  # beyond it, a proof is slow
KEYS = tuple(server.sealing_key.public for server in share_servers_of(2))
POLICY = Policy(aggregators=frozenset({"analyst"}))
REFUSING = {
    "a caller who is not named": replace(POLICY, aggregators=frozenset({"auditor"})),
    "a column that is not named": replace(POLICY, columns=frozenset({"smoker"})),
    "too small a batch": replace(POLICY, minimum_batch=3),
    "too many who collude": replace(POLICY, colluding_servers=2),
    "too few people": replace(POLICY, minimum_cohort=PEOPLE + 1),
    "too dear": replace(POLICY, largest_epsilon=ONE.divided_by(2)),
}


class CompilesFirst(AgentService):
    """Broken, as it was: whoever asks has it compiled, and is refused then."""

    async def _compile(self, context: Context, collection: Collection, plan: Any, caller: str) -> None:
        granted = self._party.granted_shares
        self._party.granted_shares = lambda *_: ONE  # type: ignore[method-assign]
        try:
            await super()._compile(context, collection, plan, caller)
        finally:
            self._party.granted_shares = granted  # type: ignore[method-assign]

    def _undelivered(self, collection: Collection, cohort: Cohort, caller: str) -> list[str]:
        return list(collection.servers)


def contributed(
    compiled: list[str], policy: Policy, budget: int = 1, *, sealed: bool, kind: type[AgentService]
) -> tuple[str, bool]:
    """How a call for shares ends, and whether something was compiled for it; nobody is charged."""
    compiled.clear()
    party = Party("party-0", people(PEOPLE), KEYRING.party(0), MemoryLedger(PEOPLE, ONE * budget), policy)
    asked: dict[str, Any] = {"query": "age", "encoding": Encoding.histogram(121), "relayed": sealed}
    wide = collection_of([party], tier="prio3", **asked)
    assert wants_compiled(wide, PEOPLE, LIMITS.piece_seconds)
    addresses = {f"server-{number}": f"127.0.0.1:1#{key.hex()}" for number, key in enumerate(KEYS)}
    agent, context = kind(party, addresses, limits=LIMITS), Caller("analyst")
    about: dict[str, Any] = {
        "collection": codec.collection_to_wire(wide),
        "cohort": codec.cohort_to_wire(Cohort(0, PEOPLE)),
    }

    async def call() -> None:
        told: Any = context
        try:
            if sealed:
                await anext(agent.ContributeSealed(pb.ContributeSealedRequest(**about), told))
            else:
                await agent.Contribute(pb.ContributeRequest(**about), told)
        except grpc.aio.AbortError:
            pass
        finally:
            await agent.close()

    asyncio.run(call())
    assert context.code is not None and not party.ledger.spent().any()
    return context.code.name, bool(compiled)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is compiled; it comes to nothing here, so that nobody is charged."""
    told: list[str] = []

    def compiling(*_: object, **__: object) -> None:
        told.append("compiled")
        raise RuntimeError("it is not waited for")

    monkeypatch.delenv(WITHOUT_NUMBA, raising=False)
    monkeypatch.setattr("parties.agent.service.is_ready", lambda *_, **__: False)
    monkeypatch.setattr("parties.agent.service.warm_up", compiling)
    return told


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("rule", REFUSING)
def test_what_the_policy_refuses_is_refused_before_anything_is_compiled(
    compiled: list[str], rule: str, sealed: bool
) -> None:
    outcome = contributed(compiled, REFUSING[rule], sealed=sealed, kind=AgentService)
    assert outcome == ("PERMISSION_DENIED", False)


@pytest.mark.parametrize("sealed", [False, True])
def test_what_the_ledger_refuses_too_and_what_is_granted_is_compiled(
    compiled: list[str], sealed: bool
) -> None:
    poor = contributed(compiled, POLICY, 0, sealed=sealed, kind=AgentService)
    assert poor == ("RESOURCE_EXHAUSTED", False)
    assert contributed(compiled, POLICY, sealed=sealed, kind=AgentService) == ("INTERNAL", True)


@pytest.mark.parametrize("sealed", [False, True])
def test_an_agent_that_compiles_before_it_grants_is_noticed(compiled: list[str], sealed: bool) -> None:
    for policy in REFUSING.values():
        assert contributed(compiled, policy, sealed=sealed, kind=CompilesFirst)[1]
