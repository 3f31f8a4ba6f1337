"""What a coordinator says is left, whoever spent it; and a federation of which somebody is away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, MemoryLedger
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, Unreachable
from localdp.party.party import Party
from localdp.party.policy import Policy
from parties.addresses import State, read_state, write_state
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer
from parties.federation import Federation
from tests.support.federations import KEYRING, loopback, people
from tests.support.rounds import nobody

BUDGET = Epsilon.requested(30)
SIZES = {"north": 20, "south": 10}


class Silent(AgentService):
    """Of an older version: it knows nothing of budgets."""

    async def Budgets(self, request: Any, context: Any) -> Any:  # noqa: N802
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")


class Leaving(Silent):
    """Silent, and gone in the middle: nobody was asked for more than a quote."""

    left = False

    async def Quote(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.left:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        return await super().Quote(request, context)


@contextmanager
def hospitals(path: Path, *kinds: type[AgentService], down: str = "") -> Iterator[dict[str, Party]]:
    """North and south behind agents, in a file, with how many people each has; one of them may be down."""
    held, everybody, first = {}, people(sum(SIZES.values())), 0
    for number, (name, size) in enumerate(SIZES.items()):
        ledger, policy = MemoryLedger(size, BUDGET), Policy(largest_epsilon=BUDGET)
        records, first = everybody.slice(first, first + size), first + size
        held[name] = Party(name, records, KEYRING.party(number), ledger, policy)
    with loopback() as threads:
        agents = [kind(party, {}) for kind, party in zip(kinds, held.values(), strict=True)]
        peers = [
            Peer(name, nobody() if name == down else threads.serve(SERVICE_NAME, agent))
            for name, agent in zip(held, agents, strict=True)
        ]
        write_state(State(tuple(peers), (), people=SIZES), path)
        yield held


def nats(text: float | str) -> Epsilon:
    return Epsilon.requested(text)


def test_a_coordinator_never_shows_more_than_others_have_left(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    with hospitals(path, AgentService, AgentService) as held, Federation.connect(path) as ours:
        with Federation.connect(path) as theirs:
            theirs.oracle("local", "26.5").answer(["smoker"])
        assert ours.budgets().remaining == {nats(3): 30}
        ours.of(["north"]).oracle("local", 3).answer(["smoker"])
        told = ours.budgets()
        assert (told.remaining, told.at_most) == ({nats("0.3"): 20, nats(3): 10}, {})
        left = BUDGET.nanonats - int(held["north"].ledger.spent().max())
        assert nats("0.3").nanonats <= left < nats("0.51").nanonats


def test_what_failed_and_charged_nobody_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    with hospitals(path, Silent, Silent) as held, Federation.connect(path) as federation:
        federation.oracle("local", 1).answer(["smoker"])
        for party in held.values():  # whoever else asks
            party.ledger.charge(Charge(b"other", b"", Cohort(0, party.people), nats(29), "whatever"))
        with pytest.raises(BudgetExhausted):
            federation.oracle("local", 2).answer(["smoker"])
        told = federation.budgets()
    assert (told.remaining, told.at_most) == ({}, {nats(29): 30})
    assert "at most epsilon 29 left, as far as this analyst asked" in str(told)


def test_who_was_only_asked_for_a_quote_has_not_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "parties.json"
    with hospitals(path, Silent, Leaving) as held, Federation.connect(path) as federation:
        monkeypatch.setattr(Leaving, "left", True)
        with pytest.raises(Unreachable):
            federation.oracle("local", 2).answer(["smoker"])
        assert federation.budgets().at_most == {BUDGET: 30}
        assert not any(party.ledger.spent().any() for party in held.values())


def test_parties_that_say_and_that_do_not_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    with hospitals(path, AgentService, Silent), Federation.connect(path) as federation:
        assert federation.round("smoker", 1, deadline_seconds=20).complete
        told = federation.budgets()
    assert (told.remaining, told.at_most) == ({nats(10): 20}, {nats(29): 10})


def test_a_federation_of_which_somebody_is_away_says_who_and_can_be_asked_with_a_quorum(
    tmp_path: Path,
) -> None:
    path = tmp_path / "parties.json"
    with hospitals(path, AgentService, AgentService, down="south") as held:
        with pytest.warns(
            UserWarning, match=r"party south \(10 people\) cannot be asked: .*south cannot be reached"
        ):
            federation = Federation.connect(path)
        with federation:
            assert (federation.parties, federation.away) == ({"north": 20}, {"south": 10})
            with pytest.raises(Unreachable, match=r"south \(10 people\).*federation.round with a quorum"):
                federation.oracle("local", 1)
            with pytest.raises(
                Unreachable, match=r"20 of 30 people are there .*1 unreachable \(10 people\)"
            ):
                federation.round("smoker", 1, deadline_seconds=20)
            assert not held["north"].ledger.spent().any()
            result = federation.round("smoker", 1, quorum=0.6, deadline_seconds=20)
            assert (result.answered.people, result.people, result.complete) == (20, 30, False)
            assert str(federation.budgets()).endswith("left; nothing is known of party south")
            some = federation.of(federation.parties)
            assert some.oracle("local", 1).answer(["smoker"])[0].reports == 20
            federation.write_addresses(tmp_path / "again.json")
    assert read_state(tmp_path / "again.json") == read_state(path)


def test_a_federation_of_which_nobody_is_there_is_not_connected_to(tmp_path: Path) -> None:
    write_state(State((Peer("north", nobody()), Peer("south", nobody())), ()), tmp_path / "parties.json")
    with pytest.raises(Unreachable, match="party north"):
        Federation.connect(tmp_path / "parties.json")
