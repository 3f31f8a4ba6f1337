"""An agent's `Quote`: about each kind of call, for the caller who asks, observed, and never a charge."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import grpc
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, MemoryLedger
from localdp.cohorts import Cohort
from localdp.party.party import Party
from localdp.party.policy import Policy
from parties import codec
from parties.agent.service import AgentService
from parties.observability.observer import Observer, WatchedLedger
from parties.wire.v1 import oracle_pb2 as pb
from tests.support.callers import Context
from tests.support.federations import KEYRING, ONE, collection_of, people, request, share_servers_of

PEOPLE = 20
EVERYBODY = codec.cohort_to_wire(Cohort(0, PEOPLE))
KEYS = tuple(server.sealing_key.public for server in share_servers_of(2))
CANARY = "the record says 4711"


def agent_of(
    ledger: MemoryLedger | None = None, keys: tuple[bytes, ...] = KEYS
) -> tuple[AgentService, Party, Observer]:
    observer = Observer("agent", "party-0")
    watched = WatchedLedger(ledger or MemoryLedger(PEOPLE, ONE), observer)
    policy = Policy(aggregators=frozenset({"analyst"}))
    party = Party("party-0", people(PEOPLE), KEYRING.party(0), watched, policy)
    addresses = {f"server-{number}": f"127.0.0.1:1#{key.hex()}" for number, key in enumerate(keys)}
    return AgentService(party, addresses, observer=observer), party, observer


def told(agent: AgentService, message: Any, caller: str = "analyst", seconds: float | None = None) -> Any:
    """The price, or the status and its text."""
    context: Any = Context(caller, seconds)

    async def call() -> Any:
        try:
            return (await agent.Quote(message, context)).epsilon_nanonats
        except grpc.aio.AbortError:
            return context.code.name, context.text
        finally:
            await agent.close()

    return asyncio.run(call())


def collection(party: Party, **changes: Any) -> Any:
    return codec.collection_to_wire(collection_of([party], **changes))


@pytest.mark.parametrize("kind", ["randomize", "contribute", "contribute_sealed"])
@pytest.mark.parametrize("caller", ["analyst", "mallory"])
def test_each_kind_of_call_is_quoted_to_whom_the_party_answers(kind: str, caller: str) -> None:
    agent, party, observer = agent_of()
    calls: dict[str, Any] = {
        "randomize": codec.request_to_wire(request(), Cohort(0, PEOPLE)),
        "contribute": pb.ContributeRequest(collection=collection(party), cohort=EVERYBODY),
        "contribute_sealed": pb.ContributeSealedRequest(
            collection=collection(party, relayed=True), cohort=EVERYBODY
        ),
    }
    answer = told(agent, pb.QuoteRequest(**{kind: calls[kind]}), caller)
    if caller == "analyst":
        assert answer == ONE.nanonats
    else:
        assert answer[0] == "PERMISSION_DENIED"
    assert not party.ledger.spent().any()
    outcome = "OK" if caller == "analyst" else "PERMISSION_DENIED"
    written = observer.exposition()
    assert f'localdp_calls_total{{method="Quote",code="{outcome}"}} 1' in written
    assert "\nlocaldp_charges_total " not in written


def test_shares_for_servers_that_the_party_does_not_know_are_not_granted() -> None:
    agent, party, _ = agent_of()
    strangers = collection(party, servers=("server-0", "mallory"))
    message = pb.QuoteRequest(contribute=pb.ContributeRequest(collection=strangers, cohort=EVERYBODY))
    assert told(agent, message)[0] == "INVALID_ARGUMENT"


def test_sealed_shares_are_granted_only_if_the_party_knows_the_keys() -> None:
    agent, party, _ = agent_of()
    agent._peers = {name: replace(peer, key=None) for name, peer in agent._peers.items()}
    sealed = pb.ContributeSealedRequest(collection=collection(party, relayed=True), cohort=EVERYBODY)
    assert told(agent, pb.QuoteRequest(contribute_sealed=sealed))[0] == "PERMISSION_DENIED"


@pytest.mark.parametrize(
    "message",
    [
        pb.QuoteRequest(),
        pb.QuoteRequest(randomize=pb.RandomizeRequest()),
        pb.QuoteRequest(contribute=pb.ContributeRequest()),
        pb.QuoteRequest(contribute_sealed=pb.ContributeSealedRequest()),
        pb.QuoteRequest.FromString(b"\xc2\x3e\x00"),
    ],
    ids=["nothing", "no request", "no collection", "no collection to seal", "another version's"],
)
def test_what_is_no_call_is_refused(message: pb.QuoteRequest) -> None:
    assert told(agent_of()[0], message)[0] == "INVALID_ARGUMENT"


def test_a_question_whose_caller_is_gone_is_not_begun() -> None:
    message = pb.QuoteRequest(randomize=codec.request_to_wire(request(), Cohort(0, PEOPLE)))
    assert told(agent_of()[0], message, seconds=0.0)[0] == "DEADLINE_EXCEEDED"


class Crashing(MemoryLedger):
    """Fails with a record in the exception."""

    def require(self, charge: Charge) -> None:
        raise ZeroDivisionError(CANARY)


def test_the_text_of_an_unforeseen_exception_stays_with_the_agent() -> None:
    message = pb.QuoteRequest(randomize=codec.request_to_wire(request(), Cohort(0, PEOPLE)))
    code, text = told(agent_of(Crashing(PEOPLE, Epsilon(10)))[0], message)
    assert code == "INTERNAL" and CANARY not in text
