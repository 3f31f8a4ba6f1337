"""Parties that are away are not charged and not counted; late ones are charged and not counted; the rest answer as ever."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import SEED_BYTES, Cohort, Split
from localdp.domains.dealing import dealt
from localdp.errors import BudgetExhausted, InvalidParameter
from localdp.experiments.faults import Faulty, FaultyLROracle, FaultyShareServers
from localdp.experiments.population import made_up_people
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.shared import SharedOracle
from localdp.party.party import Party, Request
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.keyring import Keyring
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault

KEYS = Keyring.insecurely_seeded(1)
ONE = Epsilon.requested(1)
PEOPLE = made_up_people(60, SeededSource(1))
MISSING = Faulty(frozenset({1}), frozenset({3}))


def parties() -> list[Party]:
    parts = dealt(PEOPLE, 5)
    return [
        Party(f"party-{number}", part, KEYS.party(number), MemoryLedger(part.people, ONE * 2))
        for number, part in enumerate(parts)
    ]


def spent(some: Sequence[Party]) -> list[list[int]]:
    return [sorted(set(party.ledger.spent().tolist())) for party in some]


@pytest.mark.parametrize("split", [None, Split(bytes(SEED_BYTES), 2, 1)], ids=["everybody", "a split"])
def test_who_answers_gives_the_reports_that_they_always_give(split: Split | None) -> None:
    request = Request(bytes(16), "smoker", OneBitRandomizer(ONE, 1))
    cohort = Cohort(5, 55, split)
    whole = list(InProcessLROracle(parties()).reports(request, cohort))
    some = list(FaultyLROracle(parties(), MISSING).reports(request, cohort))
    assert [block.tolist() for block in some] == [whole[number].tolist() for number in (0, 2, 4)]


def test_the_away_are_not_charged_and_the_late_are() -> None:
    some = parties()
    answer = LocalOracle(FaultyLROracle(some, MISSING), ONE, SeededSource(2)).answer(["smoker"])[0]
    assert (answer.people, answer.reports) == (60, 36)
    cost = OneBitRandomizer(ONE, 1).epsilon.nanonats
    assert spent(some) == [[cost], [0], [cost], [cost], [cost]]


def test_fewer_answers_have_a_larger_standard_error() -> None:
    whole = LocalOracle(InProcessLROracle(parties()), ONE, SeededSource(2)).answer(["smoker"])[0]
    some = LocalOracle(FaultyLROracle(parties(), MISSING), ONE, SeededSource(2)).answer(["smoker"])[0]
    assert some.standard_error > 1.2 * whole.standard_error


def test_shares_of_the_missing_are_not_counted() -> None:
    some = parties()
    servers = [ShareServer(f"server-{number}", MemoryVault(KEYS.server(number))) for number in range(2)]
    large = Epsilon.requested(2)
    oracle = SharedOracle(
        FaultyShareServers(some, servers, MISSING), large, SeededSource(3), tier="additive"
    )
    answer = oracle.answer(["smoker"])[0]
    assert answer.reports == 36
    assert spent(some) == [[large.nanonats], [0], *[[large.nanonats]] * 3]
    answering = np.concatenate([some[number].records.column("smoker") for number in (0, 2, 4)])
    assert abs(answer.count - answering.sum()) <= 12  # two discrete Laplace noises at epsilon 2


@pytest.mark.parametrize("late", [frozenset[int](), frozenset({3})], ids=["all in time", "one late"])
def test_all_who_refuse_are_counted_and_nobody_has_paid(late: frozenset[int]) -> None:
    for model in ("local", "shared"):
        some = parties()
        poor = {0, 3}
        for number in poor:
            some[number].ledger = MemoryLedger(some[number].people, Epsilon.requested("0.5"))
        faulty = Faulty(frozenset({1}), late)
        servers = [ShareServer(f"server-{number}", MemoryVault(KEYS.server(number))) for number in range(2)]
        lr, shares = FaultyLROracle(some, faulty), FaultyShareServers(some, servers, faulty)
        oracle = (
            LocalOracle(lr, ONE, SeededSource(2))
            if model == "local"
            else SharedOracle(shares, ONE, SeededSource(2), tier="additive")
        )
        with pytest.raises(BudgetExhausted):
            oracle.answer(["smoker"])
        assert max(lr.refusing, shares.refusing) == len(poor - late)
        assert not any(party.ledger.spent().any() for party in some)


def test_a_refusal_that_comes_late_does_not_stop_a_round() -> None:
    some = parties()
    some[3].ledger = MemoryLedger(some[3].people, Epsilon.requested("0.5"))
    oracle = LocalOracle(FaultyLROracle(some, MISSING), ONE, SeededSource(2))
    assert oracle.answer(["smoker"])[0].reports == 36


def test_who_is_missing_is_drawn_without_repetition() -> None:
    seen: set[int] = set()
    for seed in range(40):
        missing = Faulty.drawn(6, 2, 1, 2, SeededSource(seed))
        assert (len(missing.away), len(missing.late), len(missing.cheating)) == (2, 1, 2)
        assert len(missing.away | missing.late | missing.cheating) == 5
        seen |= missing.away
    assert seen == set(range(6))


@pytest.mark.parametrize(
    ("away", "late", "lying"), [(3, 2, 0), (5, 0, 0), (-1, 0, 0), (2, 1, 2), (0, 0, 5)]
)
def test_somebody_has_to_answer_honestly(away: int, late: int, lying: int) -> None:
    with pytest.raises(InvalidParameter):
        Faulty.drawn(5, away, late, lying, SeededSource(1))
