"""Database update algorithms against adversaries: no sequence of mistakes is longer than T(alpha)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.algorithms.release.updates import (
    DatabaseUpdate,
    Halving,
    MeasuredWeights,
    MultiplicativeWeights,
    Perceptron,
    small_databases,
)
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.estimation.multiplicative_weights import stepped

Floats = NDArray[np.float64]
Choose = Callable[[Floats, Floats], int]
GENERATOR = np.random.default_rng(1)
QUERIES = (GENERATOR.random((80, 16)) < 0.4).astype(float)
TRUTHS = [np.eye(16)[3], GENERATOR.dirichlet(np.full(16, 0.2)), np.repeat([0.24, 0.01], [4, 12]) / 1.08]
CHOICES: dict[str, Choose] = {
    "largest": lambda gaps, alpha: int(np.argmax(gaps)),
    "smallest": lambda gaps, alpha: int(np.argmin(np.where(gaps >= alpha, gaps, np.inf))),
    "first": lambda gaps, alpha: int(np.argmax(gaps >= alpha)),
    "last": lambda gaps, alpha: len(gaps) - 1 - int(np.argmax(gaps[::-1] >= alpha)),
}
UPDATES = [MultiplicativeWeights(), MultiplicativeWeights(tight=True), Perceptron()]


def told(truth: float, guess: float, alpha: float, number: int) -> float:
    """A value within alpha of the truth: as near to the guess as is allowed, as far, or the truth, in turn."""
    side = np.sign(guess - truth)
    return float(truth + side * alpha * (0.999, -0.999, 0.0)[number % 3])


def mistakes(update: DatabaseUpdate, rows: Floats, truth: Floats, alpha: float, choose: Choose) -> int:
    """The length of an update sequence that an adversary draws out; it gives up one beyond the bound."""
    state, bound = update.start(rows.shape[1]), update.bound(alpha, rows)
    for number in range(bound + 1):
        answers = update.answers(state, rows)
        gaps = np.abs(rows @ truth - answers)
        if gaps.max() < alpha:
            return number
        place = choose(gaps, np.asarray(alpha))
        value = told(float(rows[place] @ truth), float(answers[place]), alpha, number)
        state = update.update(state, rows[place], value, alpha)
    return bound + 1


def made_up_mistakes(update: DatabaseUpdate, truth: Floats, alpha: float, bound: int) -> int:
    """The same, by an adversary that makes up queries: the least telling ones, off by alpha and no more."""
    state = update.start(len(truth))
    for number in range(bound + 1):
        excess = truth - update.distribution(state)
        query = (excess > 0) if number % 2 else (excess < 0)
        gap = float(np.abs(excess[query].sum()))
        if gap < alpha:
            return number
        row = np.where(query, alpha / gap, 0.0) + (1 - alpha / gap) * (number % 4 > 1)
        answer = float(update.answers(state, row[None, :])[0])
        value = told(float(row @ truth), answer, alpha, number)
        state = update.update(state, row, value, alpha)
    return bound + 1


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize("update", UPDATES, ids=repr)
def test_no_adversary_draws_out_more_mistakes_than_the_bound(
    update: DatabaseUpdate, choose: str, alpha: float
) -> None:
    for truth in TRUTHS:
        assert mistakes(update, QUERIES, truth, alpha, CHOICES[choose]) <= update.bound(alpha, QUERIES)


@pytest.mark.parametrize("update", UPDATES[:2], ids=repr)
def test_the_bound_holds_for_made_up_queries_too_and_is_not_vacuous(update: DatabaseUpdate) -> None:
    bound = update.bound(0.05, QUERIES)
    longest = max(made_up_mistakes(update, truth, 0.05, bound) for truth in TRUTHS)
    assert bound / 25 < longest <= bound


def test_the_bounds_are_those_of_the_table() -> None:
    assert MultiplicativeWeights().bound(0.1, QUERIES) == int(4 * np.log(16) / 0.01)
    assert MultiplicativeWeights(tight=True).bound(0.1, QUERIES) == int(np.log(16) / 0.02)
    lengths = ((QUERIES - QUERIES.mean(axis=1)[:, None]) ** 2).sum(axis=1)
    assert Perceptron().bound(0.1, QUERIES) == pytest.approx(15 / 16 * lengths.max() / 0.01, abs=1)


class WrongSide(MultiplicativeWeights):
    """A broken twin: moves away from the value."""

    def update(self, state: Floats, row: Floats, value: float, alpha: float) -> Floats:
        return stepped(state, (-1 if value > float(row @ state) else 1) * alpha / 2 * row)


class RateTooLarge(MultiplicativeWeights):
    """A broken twin: a rate at which a step may undo more than it mends."""

    def update(self, state: Floats, row: Floats, value: float, alpha: float) -> Floats:
        return stepped(state, (1 if value > float(row @ state) else -1) * 64 * alpha * row)


@pytest.mark.parametrize("twin", [WrongSide(tight=True), RateTooLarge(tight=True)])
def test_broken_twins_are_caught(twin: DatabaseUpdate) -> None:
    bound = twin.bound(0.05, QUERIES)
    counts = [
        mistakes(twin, QUERIES, truth, 0.05, choose) for truth in TRUTHS for choose in CHOICES.values()
    ]
    assert max(counts) > bound


def net() -> Halving:
    return Halving(small_databases(4, 8))


SMALL = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(float)  # every subset of four cells


@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize("seed", range(4))
def test_halving_makes_no_more_mistakes_than_the_logarithm_of_its_class(choose: str, seed: int) -> None:
    # A database of 8 records is within 1/8 of any distribution over 4 cells, in every subset of cells.
    truth = np.random.default_rng(seed).dirichlet(np.ones(4))
    assert net().bound(0.26, SMALL) == 7 == int(np.log2(165))
    assert mistakes(net(), SMALL, truth, 0.26, CHOICES[choose]) <= 7


def test_a_small_database_is_near_every_distribution() -> None:
    candidates = small_databases(4, 8)
    assert candidates.shape == (165, 4) and (candidates >= 0).all()
    assert len(np.unique(candidates, axis=0)) == 165
    np.testing.assert_allclose(candidates.sum(axis=1), 1)
    for seed in range(20):
        truth = np.random.default_rng(seed).dirichlet(np.ones(4))
        assert np.abs((candidates - truth) @ SMALL.T).max(axis=1).min() <= 1 / 8 + 1e-9
    assert small_databases(1, 3).tolist() == [[1.0]]


def test_halving_drops_at_least_half_and_says_so_when_nothing_is_left() -> None:
    halving, state = net(), net().start(4)
    row = SMALL[5]
    for side in (1.0, 0.0):
        assert len(halving.update(state, row, side, 0.1)) <= len(state) / 2
    alone = halving.candidates[:1]
    with pytest.raises(SignalTooWeak):
        halving.update(alone, row, 2.0, 0.1)
    np.testing.assert_allclose(halving.distribution(state), 0.25)


def test_measured_weights_fit_what_was_measured() -> None:
    update, truth = MeasuredWeights(repetitions=200), TRUTHS[1]
    state: Any = update.start(16)
    for row in QUERIES[:6]:
        state = update.update(state, row, float(row @ truth), 0.1)
    np.testing.assert_allclose(update.answers(state, QUERIES[:6]), QUERIES[:6] @ truth, atol=0.01)
    assert update.distribution(state).sum() == pytest.approx(1)


def test_a_perceptron_ends_in_a_distribution_and_learns_nothing_from_a_constant() -> None:
    update, truth = Perceptron(), TRUTHS[0]
    state = update.start(16)
    assert (update.update(state, np.ones(16), 5.0, 0.1) == state).all()
    for row in QUERIES:
        state = update.update(state, row, float(row @ truth), 0.1)
    assert state.min() < 0 <= update.distribution(state).min()
    assert update.distribution(state).sum() == pytest.approx(1)


def test_classes_without_candidates_or_of_other_universes_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        Halving(np.zeros((0, 4)))
    with pytest.raises(InvalidParameter):
        net().start(5)
    for cells, records in ((0, 3), (3, 0), (64, 20)):
        with pytest.raises(InvalidParameter):
            small_databases(cells, records)
