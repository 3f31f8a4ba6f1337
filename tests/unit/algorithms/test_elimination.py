"""Parity by linear equations: its exact law, and that it finds what can be found."""

from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.parity.elimination import ParityElimination
from localdp.algorithms.parity.learner import parity_of
from localdp.errors import InvalidParameter
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import RandomSource

ONE = Epsilon.requested(1)
Law = dict[int | None, Fraction]


def examples(words: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Words of three bits as rows of two features and a label."""
    table = np.array([[word >> bit & 1 for bit in range(3)] for word in words], np.bool_)
    return table[:, :2], table[:, 2]


def law(words: tuple[int, ...], learner: ParityElimination) -> Law:
    rows, labels = examples(words)
    return dict(enumerate_law(lambda source: learner.learn(rows, labels, source)))


def largest_ratio(learner: ParityElimination) -> Fraction:
    """Over all tables of two examples, all changes of the first one, and all outcomes."""
    laws = {words: law(words, learner) for words in product(range(8), repeat=2)}
    worst = Fraction(0)
    for first, second in product(range(8), repeat=2):
        for changed in range(8):
            here, there = laws[first, second], laws[changed, second]
            for outcome, mass in here.items():
                assert outcome in there  # nothing is possible for one and impossible for the other
                worst = max(worst, mass / there[outcome])
    return worst


def test_the_largest_ratio_is_exactly_the_claim() -> None:
    learner = ParityElimination(ONE)
    assert Epsilon.of_ratio(largest_ratio(learner)) == learner.epsilon
    assert ONE.nanonats - 1 <= learner.epsilon.nanonats <= ONE.nanonats


class KeepsTooMany(ParityElimination):
    """Broken: as if epsilon were twice what it is."""

    __slots__ = ()

    @property
    def keep(self) -> int:
        return ParityElimination(self.requested * 2).keep


class NeverStopsByItself(ParityElimination):
    """Broken: stops only when the equations contradict each other, and so tells that they do."""

    __slots__ = ()

    def learn(self, rows: np.ndarray, labels: np.ndarray, source: RandomSource) -> int | None:
        found = super().learn(rows, labels, source)
        return 0 if found is None and (rows.any(axis=1) | ~labels).all() else found


def test_a_learner_that_keeps_too_many_examples_is_caught() -> None:
    assert Epsilon.of_ratio(largest_ratio(KeepsTooMany(ONE))) > ONE


def test_a_learner_that_stops_only_for_a_reason_is_caught() -> None:
    contradiction, consistent = (
        law((0b100,), NeverStopsByItself(ONE)),
        law((0b000,), NeverStopsByItself(ONE)),
    )
    assert None in contradiction
    assert None not in consistent


def test_solutions_are_uniform_among_those_of_the_kept_equations() -> None:
    # One equation x_0 = 1: kept or not, and what is not determined is a fair coin.
    found = law((0b101,), ParityElimination(ONE))
    by_first: dict[int, Fraction] = defaultdict(Fraction)
    for mask in range(4):
        by_first[mask & 1] += found[mask]
    keep = Fraction(ParityElimination(ONE).keep, 2**64)
    assert found[1] == found[3]
    assert found[0] == found[2]
    assert by_first[0] == (1 - keep) / 4
    assert found[None] == Fraction(1, 2)


@pytest.mark.parametrize(("dimension", "people"), [(64, 400), (256, 1500)])
def test_the_parity_is_found_whenever_the_curator_does_not_stop(dimension: int, people: int) -> None:
    generator = np.random.default_rng(3)
    stopped = 0
    for trial in range(20):
        mask = int.from_bytes(generator.bytes(dimension // 8), "little")
        rows = generator.random((people, dimension)) < 0.5
        found = ParityElimination(ONE).learn(rows, parity_of(rows, mask), SeededSource(trial))
        stopped += found is None
        assert found in (None, mask)
    assert 4 <= stopped <= 16  # half of the time; outside but for 0.3 %


def test_what_are_no_examples_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        ParityElimination(ONE).learn(np.ones(3, np.bool_), np.ones(3, np.bool_), SeededSource(1))
