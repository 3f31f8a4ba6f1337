"""Which of a party's people a request is about: a range, and perhaps a random part of it.

A cohort is a few numbers, however many people it names, so that it travels, is charged and is stored at the same
cost for one person as for a million.  A `Split` assigns every person of the range to one of `parts` groups by
public coins: the seed is known to everybody, and chosen independently of the records.

Checked in tests/unit/test_cohorts.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomness.keys import derive_key
from localdp.randomness.lanes import LanedSource

LARGEST_INDEX = 1 << 32
LARGEST_SPLIT = 1 << 16
SEED_BYTES = 16


@dataclass(frozen=True, slots=True)
class Split:
    """Group number `part` of a random partition into `parts` groups."""

    seed: bytes
    parts: int
    part: int

    def __post_init__(self) -> None:
        if len(self.seed) != SEED_BYTES:
            raise InvalidParameter(f"the seed of a split has {SEED_BYTES} bytes")
        if not (1 <= self.parts <= LARGEST_SPLIT and 0 <= self.part < self.parts):
            raise InvalidParameter(f"a split has 1 to {LARGEST_SPLIT} parts, numbered from 0")

    def at_party(self, number: int) -> Split:
        """The same split with coins of its own for the party of that number."""
        seed = derive_key(self.seed, b"split at party", number.to_bytes(4, "big"))[:SEED_BYTES]
        return Split(seed, self.parts, self.part)


@dataclass(frozen=True, slots=True)
class Cohort:
    """The people start <= index < stop, or one part of a random split of them."""

    start: int
    stop: int
    split: Split | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.stop <= LARGEST_INDEX:
            raise InvalidParameter("a cohort is a range 0 <= start <= stop of people")

    def selection(self) -> slice | NDArray[np.int64]:
        """What to index an array of people with."""
        if self.split is None:
            return slice(self.start, self.stop)
        members, first = _partition(self.split.seed, self.split.parts, self.start, self.stop)
        return members[first[self.split.part] : first[self.split.part + 1]]

    def lanes(self) -> range | NDArray[np.int64]:
        """The people as lanes of a source of coins."""
        selection = self.selection()
        return range(self.start, self.stop) if isinstance(selection, slice) else selection

    def indices(self) -> NDArray[np.int64]:
        """The people as an array; of a range without going through Python's integers."""
        lanes = self.lanes()
        return np.arange(lanes.start, lanes.stop, dtype=np.int64) if isinstance(lanes, range) else lanes

    def parts(self, people: int) -> Iterator[Cohort]:
        """The cohort as cohorts of consecutive people, cut at every `people` indices."""
        for start in range(self.start, self.stop, people):
            yield Cohort(start, min(start + people, self.stop), self.split)

    def size(self) -> int:
        """How many people the cohort has."""
        return len(self.lanes())


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """People by their indices, in increasing order: what is left of a cohort when some of it was answered before."""

    people: NDArray[np.int64]

    def selection(self) -> NDArray[np.int64]:
        """What to index an array of people with."""
        return self.people

    def lanes(self) -> NDArray[np.int64]:
        """The people as lanes of a source of coins."""
        return self.people

    def indices(self) -> NDArray[np.int64]:
        """The people as an array."""
        return self.people

    def size(self) -> int:
        """How many people they are."""
        return len(self.people)


Asked: TypeAlias = Cohort | Listed
Ranges: TypeAlias = tuple[range, ...]  # of people, in increasing order


def checked_ranges(ranges: Sequence[range], people: int) -> Ranges:
    """Ranges of people that name somebody, and nobody twice; raises for any others."""
    before = 0
    for one in ranges:
        if one.step != 1 or not before <= one.start < one.stop <= people:
            raise InvalidParameter(
                f"some of the people are ranges within 0..{people}, in increasing order, and none of them empty"
            )
        before = one.stop
    if not ranges:
        raise InvalidParameter("some of the people are at least one")
    return tuple(ranges)


def whole_ranges(cohorts: Sequence[Cohort], within: Ranges) -> tuple[Cohort, ...]:
    """Ranges in the numbering of cohorts that are ranges themselves, as cohorts of all people."""
    found, first = [], 0
    for cohort in cohorts:
        size = cohort.stop - cohort.start
        for one in within:
            start, stop = max(one.start, first), min(one.stop, first + size)
            if start < stop:
                found.append(Cohort(cohort.start + start - first, cohort.start + stop - first))
        first += size
    return tuple(found)


@lru_cache(maxsize=8)
def _partition(
    seed: bytes, parts: int, start: int, stop: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All people, group by group and in order within each, and where each group begins.

    Remembered, because a round of many queries asks for one part after the other.
    """
    groups = LanedSource(seed, range(start, stop)).below(parts, stop - start).astype(np.uint16)
    members = np.argsort(groups, kind="stable") + start
    members.setflags(write=False)
    return members, np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=parts))])
