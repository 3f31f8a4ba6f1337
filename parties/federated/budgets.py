"""What is left to the people of a federation, as far as anybody says.

Checked in tests/integration/test_federation_budgets.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import LARGEST_LIMIT_NANONATS, Ledger
from localdp.accounting.remaining import Step
from localdp.errors import InvalidParameter
from localdp.oracles.curator import CuratorOracle
from parties.federated.ledgers import Book


@dataclass(frozen=True, slots=True)
class Budgets:
    """What is left to people, by how many of them; never by whom."""

    # So many people have so much left, or at least so much; the poorest first.
    remaining: Mapping[Epsilon, int]
    exact: bool  # read off ledgers; otherwise parties say it in steps, and everybody may have more
    # Of parties that do not say: others may have asked.
    at_most: Mapping[Epsilon, int] = field(default_factory=dict)
    away: tuple[str, ...] = ()  # parties that cannot be reached

    def __str__(self) -> str:
        """4,000 people have at least epsilon 1 left; 50 people have at most epsilon 2 left, as far as ..."""
        least = "" if self.exact else "at least "
        told = [
            f"{people:,} people have {least}epsilon {left} left" for left, people in self.remaining.items()
        ]
        asked = "left, as far as this analyst asked"
        told += [
            f"{people:,} people have at most epsilon {left} {asked}"
            for left, people in self.at_most.items()
        ]
        return "; ".join(told + [f"nothing is known of party {name}" for name in self.away])


def by_amount(left: Sequence[NDArray[np.int64]]) -> dict[Epsilon, int]:
    """How many people have how much, the poorest first."""
    amounts, people = np.unique(np.concatenate([np.zeros(0, np.int64), *left]), return_counts=True)
    return {Epsilon(int(one)): int(count) for one, count in zip(amounts, people, strict=True)}


def by_step(told: Sequence[Sequence[Step]]) -> dict[Epsilon, int]:
    """How many people have at least how much and less than the next step, the poorest first; of all parties together."""
    people: Counter[Epsilon] = Counter()
    for steps in told:
        for richer, step in pairwise((Step(steps[0].at_least, 0), *steps)):
            people[step.at_least] += step.people - richer.people
    return {one: people[one] for one in sorted(people) if people[one]}


def left_of(
    spent: NDArray[np.int64], sizes: Sequence[int], limits: Sequence[Epsilon]
) -> list[NDArray[np.int64]]:
    """Nanonats that each person of each party has left."""
    most = [min(one.nanonats, LARGEST_LIMIT_NANONATS) for one in limits]
    parts = np.split(spent, np.cumsum(sizes)[:-1])
    return [np.maximum(limit - part, 0) for limit, part in zip(most, parts, strict=True)]


def spent_of(
    of: str, ledgers: Sequence[Book], asked: NDArray[np.int64], curator: Ledger | None
) -> NDArray[np.int64]:
    """What everybody has spent: with their parties, by their ledgers or as far as was asked here; or with the curator."""
    if of == "parties":
        return np.concatenate([ledger.spent() for ledger in ledgers]) if ledgers else asked
    if of != CuratorOracle.model or curator is None:
        raise InvalidParameter("budgets are those of the parties, or of the curator of launched ones")
    return curator.spent()
