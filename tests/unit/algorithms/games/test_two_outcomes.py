"""Two outcomes: exactly how private the choice is, and that the truth is best for people who mind what it tells."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.games.two_outcomes import TwoOutcomes
from localdp.domains import BitDomain, Records, Schema
from localdp.errors import SignalTooWeak
from localdp.mechanisms.noisy_maximum import exact_law
from localdp.oracles.curator import CuratorOracle
from localdp.randomness.hazmat import SeededSource

EPSILON = 0.25
RATIO = Fraction(math.exp(-EPSILON / 2)).limit_denominator(
    10**6
)  # of noise of scale 2 / epsilon, for sums that move by 1
WORTHS = [(0, 1), (1, 0), (0, 0), (1, 1)]


def taken(first: int, second: int, ratio: Fraction = RATIO) -> list[float]:
    """The probabilities of the outcomes, for these sums."""
    return [float(one) for one in exact_law([first, second], ratio)]


def loss(ratio: Fraction) -> float:
    """Over all sums of three others and all that one person may say."""
    worst = 0.0
    for one, two in product(range(4), repeat=2):
        laws = [taken(one + a, two + b, ratio) for a, b in WORTHS]
        worst = max(
            worst, *(math.log(p / q) for x, y in product(laws, laws) for p, q in zip(x, y, strict=True))
        )
    return worst


def test_noise_of_scale_two_over_epsilon_is_private_and_half_of_it_is_not() -> None:
    assert 0.5 * EPSILON < loss(RATIO) <= EPSILON + 1e-6
    assert loss(RATIO**2) > EPSILON


@pytest.mark.parametrize("minds", [0.0, 1.0])
def test_whoever_prefers_one_by_more_than_two_epsilon_has_no_reason_to_lie(minds: float) -> None:
    """An outcome costs `minds` times the logarithm of its largest ratio over all that the person might have said."""
    for one, two in product(range(4), repeat=2):
        laws = {said: taken(one + said[0], two + said[1]) for said in WORTHS}
        told = [
            minds * max(math.log(x[o] / y[o]) for x, y in product(laws.values(), repeat=2))
            for o in range(2)
        ]
        for worth in ((0, 1), (1, 0)):  # which differ by 1 > 2 epsilon
            had = {
                said: sum(p * (worth[o] - told[o]) for o, p in enumerate(law)) for said, law in laws.items()
            }
            assert had[worth] >= max(had.values()) - 1e-12


def test_the_better_one_is_taken_under_a_curator() -> None:
    schema = Schema({"rye": BitDomain()})
    records = Records(schema, {"rye": np.arange(400) < 240})
    told = TwoOutcomes("rye", "not rye").fit(CuratorOracle(records, Epsilon.requested(1), SeededSource(1)))
    assert told.chosen_ == "rye" and told.truthful_beyond_ == pytest.approx(2)


def test_a_choice_that_would_drown_is_refused() -> None:
    records = Records(Schema({"rye": BitDomain()}), {"rye": np.arange(10) < 6})
    with pytest.raises(SignalTooWeak, match="the lead"):
        TwoOutcomes("rye", "not rye").fit(CuratorOracle(records, Epsilon.requested("0.1"), SeededSource(1)))
