"""Parities and masked parities: right on the truth, right against an adversary, and what an adversary can hide."""

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.parity.exponential import ParityExponential, parity_scores
from localdp.algorithms.parity.learner import ParityLearner, parity_of
from localdp.algorithms.parity.masked import (
    GuessingMaskedParityLearner,
    MaskedParityLearner,
    OneRoundMaskedParityLearner,
)
from localdp.domains import Records
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.experiments.separations import bit_records, made_up_masked_parity, made_up_parity
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.randomizers.parts.walsh import walsh_hadamard
from localdp.randomness.hazmat import SeededSource
from tests.support.people import ONE

Bits = NDArray[np.bool_]


def labelled(dimension: int, people: int, seed: int) -> tuple[Records, Bits, Bits, int]:
    rows, labels, mask = made_up_parity(SeededSource(seed), people, dimension)
    columns = {f"x{place}": rows[:, place] for place in range(dimension)}
    return bit_records({**columns, "target": labels}), rows, labels, mask


def whole_cube(dimension: int, mask: int) -> Records:
    """Every x once: the distribution itself, without a sampling error."""
    words = np.arange(1 << dimension)
    rows = (words[:, None] >> np.arange(dimension) & 1).astype(np.bool_)
    columns = {f"x{place}": rows[:, place] for place in range(dimension)}
    return bit_records({**columns, "target": parity_of(rows, mask)})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_answers_within_one_half_are_enough(strategy: str) -> None:
    learner = ParityLearner(check_signal=False).fit(
        AdversarialOracle(whole_cube(6, 0b101100), 0.49, strategy)
    )
    assert learner.mask_ == 0b101100
    assert learner.support_ == ("x2", "x3", "x5")


def test_the_truth_gives_the_parity_and_its_predictions() -> None:
    records, rows, labels, mask = labelled(8, 500, 1)
    learner = ParityLearner().fit(ExactOracle(records))
    assert learner.mask_ == mask
    assert np.array_equal(learner.predict(rows), labels)


def test_a_parity_of_many_bits_is_refused_before_anybody_is_asked() -> None:
    records, *_ = labelled(10, 300, 2)
    oracle = AdversarialOracle(records, 0.6)
    with pytest.raises(SignalTooWeak):
        ParityLearner().fit(oracle)
    assert oracle.cost.rounds == 0


def test_an_adversary_that_says_zero_gives_away_few_parities_a_query() -> None:
    # Parseval: the squared correlations of a query with all parities add up to at most 1, so at most 1 / tau**2 = 100 of
    # the 1,024 can be told from "no correlation" by any query, and 2**d tau**2 queries are needed.
    generator = np.random.default_rng(1)
    size, tolerance = 1024, 0.1
    words = np.arange(size)
    majority = np.where(np.bitwise_count(words) > 5, 1, -1)
    queries = [majority, *(2 * generator.integers(0, 2, (20, size)) - 1), np.where(words & 1, -1, 1)]
    eliminated = [
        int(np.count_nonzero(np.abs(walsh_hadamard(query) / size) > tolerance)) for query in queries
    ]
    assert max(eliminated) <= 1 / tolerance**2
    assert eliminated[0] > 1  # and the bound is not vacuous: majority sees the single bits
    assert eliminated[-1] == 1


def test_scores_count_right_labels() -> None:
    _, rows, labels, mask = labelled(5, 200, 4)
    scores = parity_scores(rows, labels)
    assert scores[mask] == 200
    for other in range(32):
        assert scores[other] == np.count_nonzero(parity_of(rows, other) == labels)


def test_the_exponential_mechanism_finds_the_parity_of_a_few_hundred_people() -> None:
    for seed in range(20):
        _, rows, labels, mask = labelled(12, 400, seed)
        assert ParityExponential(ONE).learn(rows, labels, SeededSource(seed)) == mask


def test_with_hardly_any_epsilon_the_choice_is_noise() -> None:
    _, rows, labels, _ = labelled(6, 100, 5)
    learner = ParityExponential(Epsilon.requested("0.001"))
    found = {learner.learn(rows, labels, SeededSource(seed)) for seed in range(40)}
    assert len(found) > 15


def masked(people: int = 40_000, seed: int = 3) -> tuple[Records, int, int, tuple[list[str], list[str]]]:
    records, mask, constant = made_up_masked_parity(SeededSource(seed), people, 16)
    names = [f"x{place}" for place in range(16)], [f"i{place}" for place in range(4)]
    return records, mask, constant, names


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_two_rounds_learn_a_masked_parity_within_tolerance(strategy: str) -> None:
    records, mask, constant, (bits, index) = masked()
    # 1 / 32 less six standard deviations of what the sample itself is off by.
    oracle = AdversarialOracle(records, 1 / 32 - 6 * (1 / 40_000) ** 0.5 / 4, strategy)
    learner = MaskedParityLearner(bits, index, "b", check_signal=False).fit(oracle)
    assert (learner.mask_, learner.constant_) == (mask, constant)
    assert learner.cost_.rounds == 2


@pytest.mark.parametrize("kind", [OneRoundMaskedParityLearner, GuessingMaskedParityLearner])
def test_one_round_would_do_if_answers_were_exact(kind: type[MaskedParityLearner]) -> None:
    records, mask, constant, (bits, index) = masked()
    learner = kind(bits, index, "b", check_signal=False).fit(ExactOracle(records))
    assert (learner.mask_, learner.constant_) == (mask, constant)
    assert learner.cost_.rounds == 1


def test_index_and_bits_must_belong_together() -> None:
    records, _, _, (bits, index) = masked(100)
    with pytest.raises(InvalidParameter):
        MaskedParityLearner(bits[:10], index, "b").fit(ExactOracle(records))
