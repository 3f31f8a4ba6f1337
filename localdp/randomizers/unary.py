"""Unary encodings: a report is d independent bits, one for each input, and reports add up.

The bit of the person's own input x is one with probability p, every other bit with probability q = F / 2**64:

    symmetric   p = 1 - q   (basic one-time RAPPOR: Erlingsson, Pihur and Korolova 2014)
    optimized   p = 1 / 2   (Wang, Blocki, Li and Jha 2017)

Claim.  Two inputs differ in two bits, so that exp(epsilon) = p (1 - q) / ((1 - p) q): with g = (2**64 - F) / F this is
g**2 for the symmetric encoding and g for the optimized one.  F is rounded up.  Both are pure protocols; with
e = exp(epsilon), n Var f = sqrt(e) / (sqrt(e) - 1)**2 for the symmetric, and 4 e / (e - 1)**2 + f for the optimized
encoding, the best constant there is for large d.

Each bit has its own coin: one uniform number shared by the bits of a report would make them tell on each other.
Reports stay packed, eight bits a byte, in memory as on the wire.
Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_unary.py, and as sampled in
tests/statistical/test_frequency_randomizers.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.definition import DrawCost, Reports, Tally, Values
from localdp.randomizers.one_bit import flip_threshold
from localdp.randomizers.parts.inputs import checked_inputs, require_between
from localdp.randomizers.parts.pure_protocol import CountedSupport, Support
from localdp.randomness.source import WORD_RANGE, Integers, RandomSource
from localdp.randomness.stream import StreamSource

MOST_INPUTS = 1 << 20
LARGEST_LAW_INPUTS = 16
_HALF = WORD_RANGE // 2
# How many bits of each person are drawn in one call.  It bounds the memory for unpacked bits, and must not depend on
# how many people there are: a person's coins would then depend on who else is asked.
_COLUMNS = 64
_ROWS = 255  # so many bits add up in a byte
_UNPACKED_BYTES = 1 << 20
_PADDED = "the padding of a report is not zero"
_SLABS = 63  # that are added up without unpacking them, until six remain

PackedBits = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class UnaryEncoding(CountedSupport):
    """What both encodings share; each says what its F is, and how it sets the bit of the input."""

    name: ClassVar[str]
    requested: Epsilon
    inputs: int  # d
    # F: another bit is one with probability F / 2**64.
    flip: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the number of inputs", self.inputs, 2, MOST_INPUTS)
        object.__setattr__(self, "flip", flip_threshold(self._epsilon_of_a_bit()))
        if self.support.own <= self.support.other:
            raise InvalidParameter("this epsilon is too small for this encoding")

    def _epsilon_of_a_bit(self) -> Epsilon:
        """The largest logarithm of (1 - q) / q."""
        raise NotImplementedError

    def _set_own(self, drawn: PackedBits, own: PackedBits, source: RandomSource) -> PackedBits:
        """The byte that holds the bit of the input, with that bit (marked in `own`) as it is reported."""
        raise NotImplementedError

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        own, other = self.support.own, self.support.other
        return Epsilon.of_ratio(own * (1 - other) / ((1 - own) * other))

    @property
    def report_bits(self) -> int:
        """Size of one packed report, in whole bytes."""
        return 8 * self._report_bytes

    @property
    def draw_cost(self) -> DrawCost:
        """A word for each input."""
        return DrawCost(100 + 0.4 * self.inputs, 30 + 2.8 * self.inputs, self.inputs)

    def randomize(self, values: Values, source: RandomSource) -> PackedBits:
        """One row of packed bits for each value: d bits as if the value were none, then the bit of the value."""
        truth = checked_inputs(values, self.inputs)
        reports = self._noise(len(truth), source)
        people, place = np.arange(len(truth)), truth >> 3
        own = np.right_shift(np.uint8(0x80), (truth & 7).astype(np.uint8))
        reports[people, place] = self._set_own(reports[people, place], own, source)
        return reports

    def _noise(self, people: int, source: RandomSource) -> PackedBits:
        """Reports of people who hold nothing; a stream is read eight bits at a time, any other source bit by bit."""
        if isinstance(source, StreamSource):
            drawn = source.bernoulli_bytes(self.flip, people * self._report_bytes)
            reports = drawn.reshape(people, self._report_bytes)
            reports[:, -1] &= np.uint8(0xFF << -self.inputs % 8 & 0xFF)
            return reports
        reports = np.empty((people, self._report_bytes), np.uint8)
        for start in range(0, self.inputs, _COLUMNS):
            columns = min(_COLUMNS, self.inputs - start)
            bits = source.bernoulli(self.flip, people * columns).reshape(people, columns)
            reports[:, start // 8 : (start + columns + 7) // 8] = _packed_rows(bits)
        return reports

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the packed bits, as a tuple of bytes."""
        if self.inputs > LARGEST_LAW_INPUTS:
            raise InvalidParameter(f"the law is written out for at most {LARGEST_LAW_INPUTS} inputs")
        support = self.support
        ones = [support.own if place == value else support.other for place in range(self.inputs)]
        law: dict[Hashable, Fraction] = {}
        for bits in product((0, 1), repeat=self.inputs):
            packed = tuple(np.packbits(np.array(bits, np.uint8)).tolist())
            law[packed] = prod(
                (one if bit else 1 - one for bit, one in zip(bits, ones, strict=True)), start=Fraction(1)
            )
        return law

    def pack(self, reports: Reports) -> bytes:
        """The rows, one after another; each is padded with zeros to whole bytes."""
        return reports.tobytes()

    def unpack(self, data: bytes, count: int) -> PackedBits:
        """The rows again, if they are exactly `count` and their padding is clean."""
        reports = self._rows(data, count)
        if self.inputs % 8 and (reports[:, -1] & np.uint8(0xFF >> self.inputs % 8)).any():
            raise MalformedReport(_PADDED)
        return reports

    def tally_packed(self, data: bytes, count: int) -> Tally:
        """What `tally` says of what `unpack` returns: dirty padding shows in the sums, and needs no look of its own."""
        sums = column_sums(self._rows(data, count), 8 * self._report_bytes)
        if sums[self.inputs :].any():
            raise MalformedReport(_PADDED)
        return Tally(self, count, sums[: self.inputs])

    def tally(self, reports: Reports) -> Tally:
        """How many reports have each bit set."""
        return Tally(self, len(reports), column_sums(reports, self.inputs))

    def _rows(self, data: bytes, count: int) -> PackedBits:
        if len(data) != count * self._report_bytes:
            raise MalformedReport(
                f"{count} reports take {count * self._report_bytes} bytes, not {len(data)}"
            )
        return np.frombuffer(data, np.uint8).reshape(count, self._report_bytes)

    @property
    def _report_bytes(self) -> int:
        return -(-self.inputs // 8)


@dataclass(frozen=True, slots=True)
class SymmetricUnaryEncoding(UnaryEncoding):
    """Every bit of the indicator of the input is flipped with the same probability."""

    name: ClassVar[str] = "symmetric-unary"

    def _epsilon_of_a_bit(self) -> Epsilon:
        return self.requested.divided_by(2)

    def _set_own(self, drawn: PackedBits, own: PackedBits, source: RandomSource) -> PackedBits:
        return drawn ^ own

    @property
    def support(self) -> Support:
        """p = 1 - q."""
        other = Fraction(self.flip, WORD_RANGE)
        return Support(1 - other, other)


@dataclass(frozen=True, slots=True)
class OptimizedUnaryEncoding(UnaryEncoding):
    """The bit of the input is a fair coin; the others are one as rarely as epsilon allows."""

    name: ClassVar[str] = "optimized-unary"

    def _epsilon_of_a_bit(self) -> Epsilon:
        return self.requested

    def _set_own(self, drawn: PackedBits, own: PackedBits, source: RandomSource) -> PackedBits:
        fair = source.bernoulli(_HALF, len(own))
        return (drawn & ~own) | (own * fair)

    @property
    def support(self) -> Support:
        """p = 1 / 2."""
        return Support(Fraction(1, 2), Fraction(self.flip, WORD_RANGE))


def column_sums(reports: PackedBits, columns: int) -> Integers:
    """How many rows of packed bits have each of the bits set."""
    sums, rows = np.zeros(columns, np.int64), len(reports) // _SLABS // 8 * 8
    if rows:
        slabs = np.ascontiguousarray(reports[: rows * _SLABS]).reshape(_SLABS, -1).view(np.uint64)
        for weight, level in enumerate(_carry_save(slabs)):
            for slab in level:
                sums += _few_sums(slab.view(np.uint8).reshape(rows, -1), columns) << weight
    return sums + _few_sums(reports[rows * _SLABS :], columns)


def _carry_save(slabs: NDArray[np.uint64]) -> list[list[NDArray[np.uint64]]]:
    """The same sum at each place in fewer slabs: level k counts 2**k times, and has one slab or two.

    A full adder on all places at once: three slabs become their parity and their carry (Harley and Seal).  A carry is added
    up as soon as it is there, so that few slabs exist at a time, and their memory is used again.
    """
    levels: list[list[NDArray[np.uint64]]] = []
    for slab in slabs:
        _add(levels, 0, slab)
    return levels


def _add(levels: list[list[NDArray[np.uint64]]], level: int, slab: NDArray[np.uint64]) -> None:
    if level == len(levels):
        levels.append([])
    levels[level].append(slab)
    if len(levels[level]) < 3:
        return
    one, two, three = levels[level]
    either, carry = one ^ two, one & two
    carry |= either & three
    either ^= three
    levels[level] = [either]
    _add(levels, level + 1, carry)


def _few_sums(reports: PackedBits, columns: int) -> Integers:
    """The same for few rows, bit by bit: each bit becomes a byte, and eight of them are added at a time."""
    sums = np.zeros(8 * reports.shape[1], np.int64)
    step = max(1, _UNPACKED_BYTES // len(sums))
    for start in range(0, len(reports), step):
        block = reports[start : start + step]
        words = np.unpackbits(block).view(np.uint64).reshape(block.shape)
        blocks = np.add.reduceat(words, np.arange(0, len(block), _ROWS), axis=0)
        sums += np.add.reduce(blocks.view(np.uint8), axis=0, dtype=np.int64)
    return sums[:columns]


def _packed_rows(bits: NDArray[np.bool_]) -> PackedBits:
    """Each row of bits as bytes."""
    people, columns = bits.shape
    if columns % 8 == 0:  # whole bytes run on from row to row, which is much faster than packing each row
        return np.packbits(bits).reshape(people, columns // 8)
    return np.packbits(bits, axis=1)
