"""What one server holds while it computes: shares, streams, and what is still to be verified.

Replicated sharing (Araki, Furukawa, Lindell, Nof and Ohara 2016).  A secret is x = x_0 + x_1 + x_2 in a field, or x_0
xor x_1 xor x_2 in words of 64 independent bits ("lanes"); server i holds the components x_i ("own") and x_{i+1}
("next"). Sums are local; any one server's two components are uniform, and any two servers have all three.

`SharedWords` and `SharedElements` are one server's two components in one array: (2, ...) words, (2, limbs, count)
elements.

Checked in tests/unit/computing/test_gates.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import EllipsisType

import numpy as np

from localdp.computing.dialogue import others
from localdp.computing.keyed_streams import Attempt, StreamPair
from localdp.computing.transcript import GateTranscript
from localdp.errors import ComputationAborted
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Words

ALL_ONES = np.uint64((1 << 64) - 1)
_Index = int | slice | EllipsisType | Words | list[int] | None


@dataclass(frozen=True, slots=True)
class SharedWords:
    """One server's components of shared words; the last axis runs over words of 64 lanes."""

    both: Words

    @property
    def shape(self) -> tuple[int, ...]:
        """Without the axis of the components."""
        return self.both.shape[1:]

    def __xor__(self, other: SharedWords) -> SharedWords:
        return SharedWords(self.both ^ other.both)

    def __getitem__(self, index: _Index | tuple[_Index, ...]) -> SharedWords:
        places = index if isinstance(index, tuple) else (index,)
        return SharedWords(self.both[(slice(None), *places)])

    def added_up(self) -> SharedWords:
        """The exclusive or of all rows."""
        return SharedWords(np.bitwise_xor.reduce(self.both, axis=1))

    def transposed(self) -> SharedWords:
        """The first two axes change places."""
        return SharedWords(np.ascontiguousarray(self.both.swapaxes(1, 2)))

    def where(self, mask: Words) -> SharedWords:
        """The lanes of a public mask; zero elsewhere."""
        return SharedWords(self.both & mask)


def joined(parts: Sequence[SharedWords], axis: int = 0) -> SharedWords:
    """Shared words one behind the other."""
    return SharedWords(np.concatenate([part.both for part in parts], axis=axis + 1))


def stacked(parts: Sequence[SharedWords]) -> SharedWords:
    """Shared words as rows of one array."""
    return SharedWords(np.stack([part.both for part in parts], axis=1))


@dataclass(frozen=True, slots=True)
class SharedElements:
    """One server's components of shared field elements: (2, limbs, count)."""

    both: Words

    @property
    def count(self) -> int:
        """How many secrets."""
        return int(self.both.shape[2])


class Seat:
    """The place of one server in one attempt."""

    def __init__(self, server: int, attempt: Attempt, kernel: Kernel) -> None:
        self.server, self.attempt, self.kernel = server, attempt, kernel
        self.transcript = GateTranscript()
        self._streams: dict[bytes, StreamPair] = {}

    def lasting(self, purpose: bytes) -> StreamPair:
        """A stream that every attempt has alike; goes on where it was left."""
        return self._stream(b"lasting " + purpose, lambda: self.attempt.lasting(purpose))

    def fresh(self, purpose: bytes) -> StreamPair:
        """A stream of this attempt; goes on where it was left."""
        return self._stream(b"fresh " + purpose, lambda: self.attempt.fresh(purpose))

    def _stream(self, name: bytes, made: Callable[[], StreamPair]) -> StreamPair:
        if name not in self._streams:
            self._streams[name] = made()
        return self._streams[name]

    @property
    def place_of_zero(self) -> int | None:
        """Where this server holds component 0, to which public constants are added."""
        return {0: 0, 2: 1}.get(self.server)

    def flipped(self, shared: SharedWords, mask: Words | np.uint64 = ALL_ONES) -> SharedWords:
        """Shared words xor a public mask."""
        if self.place_of_zero is None:
            return shared
        both = shared.both.copy()
        both[self.place_of_zero] ^= mask
        return SharedWords(both)

    def aborted(self, check: str) -> ComputationAborted:
        """A check failed: since this server is honest, one of the two others is not."""
        return ComputationAborted.by(check, others(self.server))

    def accused(self, check: str, server: int) -> ComputationAborted:
        """A message failed that one server alone has made, or the network."""
        return ComputationAborted.by(check, (server,))
