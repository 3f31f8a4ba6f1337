"""Nobody pays for what one of several parties refuses: in process, over gRPC, and for parties that dial in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, MemoryLedger
from localdp.cohorts import Cohort
from localdp.domains.dealing import dealt
from localdp.errors import BudgetExhausted, LocalDpError, PolicyRefused
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.oracles.shuffler import Shuffler
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.randomness.hazmat import SeededSource
from parties.agent.service import AgentService
from parties.coordinator import Peer, RemoteParties
from parties.shares import collector
from parties.shares.collector import RemoteShareServers
from tests.support.federations import (
    KEYRING,
    ONE,
    Served,
    collection_of,
    people,
    request,
    served,
    share_servers_of,
)
from tests.support.relays import relayed

PEOPLE = 300
PARTIES = 3
EVERYBODY = Cohort(0, PEOPLE)
TWO = ONE * 2
GENEROUS = Policy(largest_epsilon=ONE * 10)
Ways = dict[str, Callable[[Any, Any], object]]

REFUSALS: dict[str, tuple[type[LocalDpError], Epsilon, Policy]] = {
    "too little is left": (BudgetExhausted, ONE, GENEROUS),
    "too much at once": (PolicyRefused, ONE * 10, Policy(largest_epsilon=ONE)),
}
WAYS: Ways = {
    "ask, local": lambda lr, shares: LocalOracle(lr, TWO, SeededSource(1)).answer(["smoker"]),
    "histogram": lambda lr, shares: LocalOracle(lr, TWO, SeededSource(2)).answer_vectors(["region"]),
    "ask, shared": lambda lr, shares: SharedOracle(shares, TWO, SeededSource(3)).answer(["smoker"]),
}


def parties_with(refusing: int, budget: Epsilon, policy: Policy) -> list[Party]:
    """Three parties, of which one has this budget and this policy, and the others plenty."""
    made = []
    for number, records in enumerate(dealt(people(PEOPLE), PARTIES)):
        limit, rules = (budget, policy) if number == refusing else (ONE * 10, GENEROUS)
        ledger = MemoryLedger(records.people, limit)
        made.append(Party(f"party-{number}", records, KEYRING.party(number), ledger, rules))
    return made


def spent(parties: Sequence[Party]) -> list[int]:
    return [int(party.ledger.spent().sum()) for party in parties]


@contextmanager
def reached(place: str, parties: Sequence[Party]) -> Iterator[tuple[Any, Any]]:
    """An LR oracle and share servers over the parties."""
    if place == "in process":
        yield InProcessLROracle(parties), InProcessShareServers(parties, share_servers_of(2))
        return
    with served(parties) as federation:
        yield federation.remote, federation.shared


@pytest.mark.parametrize("refusing", range(PARTIES))
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("why", REFUSALS)
@pytest.mark.parametrize("place", ["in process", "grpc"])
def test_nobody_pays_for_what_one_party_refuses_and_the_refusal_names_it(
    place: str, why: str, way: str, refusing: int
) -> None:
    kind, budget, policy = REFUSALS[why]
    parties = parties_with(refusing, budget, policy)
    with reached(place, parties) as (lr, shares):
        for _ in range(2):  # a second try costs nothing either
            with pytest.raises(kind, match=f"^party party-{refusing}: "):
                WAYS[way](lr, shares)
    assert spent(parties) == [0, 0, 0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", ["in process", "grpc"])
def test_without_the_question_the_others_would_have_paid(
    monkeypatch: pytest.MonkeyPatch, place: str, way: str
) -> None:
    for module in ("localdp.oracles.lr", "localdp.oracles.shared"):
        monkeypatch.setattr(f"{module}.require_granted", lambda *_: None)
    monkeypatch.setattr(RemoteParties, "_require_granted", lambda *_: None)
    parties = parties_with(2, ONE, GENEROUS)
    with reached(place, parties) as (lr, shares), pytest.raises(BudgetExhausted, match=r"^party party-2: "):
        WAYS[way](lr, shares)
    assert spent(parties)[0] > 0


@pytest.mark.parametrize("place", ["in process", "grpc"])
def test_where_all_are_willing_everybody_pays_once_and_a_repetition_is_free(place: str) -> None:
    parties = parties_with(0, ONE, GENEROUS)
    with reached(place, parties) as (lr, _):
        first, second = (np.concatenate(list(lr.reports(request(), EVERYBODY))) for _ in range(2))
        assert (first == second).all()  # also at the party that has nothing left
        assert spent(parties) == [len(party.records.column("age")) * ONE.nanonats for party in parties]
        with pytest.raises(BudgetExhausted, match=r"^party party-0: "):
            list(lr.reports(request(1), EVERYBODY))


class Listening(AgentService):
    """Notes what it is called for."""

    heard: list[str]

    async def Quote(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.heard.append("quote")
        return await super().Quote(request, context)

    async def Randomize(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.heard.append("randomize")
        async for part in super().Randomize(request, context):
            yield part


class Older(AgentService):
    """Knows no quotes."""

    async def Quote(self, request: Any, context: Any) -> Any:  # noqa: N802
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")


def test_everybody_is_asked_once_before_anybody_answers_and_one_alone_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Listening, "heard", [], raising=False)
    with served(parties_with(0, ONE * 10, GENEROUS), wrap_agent=Listening) as federation:
        list(federation.remote.reports(request(), EVERYBODY))
        assert Listening.heard == ["quote"] * PARTIES + ["randomize"] * PARTIES
        Listening.heard.clear()
        list(federation.remote.reports(request(1), Cohort(10, 20)))
        assert Listening.heard == ["randomize"]


def test_a_party_that_knows_no_quotes_is_taken_to_be_willing() -> None:
    parties = parties_with(2, ONE, GENEROUS)

    def agent(one: Party, addresses: dict[str, str]) -> AgentService:
        return (AgentService if one is parties[0] else Older)(one, addresses)

    with served(parties, wrap_agent=agent) as federation:
        assert sum(len(part) for part in federation.remote.reports(request(), EVERYBODY)) == PEOPLE
        with pytest.raises(BudgetExhausted, match=r"^party party-2: "):
            list(federation.remote.reports(request(1), EVERYBODY))
        assert spent(parties)[0] == 2 * spent(parties)[2]  # as without quotes


class SpentMeanwhile(MemoryLedger):
    """Has enough whenever it is asked, and too little when it is to pay."""

    def require(self, charge: Charge) -> None:
        """Granted; and then somebody else comes."""


@pytest.mark.parametrize("place", ["in process", "grpc"])
def test_what_somebody_else_spends_in_between_fails_as_if_nobody_had_asked(place: str) -> None:
    parties = parties_with(2, ONE, GENEROUS)
    parties[2].ledger = SpentMeanwhile(parties[2].people, Epsilon(1))
    with reached(place, parties) as (lr, _), pytest.raises(BudgetExhausted, match=r"^party party-2: "):
        list(lr.reports(request(), EVERYBODY))
    assert spent(parties)[0] > 0 == spent(parties)[2]


def one_person_is_poor() -> list[Party]:
    """Of the last party the last person has nothing left."""
    parties = parties_with(2, TWO, GENEROUS)
    last = parties[2].people
    parties[2].ledger.charge(Charge(b"before", b"records", Cohort(last - 1, last), TWO, "a test"))
    return parties


def test_a_collection_in_pieces_is_asked_about_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "BLOCKS_PER_CALL", 1)
    monkeypatch.setattr(collector, "people_per_block", lambda collection: 20)
    parties = one_person_is_poor()
    with served(parties) as federation:
        before, collection = spent(parties), collection_of(parties)
        federation.shared.open(collection)
        with pytest.raises(BudgetExhausted, match=r"^party party-2: "):
            federation.shared.contribute(collection, EVERYBODY)
        assert spent(parties) == before
        assert federation.shared.contribute(collection, Cohort(0, PEOPLE - 1)) == PEOPLE - 1


def sealing(federation: Served) -> RemoteShareServers:
    peers = [Peer(name, address) for name, address in federation.addresses.items()]
    return RemoteShareServers(federation.remote, peers, relayed=True)


def test_shares_that_are_carried_are_asked_about_before_anybody_seals() -> None:
    parties = one_person_is_poor()
    keys = tuple(server.sealing_key.public for server in share_servers_of(2))

    def with_keys(one: Party, addresses: dict[str, str]) -> AgentService:
        named = zip(addresses.items(), keys, strict=True)
        return AgentService(one, {name: f"{address}#{key.hex()}" for (name, address), key in named})

    with ExitStack() as stack:
        federation = stack.enter_context(served(parties, wrap_agent=with_keys))
        shared = stack.enter_context(closing(sealing(federation)))
        before, collection = spent(parties), collection_of(parties, relayed=True)
        shared.open(collection)
        with pytest.raises(BudgetExhausted, match=r"^party party-2: "):
            shared.contribute(collection, EVERYBODY)
        assert spent(parties) == before
        assert shared.contribute(collection, Cohort(0, PEOPLE - 1)) == PEOPLE - 1


def test_parties_that_dial_in_are_asked_too() -> None:
    parties = parties_with(2, ONE, GENEROUS)
    with relayed(parties) as (relay, _), closing(RemoteParties(relay.peers())) as remote:
        with pytest.raises(BudgetExhausted, match=r"^party party-2: "):
            LocalOracle(remote, TWO, SeededSource(1)).answer(["smoker"])
        assert spent(parties) == [0, 0, 0]
        assert LocalOracle(remote, ONE, SeededSource(1)).answer(["smoker"])[0].reports == PEOPLE


@pytest.mark.parametrize("place", ["in process", "grpc"])
def test_a_shuffler_tells_nobody_which_party_refused(place: str) -> None:
    parties = parties_with(1, ONE, GENEROUS)
    with reached(place, parties) as (lr, _), pytest.raises(BudgetExhausted) as refused:
        list(Shuffler(lr, SeededSource(4)).reports(request(epsilon=TWO), EVERYBODY))
    assert "party-" not in str(refused.value) and refused.value.__suppress_context__
    assert spent(parties) == [0, 0, 0]
