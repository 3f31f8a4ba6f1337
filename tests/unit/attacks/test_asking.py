"""Subset sums in the query language, asked of oracles that err and of one that does not."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.attacks.asking import asked_sums, named_people, subset_queries
from localdp.attacks.least_squares import least_squares
from localdp.attacks.subset_sums import random_bits, random_subsets, recovered, subset_sums
from localdp.errors import InvalidParameter
from localdp.experiments.attack_reconstruction import ROUNDS, OracleOf, curator, local, oracle_trial
from localdp.oracles.exact import ExactOracle
from localdp.randomness.hazmat import SeededSource


def test_an_exact_oracle_tells_every_subset_and_so_every_bit() -> None:
    source = SeededSource(1)
    bits, subsets = random_bits(40, source), random_subsets(80, 40, source)
    subsets[0] = False
    records = named_people(bits)
    told = asked_sums(ExactOracle(records), subsets, 5)
    assert told == pytest.approx(subset_sums(subsets, bits))
    assert recovered(least_squares(subsets, told), bits) == 1.0


def test_a_subset_is_a_condition_on_public_names() -> None:
    records = named_people(np.ones(4, np.bool_))
    texts = [query.text for query in subset_queries(np.eye(4, dtype=np.bool_), records.schema)]
    assert texts[2] == 'secret and who in {"p2"}'


@pytest.mark.parametrize("oracle_of", [curator, local])
def test_private_oracles_spend_what_they_are_told_and_hide_the_bits(oracle_of: OracleOf) -> None:
    # 4 trials of 64 bits at epsilon 1 for 256 answers: one half, with a standard deviation of .031; four of them.
    found = [oracle_trial(oracle_of, 64, 256, 1, SeededSource(seed)) for seed in range(4)]
    assert np.mean(found) == pytest.approx(0.5, abs=4 * 0.031)
    source = SeededSource(9)
    bits, subsets = random_bits(64, source), random_subsets(128, 64, source)
    oracle = oracle_of(named_people(bits), Epsilon.requested(1), source)
    asked_sums(oracle, subsets, ROUNDS)
    assert oracle.cost.epsilon_promised == Epsilon.requested(1) * ROUNDS


def test_a_curator_with_an_enormous_epsilon_gives_everything_away() -> None:
    assert oracle_trial(curator, 64, 256, 1000, SeededSource(1)) == 1.0


@pytest.mark.parametrize("rounds", [0, 9])
def test_every_round_has_a_query(rounds: int) -> None:
    records = named_people(np.ones(4, np.bool_))
    with pytest.raises(InvalidParameter):
        asked_sums(ExactOracle(records), np.ones((8, 4), np.bool_), rounds)
    with pytest.raises(InvalidParameter):
        named_people(np.ones(1, np.bool_))
