"""The reports of a crowd, made and added up in blocks: memory does not grow with the number of people.

Block b is the people b 2**20 .. (b + 1) 2**20 - 1, and its coins are a keystream keyed by the simulation's key and b.  So
the sums are the same in whatever order, on whatever machine, and however often a block was begun.  Within a block people
are served a slice at a time, so few that what is drawn for them stays in the cache.

Checked in tests/unit/experiments/test_crowd_reports.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from localdp.errors import InvalidParameter
from localdp.experiments.crowd import Crowd
from localdp.framing import digest
from localdp.randomizers.definition import TalliedRandomizer, Tally, require_tallied
from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import KeystreamSource

BLOCK = 1 << 20
SLICE = 1 << 16
_SLICE_OF_BITS = 1 << 18  # where inputs and reports are bits, all of it still fits
_SLICE_BITS = 1 << 24  # of packed reports
_FEWEST = 1 << 8
_MOST_BLOCKS = 1 << 8  # of a task
_TASKS = 8  # for each worker, at least: the last ones end at about the same time
_HEAP_BYTES = 1 << 25


@dataclass(frozen=True, slots=True)
class BlockRange:
    """Some blocks of people, one after the other."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """By which it is known."""
        return f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class CrowdReports:
    """What a crowd reports through a randomizer."""

    crowd: Crowd
    randomizer: TalliedRandomizer
    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        require_tallied(self.randomizer)
        if self.randomizer.inputs != self.crowd.inputs:
            raise InvalidParameter(
                f"the people have {self.crowd.inputs} inputs, and the randomizer takes {self.randomizer.inputs}"
            )

    @property
    def blocks(self) -> int:
        """How many there are."""
        return -(-self.crowd.people // BLOCK)

    def tasks(self, workers: int) -> Iterator[BlockRange]:
        """The blocks, dealt out: so few that handing them out costs little, and so many that all are busy to the end."""
        size = max(1, min(_MOST_BLOCKS, self.blocks // (_TASKS * max(1, workers))))
        return (BlockRange(first, min(first + size, self.blocks)) for first in range(0, self.blocks, size))

    def tally(self, task: BlockRange) -> Tally:
        """The sums over the people of these blocks."""
        keep_heap()
        total = None
        for block in range(task.first, task.last):
            source = KeystreamSource(derive_key(self.key, b"block of a crowd", block.to_bytes(8, "big")))
            stop = min((block + 1) * BLOCK, self.crowd.people)
            for values in self.crowd.slices(block * BLOCK, stop, self._slice):
                tally = self.randomizer.tally(self.randomizer.randomize(values, source))
                total = tally if total is None else total.merge(tally)
        assert total is not None
        return total

    @property
    def _slice(self) -> int:
        """People at a time."""
        if self.crowd.inputs == 2 and self.randomizer.report_bits == 1:
            return _SLICE_OF_BITS
        return min(SLICE, max(_FEWEST, _SLICE_BITS // self.randomizer.report_bits))


def keep_heap() -> None:
    """Have the C library keep what is freed, rather than give it back and fault it in again for the next slice.

    It hands blocks of this size to the system; after one was freed, glibc takes blocks up to that size from the heap, and
    trims the heap only beyond twice as much.  Nothing is touched, and other C libraries are none the wiser.
    """
    np.empty(_HEAP_BYTES - (1 << 16), np.uint8)


def sums_digest(tally: Tally) -> str:
    """What two equal tallies have in common."""
    sums = np.ascontiguousarray(tally.sums, "<i8").tobytes()
    return digest(tally.randomizer.canonical.encode(), b"%d" % tally.reports, sums).hex()
