"""Several rows of one person as columns of a person's record: so many places, of which the first ones are taken.

A schema with rows has one column that says which places are taken, and bears their name, such as `visit`; and columns with
a value for each of them.  Queries bring them down to one value of a person: any(visit: died).  Everybody has a row, and
places that are not taken hold a value of the domain, so that the work of a query is the same however many rows anybody has.

Neighbours differ in all rows of one person: what is promised is promised of people.

Checked in tests/unit/test_rows_of_people.py.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localdp.domains.columns import BitDomain, ColumnArray, Domain
from localdp.errors import InvalidParameter, InvalidRecord

MOST_ROWS = 1024  # of a person
_BIT = BitDomain()


@dataclass(frozen=True, slots=True)
class RowsDomain(Domain):
    """A value in each of a person's rows, of which nobody has more than `most`; without `of`, the rows themselves."""

    most: int
    of: Domain | None = None
    kind: ClassVar[str] = "rows"
    dtype: ClassVar[np.dtype[np.generic]] = np.dtype(np.bool_)  # of the rows themselves
    array_kinds: ClassVar[str] = "biuf"

    def __post_init__(self) -> None:
        whole = isinstance(self.most, int) and not isinstance(self.most, bool)
        if not whole or not 1 <= self.most <= MOST_ROWS:
            raise InvalidParameter(f"a person has at most {MOST_ROWS} rows, and 1 at least")
        if isinstance(self.of, RowsDomain) or not isinstance(self.of, Domain | None):
            raise InvalidParameter("a row holds a bit, a category or a number")

    @property
    def each(self) -> Domain:
        """What one row holds: of the rows themselves, whether it is there."""
        return _BIT if self.of is None else self.of

    def holds(self, value: object) -> bool:
        return (
            isinstance(value, list | tuple) and len(value) == self.most and all(map(self.each.holds, value))
        )

    def inside(self, values: ColumnArray) -> NDArray[np.bool_]:
        return np.asarray(self.each.inside(values.reshape(-1)).reshape(values.shape).all(axis=1))

    def check(self, values: object, column: str = "values") -> ColumnArray:
        """A fresh array with a row for each person and a place for each of their rows, or `InvalidRecord`."""
        if type(values) is not np.ndarray or values.ndim != 2 or values.shape[1] != self.most:
            raise InvalidRecord(f"column {column!r}: expected an array of people and {self.most} rows each")
        flat = self.each.check(values.reshape(-1), column)
        checked: ColumnArray = flat.reshape(values.shape)
        if self.of is None and not _begins_with_taken(checked):
            raise InvalidRecord(f"column {column!r}: everybody has a row, and free places come after it")
        return checked

    def to_data(self) -> dict[str, object]:
        return {"kind": self.kind, "most": self.most, "of": None if self.of is None else self.of.to_data()}

    def __str__(self) -> str:
        what = "rows of a person" if self.of is None else f"{self.of} in each row of a person"
        return f"{what}, at most {self.most}"


def _begins_with_taken(taken: NDArray[np.bool_]) -> bool:
    return bool(taken[:, 0].all() and (taken[:, :-1] >= taken[:, 1:]).all())


def rows_named(columns: dict[str, Domain]) -> str | None:
    """The name of the rows that people have, if they have any; columns that do not go together are refused."""
    several = {name: domain for name, domain in columns.items() if isinstance(domain, RowsDomain)}
    if not several:
        return None
    names = [name for name, domain in several.items() if domain.of is None]
    if len(names) != 1 or len({domain.most for domain in several.values()}) != 1:
        raise InvalidParameter(
            "one column of a schema says which rows people have, and all columns of rows have the same bound"
        )
    return names[0]


def each_row(columns: dict[str, ColumnArray], most: int, wanted: Container[str]) -> dict[str, ColumnArray]:
    """The wanted columns with one entry for each place of each person; what a person has once stands in all of them."""
    return {
        name: column.reshape(-1) if column.ndim == 2 else np.repeat(column, most)
        for name, column in columns.items()
        if name in wanted
    }
