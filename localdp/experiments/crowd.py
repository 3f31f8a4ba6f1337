"""A crowd: people far too many to keep, as a short list of inputs that is gone through again and again.

Person i has entry i modulo the length of the list.  By formula the list has 2**16 entries, in which every input is as
frequent as its law says, rounded to 2**-16, and which are spread out, so that also the first few people of it are typical.
Of a table it is what the table's people are asked for.  The exact answer of so many people is known without asking them.

Checked in tests/unit/experiments/test_crowd.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Floats, Values
from localdp.randomizers.parts.inputs import input_counts
from localdp.randomness.source import Integers

CYCLE = 1 << 16
_STEP = 40503  # odd, and about CYCLE times the golden section: neighbours are far apart in the law
_TURNS_OF_BITS = (
    4  # of the cycle in the list, where an entry is a byte: so that fewer, longer slices are cut from it
)
MOST_PEOPLE = 10**12
MOST_INPUTS = 1 << 22  # of which everybody's are counted
_ZIPF = 1.2


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """So many people, each with one of 0 .. inputs - 1."""

    cycle: Values
    inputs: int
    people: int
    about: str  # where the inputs come from, in words

    def __post_init__(self) -> None:
        if not 1 <= self.people <= MOST_PEOPLE:
            raise InvalidParameter(f"a crowd has 1 to {MOST_PEOPLE:.0e} people")
        if not len(self.cycle):
            raise InvalidParameter("a crowd is made of a table with at least one row")

    @classmethod
    def by_law(cls, people: int, inputs: int, law: str) -> Crowd:
        """People of a law: uniform, zipf, or the share of those of two inputs who have the second one."""
        if not 2 <= inputs <= MOST_INPUTS:
            raise InvalidParameter(f"a crowd by formula has 2 to {MOST_INPUTS} inputs")
        places = np.arange(CYCLE) * _STEP % CYCLE
        cycle = np.searchsorted(_bounds(inputs, law), places, side="right")
        if inputs == 2:
            cycle = np.tile(cycle.astype(np.bool_), _TURNS_OF_BITS)
        return cls(cycle, inputs, people, f"by formula, {law}")

    @classmethod
    def of_table(cls, values: Values, inputs: int, people: int | None = None) -> Crowd:
        """The people of a table, and again from its first row on, if more are wanted."""
        if values.ndim != 1:
            raise InvalidParameter("a crowd is asked for a number or a category, not for a vector")
        return cls(
            values, inputs, len(values) if people is None else people, f"{len(values):,} rows of a table"
        )

    def slices(self, start: int, stop: int, size: int) -> Iterator[Values]:
        """The inputs of people start .. stop - 1, at most `size` at a time; by formula they are never copied."""
        place = start % len(self.cycle)
        while start < stop:
            part = self.cycle[place : place + min(size, stop - start)]
            yield part
            start += len(part)
            place = (place + len(part)) % len(self.cycle)

    def counts(self) -> Integers:
        """How many people have each input, exactly."""
        whole, rest = divmod(self.people, len(self.cycle))
        counted: Integers = whole * input_counts(self.cycle, self.inputs)
        counted += input_counts(self.cycle[:rest], self.inputs)
        return counted


def _bounds(inputs: int, law: str) -> Integers:
    """At which places of the cycle one input ends and the next begins."""
    whole = np.cumsum(_weights(inputs, law))
    bounds: Integers = np.rint(whole[:-1] / whole[-1] * CYCLE).astype(np.int64)
    return bounds


def _weights(inputs: int, law: str) -> Floats:
    if law in ("uniform", "zipf"):
        return np.arange(1, inputs + 1, dtype=np.float64) ** (-_ZIPF if law == "zipf" else 0.0)
    if inputs != 2:
        raise InvalidParameter("a law is uniform or zipf; of two inputs also a share such as 0.3")
    return np.array([1 - _share(law), _share(law)], np.float64)


def _share(law: str) -> Fraction:
    try:
        share = Fraction(law)
    except (ValueError, ZeroDivisionError) as error:
        raise InvalidParameter("a law is uniform, zipf, or a share such as 0.3") from error
    if not 0 <= share <= 1:
        raise InvalidParameter("a share lies between 0 and 1")
    return share
