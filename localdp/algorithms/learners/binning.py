"""Columns as categories: bits and labels as they are, numbers by public edges.

With edges e_0 < e_1 < ... a number x is in bin 0 if x <= e_0, else in bin 1 if x <= e_1, and so on; the last bin is
above all edges.  A whole number of few values needs no edges.  Where none are given, a column's public bounds are
divided into bins of equal width: what is read off the data would leak.

Checked in tests/unit/algorithms/learners/test_binning.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from localdp.algorithms.texts import decimal, equals_label, rounded
from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain, Schema
from localdp.errors import InvalidParameter

MOST_BINS = 256
Edges = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Binned:
    """A column as a category."""

    name: str
    text: str  # the category, as a query
    bins: tuple[str, ...]  # the condition that each value means
    thresholds: tuple[
        str, ...
    ] = ()  # of a number: the conditions of being in one of the first 1, 2, ... bins

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.bins)

    @property
    def stumps(self) -> tuple[str, ...]:
        """The conditions on this column that a decision stump may ask."""
        if self.thresholds:
            return self.thresholds
        return self.bins[1:] if self.size == 2 else self.bins

    def reachable(self, path: Sequence[str]) -> range:
        """The values that are left where conditions on this column, out of its bins or thresholds, hold."""
        first, last = 0, self.size - 1
        for place, condition in enumerate(self.thresholds):
            if condition in path:
                last = min(last, place)
            if opposite(condition) in path:
                first = max(first, place + 1)
        if not self.thresholds:
            first, last = next(
                ((place, place) for place, condition in enumerate(self.bins) if condition in path),
                (first, last),
            )
        return range(first, last + 1)

    def narrowed(self, places: range) -> Binned:
        """The column with these values only."""
        first, last = places.start, places.stop
        return Binned(self.name, self.text, self.bins[first:last], self.thresholds[first : last - 1])


def opposite(threshold: str) -> str:
    """The condition of being above an edge, from that of not being above."""
    return threshold.replace("<=", ">")


def binned(schema: Schema, names: Sequence[str], edges: Edges | None, bins: int) -> list[Binned]:
    """These columns as categories."""
    given = dict(edges or {})
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InvalidParameter(f"there are edges for {unknown[0]!r:.60}, which is not learned from")
    if not 2 <= bins <= MOST_BINS:
        raise InvalidParameter(f"a column has 2 to {MOST_BINS} bins")
    return [_binned(name, schema[name], given.get(name), bins) for name in names]


def _binned(name: str, domain: Domain, edges: Sequence[float] | None, bins: int) -> Binned:
    if isinstance(domain, BitDomain | CategoryDomain) and edges is not None:
        raise InvalidParameter(f"column {name!r:.60} is no number: it has no edges")
    match domain:
        case BitDomain():
            return Binned(name, name, (f"not {name}", name))
        case CategoryDomain(labels):
            return Binned(name, name, tuple(equals_label(name, label) for label in labels))
        case IntegerDomain(low, high) if edges is None and high - low < bins:
            return _by_edges(name, range(low, high))
        case IntegerDomain(low, high) | RealDomain(low, high):
            width = (high - low) / bins
            equal = [low + width * place for place in range(1, bins)]
            return _by_edges(name, equal if edges is None else edges)
    raise InvalidParameter(f"column {name!r:.60} cannot be put into bins")


def _by_edges(name: str, edges: Sequence[float]) -> Binned:
    numbers = [rounded(edge) for edge in edges]
    if not 1 <= len(numbers) < MOST_BINS or any(a >= b for a, b in pairwise(numbers)):
        raise InvalidParameter(f"the edges of {name!r:.60} are 1 to {MOST_BINS - 1} rising numbers")
    below = tuple(f"{name} <= {decimal(edge)}" for edge in numbers)
    above = tuple(map(opposite, below))
    between = tuple(f"{low} and {high}" for low, high in zip(above, below[1:], strict=False))
    return Binned(name, f"which({', '.join(below)})", (below[0], *between, above[-1]), below)
