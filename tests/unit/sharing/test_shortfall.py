"""The loss of noise that falls short of shape 1: where the worst case is, and that it is bounded from above, tightly."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from localdp.errors import InvalidParameter
from localdp.sharing import shortfall
from localdp.sharing.shortfall import loss_of_move, worst_loss
from localdp.sharing.summed_noise import SummedNoise

SHAPES = [Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)]
REACH = 40


def log_law(parameter: Fraction, shape: Fraction) -> np.ndarray:
    """Logarithms of the probabilities of -REACH .. REACH."""
    law = SummedNoise(parameter, shape)
    half = [math.log(law.probability(k)) for k in range(REACH + 1)]
    return np.array(half[:0:-1] + half)


def moves(sensitivity: int, length: int) -> Iterator[tuple[int, ...]]:
    """Every vector of whole numbers with this sum of absolute values or less."""
    for move in product(range(-sensitivity, sensitivity + 1), repeat=length):
        if sum(map(abs, move)) <= sensitivity:
            yield move


def brute_loss(logs: np.ndarray, move: int) -> float:
    """The largest log-ratio over all positions: the noises of several entries are independent."""
    away = abs(move)
    return float(np.max(np.abs(logs[: len(logs) - away] - logs[away:])))


@pytest.mark.parametrize(
    ("shape", "asked", "left"),
    [("0.9", "1", 1.10), ("0.9", "0.1", 0.146), ("0.5", "1", 1.68), ("0.5", "0.1", 0.606)],
)
def test_the_known_shortfalls(shape: str, asked: str, left: float) -> None:
    loss = float(worst_loss(Fraction(asked), Fraction(shape), 1, 1))
    assert loss == pytest.approx(left, rel=5e-3)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_loss_is_the_steepest_step_of_the_law(epsilon: str, shape: Fraction) -> None:
    part = stats.nbinom(float(shape), -math.expm1(-float(epsilon))).pmf(np.arange(2000))
    law = np.convolve(part, part[::-1])[1999:2060]
    steepest = float(np.log(law[:-1] / law[1:]).max())
    assert float(worst_loss(Fraction(epsilon), shape, 1, 1)) == pytest.approx(steepest, rel=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("parameter", [Fraction(2), Fraction(1, 2), Fraction(1, 20)])
def test_the_law_is_log_convex_and_each_step_costs_more_than_the_parameter(
    parameter: Fraction, shape: Fraction
) -> None:
    steps = -np.diff(log_law(parameter, shape)[REACH:])
    assert (np.diff(steps) < 1e-9).all()
    assert (steps > float(parameter)).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("sensitivity", [1, 2, 3, 5])
def test_no_move_at_any_position_loses_more(shape: Fraction, length: int, sensitivity: int) -> None:
    parameter = Fraction(1, sensitivity)
    logs = log_law(parameter, shape)
    worst = max(sum(brute_loss(logs, part) for part in move) for move in moves(sensitivity, length))
    assert float(worst_loss(parameter, shape, sensitivity, length)) == pytest.approx(worst, abs=1e-8)


def test_spreading_a_move_is_worse_than_making_it_in_one_entry() -> None:
    """The twin that only looks at one entry would promise too much."""
    one, two, many = (worst_loss(Fraction(1, 4), Fraction(1, 2), 4, length) for length in (1, 2, 4))
    assert float(one) < float(two) - 0.1 < float(many) - 0.2
    assert worst_loss(Fraction(1, 4), Fraction(1, 2), 4, 1000) == many


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1, 10, 100])
def test_the_bound_is_above_the_exact_ratio_and_by_one_nanonat_at_most(scale: int, shape: Fraction) -> None:
    law = SummedNoise(Fraction(1, scale), shape)
    exact = math.log(law.probability(0) / law.probability(3))
    assert -1e-12 < float(loss_of_move(Fraction(1, scale), shape, 3)) - exact < 1e-12
    assert (
        0
        <= worst_loss(Fraction(1, scale), shape, 3, 1).exact - loss_of_move(Fraction(1, scale), shape, 3)
        < 1e-9
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_a_sum_that_is_cut_short_is_still_a_bound(shape: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    law = SummedNoise(Fraction(1, 10), shape)
    exact = math.log(law.probability(0) / law.probability(2))
    monkeypatch.setattr(shortfall, "_TAIL_NATS", 1)
    assert exact < float(shortfall._enclosed(Fraction(1, 10), shape, 2))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("move", [1, 2, 300])
@pytest.mark.parametrize("scale", [257, 1000, 4000])
def test_at_large_scales_the_blocks_exceed_the_exact_sum_by_less_than_a_millionth(
    scale: int, move: int, shape: Fraction
) -> None:
    exact = float(shortfall._enclosed(Fraction(1, scale), shape, move))
    blocks = float(loss_of_move(Fraction(1, scale), shape, move))
    assert exact <= blocks <= exact * (1 + 1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [10**6, 10**9, 1 << 40])
def test_finer_blocks_lower_the_bound_by_less_than_a_millionth(
    scale: int, shape: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    for move in (1, 2, scale // 10):
        coarse = shortfall._by_blocks(1 / scale, float(shape), move)
        with monkeypatch.context() as patch:
            patch.setattr(shortfall, "_BLOCKS_PER_FOLD", 1 << 14)
            fine = shortfall._by_blocks(1 / scale, float(shape), move)
        assert float(fine) * (1 - 1e-9) <= float(coarse) <= float(fine) * (1 + 1e-6)


def test_more_noise_loses_less_and_little_noise_loses_nearly_everything() -> None:
    shapes = [Fraction(k, 255) for k in (254, 200, 100, 10, 1)]
    losses = [float(worst_loss(Fraction(1, 2), shape, 2, 2)) for shape in shapes]
    assert losses == sorted(losses)
    assert losses[0] == pytest.approx(1, abs=0.02) and losses[-1] > 10


def test_what_is_no_shortfall_is_refused() -> None:
    for parameter, shape, sensitivity, length in (
        (Fraction(1), Fraction(1), 1, 1),
        (Fraction(1), Fraction(0), 1, 1),
        (Fraction(1), Fraction(1, 2), 0, 1),
        (Fraction(1), Fraction(1, 2), 1, 0),
        (Fraction(1, 1 << 41), Fraction(1, 2), 1, 1),
    ):
        with pytest.raises(InvalidParameter):
            worst_loss(parameter, shape, sensitivity, length)
