"""The game of Definition 3.7: nobody wins more often than the ledger allows, by every transcript and in real games."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.attacks.composition_game import (
    Adversary,
    AllAtOnce,
    Enter,
    StepByStep,
    Transcript,
    chance,
    guess,
    play,
)
from localdp.attacks.subset_sums import guess_bound
from localdp.experiments.attack_game import party_of
from localdp.randomness.hazmat import SeededSource

ONE = Epsilon.requested(1)
PLENTY = Epsilon(10**12)
LIMITS = [Epsilon.requested(text) for text in ("0.25", "1", "2.5")]
ADVERSARIES: dict[str, Callable[[Epsilon], Adversary]] = {
    "all at once": AllAtOnce,
    "again and again": lambda epsilon: AllAtOnce(epsilon, 50),
    "carefully": lambda epsilon: StepByStep(epsilon, 50),
    "stopping early": lambda epsilon: StepByStep(epsilon, 50, enough=float(epsilon) / 2.5),
    "believing in twice as much": lambda epsilon: StepByStep(epsilon * 2, 50),
}


def won(
    adversary: Adversary,
    limit: Epsilon,
    games: int,
    enter: Callable[[Epsilon, SeededSource], Enter] = party_of,
) -> float:
    """How often it wins against real parties, half of the time with each bit."""
    found = 0
    for number in range(games):
        source = SeededSource(number)
        found += guess(play(adversary, number % 2, enter(limit, source), source)) == number % 2
    return found / games


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("name", ADVERSARIES)
def test_by_every_transcript_nobody_wins_more_often_than_the_ledger_allows(
    name: str, limit: Epsilon
) -> None:
    exact = chance(ADVERSARIES[name](limit), limit)
    assert Fraction(1, 2) < exact <= Fraction(guess_bound(float(limit))) + Fraction(1, 10**9)


@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_spending_everything_at_once_wins_just_as_often_as_anybody_can(limit: Epsilon) -> None:
    assert float(chance(AllAtOnce(limit), limit)) == pytest.approx(guess_bound(float(limit)), abs=1e-9)


@pytest.mark.parametrize("name", ADVERSARIES)
def test_against_a_real_party_it_wins_as_often_as_computed_and_at_most_0_731(name: str) -> None:
    # n = 500 games: a fraction deviates by 0.023 at most; four of these, chance of a false alarm below 1 in 15,000.
    adversary = ADVERSARIES[name](ONE)
    measured = won(adversary, ONE, 500)
    assert abs(measured - float(chance(adversary, ONE))) < 4 * 0.023
    assert measured <= 0.731 + 4 * math.sqrt(0.731 * 0.269 / 500)


def test_with_the_ledger_off_the_same_adversary_always_wins() -> None:
    assert won(AllAtOnce(ONE, 64), PLENTY, 40) == 1.0
    assert chance(AllAtOnce(ONE, 11), None) > Fraction(9, 10)


class Forgetful(MemoryLedger):
    """A ledger that begins anew with every epoch."""

    def charge(self, charge):  # type: ignore[no-untyped-def]
        self._accounts._spent[:] = 0
        return super().charge(charge)


def test_a_ledger_that_forgets_with_the_epoch_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: what was charged in an earlier epoch does not count."""
    monkeypatch.setattr("localdp.experiments.attack_game.MemoryLedger", Forgetful)
    assert won(AllAtOnce(ONE, 64), ONE, 40) == 1.0


def test_refusals_are_in_the_transcript_and_end_the_game() -> None:
    source = SeededSource(1)
    heard: Transcript = play(StepByStep(ONE, 50), 1, party_of(ONE, source), source)
    assert heard[-1].report is None
    assert sum(float(one.choice.randomizer.epsilon) for one in heard[:-1]) <= 1
    assert all(one.report in (0, 1) for one in heard[:-1])


def test_the_records_follow_from_the_transcript() -> None:
    chosen = set()
    for seed in range(20):
        source = SeededSource(seed)
        heard = play(StepByStep(ONE, 50), seed % 2, party_of(ONE, source), source)
        chosen |= {(one.choice.records, one.choice.others) for one in heard}
    assert chosen == {((False, True), (False,) * 3), ((True, False), (True,) * 3)}
