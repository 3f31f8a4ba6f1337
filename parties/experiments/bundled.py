"""Public data sets that come with scikit-learn (breast-cancer, diabetes, digits, iris, wine) and statsmodels (fair,
randhie).  The target is the column that each is known for; what it was made from is no feature.

These tables are published, so nothing is lost by taking bounds from them: each column gets the next round number (1, 2 or 5
times a power of ten) beyond its extremes.  For anybody's own data bounds are told in [schema], and never read off.

Checked in tests/unit/parties/experiments/test_experiment_populations.py.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain, Records, Schema
from localdp.domains.columns import ColumnArray
from localdp.errors import InvalidParameter

TARGET = "target"
Column = tuple[Domain, ColumnArray]


def bundled(name: str) -> Records:
    """The named set, all of it, in its published order."""
    return BUNDLED[name]()


def _round_number(value: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not below a positive value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value)


def _real(values: ColumnArray) -> Column:
    numbers = np.asarray(values, np.float64)
    low = -_round_number(-float(numbers.min())) if numbers.min() < 0 else 0.0
    high = _round_number(float(numbers.max())) if numbers.max() > 0 else 1.0
    return RealDomain(low, high), numbers


def _integer(values: ColumnArray, high: int) -> Column:
    return IntegerDomain(0, high), np.asarray(values, np.int64)


def _labels(values: ColumnArray, labels: list[str]) -> Column:
    return CategoryDomain(tuple(labels)), np.asarray(values, np.int64)


def _named(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_")


def _records(columns: dict[str, Column]) -> Records:
    schema = Schema({name: domain for name, (domain, _) in columns.items()})
    return Records(schema, {name: values for name, (_, values) in columns.items()})


def _sklearn(loader: str) -> Any:
    try:
        from sklearn import datasets
    except ImportError as error:
        raise InvalidParameter("this set comes with scikit-learn: pip install scikit-learn") from error
    return getattr(datasets, f"load_{loader}")()


def _breast_cancer() -> Records:
    found = _sklearn("breast_cancer")
    columns = {_named(name): _real(found.data[:, place]) for place, name in enumerate(found.feature_names)}
    return _records({**columns, TARGET: (BitDomain(), found.target.astype(np.bool_))})


def _diabetes() -> Records:
    found = _sklearn("diabetes")
    columns = {_named(name): _real(found.data[:, place]) for place, name in enumerate(found.feature_names)}
    return _records({**columns, TARGET: _real(found.target)})


def _kinds(loader: str) -> Records:
    """Numbers, and a target with a label for each kind."""
    found = _sklearn(loader)
    columns = {_named(name): _real(found.data[:, place]) for place, name in enumerate(found.feature_names)}
    return _records({**columns, TARGET: _labels(found.target, [str(name) for name in found.target_names])})


def _digits() -> Records:
    found = _sklearn("digits")
    columns = {f"x{place}": _integer(found.data[:, place], 16) for place in range(found.data.shape[1])}
    return _records({**columns, TARGET: _labels(found.target, [str(digit) for digit in range(10)])})


def _statsmodels(name: str, without: str) -> tuple[dict[str, Column], ColumnArray]:
    """The columns of a set but one, which the target is made from; and that one."""
    try:
        module = importlib.import_module(f"statsmodels.datasets.{name}")
    except ImportError as error:
        raise InvalidParameter("this set comes with statsmodels: pip install statsmodels") from error
    found = {column: values.to_numpy() for column, values in module.load_pandas().data.items()}
    return {_named(one): _real(values) for one, values in found.items() if one != without}, found[without]


def _fair() -> Records:
    """Whether somebody had affairs, of 8 answers to a survey."""
    columns, affairs = _statsmodels("fair", "affairs")
    return _records({**columns, TARGET: (BitDomain(), affairs > 0)})


def _randhie() -> Records:
    """How often somebody saw a doctor in a year, of 9 facts about insurance and health."""
    columns, visits = _statsmodels("randhie", "mdvis")
    return _records({**columns, TARGET: _real(visits)})


BUNDLED: dict[str, Callable[[], Records]] = {
    "breast-cancer": _breast_cancer,
    "diabetes": _diabetes,
    "digits": _digits,
    "fair": _fair,
    "iris": lambda: _kinds("iris"),
    "randhie": _randhie,
    "wine": lambda: _kinds("wine"),
}
