"""Decision trees as data: leaves with the frequencies of classes, splits with a condition for each branch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from localdp.algorithms.texts import conjunction
from localdp.domains.columns import ColumnArray
from localdp.randomizers.definition import Floats


@dataclass(slots=True, eq=False)
class TreeNode:
    """A part of the people, and how the tree divides it; a leaf has no branches."""

    conditions: tuple[str, ...]  # from the root down
    prior: Floats  # probability of each class in the part that this one was split off
    classes: Floats = field(init=False)  # frequency of each class in this part, among all people
    variance: float = math.inf  # of each of these frequencies
    branches: list[tuple[str, TreeNode]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.classes = np.zeros(len(self.prior))

    def learn(self, classes: Floats, variance: float) -> None:
        """A better estimate of the frequencies."""
        self.classes, self.variance = classes, min(variance, self.variance)

    def grow(
        self, conditions: Sequence[str], classes: Floats, variances: Sequence[float]
    ) -> list[TreeNode]:
        """Branches with these conditions and frequencies; the new leaves."""
        for condition, frequencies, variance in zip(conditions, classes, variances, strict=True):
            child = TreeNode((*self.conditions, condition), self.shares)
            child.learn(frequencies, variance)
            self.branches.append((condition, child))
        return [child for _, child in self.branches]

    @property
    def text(self) -> str:
        """The condition of being in this part."""
        return conjunction(self.conditions)

    @property
    def mass(self) -> float:
        """The frequency of this part among all people."""
        return float(self.classes.sum())

    @property
    def shares(self) -> Floats:
        """The probability of each class within the part, drawn towards the prior by one standard error.

        A part of less mass than noise has the shares of what it was split off.
        """
        drawn = math.sqrt(self.variance) if math.isfinite(self.variance) else 1.0
        inside = np.maximum(self.classes, 0.0) + drawn * self.prior
        total = inside.sum()
        return inside / total if total > 0 else self.prior

    def leaves(self) -> Iterator[TreeNode]:
        """The leaves below, from left to right."""
        if not self.branches:
            yield self
        for _, child in self.branches:
            yield from child.leaves()


def as_text(node: TreeNode, classes: ColumnArray, indent: str = "") -> str:
    """The tree, a line for each condition and each leaf."""
    if not node.branches:
        place = int(np.argmax(node.shares))
        return f"{indent}{classes[place]} ({node.shares[place]:.0%} of {max(node.mass, 0.0):.1%})"
    lines = []
    for condition, child in node.branches:
        lines += [f"{indent}{condition}:", as_text(child, classes, indent + "  ")]
    return "\n".join(lines)
