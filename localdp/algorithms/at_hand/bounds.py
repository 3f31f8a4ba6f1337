"""Public bounds of columns of numbers: what each may hold, and whether what is there fits.

Bounds are known beforehand; whoever reads them off the data gives something away.  So they are asked for, and a column that
does not fit them is refused before anybody is charged: nothing is clipped in silence.  Only the exact model, which promises
nothing, takes the least and the largest value of the data where none are given.

Checked in tests/unit/algorithms/at_hand/test_bounds.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np

from localdp.algorithms.at_hand.columns import ReadColumns
from localdp.domains import RealDomain
from localdp.domains.columns import ColumnArray
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter

Pair: TypeAlias = tuple[float, float]
Bounds: TypeAlias = Pair | Mapping[str, Pair] | Sequence[Pair]
_FORMS = "bounds are a pair (low, high) for all features, a list of a pair for each, or a mapping from names to pairs"


def bounds_by_column(bounds: Bounds | None, read: ReadColumns, names: Sequence[str]) -> list[Pair | None]:
    """The pair that is meant for each column; a mapping may name columns as the table does, or as queries do."""
    if bounds is None:
        return [None] * len(names)
    if isinstance(bounds, Mapping):
        return _by_name(bounds, read.names or names, names)
    pairs = np.asarray(bounds, np.float64) if _are_numbers(bounds) else np.zeros(0)
    if pairs.shape == (2,):
        return [pair_of(cast(Pair, bounds))] * len(names)
    if pairs.shape != (len(names), 2):
        raise InvalidParameter(f"{_FORMS}; there are {len(names)} features")
    return [pair_of(pair) for pair in cast("Sequence[Pair]", bounds)]


def _are_numbers(bounds: object) -> bool:
    try:
        np.asarray(bounds, np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _by_name(bounds: Mapping[str, Pair], shown: Sequence[str], names: Sequence[str]) -> list[Pair | None]:
    known = {**dict(zip(shown, names, strict=True)), **dict(zip(names, names, strict=True))}
    unknown = [name for name in bounds if name not in known]
    if unknown:
        raise InvalidParameter(
            f"bounds name {unknown[0]!r:.60}, which is no feature{suggestion(str(unknown[0]), shown)}"
        )
    meant = {known[name]: pair_of(pair) for name, pair in bounds.items()}
    return [meant.get(name) for name in names]


def pair_of(pair: Pair) -> Pair:
    """A low and a high end."""
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(_FORMS) from error
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidParameter("bounds are two finite numbers, the lower one first")
    return low, high


def domain_of(
    values: ColumnArray, pair: Pair | None, title: str, parameter: str, *, own: bool
) -> RealDomain:
    """What a column of numbers may hold: its bounds, which it must fit, or with `own` what it does hold."""
    if pair is None and own:
        return RealDomain(*_own(values))
    if pair is None:
        raise InvalidParameter(
            f"{title} has no bounds. Nothing was spent. Say what it can hold, {parameter}=(low, high), from what is known "
            "about it and not from these rows"
        )
    outside = float(np.mean((values < pair[0]) | (values > pair[1])))
    if outside:
        low, high = (f"{end:g}" for end in pair)
        raise InvalidParameter(
            f"{parameter}=({low}, {high}) does not fit the data: {math.ceil(100 * outside)} % of {title} lies outside. "
            "Nothing was spent. Say what it can hold, from what is known about it and not from these rows; or bring the "
            f"rows within before the fit, np.clip(values, {low}, {high})"
        )
    return RealDomain(*pair)


def _own(values: ColumnArray) -> Pair:
    low, high = float(values.min()), float(values.max())
    if low < high:
        return low, high
    around = max(0.5, abs(low) * 1e-6)  # a constant column still needs two ends
    return low - around, high + around
