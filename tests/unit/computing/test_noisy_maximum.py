"""The noisy maximum on shares: exactly what a curator would say to the same coins, with ties to the first.

The coins of a run are read off all three keystreams, so that each run is checked against the definition; that coins
have their law is checked in test_joint_noise.py and test_selection_law.py.  200 selections among five scores are
compared with the law, 20,000 by night.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from localdp.accounting.epsilon import Epsilon
from localdp.computing.dialogue import SERVERS, Dialogue, Traffic, run_together
from localdp.computing.gates import lanes
from localdp.computing.joint_noise import NOISE, words_for
from localdp.computing.noisy_maximum import lane_order, noisy_maximum, tournament
from localdp.computing.seat import Seat
from localdp.errors import InvalidParameter
from localdp.randomness.source import Integers
from localdp.sharing.field import PRIME
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.selection import SelectionRule
from localdp.sharing.selection_law import SelectionLaw
from tests.support.computing import (
    FIELD64_KERNEL,
    bit_rows,
    reshared,
    run,
    seats,
    secret_words,
    shared_words,
)

LAW = SelectionLaw.of(Epsilon.requested(1), 1)


def additive(scores: list[int], seed: int) -> list[Words]:
    generator = np.random.default_rng(seed)
    shares = [generator.integers(0, PRIME, (1, len(scores)), np.uint64) for _ in range(2)]
    whole = np.array([[score % PRIME for score in scores]], np.uint64)
    subtract = FIELD64_KERNEL.subtract
    return [*shares, subtract(subtract(whole, shares[0]), shares[1])]


def maximum(
    seat: Seat, additive: Words, law: SelectionLaw = LAW, rule: SelectionRule = "largest"
) -> Dialogue[int]:
    return (yield from noisy_maximum(seat, (yield from reshared(seat, additive)), law, rule))


def selected(
    scores: list[int],
    seed: int,
    law: SelectionLaw = LAW,
    traffic: Traffic | None = None,
    rule: SelectionRule = "largest",
) -> int:
    shares = additive(scores, seed)
    parts = [maximum(s, shares[s.server], law, rule) for s in seats(seed)]
    indices = run_together(parts, traffic=traffic)
    assert len(set(indices)) == 1
    return indices[0]


def noises(count: int, seed: int, law: SelectionLaw) -> list[int]:
    """What the three keystreams of a run make of each score: the definition, in the clear."""
    doublings = (count - 1).bit_length()
    words = words_for(1 << doublings)
    shape = law.coins.bits, law.coins.digits, words
    streams = [
        seats(seed)[server].lasting(NOISE).own.words(int(np.prod(shape))) for server in range(SERVERS)
    ]
    bits = np.bitwise_xor.reduce(streams).reshape(shape)
    order = lane_order(doublings)
    made = [0] * (1 << doublings)
    for digit, threshold in enumerate(law.coins.thresholds):
        rows = lanes(bits[:, digit], 1 << doublings).reshape(law.coins.bits, -1)
        for lane, column in enumerate(rows.T):
            made[order[lane]] += (int("".join(map(str, column.tolist())), 2) < threshold) << digit
    return made[:count]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 16, 17, 64, 100])
def test_it_is_what_the_definition_says_to_the_same_coins(count: int) -> None:
    for seed in range(3):
        scores = np.random.default_rng(seed).integers(-2, 3, count).tolist()
        noisy = [score + noise for score, noise in zip(scores, noises(count, seed, LAW), strict=True)]
        assert selected(scores, seed) == noisy.index(max(noisy))


@pytest.mark.parametrize("count", [2, 5, 17, 64])
def test_every_rule_is_what_the_definition_says_to_the_same_coins(count: int) -> None:
    for seed in range(3):
        generator = np.random.default_rng(seed)
        sums, noise = generator.integers(0, 4, count), noises(count, seed, LAW)
        away = (sums - 2).tolist()
        noisy = [abs(one) + more for one, more in zip(away, noise, strict=True)]
        assert selected(away, seed, rule="furthest") == noisy.index(max(noisy))
        upto = (np.append(0, np.cumsum(sums)) - sums.sum() // 2).tolist()
        noisy = [min(-a, b, 0) + more for a, b, more in zip(upto, upto[1:], noise, strict=False)]
        assert selected(upto, seed, rule="quantile") == noisy.index(max(noisy))


@pytest.mark.parametrize("doublings", [1, 3, 4, 5, 7, 11])
def test_a_tournament_finds_the_first_of_the_largest(doublings: int) -> None:
    size = 1 << doublings
    for seed in range(3):
        values = np.random.default_rng(seed).integers(0, 3, size)
        rows = bit_rows(
            [int(values[score]) for score in lane_order(doublings)], 32, most_significant_first=False
        )
        held = shared_words(rows, seed)
        parts = [tournament(seat, part, doublings) for seat, part in zip(seats(seed), held, strict=True)]
        index = secret_words(run_together(parts))
        found = sum((int(row[0]) & 1) << place for place, row in enumerate(index))
        assert found == int(values.argmax())


def test_a_clear_winner_wins_and_negative_scores_are_scores() -> None:
    assert selected([-500_000, -400_000, -100, -90_000], 1) == 2
    assert selected([2**30, 2**30 + 1000, -(2**29)], 2) == 1


def test_256_scores_take_68_rounds_and_about_a_hundred_kilobytes() -> None:
    traffic = Traffic()
    assert selected([0] * 200 + [10_000] + [0] * 55, 3, traffic=traffic) == 200
    assert traffic.rounds == 68
    assert max(traffic.octets) < 110_000


def test_only_the_index_is_opened() -> None:
    """Of the opened words every lane but the first is zero: what stood in them would tell of other scores."""
    opened: list[bytes] = []
    shares = additive([1, 2, 3, 4, 5], 4)

    def note(_round: int, _sender: int, _receiver: int, octets: bytes) -> bytes:
        opened.append(octets)
        return octets

    run_together([maximum(s, shares[s.server]) for s in seats(4)], note)
    tail = [octets for octets in opened[-6:] if len(octets) != 32]
    assert len(tail) == 3
    assert all((np.frombuffer(octets, "<u8") <= 1).all() for octets in tail)


def test_no_scores_are_no_selection() -> None:
    with pytest.raises(InvalidParameter):
        run(seats(1), lambda s: maximum(s, np.zeros((1, 0), np.uint64)))


def has_the_law_of(counted: Integers, law: SelectionLaw, scores: list[int]) -> bool:
    """Chi-square at alpha = 1e-4."""
    expected = [float(mass) * counted.sum() for mass in law.probabilities(scores)]
    return bool(stats.chisquare(counted, expected).pvalue > 1e-4)


@pytest.mark.parametrize(
    ("count", "noticed"), [(200, "2"), pytest.param(20_000, "1.1", marks=pytest.mark.nightly)]
)
def test_selections_among_five_scores_have_the_law_and_not_that_of_another_epsilon(
    count: int, noticed: str
) -> None:
    """Another epsilon is noticed with a probability of 0.9995 and more; ties to the last with 0.29 by day, 1 by night."""
    scores = [3, 0, 5, 5, 4]
    counted = np.bincount([selected(scores, seed) for seed in range(count)], minlength=len(scores))
    assert has_the_law_of(counted, LAW, scores)
    assert not has_the_law_of(counted, SelectionLaw.of(Epsilon.requested(noticed), 1), scores)
