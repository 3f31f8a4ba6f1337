"""Blocks of reports: rows of bytes, one for each report, as they travel and as they are stored.

A share server gets one input row a report, and in the prio3 tier a public row, the same for all servers.  Rows of a
block have one length, so a block is a matrix; positions in a collection are 32-bit numbers.  What the bytes mean is
the tier's business.

Checked in tests/unit/sharing/test_tiers.py and tests/unit/sharing/test_share_server.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from localdp.cohorts import Cohort
from localdp.errors import MalformedReport

Octets = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Positions = NDArray[np.uint32]
CheckState: TypeAlias = Any  # what a server keeps of a block: its tier knows what
POSITION_BYTES = 8  # of one that stands alone; a range takes no more
_LONGEST_REMEMBERED = 1 << 20  # positions, of four bytes each


@dataclass(frozen=True, slots=True)
class Rows:
    """What one server holds of some reports."""

    public: Octets
    inputs: Octets

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, which: Mask | NDArray[np.int64] | slice) -> Rows:
        """Some of the reports."""
        return Rows(self.public[which], self.inputs[which])


@dataclass(frozen=True, slots=True)
class ShareBlock:
    """Shares of the people of one cohort of one party, for one server."""

    collection: bytes  # digest
    party: str
    cohort: Cohort
    rows: Rows


def positions_in(cohort: Cohort, first: int) -> Positions:
    """Where the reports of a cohort stand, if those of its party begin at `first`."""
    lanes = cohort.lanes()
    if isinstance(lanes, range):
        return run_of(lanes.start + first, lanes.stop + first)
    return (lanes + first).astype(np.uint32)


def run_of(start: int, stop: int) -> Positions:
    """The positions start .. stop - 1, not to be written to."""
    return _remembered_run(start, stop) if stop - start <= _LONGEST_REMEMBERED else _run(start, stop)


def _run(start: int, stop: int) -> Positions:
    positions = np.arange(start, stop, dtype=np.uint32)
    positions.setflags(write=False)
    return positions


# Every server of a process asks for the same runs, in one collection after the other.
_remembered_run = lru_cache(maxsize=16)(_run)


def is_run(positions: NDArray[np.integer]) -> bool:
    """Whether increasing numbers leave none out."""
    return len(positions) == 0 or int(positions[-1]) - int(positions[0]) + 1 == len(positions)


def pack_positions(positions: Positions) -> bytes:
    """Increasing positions as ranges: the first one and how many, four little-endian bytes each."""
    if len(positions) == 0:
        return b""
    if is_run(positions):  # nearly always
        return _ranges_to_bytes(np.array([[positions[0], len(positions)]]))
    begins = np.flatnonzero(np.concatenate([[True], positions[1:] != positions[:-1] + np.uint32(1)]))
    counts = np.diff(begins, append=len(positions))
    return _ranges_to_bytes(np.stack([positions[begins], counts], axis=1))


def _ranges_to_bytes(ranges: NDArray[np.integer]) -> bytes:
    return ranges.astype("<u4").tobytes()


def unpack_positions(data: bytes, most: int) -> Positions:
    """The positions again; refuses ranges that are empty, out of order, or hold more than `most` positions together."""
    if len(data) % POSITION_BYTES:
        raise MalformedReport("ranges of positions take eight bytes each")
    ranges = np.frombuffer(data, "<u4").reshape(-1, 2).astype(np.int64)
    firsts, counts = ranges[:, 0], ranges[:, 1]
    total = int(counts.sum())
    if total > most or (counts < 1).any() or (firsts + counts > 1 << 32).any():
        raise MalformedReport(
            f"ranges of positions are not empty, and hold at most {most} positions together"
        )
    if (firsts[1:] < (firsts + counts)[:-1]).any():
        raise MalformedReport("ranges of positions come in increasing order")
    if len(ranges) == 1:
        return run_of(int(firsts[0]), int(firsts[0]) + total)
    skipped = np.repeat(firsts - (np.cumsum(counts) - counts), counts)
    return (skipped + np.arange(total)).astype(np.uint32)


def rows_from(data: bytes | memoryview, count: int, width: int) -> Octets:
    """`count` rows of `width` bytes; refuses any other amount of data."""
    if len(data) != count * width:
        raise MalformedReport(f"{count} rows of {width} bytes were announced, and {len(data)} bytes came")
    return np.frombuffer(data, np.uint8).reshape(count, width)


def joined(parts: list[Rows]) -> Rows:
    """Blocks one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Rows(np.concatenate([p.public for p in parts]), np.concatenate([p.inputs for p in parts]))
