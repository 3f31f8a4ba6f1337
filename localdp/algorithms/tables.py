"""How a learner reads the features of people to predict for: by name where there are names, else by place.

| given | columns |
|---|---|
| `Records` | by name; categories are the numbers of their labels |
| a data frame, or a mapping from names to columns | by name; further columns are ignored |
| an array of rows | by place: exactly one column for each feature |

What is predicted for never leaves this process and costs nobody anything.  `records_within` brings numbers within the
bounds of the schema, as those who were asked did, so that the expressions that were asked can be evaluated.
Checked in tests/unit/algorithms/test_tables.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localdp.domains import BitDomain, Domain, IntegerDomain, RealDomain, Records, Schema
from localdp.domains.columns import LARGEST_INTEGER, ColumnArray
from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats

Features = Records | Mapping[str, ArrayLike] | ArrayLike  # a data frame is like an array, too


def columns_for_prediction(X: Features, names: Sequence[str]) -> dict[str, ColumnArray]:  # noqa: N803
    """The named features, each a column with one value for each person."""
    if isinstance(X, Records):
        return {name: X.column(name) for name in names}
    if has_names(X):
        return _by_name(X, names)
    table = np.asarray(X)
    if table.ndim != 2 or table.shape[1] != len(names):
        raise InvalidParameter(
            f"expected one row per person and a column for each of {len(names)} features"
        )
    return {name: _present(table[:, place], name) for place, name in enumerate(names)}


def numbers_for_prediction(X: Features, names: Sequence[str]) -> Floats:  # noqa: N803
    """The named features as a matrix of numbers, one row for each person."""
    columns = columns_for_prediction(X, names)
    return np.column_stack([as_numbers(columns[name], name) for name in names])


def as_numbers(values: ColumnArray, name: str) -> Floats:
    """A column of numbers or truth values, as numbers."""
    if values.dtype.kind not in "biuf":
        raise InvalidParameter(f"column {name!r:.60} should hold numbers")
    return values.astype(np.float64)


def records_within(X: Features, schema: Schema) -> Records:  # noqa: N803
    """A table as records of a schema, numbers brought within its bounds."""
    columns = columns_for_prediction(X, schema.names)
    return Records(schema, {name: _within(column, schema[name], name) for name, column in columns.items()})


def records_for_prediction(X: Features, schema: Schema, names: Sequence[str]) -> Records:  # noqa: N803
    """The named features as records of that part of the schema."""
    return records_within(X, Schema({name: schema[name] for name in names}))


def _within(values: ColumnArray, domain: Domain, name: str) -> ColumnArray:
    match domain:
        case RealDomain(low, high):
            return np.clip(as_numbers(values, name), low, high)
        case IntegerDomain(low, high):
            return np.clip(_whole(values, name), low, high)
        case BitDomain():
            return _whole(values, name)
    return values if values.dtype.kind != "f" else _whole(values, name)


def _whole(values: ColumnArray, name: str) -> NDArray[np.int64]:
    numbers = as_numbers(values, name)
    whole = np.rint(numbers)
    if not np.array_equal(whole, numbers) or (np.abs(whole) > LARGEST_INTEGER).any():
        raise InvalidParameter(f"column {name!r:.60} should hold whole numbers or truth values")
    return whole.astype(np.int64)


def has_names(table: object) -> TypeGuard[Mapping[str, ArrayLike]]:
    """A mapping, or a data frame, which gives its columns by name as well."""
    return isinstance(table, Mapping) or (hasattr(table, "columns") and hasattr(table, "__getitem__"))


def names_of(table: Mapping[str, ArrayLike]) -> list[str]:
    """The names by which a table gives its columns."""
    return list(table if isinstance(table, Mapping) else getattr(table, "column_names", table.columns))


def _by_name(table: Mapping[str, ArrayLike], names: Sequence[str]) -> dict[str, ColumnArray]:
    known = names_of(table)
    missing = [name for name in names if name not in known]
    if missing:
        raise InvalidParameter(f"{len(missing)} features are missing, the first is {missing[0]!r:.60}")
    columns = {name: _present(np.asarray(table[name]), name) for name in names}
    if len({len(column) for column in columns.values()}) > 1:
        raise InvalidParameter("the columns of features differ in length")
    return columns


def _present(column: ColumnArray, name: str) -> ColumnArray:
    if column.ndim != 1:
        raise InvalidParameter(f"column {name!r:.60} should hold one value for each person")
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise InvalidParameter(f"column {name!r:.60} has missing values")
    return column
