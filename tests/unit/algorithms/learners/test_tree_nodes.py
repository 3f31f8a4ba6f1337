"""Nodes of trees: shares that lean on the parent where noise is large, and a text to read."""

import numpy as np
import pytest

from localdp.algorithms.learners.tree_nodes import TreeNode, as_text

EVEN = np.array([0.5, 0.5])


def test_without_noise_shares_are_those_of_the_frequencies() -> None:
    node = TreeNode((), EVEN)
    node.learn(np.array([0.1, 0.3]), 0.0)
    assert node.shares.tolist() == pytest.approx([0.25, 0.75])
    assert node.mass == pytest.approx(0.4)


def test_a_part_of_less_mass_than_noise_has_the_class_of_its_parent() -> None:
    root = TreeNode((), EVEN)
    root.learn(np.array([0.9, 0.1]), 0.0)
    small, large = root.grow(("x", "not x"), np.array([[0.01, 0.02], [0.1, 0.4]]), (0.01, 0.01))
    assert small.shares.tolist() == pytest.approx([0.1 / 0.13, 0.03 / 0.13])
    assert large.shares.argmax() == 1


def test_nobody_at_all_has_the_shares_of_the_parent() -> None:
    node = TreeNode((), np.array([0.2, 0.8]))
    node.learn(np.array([-0.1, -0.2]), 0.0)
    assert node.shares.tolist() == [0.2, 0.8]
    assert TreeNode((), EVEN).shares.tolist() == [0.5, 0.5]


def test_the_least_variance_is_kept() -> None:
    node = TreeNode((), EVEN)
    node.learn(EVEN, 0.1)
    node.learn(EVEN, 0.3)
    assert node.variance == 0.1


def test_a_tree_is_read_from_the_top_and_its_leaves_from_the_left() -> None:
    root = TreeNode((), EVEN)
    root.learn(EVEN, 0.0)
    left, right = root.grow(("x", "not x"), np.array([[0.5, 0.0], [0.1, 0.4]]), (0.0, 0.0))
    assert [leaf.text for leaf in root.leaves()] == ["x", "not x"] == [left.text, right.text]
    assert (
        as_text(root, np.array(["no", "yes"])) == "x:\n  no (100% of 50.0%)\nnot x:\n  yes (80% of 50.0%)"
    )
