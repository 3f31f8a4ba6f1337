"""X as columns: an array by place, a data frame or a mapping by name; what is no table of numbers is refused.

The refusals have the words that scikit-learn's users and its checks know.  None of them contains a value.
Checked in tests/unit/algorithms/at_hand/test_columns.py and tests/contract/test_scikit_learn.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from localdp.algorithms.tables import Features, has_names, names_of
from localdp.domains import Records
from localdp.domains.columns import ColumnArray
from localdp.errors import InvalidParameter

_NUMBERS = "biuf"
_HINT = "make text a category with all labels that there can be (a categorical of pandas, an Enum of polars), or a number"


class WrongType(InvalidParameter, TypeError):
    """What was given is of a type that is no number."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadColumns:
    """The columns of a table, checked."""

    columns: tuple[ColumnArray, ...]  # truth values, finite numbers, or the labels of a category
    labels: tuple[tuple[str, ...] | None, ...]  # of those that are categories: all labels that there can be
    names: tuple[str, ...] | None  # if the table has some

    @property
    def people(self) -> int:
        """How many rows there are."""
        return len(self.columns[0])

    def title(self, place: int) -> str:
        """What a message calls a column."""
        return f"column {place if self.names is None else repr(self.names[place])}"


def read_columns(X: Features) -> ReadColumns:  # noqa: N803
    """The columns of a table with at least one row and one column."""
    if hasattr(X, "toarray"):
        raise WrongType("X is sparse; a learner takes dense arrays: X.toarray() is one")
    if isinstance(X, Records):
        raise WrongType("records have a schema already: fit(oracle_of_records(records, epsilon, model))")
    if has_names(X):
        return _named(X)
    table = _dense(X)
    _require_size(*table.shape)
    columns = tuple(_values(column, f"column {place}") for place, column in enumerate(table.T))
    return ReadColumns(columns, (None,) * len(columns), None)


def names_in(X: Features) -> tuple[str, ...] | None:  # noqa: N803
    """The names of the columns, if they are texts."""
    names = names_of(X) if has_names(X) else []
    return tuple(names) if names and all(isinstance(name, str) for name in names) else None


def _named(X: Mapping[str, ArrayLike]) -> ReadColumns:  # noqa: N803
    names = names_of(X)
    series = [X[name] for name in names]
    lengths = {len(one) if isinstance(one, Sized) else 0 for one in series}
    if len(lengths) > 1:
        raise InvalidParameter("X has columns of different lengths")
    _require_size(lengths.pop() if lengths else 0, len(names))
    labels = tuple(_labels(one) for one in series)
    columns = [
        _values(np.asarray(one), f"column {name!r:.60}") if told is None else _texts(np.asarray(one))
        for one, name, told in zip(series, names, labels, strict=True)
    ]
    return ReadColumns(tuple(columns), labels, names_in(X))


def _labels(series: object) -> tuple[str, ...] | None:
    """The labels that a column declares in its type, whether they occur or not."""
    told = getattr(getattr(series, "dtype", None), "categories", None)
    return None if told is None else tuple(str(label) for label in told)


def _texts(values: ColumnArray) -> ColumnArray:
    """Labels as texts: those of a categorical may be numbers, which are not places among the labels."""
    return np.array([str(value) for value in values], object)


def _dense(X: object) -> ColumnArray:  # noqa: N803
    table = np.asarray(X)
    if table.dtype.kind == "c":
        raise InvalidParameter("Complex data not supported: X holds complex numbers")
    if table.ndim != 2:
        raise InvalidParameter(
            f"Expected 2D array, got {table.ndim}D array instead: X has a row for each person and a column for each "
            "feature. Reshape your data with X.reshape(-1, 1) if it has a single feature, or X.reshape(1, -1) if it is a "
            "single person"
        )
    return table


def _require_size(people: int, features: int) -> None:
    if features == 0:
        raise InvalidParameter(
            f"Found array with 0 feature(s) (shape=({people}, 0)) while a minimum of 1 is required."
        )
    if people == 0:
        raise InvalidParameter(
            f"Found array with 0 sample(s) (shape=(0, {features})) while a minimum of 1 is required."
        )


def _values(values: ColumnArray, title: str) -> ColumnArray:
    """A column of truth values or finite numbers."""
    if values.dtype.kind == "c":
        raise InvalidParameter("Complex data not supported: X holds complex numbers")
    numbers = values if values.dtype.kind in _NUMBERS else _from_objects(values, title)
    if values.ndim != 1:
        raise InvalidParameter(f"{title} of X should hold one value for each person")
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise InvalidParameter(
            f"Input X contains NaN or infinity in {title}; a learner takes finite numbers"
        )
    return numbers


def _from_objects(values: ColumnArray, title: str) -> ColumnArray:
    """Numbers or truth values that came as Python objects."""
    if values.dtype.kind == "O" and all(isinstance(value, bool | np.bool_) for value in values):
        return values.astype(np.bool_)
    try:
        return values.astype(np.float64)
    except TypeError as error:
        raise WrongType(
            f"{title} of X: an argument must be a string of digits or a number; {_HINT}"
        ) from error
    except ValueError as error:
        raise InvalidParameter(f"{title} of X should hold numbers or truth values: {_HINT}") from error


def require_same_names(names: Sequence[str], fitted: Sequence[str]) -> None:
    """Refuse features to predict for that have other names, or another order, than those that were fitted."""
    if tuple(names) == tuple(fitted):
        return
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    parts = ["The feature names should match those that were passed during fit."]
    if unseen:
        parts += ["Feature names unseen at fit time:", *(f"- {name!s:.60}" for name in unseen)]
    if missing:
        parts += [
            "Feature names seen at fit time, yet now missing:",
            *(f"- {name!s:.60}" for name in missing),
        ]
    if not unseen and not missing:
        parts.append("Feature names must be in the same order as they were in fit.")
    raise InvalidParameter("\n".join(parts) + "\n")
