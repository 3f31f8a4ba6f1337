"""The finite universe X that a release is about: some attributes of a record, and all their combinations.

An attribute is a bit, a category or a short range of whole numbers: a column of the schema, or a condition on columns
under a name of its own.  Its value is also written in bits: value number c of an attribute with k values is the number
c in ceil(log2 k) bits, lowest first, and every bit is a condition that an oracle can be asked about.

The cells of the universe are numbered with the first attribute most significant, as `cells(a, b, ...)` numbers them.
Not every word of bits is a cell: a category of 3 labels has 2 bits, and no record has the fourth word.

Checked in tests/unit/algorithms/release/test_universe.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.queries.expressions import Member
from localdp.queries.text import to_text
from localdp.randomness.source import Floats

MOST_CELLS = 1 << 20
MOST_VALUES = 1024  # of one attribute: each of its bits is a condition that names every second value
Columns = Sequence[str] | Mapping[str, str]  # names of columns, or names of attributes and their conditions
Discrete = BitDomain | CategoryDomain | IntegerDomain


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: its name, what it may be, and the query that asks for it."""

    name: str
    domain: Discrete
    text: str

    @property
    def values(self) -> Sequence[bool | str | int]:
        """The values, in the order of their numbers."""
        match self.domain:
            case BitDomain():
                return (False, True)
            case CategoryDomain(labels):
                return labels
            case IntegerDomain(low, high):
                return range(low, high + 1)

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.values)

    @property
    def width(self) -> int:
        """How many bits a value has."""
        return (self.size - 1).bit_length()

    def bits(self) -> tuple[str, ...]:
        """The conditions that a value's bits are, the lowest first."""
        numbers = range(self.size)
        return tuple(
            self.among(number for number in numbers if number >> bit & 1) for bit in range(self.width)
        )

    def among(self, numbers: Iterable[int]) -> str:
        """The condition that the value has one of these numbers."""
        chosen = [self.values[number] for number in numbers]
        match self.domain:
            case BitDomain():
                return self.text if chosen == [True] else f"not ({self.text})"
            case CategoryDomain():
                return to_text(Member(self.text, tuple(map(str, chosen))))
            case IntegerDomain():
                return " or ".join(f"{self.text} == {value}" for value in chosen)


@dataclass(frozen=True, slots=True)
class Universe:
    """All combinations of the values of some attributes."""

    attributes: tuple[Attribute, ...]

    @classmethod
    def of(cls, schema: Schema, columns: Columns | None = None) -> Universe:
        """The universe of these columns, or of all bits and categories of the schema."""
        if columns is None:
            finite = (BitDomain, CategoryDomain)
            columns = [name for name in schema.names if isinstance(schema[name], finite)]
        if isinstance(columns, str):
            raise InvalidParameter("columns are a list of names, or names with their conditions")
        texts = columns if isinstance(columns, Mapping) else {name: name for name in columns}
        if not texts or len(texts) < len(columns):
            raise InvalidParameter(
                "a release is about at least one attribute, and all have different names"
            )
        return cls(tuple(_attribute(name, text, schema) for name, text in texts.items()))

    @property
    def schema(self) -> Schema:
        """The columns of records that have these attributes and nothing else."""
        return Schema({attribute.name: attribute.domain for attribute in self.attributes})

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def cells(self) -> int:
        """|X|: how many combinations there are."""
        return math.prod(self.sizes)

    @property
    def bits(self) -> int:
        """How many bits a combination has."""
        return sum(attribute.width for attribute in self.attributes)

    def conditions(self) -> list[str]:
        """The conditions that the bits of a combination are, those of the first attribute first."""
        return [condition for attribute in self.attributes for condition in attribute.bits()]

    def query(self) -> str:
        """The query for a record's cell."""
        return f"cells({', '.join(attribute.text for attribute in self.attributes)})"

    def numbers(self) -> NDArray[np.int64]:
        """The number of each attribute's value (columns) in each cell (rows)."""
        self.require_small()
        return np.stack(np.unravel_index(np.arange(self.cells), self.sizes), axis=1).astype(np.int64)

    def words(self) -> NDArray[np.int64]:
        """The bits of each cell as a number, that of the first condition lowest."""
        numbers, words, place = self.numbers(), np.zeros(self.cells, np.int64), 0
        for column, attribute in enumerate(self.attributes):
            words |= numbers[:, column] << place
            place += attribute.width
        return words

    def records(self, cells: NDArray[np.int64] | None = None) -> Records:
        """Records in these cells, or one in every cell."""
        numbers = self.numbers() if cells is None else self.numbers()[cells]
        columns = {
            attribute.name: _stored(attribute.domain, numbers[:, place])
            for place, attribute in enumerate(self.attributes)
        }
        return Records(self.schema, columns)

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """Which attributes these are."""
        known = {attribute.name: place for place, attribute in enumerate(self.attributes)}
        if isinstance(names, str) or not names or len(set(names)) < len(names):
            raise InvalidParameter("a marginal is over a list of different attributes")
        missing = [name for name in names if name not in known]
        if missing:
            raise InvalidParameter(f"there is no attribute {missing[0]!r:.60} in this release")
        return tuple(known[name] for name in names)

    def marginal(self, masses: Floats, names: Sequence[str]) -> Floats:
        """A distribution over the cells, summed to a table with one axis for each of these attributes."""
        places = self.places(names)
        others = tuple(place for place in range(len(self.attributes)) if place not in places)
        table: Floats = masses.reshape(self.sizes).sum(axis=others)
        return table.transpose(np.argsort(np.argsort(places)))

    def require_small(self) -> None:
        """Refuse a universe that is too large to have a number for every cell."""
        if self.cells > MOST_CELLS:
            raise InvalidParameter(
                f"a distribution over all combinations has at most {MOST_CELLS} cells; these attributes have "
                f"{self.cells}"
            )


def marginal_queries(universe: Universe, order: int) -> list[str]:
    """One query for every cell of every marginal over `order` attributes."""
    if not 1 <= order <= len(universe.attributes):
        raise InvalidParameter(
            "a marginal is over at least one attribute, and not over more than there are"
        )
    return [
        " and ".join(
            f"({attribute.among([number])})" for attribute, number in zip(chosen, cell, strict=True)
        )
        for chosen in combinations(universe.attributes, order)
        for cell in product(*(range(attribute.size) for attribute in chosen))
    ]


def _attribute(name: str, text: str, schema: Schema) -> Attribute:
    domain: Domain = schema[text] if text in schema else BitDomain()
    if text == name and name not in schema:
        raise InvalidParameter(f"there is no column {name!r:.60} to release")
    if not isinstance(domain, Discrete):
        raise InvalidParameter(
            f"column {text!r:.60} is not of finitely many values; name a condition on it"
        )
    made = Attribute(name, domain, text)
    if not 2 <= made.size <= MOST_VALUES:
        raise InvalidParameter(f"attribute {name!r:.60} must have 2 to {MOST_VALUES} values")
    return made


def _stored(domain: Discrete, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return numbers + domain.low if isinstance(domain, IntegerDomain) else numbers
