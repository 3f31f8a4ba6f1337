"""Which proof a collection needs, and how much of it.

Checked in tests/unit/sharing/proved/test_shape.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomness.keystream import fill, keystream
from localdp.sharing.digit_coins import LaplaceCoins
from localdp.sharing.prio3.batch.words import Mask, Octets, Words
from localdp.sharing.prio3.fields import PrimeField
from localdp.sharing.proved import hidden_bits
from localdp.sharing.proved.binary_field import WORD
from localdp.sharing.proved.noise_circuit import NoiseCircuit

WORD_BYTES = 8
MASKS = 2  # one word for the products, one for the hash
LARGEST_PROOF_BYTES = 7 << 19  # what fits into a message with all else


@dataclass(frozen=True)
class NoiseShape:
    """Of a proof about so many sums."""

    circuit: NoiseCircuit
    field: PrimeField
    lanes: int

    @property
    def rows(self) -> int:
        """Of bits."""
        return self.circuit.fixed_rows + self.circuit.made_rows

    @property
    def size(self) -> int:
        """Bytes of all hidden bits, in whole words, with the masks."""
        return WORD_BYTES * (-(-self.rows * self.lanes // WORD) + MASKS)

    @property
    def own_bits(self) -> int:
        """Coins of the server."""
        return self.circuit.own_rows * self.lanes

    @cached_property
    def lengths(self) -> tuple[int, int, int, int, int]:
        """Bytes of the differences, of the moved sums, of the released sums, of what is moved after, of the opening."""
        sums, made = self.circuit.width * self.lanes, self.circuit.made_rows * self.lanes
        return (
            (hidden_bits.TREES - 1) * self.size,
            -(-sums // 8),
            self.lanes * self.field.encoded_bytes,
            -(-made // 8),
            hidden_bits.OPENED_BYTES,
        )

    @property
    def proof_bytes(self) -> int:
        """Of a proof."""
        return sum(self.lengths)

    def coins(self, key: bytes) -> Mask:
        """Public coins of this key."""
        octets = np.empty(-(-self.own_bits // 8), np.uint8)
        fill(keystream(key), octets)
        return self.as_rows(np.unpackbits(octets, count=self.own_bits, bitorder="little"))

    def as_rows(self, bits: Octets) -> Mask:
        """A row for each step of the circuit, a column for each sum."""
        return bits.reshape(-1, self.lanes).astype(np.bool_)

    def rows_of(self, elements: Words) -> Iterator[Words]:
        """The same of elements."""
        return iter(elements[: self.rows * self.lanes].reshape(self.rows, self.lanes))

    def moves(self, sums: Octets, made: Octets) -> Octets:
        """By which bits the hidden ones are changed: not the coins, nor the masks."""
        counts = [row * self.lanes for row in (self.circuit.width, self.circuit.made_rows)]
        parts = [
            np.unpackbits(part, count=count, bitorder="little")
            for part, count in zip((sums, made), counts, strict=True)
        ]
        bits = np.zeros(8 * self.size, np.uint8)
        bits[self.own_bits : self.own_bits + sum(counts)] = np.concatenate(parts)
        return np.packbits(bits, bitorder="little")


@lru_cache(maxsize=64)
def shape_for(law: LaplaceCoins, field: PrimeField, lanes: int) -> NoiseShape:
    """The proof of noise of this law on so many sums; refuses one that would not fit into a message."""
    shape = NoiseShape(NoiseCircuit(law, field.modulus), field, lanes)
    if shape.proof_bytes > LARGEST_PROOF_BYTES:
        most = lanes * LARGEST_PROOF_BYTES // shape.proof_bytes
        raise InvalidParameter(
            f"noise is proved for about {most} sums at once, and there are {lanes}: ask with less, or take the noise"
            " plan each-server"
        )
    return shape
