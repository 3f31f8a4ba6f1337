"""Intervals of a stream: every running count is a sum of a few of them, and no step lies in more than is paid for."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.mechanisms.adder import SharesInProcess, TrustedCurator
from localdp.mechanisms.factorised_counter import FactorisedCounter
from localdp.mechanisms.intervals import LAYOUTS, Intervals, LayoutName, corollary_12_3, lemma_12_2
from localdp.mechanisms.pan_private import PanPrivateCounter
from localdp.mechanisms.tree_counter import TreeCounter
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import RandomSource
from localdp.sharing.summed_noise import SummedNoise

ONE = SummedNoise(Fraction(1), Fraction(1))


def parts(intervals: Intervals, step: int) -> list[range]:
    """The intervals of a running count."""
    found = []
    while step:
        found.append(intervals.ending_at(step))
        step = intervals.before(step)
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("steps", [1, 2, 8, 64, 1024])
def test_the_intervals_of_a_count_are_all_steps_so_far_each_once(layout: LayoutName, steps: int) -> None:
    intervals = Intervals(steps, layout)
    for step in range(1, steps + 1):
        held = parts(intervals, step)
        assert sorted(one for part in held for one in part) == list(range(1, step + 1))
        assert len(held) <= intervals.most_noises
    assert max(len(parts(intervals, step)) for step in range(1, steps + 1)) == intervals.most_noises


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("steps", [1, 2, 8, 64, 1024])
def test_a_step_lies_in_as_many_intervals_as_epsilon_is_divided_by(layout: LayoutName, steps: int) -> None:
    intervals = Intervals(steps, layout)
    lies_in = np.zeros(steps + 1, int)
    for step in range(1, steps + 1):
        lies_in[list(intervals.ending_at(step))] += 1
    assert lies_in.max() == intervals.most


@pytest.mark.parametrize(("steps", "better"), [(1024, "steps"), (2048, "tree"), (1 << 14, "tree")])
def test_the_tree_is_better_from_2048_steps_on(steps: int, better: LayoutName) -> None:
    errors = {}
    for layout in LAYOUTS:
        intervals = Intervals(steps, layout)
        noise = SummedNoise(Fraction(1, intervals.most), Fraction(1)).variance()
        squares = [0.0]
        for step in range(1, steps + 1):
            squares.append(noise + squares[intervals.before(step)])
        errors[layout] = math.sqrt(np.mean(squares[1:]))
    assert min(errors, key=errors.__getitem__) == better
    if steps == 1024:
        assert errors == {"tree": pytest.approx(34.78, abs=0.01), "steps": pytest.approx(30.72, abs=0.01)}


@pytest.mark.parametrize("count", [1, 2, 5, 10])
@pytest.mark.parametrize("scale", [1, 11])
def test_lemma_12_2_and_corollary_12_3_hold_for_the_exact_law(count: int, scale: int) -> None:
    law = SummedNoise(Fraction(1, scale), Fraction(count))
    scales = [float(scale)] * count
    for failure in (0.3, 0.01, 1e-6):
        told = corollary_12_3(scales, failure)
        assert law.half_width(1 - failure) <= told
    for part in (0.1, 0.5, 0.9):
        error = part * 2 * math.sqrt(2) * count * scale
        beyond = sum(
            law.probability(k) for k in range(math.floor(error) + 1, math.floor(error) + 60 * scale)
        )
        assert beyond <= lemma_12_2(scales, error)


def test_the_lemma_with_half_of_its_exponent_s_denominator_is_false() -> None:
    """The broken twin: exp(-x^2 / (2 nu^2)), as a Gaussian would have it, is below the tail of Laplace noise."""
    law, scales = SummedNoise(Fraction(1, 11), Fraction(1)), [11.0]
    error = 0.99 * 2 * math.sqrt(2) * 11
    beyond = sum(law.probability(k) for k in range(math.ceil(error), 2000))
    assert lemma_12_2(scales, error) ** 4 < beyond <= lemma_12_2(scales, error)


def test_the_largest_error_of_a_tree_is_below_that_of_the_corollary() -> None:
    intervals, failure = Intervals(1024), 0.05
    noise = SummedNoise(Fraction(1, 11), Fraction(1))
    exact, book = intervals.largest_error(noise, failure), intervals.largest_error_of_book(11.0, failure)
    assert exact == 227  # by the exact law, over all 1,024 counts
    assert book == pytest.approx(330.4, abs=0.1)
    assert exact < book
    # And it is no empty promise: half of it would be broken by a single count more often than not allowed.
    summed = SummedNoise(Fraction(1, 11), Fraction(10))
    assert summed.half_width(1 - failure) > exact / 3


@pytest.mark.parametrize("steps", [0, 3, (1 << 20) + 1, 2.0])
def test_what_is_no_tree_is_refused(steps: int) -> None:
    with pytest.raises(InvalidParameter):
        Intervals(steps)


def test_what_the_bounds_are_not_for_is_refused() -> None:
    for call in (
        lambda: Intervals(8, "bush"),  # type: ignore[arg-type]
        lambda: corollary_12_3([1.0], 0.0),
        lambda: lemma_12_2([1.0], 3.0),
        lambda: Intervals(8).largest_error(ONE, 1.0),
    ):
        with pytest.raises(InvalidParameter):
            call()


COUNTERS: dict[str, Callable[[RandomSource], TreeCounter | FactorisedCounter | PanPrivateCounter]] = {
    "tree": lambda source: TreeCounter(32, Epsilon.requested(1), TrustedCurator(source)),
    "tree over shares": lambda source: TreeCounter(32, Epsilon.requested(1), SharesInProcess(source)),
    "factorised": lambda source: FactorisedCounter(
        32, Epsilon.requested(1), Fraction(1, 10**6), TrustedCurator(source)
    ),
    "pan-private": lambda source: PanPrivateCounter(32, Epsilon.requested(1), source),
}


@pytest.mark.parametrize("name", COUNTERS)
def test_every_counter_says_what_its_largest_error_is(name: str) -> None:
    # n = 100 streams: at a failure of 0.1 at most 10 in the mean are further off; four deviations are 12 more.  A bound
    # of half of it is passed by most.
    missed = halved = 0
    for seed in range(100):
        counter = COUNTERS[name](SeededSource(seed))
        running, bound = counter.start(), counter.largest_error(0.1)
        off = max(abs(running.update(np.zeros(0, np.int64))) for _ in range(32))
        missed, halved = missed + (off > bound), halved + (off > bound / 2)
    assert missed <= 22
    assert halved > 30
    with pytest.raises(InvalidParameter):
        counter.largest_error(0)
