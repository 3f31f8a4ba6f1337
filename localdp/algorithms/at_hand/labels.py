"""y as classes or as numbers.

Which classes there are is public, like bounds: truth values have two, numbers are 0 and 1, and anything else has to be said
(`classes=`).  Only the exact model, which promises nothing, takes those that occur.  Two classes become a bit, which holds
for the larger one; more become a category.

Checked in tests/unit/algorithms/at_hand/test_labels.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from localdp.algorithms.at_hand.columns import WrongType
from localdp.algorithms.scikit_learn import warn_of_column_vector
from localdp.domains import BitDomain, CategoryDomain, Domain
from localdp.domains.columns import ColumnArray
from localdp.errors import InvalidParameter

MOST_CLASSES = 256
Classes: TypeAlias = Sequence[object]


def read_target(y: ArrayLike | None, people: int, who: str) -> ColumnArray:
    """One value for each person, finite if they are numbers."""
    if y is None:
        raise InvalidParameter(f"{who} requires y to be passed, but the target y is None")
    if hasattr(y, "toarray"):
        raise WrongType("y is sparse; a learner takes a dense array")
    told = np.asarray(y)
    if told.ndim == 2 and told.shape[1] == 1:
        warn_of_column_vector()
        told = told[:, 0]
    if told.ndim != 1:
        raise InvalidParameter(f"y should be a 1d array, got an array of shape {told.shape} instead.")
    if len(told) != people:
        raise InvalidParameter(
            f"Found input variables with inconsistent numbers of samples: X has {people} rows, and y has {len(told)}"
        )
    plain = np.array(told.tolist()) if told.dtype.kind == "O" else told
    if plain.dtype.kind == "c":
        raise InvalidParameter("Complex data not supported: y holds complex numbers")
    if plain.dtype.kind == "f" and not np.isfinite(plain).all():
        raise InvalidParameter("Input y contains NaN or infinity; a learner takes finite numbers")
    return plain


def numbers_of(y: ColumnArray) -> ColumnArray:
    """A target that is a number."""
    if y.dtype.kind not in "biuf":
        raise InvalidParameter("y should hold numbers")
    return y.astype(np.float64)


def classes_at_hand(y: ColumnArray, told: Classes | None, *, own: bool) -> ColumnArray:
    """The classes in rising order: those that were told, or that the type of y implies, or with `own` that occur."""
    if y.dtype.kind not in "biufUS":
        raise InvalidParameter("Unknown label type: classes are truth values, whole numbers or texts")
    if y.dtype.kind == "f" and not np.array_equal(y, np.rint(y)):
        raise InvalidParameter(
            "Unknown label type: continuous. Classes are truth values, whole numbers or texts"
        )
    if told is not None:
        return np.unique(np.asarray(told))
    if y.dtype.kind == "b":
        return np.array([False, True])
    if own:
        return np.unique(y)
    if y.dtype.kind in "US" or not np.isin(y, (0, 1)).all():
        raise InvalidParameter(
            "which classes there are must be public, and y is neither truth values nor 0 and 1. Nothing was spent. Say "
            "them: classes=[...], from what is known and not from these rows"
        )
    return np.array([0, 1], y.dtype)


def require_number_of_classes(labels: ColumnArray, most: int, who: str) -> None:
    """Refuse one class, and more than a learner can tell apart."""
    if len(labels) < 2:
        raise InvalidParameter(f"{who} needs two classes, and y has one class only")
    if most == 2 < len(labels):
        raise InvalidParameter(
            "Only binary classification is supported. The type of the target is multiclass."
        )
    if len(labels) > most:
        raise InvalidParameter(f"{who} takes at most {most} classes")


def encoded(y: ColumnArray, labels: ColumnArray) -> tuple[Domain, ColumnArray]:
    """A bit for two classes, a category for more; the values are places among the labels."""
    places = np.clip(np.searchsorted(labels, y), 0, len(labels) - 1)
    if not np.array_equal(labels[places], y):
        raise InvalidParameter("y has a class that is not among `classes`. Nothing was spent")
    if len(labels) == 2:
        return BitDomain(), places.astype(np.bool_)
    return CategoryDomain(tuple(f"class {place}" for place in range(len(labels)))), places
