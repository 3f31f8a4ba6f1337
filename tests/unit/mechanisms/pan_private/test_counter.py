"""The pan-private counter: its joint view is enumerated, and so are the views of what only looks like it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import BudgetExhausted, InvalidParameter, InvalidRecord
from localdp.mechanisms.adder import TrustedCurator
from localdp.mechanisms.pan_private import PanPrivateCounter
from localdp.mechanisms.pan_private.counter import RunningPanPrivate
from localdp.mechanisms.tree_counter import TreeCounter
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import IntegerLaw, Integers, RandomSource
from localdp.sharing.noise_plans import NoisePlan, ServerNoise

ONE = Epsilon.requested(1)
STEPS = 4
# Noise on the whole numbers modulo 3, with odds of 3 : 2: one unit of shift costs log(3/2), just as of the real law.
CYCLE, WEIGHTS = 3, IntegerLaw((3, 2, 2))
UNIT = Fraction(3, 2)
View = tuple[int, ...]


class CyclicNoise:
    """In the place of discrete Laplace noise: finite, so that every coin can be followed."""

    def draw(self, source: RandomSource, length: int) -> Integers:
        return source.categorical(WEIGHTS, length)


@pytest.fixture
def finite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ServerNoise, "draw", lambda self, source, length: CyclicNoise().draw(source, length)
    )


def streams() -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Streams of four steps that differ by one in one event."""
    for event in range(STEPS):
        yield (0,) * STEPS, tuple(int(step == event) for step in range(STEPS))


def view(stream: tuple[int, ...], seen_after: tuple[int, ...], source: RandomSource) -> View:
    """All outputs, and the states after these steps, of an intruder whom nobody notices."""
    running = PanPrivateCounter(STEPS, ONE, source).start()
    told: list[int] = []
    for step in range(STEPS + 1):
        told += [running.update(np.array([stream[step - 1]]))] if step else []
        if step in seen_after:
            told += [one for state in running._state() for one in (state.counter, *state.alive)]
    return tuple(one % CYCLE for one in told)


def worst(make: Callable[[tuple[int, ...], RandomSource], View]) -> Fraction | None:
    """The largest ratio of the same view under neighbouring streams; None is infinity."""
    largest = Fraction(1)
    for one, other in streams():
        here, there = (enumerate_law(lambda source, s=stream: make(s, source)) for stream in (one, other))  # type: ignore[misc]
        for a, b in ((here, there), (there, here)):
            if a.keys() - b.keys():
                return None
            largest = max(largest, *(mass / b[seen] for seen, mass in a.items()))
    return largest


@pytest.mark.usefixtures("finite")
@pytest.mark.parametrize("after", range(STEPS + 1))
def test_all_outputs_and_the_state_before_and_after_any_step_are_private(after: int) -> None:
    # 1 + L = 3 noises of a third of epsilon each: three units, and no more.
    ratio = worst(lambda stream, source: view(stream, (after,), source))
    assert ratio is not None
    assert 1 < ratio <= UNIT**3


@pytest.mark.usefixtures("finite")
def test_a_state_that_is_seen_twice_tells_what_came_between() -> None:
    assert worst(lambda stream, source: view(stream, (2, 3), source)) is None


@pytest.mark.usefixtures("finite")
@pytest.mark.parametrize("broken", ["no first noise", "dead noises are kept"])
def test_broken_counters_are_caught(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if broken == "no first noise":
        begin = RunningPanPrivate._begin

        def bare(self: RunningPanPrivate, count: int) -> None:
            begin(self, count)
            self._counters = self._shares(count)

        monkeypatch.setattr(RunningPanPrivate, "_begin", bare)
    if (
        broken == "dead noises are kept"
    ):  # a noise that never dies is known from the state, and hides nothing any more
        monkeypatch.setattr(RunningPanPrivate, "_renew_noises", _drawn_once)
    ratio = worst(lambda stream, source: view(stream, (2,), source))
    assert ratio is None or ratio > UNIT**3


def _drawn_once(running: RunningPanPrivate) -> None:
    for alive in running._alive:
        alive.extend(running._drawn() for _ in range(len(running.mechanism.lengths) - len(alive)))


@pytest.mark.usefixtures("finite")
def test_a_counter_that_draws_its_noises_when_it_begins_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: who looked before the first step knows all that hides what comes in it."""
    begin, renew = RunningPanPrivate._begin, RunningPanPrivate._renew_noises

    def early(self: RunningPanPrivate, count: int) -> None:
        begin(self, count)
        _drawn_once(self)

    monkeypatch.setattr(RunningPanPrivate, "_begin", early)
    monkeypatch.setattr(RunningPanPrivate, "_renew_noises", lambda self: renew(self) if self.step else None)
    assert worst(lambda stream, source: view(stream, (0,), source)) is None


@pytest.mark.usefixtures("finite")
def test_the_state_of_figure_12_1_is_not_private() -> None:
    class Cyclic(TrustedCurator):
        def noisy_sums(self, rows, sensitivity, epsilon):  # type: ignore[no-untyped-def]
            return rows.sum(axis=0) + CyclicNoise().draw(self.source, rows.shape[1])

    def seen(stream: tuple[int, ...], source: RandomSource) -> View:
        running = TreeCounter(STEPS, ONE, Cyclic(source)).start()
        told = [running.update(np.array([value])) for value in stream[:3]]
        return (*(one % CYCLE for one in told), *running._open.values())

    assert worst(seen) is None  # its open sums are those of the records


@pytest.mark.parametrize("steps", [8, 32])
def test_one_event_moves_at_most_one_unit_in_one_noise_more_than_there_are_lengths(steps: int) -> None:
    """The bijection of the proof, for the real counter: the same outputs and the same state, from noises that are moved."""
    lengths = steps.bit_length() - 1
    largest = 0
    for event, after in product(range(1, steps + 1), repeat=2):
        moved = shifts(steps, event, after)
        largest = max(largest, sum(map(abs, moved.values())))
        for step in range(1, steps + 1):
            live = [(n, (step - 1) // n) for n in lengths_of(steps)]
            counter = int(step >= event) + moved.get((0, 0), 0)
            assert counter + sum(moved.get(one, 0) for one in live) == 0  # the output
            if step == after:
                assert counter == 0
                assert not any(moved.get(one) for one in live)
    assert largest == 1 + lengths


def lengths_of(steps: int) -> list[int]:
    return [1 << level for level in range(steps.bit_length() - 1)]


def shifts(steps: int, event: int, after: int) -> dict[tuple[int, int], int]:
    """Which noises are moved, by length and place; (0, 0) is the counter's first one."""
    if after < event:
        return dict.fromkeys(covering(event - 1, steps, steps), -1)
    return {(0, 0): -1, **dict.fromkeys(covering(0, event - 1, steps), 1)}


def covering(start: int, stop: int, steps: int) -> list[tuple[int, int]]:
    """The fewest dyadic intervals of less than all steps that make up steps start + 1 to stop."""
    found = []
    while start < stop:
        length = max(n for n in lengths_of(steps) if start % n == 0 and start + n <= stop)
        found.append((length, start // length))
        start += length
    return found


@pytest.mark.parametrize(("steps", "servers", "plan", "told"), [
    (64, 1, "each-server", 26.2), (1024, 1, "each-server", 51.6),
    (1024, 2, "divided", 51.6), (1024, 2, "each-server", 51.6 * math.sqrt(2)),
])  # fmt: skip
def test_the_error_is_that_of_all_noises_in_a_count(
    steps: int, servers: int, plan: str, told: float
) -> None:
    counter = PanPrivateCounter(steps, ONE, SeededSource(1), servers, NoisePlan.parse(plan))
    assert counter.root_mean_square == pytest.approx(told, rel=0.003)
    tree = TreeCounter(steps, ONE, TrustedCurator(SeededSource(1)))
    assert counter.root_mean_square > tree.root_mean_square


@pytest.mark.parametrize(("servers", "plan", "factor"), [
    (1, "each-server", 1.0), (3, "divided", 1.0), (2, "each-server", 2.0),
])  # fmt: skip
def test_measured_errors_are_those_and_the_counts_add_up(servers: int, plan: str, factor: float) -> None:
    # n = 200 runs of T = 16; the mean square of a run deviates by less than 0.7 of its mean, and four deviations are 0.2.
    errors = []
    for seed in range(200):
        counter = PanPrivateCounter(16, ONE, SeededSource(seed), servers, NoisePlan.parse(plan))
        running = counter.start()
        counts = [running.update(np.ones(step % 3, np.int64)) for step in range(16)]
        errors.append(np.mean((np.array(counts) - np.cumsum(np.arange(16) % 3)) ** 2))
    predicted = PanPrivateCounter(16, ONE, SeededSource(0)).root_mean_square ** 2 * factor
    assert np.mean(errors) == pytest.approx(predicted, rel=0.2)


def test_the_error_that_is_told_is_that_of_a_counter_made_anew_so_often() -> None:
    # n = 400 runs of a count: four deviations of a root mean square are 16 %; without the renewals it is off by 42 %.
    errors = []
    for seed in range(400):
        running = PanPrivateCounter(16, ONE, SeededSource(seed)).start()
        for _ in range(2):
            running.update(np.ones(1, np.int64))
            running.seen()
            running.renew()
        errors.append(running.update(np.ones(1, np.int64)) - 3)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(running.root_mean_square, rel=0.16)
    assert running.root_mean_square == pytest.approx(running.mechanism.root_mean_square * math.sqrt(3))


def test_the_largest_error_holds_for_all_counts_and_not_for_a_tenth_of_it() -> None:
    counter = PanPrivateCounter(16, ONE, SeededSource(3))
    bound, missed, smaller = counter.largest_error(0.05), 0, 0
    for seed in range(300):
        running = PanPrivateCounter(16, ONE, SeededSource(seed)).start()
        off = max(abs(running.update(np.zeros(0, np.int64))) for _ in range(16))
        missed += off > bound
        smaller += off > bound / 3
    assert missed <= 30  # of 300 at 0.05, which has at most 15 in the mean: four deviations more
    assert smaller > 100


def test_a_state_that_was_seen_is_not_gone_on_with_until_it_is_made_anew() -> None:
    running = PanPrivateCounter(16, ONE, SeededSource(4)).start()
    told = running.update(np.ones(3, np.int64))
    before = running.seen()
    with pytest.raises(BudgetExhausted, match="renew"):
        running.update(np.ones(1, np.int64))
    running.renew()
    after = running._state()
    assert after != before
    assert abs(running.update(np.ones(2, np.int64)) - told - 2) <= running.mechanism.largest_error(1e-6)
    running.seen()
    running.seen()
    with pytest.raises(BudgetExhausted, match="twice"):
        running.renew()


def test_the_state_of_a_server_is_a_share_and_all_of_them_add_up_to_the_counter() -> None:
    counter = PanPrivateCounter(8, ONE, SeededSource(5), 2)
    running = counter.start()
    running.update(np.ones(4, np.int64))
    one, other = running.seen()
    assert min(one.counter, other.counter) > 1 << 40  # each by itself is anything in the field
    assert "one intrusion" not in counter.claim.statement()
    assert "all of the state once" in counter.claim.statement()


@pytest.mark.parametrize(("steps", "bound"), [(12, 1), (1, 1), (0, 1), (8, 0)])
def test_what_is_no_counter_is_refused(steps: int, bound: int) -> None:
    with pytest.raises(InvalidParameter):
        PanPrivateCounter(steps, ONE, SeededSource(1), bound=bound)


def test_events_out_of_bounds_and_steps_after_the_last_are_refused() -> None:
    running = PanPrivateCounter(2, ONE, SeededSource(1)).start()
    with pytest.raises(InvalidRecord):
        running.update(np.array([2]))
    for _ in range(2):
        running.update(np.array([1]))
    with pytest.raises(InvalidParameter, match="over"):
        running.update(np.array([1]))


@pytest.mark.usefixtures("finite")
@pytest.mark.parametrize("at_once", [False, True])
def test_made_anew_it_may_be_seen_once_more_and_an_event_costs_no_more(at_once: bool) -> None:
    """Two looks, with a renewal between them: the joint view is still private at epsilon, also if the intruder stayed."""

    def seen(stream: tuple[int, ...], source: RandomSource) -> View:
        running = PanPrivateCounter(2, ONE, source).start()
        told = [running.update(np.array([stream[0]])), *looked(running)]
        running.renew()
        told += looked(running) if at_once else []
        running.intrusions.noticed = running.intrusions.renewed  # whom nobody notices
        told.append(running.update(np.array([stream[1]])))
        told += [] if at_once else looked(running)
        return tuple(one % CYCLE for one in told)

    ratio = worst(seen)
    assert ratio is not None
    assert ratio <= UNIT**2  # of two noises, as 1 + L is for two steps


def looked(running: RunningPanPrivate) -> list[int]:
    return [one for state in running.seen() for one in (state.counter, *state.alive)]
