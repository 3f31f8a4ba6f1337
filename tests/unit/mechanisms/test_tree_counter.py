"""The tree counter: which intervals an event is in, the variance at every step, and its two ways of being run."""

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, InvalidRecord
from localdp.mechanisms.adder import Adder, Rows, SharesInProcess, TrustedCurator
from localdp.mechanisms.tree_counter import TreeCounter
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import Integers

ONE, QUIET = Epsilon.requested(1), Epsilon.requested(30)


class Recording(TrustedCurator):
    """A curator without noise who remembers what it was asked for."""

    asked: list[tuple[Integers, int]]

    def noisy_sums(self, rows: Rows, sensitivity: int, epsilon: Epsilon) -> Integers:
        assert isinstance(rows, np.ndarray)
        sums: Integers = rows.sum(axis=0)
        self.asked.append((sums, sensitivity))
        return sums


def recording() -> Recording:
    adder = Recording(SeededSource(1))
    object.__setattr__(adder, "asked", [])
    return adder


@pytest.mark.parametrize("steps", [1, 2, 8, 64])
def test_an_event_moves_at_most_one_interval_on_each_level(steps: int) -> None:
    adder = recording()
    counter = TreeCounter(steps, ONE, adder, bound=3)
    moved = []
    for step in range(steps):
        stream = np.zeros(steps, np.int64)
        stream[step] = 3
        assert counter.release(stream).tolist() == np.cumsum(stream).tolist()
        moved.append(int(np.abs(adder.asked[-1][0]).sum()))
    assert max(moved) == adder.asked[0][1] == counter.sensitivity == 3 * (int(np.log2(steps)) + 1)


@pytest.mark.parametrize("steps", [1, 4, 32])
def test_step_by_step_asks_for_the_same_intervals(steps: int) -> None:
    whole, single = recording(), recording()
    stream = np.random.default_rng(3).integers(0, 5, steps)
    counts = TreeCounter(steps, ONE, whole, bound=5).release(stream)
    running = TreeCounter(steps, ONE, single, bound=5).start()
    assert (
        [running.update(np.array([value])) for value in stream]
        == counts.tolist()
        == np.cumsum(stream).tolist()
    )
    assert [int(sums[0]) for sums, _ in single.asked] == whole.asked[0][0].tolist()


def test_the_variance_is_that_of_one_noise_for_each_binary_digit() -> None:
    """Exactly: a noise of 1 on every interval shows how many of them an answer holds."""

    class OneMore(Recording):
        def noisy_sums(self, rows: Rows, sensitivity: int, epsilon: Epsilon) -> Integers:
            return Recording.noisy_sums(self, rows, sensitivity, epsilon) + 1

    adder = OneMore(SeededSource(1))
    object.__setattr__(adder, "asked", [])
    counter = TreeCounter(256, ONE, adder)
    assert counter.release(np.zeros(256, np.int64)).tolist() == [step.bit_count() for step in range(1, 257)]
    running = counter.start()
    assert [running.update(np.zeros(0, np.int64)) for _ in range(256)] == [
        step.bit_count() for step in range(1, 257)
    ]
    law = counter.node_noise
    assert [counter.variance(step) for step in (1, 7, 256)] == [
        law.variance(),
        3 * law.variance(),
        law.variance(),
    ]


def test_the_errors_of_the_reference() -> None:
    counter = TreeCounter(1024, ONE, TrustedCurator(SeededSource(1)))
    assert counter.root_mean_square == pytest.approx(34.78, abs=0.005)  # 34.8 with continuous noise
    assert np.sqrt(np.mean([counter.variance(t) for t in range(1, 1025)])) == pytest.approx(
        counter.root_mean_square
    )
    largest = np.sqrt(max(counter.variance(t) for t in range(1, 1025)))
    assert largest == pytest.approx(49.2, abs=0.05)


@pytest.mark.parametrize("adder", [TrustedCurator(SeededSource(8)), SharesInProcess(SeededSource(9))])
def test_the_measured_error_is_the_predicted_one(adder: Adder) -> None:
    """n = 60 streams of 256 steps: the mean square within 15 %."""
    counter, stream = TreeCounter(256, ONE, adder), np.ones(256, np.int64)
    errors = np.array([counter.release(stream) - np.cumsum(stream) for _ in range(60)])
    assert np.sqrt((errors**2).mean()) == pytest.approx(counter.root_mean_square, rel=0.075)
    running = counter.start()
    stepwise = [running.update(np.ones(1, np.int64)) - step - 1 for step in range(256)]
    assert np.sqrt(np.mean(np.square(stepwise))) == pytest.approx(counter.root_mean_square, rel=0.5)


def test_what_is_no_stream_is_refused() -> None:
    curator = TrustedCurator(SeededSource(1))
    for steps, bound in ((0, 1), (3, 1), (1 << 21, 1), (4, 0)):
        with pytest.raises(InvalidParameter):
            TreeCounter(steps, ONE, curator, bound)
    counter = TreeCounter(4, QUIET, curator, bound=2)
    for stream in (np.zeros(3, np.int64), np.array([0, 0, 0, -1]), np.zeros(4), np.array([1 << 39] * 4)):
        with pytest.raises(InvalidRecord):
            counter.release(stream)
    running = counter.start()
    for events in (np.array([3]), np.array([[1]]), np.array([0.5])):
        with pytest.raises(InvalidRecord):
            running.update(events)
    assert [running.update(np.array([1, 2])) for _ in range(4)] == [3, 6, 9, 12]
    with pytest.raises(InvalidParameter, match="over"):
        running.update(np.array([1]))
