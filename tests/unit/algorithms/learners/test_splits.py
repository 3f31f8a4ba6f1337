"""Information gain, its error under noise, and tables made to agree."""

import math

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from localdp.algorithms.learners.binning import binned
from localdp.algorithms.learners.splits import (
    Branching,
    best_split,
    candidate_splits,
    consistent,
    contenders,
    expected_gain,
    information,
    judged,
    weighted_mean,
)
from localdp.domains import BitDomain, CategoryDomain, RealDomain, Schema

SCHEMA = Schema({"x": BitDomain(), "c": CategoryDomain(("u", "v", "w")), "r": RealDomain(0, 1)})
BIT, LABEL, NUMBER = binned(SCHEMA, SCHEMA.names, None, 4)


def eta(distance: float) -> float:
    return -distance * math.log(distance)


@pytest.mark.parametrize("seed", range(5))
def test_information_is_mutual_information_times_the_total(seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 50, (4, 3))
    rows, columns = np.nonzero(counts)
    again = counts[rows, columns]
    expected = mutual_info_score(np.repeat(rows, again), np.repeat(columns, again))
    assert information(counts / 1000) == pytest.approx(expected * counts.sum() / 1000)


def test_empty_and_negative_cells_are_no_information() -> None:
    assert information(np.zeros((2, 2))) == 0.0
    assert information(np.array([[-0.1, -0.2], [-0.1, 0.0]])) == 0.0
    assert information(np.array([[0.25, -0.1], [0.0, 0.25]])) == pytest.approx(0.5 * math.log(2))


@pytest.mark.parametrize("tolerance", [1e-4, 1e-3, 1e-2])
def test_gains_move_by_no_more_than_the_claim_and_not_by_nothing(tolerance: float) -> None:
    rng, worst = np.random.default_rng(1), 0.0
    for _ in range(500):
        cells = rng.dirichlet(np.full(4, 0.5)).reshape(2, 2) * rng.choice([0.1, 0.5, 1.0])
        noise = tolerance * rng.choice([-1.0, 1.0], (2, 2))
        worst = max(worst, abs(information(cells + 4 * noise) - information(cells)))
    assert 0.1 * eta(8 * tolerance) < worst <= 9 * eta(8 * tolerance)


@pytest.mark.parametrize("rows", [(0.5, 0.5), (0.9, 0.1), (0.6, 0.3, 0.1)])
@pytest.mark.parametrize("columns", [(0.5, 0.5), (0.95, 0.05), (0.4, 0.4, 0.2)])
def test_the_noise_of_a_gain_is_what_noise_alone_gains(
    rows: tuple[float, ...], columns: tuple[float, ...]
) -> None:
    """4,000 gains, of rows that say nothing: with one degree of freedom their mean is good to sqrt(2 / 4000) = 2.2 %."""
    variances, mass, rng = np.linspace(1e-9, 2e-9, len(rows)), 0.5, np.random.default_rng(2)
    cells = mass * np.outer(rows, columns)
    gains = [
        information(cells + rng.normal(0, np.sqrt(variances)[:, None], cells.shape)) for _ in range(4000)
    ]
    assert np.mean(gains) / expected_gain(cells, variances.tolist()) == pytest.approx(1, abs=0.1)


def test_a_category_splits_into_all_of_its_labels() -> None:
    table = np.arange(6.0).reshape(3, 2)
    (found,) = candidate_splits(LABEL, table, 1.0)
    assert found.conditions == LABEL.bins
    assert np.array_equal(found.classes, table)


def test_a_number_splits_below_and_above_each_edge() -> None:
    table = np.arange(8.0).reshape(4, 2)
    splits = list(candidate_splits(NUMBER, table, 1.0))
    assert [each.conditions for each in splits][1] == ("r <= 0.5", "r > 0.5")
    assert splits[0].classes.tolist() == [[0, 1], [12, 15]]
    assert splits[0].variance == (1.0, 3.0)
    assert splits[0].noise == expected_gain(splits[0].classes, (1.0, 3.0))


def split(gain: float, noise: float, masses: tuple[float, ...] = (0.5, 0.5)) -> Branching:
    classes = np.array([[mass, 0.0] for mass in masses])
    return Branching(("a",) * len(masses), classes, (0.01,) * len(masses), gain, noise)


@pytest.mark.parametrize(
    ("found", "exceeds"),
    [
        (split(0.05, 0.01), True),
        (split(0.03, 0.01), False),
        (split(0.05, 0.01, (0.7, 0.3)), True),
        (split(0.05, 0.01, (0.9, 0.2)), False),
        (split(0.05, 0.01, (0.5, 0.4, 0.0)), True),
        (split(0.05, 0.01, (0.9, 0.1, 0.0)), False),
    ],
)
def test_noise_of_two_deviations_may_make_neither_the_gain_nor_a_branch(
    found: Branching, exceeds: bool
) -> None:
    """A branch has two cells of variance 0.01, so its mass a standard deviation of 0.14."""
    assert found.exceeds_noise(2.0) == exceeds


def test_of_two_splits_the_noisier_one_has_to_gain_more() -> None:
    quiet, noisy = split(0.50, 0.01), split(0.52, 0.10)
    assert best_split([noisy, quiet], 1.0) is quiet
    assert best_split([noisy, split(0.02, 0.01)], 1.0) is noisy
    assert best_split([split(0.0, 0.0)], 1.0) is None


def test_features_contend_while_they_may_be_better_by_what_matters() -> None:
    best = split(0.25, 0.0001)  # an effect of 0.5, known up to 0.01
    assert contenders(best, [[best], [split(0.01, 0.0001)]]) == []
    assert contenders(best, [[best], [split(0.24, 0.01)]]) == [0, 1]
    assert contenders(best, [[best], [split(0.24, 0.0001)]]) == []  # better by next to nothing at most
    assert contenders(None, [[split(0.01, 0.1)], [], [split(0.0, 0.1)]]) == [0, 2]
    assert contenders(None, [[split(0.0, 0.0)]]) == []  # without noise there is nothing more to see


def test_a_leaf_of_one_class_is_not_worth_asking_about() -> None:
    pure, mixed = np.array([[0.25, 0.0], [0.25, 0.0]]), np.full((2, 2), 0.125)
    verdicts = [judged([BIT], [table], [1e-4], (np.zeros(2), np.inf), 1.0) for table in (pure, mixed)]
    assert [verdict.contenders for verdict in verdicts] == [(), (0,)]
    assert verdicts[0].variance == pytest.approx(2e-4)


def test_what_the_path_has_decided_is_not_asked_again() -> None:
    path = ["r > 0.25", "not x", "r <= 0.75"]
    number, bit = (column.narrowed(column.reachable(path)) for column in (NUMBER, BIT))
    assert number.bins == ("r > 0.25 and r <= 0.5", "r > 0.5 and r <= 0.75")
    splits = candidate_splits(number, np.full((2, 2), 0.125), 1.0)
    assert [each.conditions for each in splits] == [("r <= 0.5", "r > 0.5")]
    assert bit.bins == ("not x",) and LABEL.reachable(path) == range(3)
    assert not list(candidate_splits(bit, np.full((1, 2), 0.125), 1.0))


def test_tables_that_speak_of_the_same_people_agree_on_their_classes() -> None:
    rng = np.random.default_rng(3)
    tables = [rng.random((2, 2)), rng.random((3, 2)), rng.random((4, 2))]
    agreed = consistent(tables, [0.1, 0.2, 0.3], np.array([0.4, 0.6]), 0.05)
    sums = np.array([table.sum(axis=0) for table in agreed])
    assert np.allclose(sums, sums[0])


def test_cells_that_agree_are_off_by_at_most_four_times_the_tolerance() -> None:
    rng = np.random.default_rng(4)
    truth = [np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[0.2, 0.1], [0.2, 0.5]])]
    worst = 0.0
    for _ in range(300):
        told = [table + 0.01 * rng.choice([-1, 1], (2, 2)) for table in truth]
        known = np.array([0.4, 0.6]) + 0.04 * rng.choice([-1, 1], 2)
        agreed = consistent(told, [1e-4, 1e-4], known, 1e-4)
        worst = max(worst, *(float(np.abs(a - b).max()) for a, b in zip(agreed, truth, strict=True)))
    assert 0.02 < worst <= 0.04


def test_values_without_variance_are_believed_alone() -> None:
    values = [np.array([1.0]), np.array([3.0]), np.array([5.0])]
    assert weighted_mean(values, [0.0, 1.0, 0.0]).tolist() == [3.0]
    assert weighted_mean(values, [1.0, 1.0, np.inf]).tolist() == [2.0]
