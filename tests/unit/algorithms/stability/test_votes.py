"""Votes that are told where nobody's could matter: exact laws of small elections, and the numbers that they need."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.stability import votes
from localdp.algorithms.stability.votes import (
    blocks_needed,
    blocks_of_book,
    distance_of,
    lead_for_select,
    lead_needed,
    lead_of,
    require_samples,
    sampling_rate,
    size_of,
    subsamples,
)
from localdp.domains import CategoryDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.mechanisms.noisy_maximum import first_largest
from localdp.mechanisms.propose_test_release import StabilityTest
from tests.support.people import KEYRING, ONE

DELTA = Fraction(1, 10**6)
TEST = StabilityTest(ONE, DELTA)
Counts = tuple[int, ...]
ELECTIONS = [one for one in product(range(9), repeat=3) if sum(one) == 8]
WIDE = StabilityTest(ONE, Fraction(1, 50))  # so that small elections have answers


def neighbours(counts: Counts) -> list[Counts]:
    moved = []
    for loser, winner in product(range(len(counts)), repeat=2):
        if loser != winner and counts[loser]:
            other = list(counts)
            other[loser], other[winner] = other[loser] - 1, other[winner] + 1
            moved.append(tuple(other))
    return moved


def law(counts: Counts, distance: Callable[[int], int]) -> dict[int | None, float]:
    array = np.array(counts, np.int64)
    chance = WIDE.chance(distance(lead_of(array)))
    return {first_largest(array): chance, None: 1 - chance}


def worst_delta(distance: Callable[[int], int]) -> float:
    """The least delta with which all neighbouring elections are (1, delta)-private."""
    worst = 0.0
    for counts in ELECTIONS:
        here = law(counts, distance)
        for other in neighbours(counts):
            there = law(other, distance)
            worst = max(worst, sum(max(0.0, p - math.e * there.get(o, 0.0)) for o, p in here.items()))
    return worst


def test_a_stable_winner_is_private_for_every_election_of_eight() -> None:
    assert worst_delta(distance_of) <= 0.02 * (1 + 1e-9)


@pytest.mark.parametrize("twin", [lambda lead: -(-lead // 2), lambda lead: max(0, lead - 1)])
def test_a_distance_that_is_one_too_large_or_forgets_that_votes_move_the_lead_by_two_is_found(
    twin: Callable[[int], int],
) -> None:
    assert worst_delta(twin) > 0.03


def test_the_distance_is_how_many_votes_can_change_before_one_changes_the_winner() -> None:
    reach = {counts: {counts} for counts in ELECTIONS}
    winners = {counts: first_largest(np.array(counts)) for counts in ELECTIONS}
    for counts in ELECTIONS:
        told, frontier = 0, {counts}
        while all(
            winners[other] == winners[counts] for one in frontier for other in [one, *neighbours(one)]
        ):
            frontier = {other for one in frontier for other in neighbours(one)} | frontier
            told += 1
        assert distance_of(lead_of(np.array(counts))) <= told
    assert reach


def test_the_lead_that_is_needed_and_what_needs_less() -> None:
    assert [lead_needed(StabilityTest(Epsilon.requested(e), DELTA), 0.01) for e in ("1", "0.5")] == [37, 71]
    # The noisy maximum, of pure epsilon, needs less of a lead up to hundreds of thousands of options.
    assert [lead_for_select(ONE, options, 0.01) for options in (10, 1000, 10**5)] == [13, 23, 32]
    assert lead_for_select(ONE, 10**6, 0.01) == 36 and lead_for_select(ONE, 10**7, 0.01) == 41


def test_the_probability_of_an_answer_at_the_lead_that_is_needed() -> None:
    assert TEST.chance(distance_of(37)) >= 0.99 > TEST.chance(distance_of(36))
    assert TEST.chance(distance_of(37)) == pytest.approx(0.9951, abs=5e-4)


def test_subsamples_are_570_times_fewer_than_the_book_has() -> None:
    assert blocks_needed(100_000, ONE, DELTA) == 34_809
    assert blocks_of_book(100_000, ONE, DELTA) == pytest.approx(1.98e7, rel=0.01)
    assert blocks_of_book(100_000, ONE, DELTA) / blocks_needed(100_000, ONE, DELTA) > 560
    with pytest.raises(InvalidParameter, match=r"34,809 suffice.*the book prints 19,801,688.*partition"):
        require_samples(blocks_of_book(100_000, ONE, DELTA), 100_000, ONE, DELTA)
    require_samples(34_809, 100_000, ONE, DELTA)


def test_nobody_is_in_more_subsamples_than_the_proof_of_the_lemma_has() -> None:
    people, samples = 20_000, 4000
    size = size_of(people, ONE, DELTA)
    blocking, times = subsamples(people, samples, size, KEYRING.source("subsamples"))
    assert len(blocking.order) == samples * size
    rows = blocking.order.reshape(samples, size)
    assert all(len(set(row)) == size for row in rows.tolist())
    counts = np.bincount(blocking.order, minlength=people)
    mean = samples * sampling_rate(ONE, DELTA)
    assert counts.max() == times < 2 * mean + 40
    # Every person is as likely as another: chi-square of 20,000 counts, mean 1 each; 4.5 deviations on either side.
    spread = float(((counts - counts.mean()) ** 2).mean() / counts.mean())
    assert spread == pytest.approx(1 - size / people, abs=4.5 * math.sqrt(2 / people))


def test_subsamples_of_the_first_people_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: what is drawn twice is drawn again from the beginning."""
    monkeypatch.setattr(votes, "_distinct", lambda drawn, first: np.minimum(drawn, 50))
    with pytest.raises(AssertionError):
        test_nobody_is_in_more_subsamples_than_the_proof_of_the_lemma_has()


def test_votes_are_of_a_category_and_of_enough_people() -> None:
    schema = Schema({"city": CategoryDomain(("a", "b"))})
    records = Records(schema, {"city": np.zeros(200, np.int64)})
    vote = votes.StableVote("city", DELTA)
    vote.require(schema, 200, ONE)
    assert vote.truth(records) == 0
    told = [vote.release(records, ONE, KEYRING.source("unanimous", str(n))) for n in range(30)]
    assert told == [0] * 30
