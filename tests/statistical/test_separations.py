"""The separations of section 12.1 show their numbers.  Successes are counts of independent trials with fixed coins."""

import math
from statistics import NormalDist

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.experiments.separations import (
    Lab,
    Separation,
    conjunctions,
    elimination,
    masked_parity,
    parity,
)
from localdp.randomness.keyring import Keyring
from parties.experiments.separating import outcomes_of, run_separation

ONE = Epsilon.requested(1)


LAB = Lab(ONE, Keyring.insecurely_seeded(12))


def rates(separation: Separation, trials: int) -> dict[tuple[str, float], float]:
    (panel,) = run_separation(separation, LAB, trials).panels
    return {(point.series, point.parameter): point.value or 0.0 for point in panel.points}


def check_parity(found: dict[tuple[str, float], float], slack: float) -> None:
    # 1.00, 1.00, 0.75, 0.05 and 0 at d = 6, 8, 10, 12 and 14 in 20 trials of the source; the normal approximation of the
    # largest of 2**d noises gives 1.00, 1.00, 0.87, 0.09 and 0.002.
    assert found["local", 6] == found["local", 8] == 1.0
    assert 0.87 - slack <= found["local", 10] <= 0.87 + slack
    assert found["local", 12] <= 0.09 + slack
    assert found["local", 14] <= slack
    for dimension in (6, 8, 10, 12, 14):
        assert found["curator, exponential mechanism", dimension] == 1.0


def test_local_reports_lose_the_parity_as_the_dimension_grows_and_the_curator_does_not() -> None:
    check_parity(rates(parity(), 12), slack=0.3)


def test_linear_equations_find_parities_of_hundreds_of_bits() -> None:
    assert list(outcomes_of(elimination(), LAB, 5).values()) == [[1.0] * 5] * 2


def guessed_rate(people: int, dimension: int = 16) -> float:
    """How often one round finds mask and constant, by the normal approximation: half of the people give one each."""
    noise = (math.e + 1) / (math.e - 1) / math.sqrt(people / 2)
    mask = NormalDist().cdf(1 / (2 * dimension) / noise) ** dimension
    return mask * NormalDist().cdf(0.5 / (noise * 2 ** (dimension / 2)))


def test_two_rounds_find_a_masked_parity_and_one_round_guesses_its_constant() -> None:
    found = rates(masked_parity(people=(30_000, 100_000)), 6)
    assert found["two rounds", 30_000] >= 0.5  # 0.90; below but for 0.2 %
    assert found["two rounds", 100_000] == 1.0
    assert found["one round", 30_000] == found["one round", 100_000] == 0.0
    # Right now and then, and not always: 0.58, so never or always with a probability of 4.4 % together.
    assert 0 < found["one round, the constant guessed", 100_000] < 1


def test_the_guess_is_right_half_of_the_time_until_there_are_enough_people_for_all_parities() -> None:
    assert [round(guessed_rate(people), 2) for people in (30_000, 100_000, 200_000)] == [0.29, 0.57, 0.61]
    assert guessed_rate(1 << 24) > 0.99


def test_the_error_of_conjunctions_grows_with_their_number_in_the_local_model() -> None:
    found = rates(conjunctions(dimensions=(6, 10)), 2)
    # 0.0242 for the 175 parities of 10 bits; sqrt(41 / 175) of that for the 41 of 6 bits.
    assert found["local", 10] == pytest.approx(0.0242, rel=0.1)
    assert found["local", 6] == pytest.approx(0.0242 * (41 / 175) ** 0.5, rel=0.15)
    assert found["curator", 10] < 0.05 * found["local", 10]


@pytest.mark.nightly
def test_the_rates_of_parities_in_a_hundred_trials() -> None:
    check_parity(rates(parity(), 100), slack=0.12)


@pytest.mark.nightly
def test_the_rates_of_masked_parities_in_a_hundred_trials() -> None:
    found = rates(masked_parity(), 100)
    assert 0.8 <= found["two rounds", 30_000] <= 0.98
    assert found["two rounds", 100_000] >= 0.98 <= found["two rounds", 200_000]
    for people in (30_000, 100_000, 200_000):
        assert found["one round", people] <= 0.02
        expected = guessed_rate(people)
        assert found["one round, the constant guessed", people] == pytest.approx(
            expected, abs=4.5 * math.sqrt(expected * (1 - expected) / 100)
        )
