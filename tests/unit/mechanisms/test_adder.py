"""Who adds up: the sums are exact behind the noise, by both ways, and what cannot be added is refused."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.claim import Strength
from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.mechanisms.adder import Adder, SharesInProcess, TrustedCurator
from localdp.randomness.hazmat import SeededSource
from localdp.sharing.noise_plans import NoisePlan

ONE, QUIET = Epsilon.requested(1), Epsilon.requested(30)
ROWS = np.array([[1, 0, -5], [0, 0, 1 << 40], [7, 0, -(1 << 41)]], np.int64)


def adders() -> list[Adder]:
    return [
        TrustedCurator(SeededSource(1)),
        SharesInProcess(SeededSource(2)),
        SharesInProcess(SeededSource(3), 3, NoisePlan.divided(1)),
        SharesInProcess(SeededSource(4), 5, NoisePlan.DIVIDED),
    ]


@pytest.mark.parametrize("adder", adders())
def test_behind_next_to_no_noise_the_sums_are_exact(adder: Adder) -> None:
    """At epsilon = 30 three noises of five servers are all zero but with probability 1e-12."""
    assert adder.noisy_sums(ROWS, 1, QUIET).tolist() == ROWS.sum(axis=0).tolist()
    blocks: Iterator[np.ndarray] = iter([ROWS[:1], ROWS[1:], ROWS[:0]])
    assert adder.noisy_sums(blocks, 1, QUIET).tolist() == ROWS.sum(axis=0).tolist()


@pytest.mark.parametrize("adder", adders()[:2])
def test_gaussian_noise_is_of_its_size(adder: Adder) -> None:
    """n = 20,000 sums: mean and variance within 6 standard errors."""
    noise = adder.gaussian_sums(np.full((4, 20_000), 25, np.int64), 1000) - 100
    assert abs(noise.mean()) < 6 * np.sqrt(adder.gaussian_noise(1000) / 20_000)
    assert noise.var() == pytest.approx(adder.gaussian_noise(1000), rel=0.06)


def test_the_noise_of_each_adder_is_known() -> None:
    shapes = [adder.noise(2, ONE).shape for adder in adders()]
    assert shapes == [1, 2, Fraction(3, 2), 1]
    assert all(adder.noise(2, ONE).parameter == Fraction(1, 2) for adder in adders())
    assert [adders()[n].gaussian_noise(1200) for n in (0, 1)] == [1200 + 1 / 12, 2400 + 1 / 6]


def test_gaussian_noise_is_not_divided() -> None:
    for adder in adders()[2:]:
        with pytest.raises(InvalidParameter, match="every server adds all"):
            adder.gaussian_sums(ROWS, 1000)


def test_claims_say_whom_one_has_to_trust() -> None:
    curator, shared, tolerant, _ = (adder.claim(ONE) for adder in adders())
    assert curator.strength is Strength.PURE and "curator" in curator.honest
    assert shared.strength is Strength.COMPUTATIONAL and "any 1 of the 2" in shared.against
    assert "any 1 of the 3" in tolerant.against and curator.delta == 0
    gaussian = adders()[0].claim(ONE, Fraction(1, 10**6))
    assert "except with a probability of 1e-06" in gaussian.statement()
    assert "probability of" not in curator.statement().replace("changes its probability", "")


@pytest.mark.parametrize("adder", adders()[:2])
@pytest.mark.parametrize(
    "rows",
    [
        np.zeros(3, np.int64),
        np.zeros((3, 2)),
        np.full((2, 1), 1 << 61, np.int64),
        np.full((2, 1), -(1 << 62), np.int64),
        [],
        [np.zeros((1, 2), np.int64), np.zeros((1, 3), np.int64)],
    ],
)
def test_rows_that_cannot_be_added_up_are_refused(adder: Adder, rows: list[np.ndarray]) -> None:
    with pytest.raises(InvalidParameter):
        adder.noisy_sums(rows, 1, ONE)


def test_predicted_errors_are_those_of_the_reference() -> None:
    curator, servers = TrustedCurator(SeededSource(1)), SharesInProcess(SeededSource(2))
    one = Epsilon.requested(1)
    assert curator.noise(1, one).mean_absolute() == pytest.approx(0.85092, abs=1e-5)
    assert curator.noise(2, one).mean_absolute() == pytest.approx(1.919, abs=1e-3)
    assert curator.noise(2, one).variance() == pytest.approx(7.8354, abs=1e-4)
    assert curator.noise(7, one).parameter == Fraction(1, 7)
    assert servers.noise(1, one).variance() == pytest.approx(2 * 1.84135, abs=1e-4)
