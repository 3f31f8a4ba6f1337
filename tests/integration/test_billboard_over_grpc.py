"""The game of roads over real gRPC: what leaves an agent is a road in noise, and whoever asks cannot make it cost less.

Adversaries here hold the analyst's end: they repeat moves, make up loads, play two games at once, and stop a game to
begin it again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.algorithms.games.billboard import Billboard
from localdp.algorithms.games.equilibrium import EquilibriumSelection
from localdp.cohorts import Cohort
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.errors import BudgetExhausted, PolicyRefused
from localdp.oracles.local import LocalOracle
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.queries.expressions import Road
from localdp.queries.text import to_text
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomness.hazmat import SeededSource
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer, RemoteParties
from tests.support.federations import loopback

SCHEMA = Schema({"smoker": BitDomain(), **dict.fromkeys(("toll", "way", "luck"), RealDomain(0, 1))})
ONE = Epsilon.requested(1)
PEOPLE, ROUNDS = 120, 6
EVERYBODY = Cohort(0, PEOPLE)
TWO = KaryRandomizedResponse(ONE, 2)


def drivers(*, dearer: float = 0.0, seed: int = 1) -> Records:
    """Who pays so much more on either road takes the same one: every cost is another, and no road is."""
    source = np.random.default_rng(seed)
    own = {name: source.random(PEOPLE) * 0.3 + dearer for name in ("toll", "way")}
    return Records(SCHEMA, {"smoker": source.random(PEOPLE) < 0.5, **own, "luck": source.random(PEOPLE)})


def board(rounds: int = ROUNDS, step: float = 4) -> Billboard:
    return Billboard.empty([0.1, 0.2], [1, 1], ["toll", "way"], "luck", step, rounds, SCHEMA)


def game(rounds: int = ROUNDS) -> EquilibriumSelection:
    return EquilibriumSelection(["toll", "way"], [0.1, 0.2], [1, 1], rounds=rounds, check_signal=False)


def garage(budget: str, records: Records | None = None, *games: Road) -> Party:
    """Nothing but these games may look at costs and luck."""
    openings = frozenset(map(to_text, games or (board().opening,)))
    policy = Policy(columns=frozenset({"smoker"}), games=openings)
    ledger = MemoryLedger(PEOPLE, Epsilon.requested(budget))
    return Party("garage", records or drivers(), b"k" * 32, ledger, policy)


class Tapped(AgentService):
    """Notes every byte about people that leaves it."""

    said: list[bytes]

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        self.said = getattr(self, "said", [])
        async for part in super().Randomize(request, context):
            self.said.append(part.SerializeToString(deterministic=True))
            yield part


@contextmanager
def reached(party: Party) -> Iterator[tuple[RemoteParties, Tapped]]:
    with loopback() as threads:
        service = Tapped(party, {})
        address = threads.serve(SERVICE_NAME, service)
        with closing(RemoteParties([Peer("garage", address)])) as remote:
            yield remote, service


def asked(remote: RemoteParties, request: Request) -> list[int]:
    return [int(road) for part in remote.reports(request, EVERYBODY) for road in np.asarray(part)]


def move(at: Road, number: int = 1) -> Request:
    return Request.fresh(to_text(at), TWO, SeededSource(number))


def spent(party: Party) -> set[float]:
    return set((party.ledger.spent() / 1e9).round(6).tolist())


def played(records: Records) -> tuple[list[bytes], Billboard, set[float]]:
    """A whole game: what the agent said, what was published, and what people paid."""
    party = garage("1", records)
    with reached(party) as (remote, service):
        found = game().fit(LocalOracle(remote, ONE, SeededSource(5)))
        return service.said, found.billboard_, spent(party)


def test_no_cost_leaves_an_agent_and_all_rounds_cost_what_one_does() -> None:
    said, published, paid = played(drivers())
    assert paid == {1.0}
    # Every cost is another, every road the same: so is every byte, in every round.
    assert played(drivers(dearer=0.25))[:2] == (said, published)
    assert len(said) == ROUNDS and sum(map(len, said)) < 60 * ROUNDS + PEOPLE // 4
    # And where roads are other ones, so are the bytes: the tap hears what is said.
    assert played(drivers(seed=2))[0] != said


def test_a_move_that_is_asked_again_is_the_same_road_and_costs_nothing() -> None:
    party = garage("2")
    second = board().with_loads([0.5, 0.5]).move
    request = move(second)
    with reached(party) as (remote, _):
        first = asked(remote, request)
        assert [asked(remote, request) for _ in range(3)] == [first] * 3
        assert spent(party) == {1.0}
        assert asked(remote, move(second, 2)) != first
        assert spent(party) == {2.0}  # under a new name it is a new report, and paid for


def test_an_agent_that_was_started_again_knows_nothing_of_the_game_and_says_the_same() -> None:
    party = garage("2")
    request = move(board().with_loads([0.5, 0.5]).move)
    with reached(party) as (remote, _):
        first = asked(remote, request)
    again = Party("garage", drivers(), b"k" * 32, party.ledger, party.policy)
    with reached(again) as (remote, _):
        assert asked(remote, request) == first
    assert spent(party) == {1.0}


@pytest.mark.parametrize(("seen", "loads"), [(0, (1, 0)), (1, (9, -4)), (5, (15, 0)), (ROUNDS, (3, 3))])
def test_loads_that_no_oracle_can_have_published_are_refused_and_cost_nothing(
    seen: int, loads: tuple[int, int]
) -> None:
    party = garage("2")
    made_up = replace(board().opening, seen=seen, loads=tuple(map(Fraction, loads)))
    with reached(party) as (remote, _), pytest.raises(PolicyRefused, match="loads"):
        asked(remote, move(made_up))
    assert spent(party) == {0.0}


def test_loads_of_the_callers_choice_are_paid_for_like_any_question_until_nothing_is_left() -> None:
    party = garage("3")
    with reached(party) as (remote, _):
        for number in range(3):
            made_up = replace(board().opening, seen=1, loads=(Fraction(number, 10), Fraction(1, 2)))
            asked(remote, move(made_up, number))
        with pytest.raises(BudgetExhausted):
            asked(remote, move(board().opening, 4))
    assert spent(party) == {3.0}


@pytest.mark.parametrize(
    "other",
    [
        board(step=5).opening,
        board(rounds=ROUNDS + 1).opening,
        replace(board().opening, own=board().opening.own[::-1]),
        replace(board().opening, luck=board().opening.own[0]),
    ],
    ids=["step", "rounds", "roads", "luck"],
)
def test_a_game_that_the_owner_did_not_allow_is_refused(other: Road) -> None:
    party = garage("2")
    with reached(party) as (remote, _), pytest.raises(PolicyRefused, match=r"policy\.columns"):
        asked(remote, move(other))
    assert spent(party) == {0.0}


def test_two_games_at_once_are_each_paid_for() -> None:
    other = board(rounds=ROUNDS + 1)
    party = garage("2", None, board().opening, other.opening)
    with reached(party) as (remote, _):
        oracle = LocalOracle(remote, ONE, SeededSource(5))
        first, second = game(), game(ROUNDS + 1)
        first.fit(oracle)
        second.fit(LocalOracle(remote, ONE, SeededSource(6)))
        assert spent(party) == {2.0}
        with pytest.raises(BudgetExhausted):
            game().fit(LocalOracle(remote, ONE, SeededSource(7)))
    assert spent(party) == {2.0}


def test_a_game_that_is_stopped_and_begun_again_costs_no_less() -> None:
    """Rounds of another number divide people anew: whoever was asked before pays again, and nobody above the budget."""
    party = garage("2", None, board().opening, board(rounds=2).opening)
    with reached(party) as (remote, _):
        view = LocalOracle(remote, ONE, SeededSource(5)).in_rounds(ROUNDS)
        view.answer_vectors([to_text(board().opening)])  # one of six rounds, and then no more
        assert spent(party) == {0.0, 1.0}
        game(2).fit(LocalOracle(remote, ONE, SeededSource(6)))
        assert spent(party) == {1.0, 2.0}
        with pytest.raises(BudgetExhausted):
            game().fit(LocalOracle(remote, ONE, SeededSource(7)))
    assert max(spent(party)) == 2.0
