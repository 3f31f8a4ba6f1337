"""The fit of a tree and its variances, against dense linear algebra."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.estimation.tree_consistency import LevelTree
from localdp.randomizers.hierarchy import constrained_inference

TREES = [
    LevelTree(2, (1.0, 2.0, 0.5)),
    LevelTree(4, (0.3, 1.0)),
    LevelTree(3, (1.0,)),
    LevelTree(2, (1.0,) * 4),
]
Floats = NDArray[np.float64]


def design(tree: LevelTree) -> tuple[Floats, Floats]:
    """Which leaves every node adds up, and every node's variance."""
    widths = [tree.leaves // tree.branching**depth for depth in range(1, tree.levels + 1)]
    nodes = [np.kron(np.eye(tree.leaves // width), np.ones(width)) for width in widths]
    pairs = zip(tree.variances, nodes, strict=True)
    return np.vstack(nodes), np.concatenate([np.full(len(level), variance) for variance, level in pairs])


def dense_fit(tree: LevelTree) -> Floats:
    """The matrix of the least squares fit, from the nodes' estimates and the root to the leaves."""
    matrix, variances = design(tree)
    normal = matrix.T / variances
    ones = np.ones((tree.leaves, 1))
    system = np.block([[normal @ matrix, ones], [ones.T, np.zeros((1, 1))]])
    right = np.block([[normal, np.zeros((tree.leaves, 1))], [np.zeros((1, len(matrix))), np.ones((1, 1))]])
    fitted: Floats = np.linalg.solve(system, right)[: tree.leaves]
    return fitted


def noisy_levels(tree: LevelTree, seed: int) -> list[Floats]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=tree.branching**depth) for depth in range(1, tree.levels + 1)]


@pytest.mark.parametrize("tree", TREES)
def test_the_fit_is_the_least_squares_fit_with_the_root_at_one(tree: LevelTree) -> None:
    levels = noisy_levels(tree, 1)
    expected = dense_fit(tree) @ np.append(np.concatenate(levels), 1.0)
    np.testing.assert_allclose(tree.fit(levels), expected, atol=1e-12)


@pytest.mark.parametrize("tree", TREES)
def test_the_variance_of_every_range_is_that_of_the_fit(tree: LevelTree) -> None:
    fit, (_, variances) = dense_fit(tree)[:, :-1], design(tree)
    covariance = fit * variances @ fit.T
    low, high = np.meshgrid(np.arange(tree.leaves + 1), np.arange(tree.leaves + 1))
    low, high = low[low <= high], high[low <= high]
    inside = (np.arange(tree.leaves) >= low[:, None]) & (np.arange(tree.leaves) < high[:, None])
    expected = np.einsum("ij,jk,ik->i", inside, covariance, inside.astype(float))
    np.testing.assert_allclose(tree.range_variances(low, high), expected, atol=1e-12)
    assert tree.mean_range_variance() == pytest.approx(expected[low < high].mean())


def test_equal_variances_give_the_two_passes_of_the_tree_of_reports() -> None:
    tree = LevelTree(4, (2.0, 2.0, 2.0))
    levels = noisy_levels(tree, 2)
    np.testing.assert_allclose(tree.fit(levels), constrained_inference(levels, 4), atol=1e-12)


def test_exact_levels_are_fitted_exactly() -> None:
    leaves = np.random.default_rng(3).dirichlet(np.ones(16))
    levels = [leaves.reshape(4, 4).sum(axis=1), leaves]
    np.testing.assert_allclose(LevelTree(4, (0.0, 0.0)).fit(levels), leaves, atol=1e-15)


@pytest.mark.parametrize("tree", [LevelTree(2, (1.0,) * 5), LevelTree(4, (1.0,) * 3)])
def test_no_range_is_off_by_more_than_the_stated_multiple_of_the_tolerance(tree: LevelTree) -> None:
    weights = dense_fit(tree)[:, :-1]
    prefixes = np.vstack((np.zeros(weights.shape[1]), np.cumsum(weights, axis=0)))
    # Errors of size 1 are worst when each has the sign of its node's weight in the range.
    worst = max(float(np.abs(prefixes - prefix).sum(axis=1).max()) for prefix in prefixes)
    assert tree.levels <= worst <= tree.branching * tree.levels * (tree.levels + 1) / 2


@pytest.mark.parametrize("wrong", [(1, (1.0,)), (2, ()), (2, (-1.0,)), (2, (float("nan"),))])
def test_trees_without_levels_or_variances_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidParameter):
        LevelTree(*wrong)


def test_levels_of_another_length_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        LevelTree(2, (1.0, 1.0)).fit([np.zeros(2), np.zeros(3)])
