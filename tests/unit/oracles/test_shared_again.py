"""A round of collections that broke off: asked for again it goes on, nobody pays twice, and the answer is the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, LocalDpError, PolicyRefused, ShareMismatch, Unreachable
from localdp.oracles.account import Cost
from localdp.oracles.definition import Answer
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.party.party import Party
from localdp.sharing.collection import Collection
from localdp.sharing.server_policy import ServerPolicy
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Holding, Published
from localdp.sharing.vault import MemoryVault
from parties.federated.watching import Spending, WatchedShares
from tests.support.federations import KEYRING, ONE, parties_of, people, share_servers_of

PEOPLE = 40
TWO_QUERIES = ["smoker", "clip(0.01*age)"]
AWAY = Unreachable("share server server-1 is away")


class Breaking(InProcessShareServers):
    """Breaks off at a step, half way through it, as often as it has a failure left."""

    def __init__(self, step: str = "", *failures: BaseException, at: str = "") -> None:
        super().__init__(parties_of(people(PEOPLE), 2), share_servers_of(2))
        self._step, self._failures, self._at = step, list(failures), at
        self.opened: list[bytes] = []

    @property
    def parties(self) -> list[Party]:
        return self._parties

    def _break(self, step: str, collection: Collection, half: Callable[[], object]) -> None:
        if step == self._step and self._failures and self._at in collection.query:
            half()
            raise self._failures.pop(0)

    def open(self, collection: Collection) -> bool:
        self._break("open", collection, lambda: self._servers[0].open(collection))
        self.opened.append(collection.digest)
        return super().open(collection)

    def contribute(self, collection: Collection, *cohorts: Cohort) -> int:
        first = Cohort(0, self._parties[0].people)
        self._break("contribute", collection, lambda: super(Breaking, self).contribute(collection, first))
        return super().contribute(collection, *cohorts)

    def agree(self, collection: Collection) -> Holding:
        self._break("agree", collection, lambda: None)
        return super().agree(collection)

    def holdings(self, collection: Collection) -> list[Holding]:
        self._break("holdings", collection, lambda: None)
        return super().holdings(collection)

    def release(self, collection: Collection, accepted: bytes, signed: Sequence[bytes]) -> list[Published]:
        self._break(
            "release", collection, lambda: self._servers[0].release(collection.digest, accepted, signed)
        )
        return super().release(collection, accepted, signed)


STEPS = ("contribute", "agree", "holdings", "release")


def oracle_on(servers: Any, epsilon: Epsilon = ONE) -> SharedOracle:
    return SharedOracle(servers, epsilon, KEYRING.source("again"), tier="additive")


def spent(parties: Sequence[Party]) -> set[int]:
    """What each person has paid, in nanonats."""
    return {int(one) for party in parties for one in party.ledger.spent()}


def straight(queries: Sequence[str]) -> tuple[list[Answer], Cost]:
    """Of the same people, servers and coins, where nothing breaks."""
    oracle = oracle_on(Breaking())
    return oracle.answer(queries), oracle.cost


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("at", TWO_QUERIES)
@pytest.mark.parametrize("failure", [AWAY, ShareMismatch("once"), KeyboardInterrupt()], ids=repr)
def test_a_round_that_broke_off_goes_on_to_the_same_answer_and_is_paid_for_once(
    step: str, at: str, failure: BaseException
) -> None:
    servers = Breaking(step, failure, at=at)
    oracle = oracle_on(servers)
    with pytest.raises(type(failure)):
        oracle.answer(TWO_QUERIES)
    assert oracle.cost.epsilon_promised == ONE  # somebody may have paid
    assert (oracle.answer(TWO_QUERIES), oracle.cost) == straight(TWO_QUERIES)
    assert spent(servers.parties) == {ONE.nanonats}
    assert len(set(servers.opened)) == len(TWO_QUERIES)


def test_an_oracle_that_forgets_the_round_has_everybody_pay_twice() -> None:
    servers = Breaking("release", AWAY)
    oracle = oracle_on(servers)
    with pytest.raises(Unreachable):
        oracle.answer(["smoker"])
    oracle._broken.clear()
    assert oracle.answer(["smoker"]) != straight(["smoker"])[0]
    assert spent(servers.parties) == {2 * ONE.nanonats}


def test_vectors_go_on_too_however_often_a_server_is_away() -> None:
    servers = Breaking("release", AWAY, AWAY, AWAY)
    oracle = oracle_on(servers)
    for _ in range(3):
        with pytest.raises(Unreachable):
            oracle.answer_vectors(["region"])
    values = oracle.answer_vectors(["region"])[0].values
    assert np.array_equal(values, oracle_on(Breaking()).answer_vectors(["region"])[0].values)
    assert spent(servers.parties) == {ONE.nanonats} and oracle.cost.rounds == 1


def test_once_it_is_answered_the_same_question_is_a_new_round() -> None:
    servers = Breaking("agree", AWAY)
    oracle = oracle_on(servers)
    with pytest.raises(Unreachable):
        oracle.answer(["smoker"])
    first, second = oracle.answer(["smoker"]), oracle.answer(["smoker"])
    assert first != second
    assert spent(servers.parties) == {2 * ONE.nanonats} and oracle.cost.rounds == 2


def test_another_question_in_between_is_a_round_of_its_own() -> None:
    servers = Breaking("agree", AWAY)
    oracle = oracle_on(servers)
    with pytest.raises(Unreachable):
        oracle.answer(["smoker"])
    oracle.answer(["age >= 40"])
    assert oracle.answer(["smoker"]) == straight(["smoker"])[0]
    assert spent(servers.parties) == {2 * ONE.nanonats}


def test_of_a_view_it_is_the_same_round() -> None:
    servers = Breaking("release", AWAY)
    oracle = oracle_on(servers)
    view = oracle.in_rounds(1)
    with pytest.raises(Unreachable):
        view.answer(["smoker"])
    assert view.answer(["smoker"])[0].reports == PEOPLE
    assert view.cost == oracle.cost and oracle.cost.rounds == 1
    with pytest.raises(BudgetExhausted):
        view.answer(["smoker"])


def test_what_is_refused_twice_is_given_up_and_says_so() -> None:
    servers = Breaking("agree", *[ShareMismatch("they differ")] * 2)
    oracle = oracle_on(servers)
    with pytest.raises(ShareMismatch, match=r"^they differ$"):
        oracle.answer(["smoker"])
    with pytest.raises(ShareMismatch, match="given up: asking once more begins another, at its price"):
        oracle.answer(["smoker"])
    assert oracle.cost.rounds == 1
    assert oracle.answer(["smoker"])[0].reports == PEOPLE
    assert oracle.cost.rounds == 2


def counts_only() -> list[ShareServer]:
    rules = ServerPolicy(kinds=frozenset({"count"}))
    return [ShareServer(f"server-{one}", MemoryVault(bytes([one]) * 32), policy=rules) for one in (0, 1)]


def test_a_round_of_which_one_collection_is_refused_costs_nobody_anything() -> None:
    parties = parties_of(people(PEOPLE), 2)
    oracle = oracle_on(InProcessShareServers(parties, counts_only()))
    view = oracle.in_rounds(1)
    for asked in (oracle, oracle, view):
        with pytest.raises(PolicyRefused, match="collects count and nothing else"):
            asked.answer(TWO_QUERIES)
    assert spent(parties) == {0} and oracle.cost == Cost()
    assert view.answer(["smoker"])[0].reports == PEOPLE  # the round of the view was not begun


@pytest.mark.parametrize("failure", [AWAY, PolicyRefused("no")], ids=repr)
def test_a_server_that_is_away_or_refuses_at_the_opening_costs_nobody_anything(
    failure: LocalDpError,
) -> None:
    servers = Breaking("open", failure, at="age")
    oracle = oracle_on(servers)
    with pytest.raises(type(failure)):
        oracle.answer(TWO_QUERIES)
    assert spent(servers.parties) == {0} and oracle.cost == Cost()
    assert [one.reports for one in oracle.answer(TWO_QUERIES)] == [PEOPLE] * 2
    assert spent(servers.parties) == {ONE.nanonats}


@pytest.mark.parametrize("step", STEPS)
def test_whoever_watches_counts_it_once(step: str) -> None:
    spending = Spending(PEOPLE)
    oracle = oracle_on(WatchedShares(Breaking(step, AWAY), spending))
    with pytest.raises(Unreachable):
        oracle.answer(["smoker"])
    oracle.answer(["smoker"])
    assert set(spending.nanonats.tolist()) == {ONE.nanonats}
