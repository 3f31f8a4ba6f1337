"""Bare additive shares as a tier: nothing is proved, and servers only agree on who is counted.

Each entry is shared on its own in the field of order 2**64 - 2**32 + 1 (`additive`).  A row is little-endian
elements; one that is not reduced makes its report refused by the server that got it, and by agreement by all.

Checked in tests/unit/sharing/test_tiers.py; secrecy exactly in tests/unit/sharing/test_additive.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localdp.randomness.source import RandomSource
from localdp.sharing import additive, field
from localdp.sharing.blocks import Mask, Octets, Rows
from localdp.sharing.collection import Collection
from localdp.sharing.field import ELEMENT_BYTES, Elements
from localdp.sharing.prio3.batch.role import Tell


@dataclass(frozen=True, slots=True)
class Held:
    """A block of a server, as elements."""

    elements: Elements  # (reports, entries)
    good: Mask


@dataclass(frozen=True, slots=True)
class AdditiveTier:
    """Shares without proofs."""

    collection: Collection
    public_bytes: int = 0
    verifier_bytes: int = 0
    message_bytes: int = 0

    def input_bytes(self, server: int) -> int:
        """One element for each entry."""
        return ELEMENT_BYTES * self.collection.encoding.length

    def split(self, values: NDArray[np.int64], source: RandomSource) -> list[Rows]:
        """A share of each entry for every server."""
        shares = additive.split(values.reshape(-1), len(self.collection.servers), source)
        shape = len(values), ELEMENT_BYTES * self.collection.encoding.length
        nothing = np.empty((len(values), 0), np.uint8)
        return [
            Rows(nothing, part.astype("<u8", copy=False).view(np.uint8).reshape(shape)) for part in shares
        ]

    def prepare(self, tell: Tell) -> None:
        """There is nothing to get ready."""

    def checker(self, server: int, verify_key: bytes) -> AdditiveTier:
        """The same for every server."""
        return self

    def init(self, rows: Rows) -> tuple[Held, Octets]:
        """The shares as elements; there is nothing to tell."""
        words = np.ascontiguousarray(rows.inputs).view("<u8").astype(np.uint64, copy=False)
        elements = words.reshape(len(rows), self.collection.encoding.length)
        return Held(elements, field.reduced(elements)), np.empty((len(rows), 0), np.uint8)

    def combine(self, verifiers: Sequence[Octets]) -> tuple[Octets, Mask]:
        """Nothing was claimed, so everything holds."""
        return verifiers[0], np.ones(len(verifiers[0]), np.bool_)

    def finish(self, state: Held, messages: Octets, holds: Mask) -> Mask:
        """Whatever could be read."""
        return np.asarray(state.good & holds)

    def sums(self, state: Held, accepted: Mask) -> list[int]:
        """The sums of the shares."""
        return field.totals(state.elements if accepted.all() else state.elements[accepted])
