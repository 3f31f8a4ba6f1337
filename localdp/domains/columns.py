"""The domains of single columns: bit, category of k, bounded integer, bounded real.

A domain is a finite description of the values that one column of a record may take.  `check` takes a whole
column and returns a fresh copy in the canonical dtype (bool, int32 codes, int64, float64), or raises
`InvalidRecord`.

Claim.  What `check` returns lies in the domain, row by row; its refusals name the column, the domain and
the first offending row, and never a value.  Checked in tests/unit/test_domains.py.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter, InvalidRecord

ColumnArray: TypeAlias = NDArray[Any]  # one value for each person, of the type of its domain

MOST_LABELS = 65_536
LONGEST_LABEL = 256
LARGEST_INTEGER = 2**53  # every such integer is also exact as a double
SMALLEST_REAL = 2.0**-126  # other than 0, in a domain that holds 0: the least normal float of 32 bits
_LARGEST_REAL = sys.float_info.max
_EXPONENT = np.int64(0x7FF << 52)  # its bits in a double


class Domain(ABC):
    """What one column may hold.  Subclasses are frozen data; a vector domain would be one more of them."""

    __slots__ = ()
    kind: ClassVar[str]
    dtype: ClassVar[np.dtype[np.generic]]
    array_kinds: ClassVar[str]  # the numpy dtype kinds that are checked without looking at rows one by one

    @abstractmethod
    def holds(self, value: object) -> bool:
        """Whether one Python value belongs to the domain."""

    @abstractmethod
    def inside(self, values: ColumnArray) -> NDArray[np.bool_]:
        """Which rows of an array, of a dtype kind among `array_kinds`, belong to the domain."""

    @abstractmethod
    def to_data(self) -> dict[str, object]:
        """The domain as plain JSON-able data, with its `kind`."""

    def check(self, values: object, column: str = "values") -> ColumnArray:
        """A fresh copy of the column in the canonical dtype, or `InvalidRecord` at the first bad row."""
        # Not isinstance: a masked array is an ndarray whose masked cells must not slip through.
        if type(values) is not np.ndarray:
            return self._check_rows(_rows(values, column), column)
        if values.ndim != 1:
            raise InvalidRecord(f"column {column!r}: expected one dimension, got {values.ndim}")
        if values.dtype.kind not in self.array_kinds:
            return self._check_rows(values.tolist(), column)
        inside = self.inside(values)
        if not inside.all():
            self._refuse(column, int(np.argmin(inside)))
        return self._canonical(values)

    def _check_rows(self, rows: list[object], column: str) -> ColumnArray:
        plain = [row.item() if isinstance(row, np.generic) else row for row in rows]
        for index, value in enumerate(plain):
            if not self.holds(value):
                self._refuse(column, index)
        return self._canonical(np.array([self._stored(value) for value in plain], dtype=self.dtype))

    def _stored(self, value: object) -> object:
        """What stands in the canonical array for a value that the domain holds."""
        return value

    def _canonical(self, values: ColumnArray) -> ColumnArray:
        return values.astype(self.dtype)

    def _refuse(self, column: str, index: int) -> None:
        raise InvalidRecord(f"column {column!r}, row {index}: not in the domain ({self})")


@dataclass(frozen=True, slots=True)
class BitDomain(Domain):
    """False or true; 0 and 1 are taken as such."""

    kind: ClassVar[str] = "bit"
    dtype: ClassVar[np.dtype[np.generic]] = np.dtype(np.bool_)
    array_kinds: ClassVar[str] = "biu"

    def holds(self, value: object) -> bool:
        return isinstance(value, int) and 0 <= value <= 1

    def inside(self, values: ColumnArray) -> NDArray[np.bool_]:
        return np.asarray((values == 0) | (values == 1))

    def to_data(self) -> dict[str, object]:
        return {"kind": self.kind}

    def __str__(self) -> str:
        return "bit"


@dataclass(frozen=True, slots=True)
class CategoryDomain(Domain):
    """One of k labels, stored as its position in `labels`; columns are given as labels or as positions."""

    labels: tuple[str, ...]
    _codes: dict[str, int] = field(init=False, repr=False, compare=False)
    kind: ClassVar[str] = "category"
    dtype: ClassVar[np.dtype[np.generic]] = np.dtype(np.int32)
    array_kinds: ClassVar[str] = "iu"

    def __post_init__(self) -> None:
        if not isinstance(self.labels, tuple) or not 1 <= len(self.labels) <= MOST_LABELS:
            raise InvalidParameter(f"a category needs a tuple of 1 to {MOST_LABELS} labels")
        for position, label in enumerate(self.labels):
            if not is_label(label):
                raise InvalidParameter(
                    f"label {position} must be printable text of at most {LONGEST_LABEL} characters"
                )
        object.__setattr__(self, "_codes", {label: code for code, label in enumerate(self.labels)})
        if len(self._codes) != len(self.labels):
            raise InvalidParameter("the labels of a category must differ from one another")

    def code(self, label: str) -> int | None:
        """The position of a label, or None when the domain does not have it."""
        return self._codes.get(label)

    def holds(self, value: object) -> bool:
        if isinstance(value, str):
            return value in self._codes
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(self.labels)

    def inside(self, values: ColumnArray) -> NDArray[np.bool_]:
        return np.asarray((values >= 0) & (values < len(self.labels)))

    def to_data(self) -> dict[str, object]:
        return {"kind": self.kind, "labels": list(self.labels)}

    def _stored(self, value: object) -> object:
        return self._codes[value] if isinstance(value, str) else value

    def __str__(self) -> str:
        return f"category of {len(self.labels)} labels"


@dataclass(frozen=True, slots=True)
class IntegerDomain(Domain):
    """The whole numbers from `low` to `high`, both included."""

    low: int
    high: int
    kind: ClassVar[str] = "integer"
    dtype: ClassVar[np.dtype[np.generic]] = np.dtype(np.int64)
    array_kinds: ClassVar[str] = "iu"

    def __post_init__(self) -> None:
        for bound in (self.low, self.high):
            if not isinstance(bound, int) or isinstance(bound, bool) or abs(bound) > LARGEST_INTEGER:
                raise InvalidParameter("integer bounds must be whole numbers from -2**53 to 2**53")
        if not self.low < self.high:
            raise InvalidParameter("an integer domain needs low < high")

    def holds(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high

    def inside(self, values: ColumnArray) -> NDArray[np.bool_]:
        return np.asarray((values >= self.low) & (values <= self.high))

    def to_data(self) -> dict[str, object]:
        return {"kind": self.kind, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        return f"integer from {self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class RealDomain(Domain):
    """The doubles from `low` to `high`, both included; never NaN.

    Where 0 is among them, -0.0 and what is nearer to 0 than 2**-126 are stored as 0.0: with smaller numbers products would
    be subnormal, and take longer than others.
    """

    low: float
    high: float
    kind: ClassVar[str] = "real"
    dtype: ClassVar[np.dtype[np.generic]] = np.dtype(np.float64)
    array_kinds: ClassVar[str] = "fiu"

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, _finite(getattr(self, name)))
        if not self.low < self.high:
            raise InvalidParameter("a real domain needs low < high")

    def holds(self, value: object) -> bool:
        return _is_number(value) and self.low <= value <= self.high

    def inside(self, values: ColumnArray) -> NDArray[np.bool_]:
        # Widened first: numpy would otherwise narrow the bounds to a float32 column's own precision.
        wide = self._widened(values)
        return np.asarray((wide >= self.low) & (wide <= self.high))

    def to_data(self) -> dict[str, object]:
        return {"kind": self.kind, "low": self.low, "high": self.high}

    def _canonical(self, values: ColumnArray) -> ColumnArray:
        wide = self._widened(values)
        return _flushed(wide) if self.low <= 0 <= self.high else wide

    def _widened(self, values: ColumnArray) -> ColumnArray:
        with np.errstate(over="ignore"):  # a long double out of range becomes inf, which no domain holds
            return values.astype(self.dtype)

    def __str__(self) -> str:
        return f"real from {self.low!r} to {self.high!r}"


def is_label(text: object) -> bool:
    """Printable text of bounded length: no control character can reach a log line through a label."""
    return isinstance(text, str) and len(text) <= LONGEST_LABEL and text.isprintable()


def _finite(bound: object) -> float:
    # Compared, not converted: an int beyond every double would overflow on its way to float.
    if not _is_number(bound) or not -_LARGEST_REAL <= bound <= _LARGEST_REAL:
        raise InvalidParameter("the bounds of a real domain must be finite numbers")
    return float(bound) + 0.0


def _flushed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values, and 0.0 for those below `SMALLEST_REAL`: on their bits, in a time that does not depend on them."""
    bits, least = values.view(np.int64), np.float64(SMALLEST_REAL).view(np.int64)
    kept = ((bits & _EXPONENT) < least) - np.int64(1)  # 0, or -1, which has all bits
    return (bits & kept).view(np.float64)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rows(values: object, column: str) -> list[object]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidRecord(f"column {column!r}: expected one value per person")
    return list(values)
