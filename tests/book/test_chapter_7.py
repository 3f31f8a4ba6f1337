"""Chapter 7: the test of Scale (Algorithm 12) lets unstable data pass, and A_samp (Algorithm 14) needs fewer blocks."""

import math
from itertools import count

import pytest

DELTA = 1e-6


def above(threshold: float, scale: float) -> float:
    """The probability that Laplace noise is larger."""
    tail = math.exp(-abs(threshold) / scale) / 2
    return tail if threshold > 0 else 1 - tail


def passes(distance: float, epsilon: float, threshold: float) -> float:
    """That a database so far from instability passes the test of one discretisation."""
    return above(threshold - distance, 1 / epsilon)


def of_three(epsilon: float, threshold: float, log_range: float) -> float:
    """That Scale says less than 2**50 of three numbers whose range, their interquartile range, is 2**log_range.

    Moving one of them moves the range anywhere, so the distance is 1 whatever the bins are.
    """
    released = 1 - (1 - passes(1, epsilon, threshold)) ** 2
    return released * (1 - above(50 - log_range, 1 / epsilon))


def test_scale_as_printed_lets_unstable_data_pass_and_theorem_7_1_is_false() -> None:
    epsilon = 0.25
    printed, right = 1 + math.log(1 / DELTA), 1 + math.log(1 / DELTA) / epsilon
    assert passes(1, epsilon, printed) == pytest.approx(0.0158, abs=5e-5)
    assert passes(1, epsilon, right) == pytest.approx(DELTA / 2)
    # 0, 0, 1 and 0, 0, 2**100 are neighbours, and (4 epsilon, delta) is promised.
    small, large = (of_three(epsilon, printed, log_range) for log_range in (0, 100))
    assert small > math.exp(4 * epsilon) * large + DELTA
    assert small > 0.03 and large < 1e-6
    small, large = (of_three(epsilon, right, log_range) for log_range in (0, 100))
    assert small <= math.exp(4 * epsilon) * large + DELTA


def test_from_epsilon_one_on_the_printed_test_is_the_right_one() -> None:
    assert 1 + math.log(1 / DELTA) == 1 + math.log(1 / DELTA) / 1


def test_powers_of_two_put_the_scale_off_by_a_factor_of_seven() -> None:
    # Four draws at epsilon / 4 each: the exponent's noise has a median of 4 ln 2.
    median = 4 * math.log(2)
    assert 1 - 2 * above(median, 4) == pytest.approx(0.5)
    assert median == pytest.approx(2.77, abs=0.01) and 2**median > 6.8
    base = 1 + 1 / math.log(10_000)  # what the book itself hints at
    assert median * math.log2(base) == pytest.approx(0.41, abs=0.01)


def binomial_above(trials: int, chance: float, most: int) -> float:
    """The probability of more than so many successes."""

    def weight(successes: int) -> float:
        ways = math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
        return math.exp(ways + successes * math.log(chance) + (trials - successes) * math.log1p(-chance))

    total = 0.0
    for successes in range(most + 1, trials + 1):
        total += (one := weight(successes))
        if successes > trials * chance and one < total * 1e-18:
            break
    return total


def test_a_six_hundredth_of_the_blocks_of_a_samp_suffice() -> None:
    people, epsilon = 100_000, 1.0
    printed_q = epsilon / (64 * math.log(1 / DELTA))
    printed = math.log(people / DELTA) / printed_q**2
    q = 1 / (16 * (1 + 2 * math.log(1 / DELTA) / epsilon))
    blocks = math.ceil(max(3 * math.log(people / DELTA) / q, 32 * math.log(1 / DELTA)))
    assert printed == pytest.approx(1.98e7, rel=0.01) and blocks == pytest.approx(34_800, rel=0.01)
    # The three things that the proof of Lemma 7.4 uses: nobody is in more than 2 m q blocks, the right answer has at least
    # 5/8 of them where it has 3/4 on average, and such a gap passes the test but for delta.
    assert people * binomial_above(blocks, q, math.floor(2 * blocks * q)) <= DELTA
    assert binomial_above(blocks, 0.25, math.floor(3 * blocks / 8)) <= DELTA
    assert 1 / (16 * q) - 1 >= 2 * math.log(1 / DELTA) / epsilon - 1e-9


def test_of_a_partition_thirty_seven_blocks_that_agree_suffice() -> None:
    # Replacing one person changes one vote, and the gap of the two largest counts by 2; whole noise of ratio a = 1 / e.
    ratio = math.exp(-1.0)

    def at_least(threshold: int) -> float:
        tail = ratio ** abs(threshold - (threshold <= 0)) / (1 + ratio)
        return tail if threshold > 0 else 1 - tail

    threshold = next(t for t in count(1) if at_least(t) <= DELTA)
    assert threshold == 14
    released = [at_least(threshold - max(0, math.ceil(gap / 2) - 1)) for gap in range(60)]
    assert released[0] == released[2] <= DELTA  # where one vote can make another winner
    for gap in range(58):  # what one person changes, changes the probability by e at most
        assert released[gap + 2] <= math.e * released[gap] * (1 + 1e-12)
        assert 1 - released[gap] <= math.e * (1 - released[gap + 2]) * (1 + 1e-9)
    assert next(gap for gap in range(60) if released[gap] >= 0.99) == 37
