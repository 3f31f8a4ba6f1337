"""Products of hidden bits, proved all at once (Yang, Sarkar, Weng and Wang, *QuickSilver*, 2021).

With keys K = M + delta x of `hidden_bits`, and c = a b,

    K_a K_b + delta K_c = M_a M_b + delta (a M_b + b M_a + M_c)

is of degree 1 in delta, and of degree 2 otherwise.  Of all products together, with factors that the verifiers choose once
everything is fixed, the prover tells both coefficients, each behind one hidden element that serves nothing else.

Claim.  A wrong product passes with probability at most 2^-64 over the factors, and 2 / 2^48 over delta; what is told is a
function of the verifier's keys and one uniform element.
Checked in tests/unit/sharing/proved/test_lines.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from localdp.randomness.keystream import fill, keystream
from localdp.sharing.prio3.batch.words import Mask, Words
from localdp.sharing.proved.binary_field import WORD, dot, multiplied, products

_AT_ONCE = 1 << 15  # products in memory
_PLACES = np.uint64(1) << np.arange(WORD, dtype=np.uint64)


class PlainBits:
    """Makes what the prover says: rows are words, all ones or zeros."""

    def __init__(self, fixed: Words) -> None:
        self._fixed = iter(fixed)
        self.made: list[Words] = []

    def public(self, lanes: Mask) -> Words:
        """The bits."""
        return filled(lanes)

    def fixed(self) -> Words:
        """The next row of what is fixed."""
        return next(self._fixed)

    def said(self, lanes: Words) -> Words:
        """What the prover says."""
        self.made.append(lanes)
        return lanes

    def product(self, left: Words, right: Words) -> Words:
        """What follows."""
        return self.said(left & right)

    def require_product(self, left: Words, right: Words, product: Words) -> None:
        """The prover says what is right."""


class _Checked:
    """Rows in order, and products that are added up whenever there are enough."""

    def __init__(self, rows: Iterator[Words], key: bytes) -> None:
        self._rows = rows
        self._factors = keystream(key)
        self._waiting: list[tuple[Words, Words, Words]] = []

    def fixed(self) -> Words:
        """The next row."""
        return next(self._rows)

    def said(self, lanes: Words) -> Words:
        """The next row."""
        return next(self._rows)

    def product(self, left: Words, right: Words) -> Words:
        """The next row, which must be the product."""
        row = next(self._rows)
        self.require_product(left, right, row)
        return row

    def require_product(self, left: Words, right: Words, product: Words) -> None:
        """Have it in the sums."""
        self._waiting.append((left, right, product))
        if len(self._waiting) * left.shape[-1] >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Add up what waits."""
        if self._waiting:
            left, right, product = (
                np.concatenate(rows, axis=-1) for rows in zip(*self._waiting, strict=True)
            )
            octets = np.empty(8 * left.shape[-1], np.uint8)
            fill(self._factors, octets)
            self._waiting = []
            self.add(octets.view("<u8").astype(np.uint64, copy=False), left, right, product)

    def add(self, factors: Words, left: Words, right: Words, product: Words) -> None:
        """Add factors times these products to the sums."""
        raise NotImplementedError


class ProvedLines(_Checked):
    """The prover's: rows are bits, as words of all ones or zeros, above their M."""

    constant = 0
    slope = 0

    def public(self, lanes: Mask) -> Words:
        """M is zero."""
        return np.stack([filled(lanes), np.zeros(len(lanes), np.uint64)])

    def add(self, factors: Words, left: Words, right: Words, product: Words) -> None:
        """Both coefficients."""
        (a, m_a), (b, m_b), (_, m_c) = left, right, product
        self.constant ^= dot(products(factors, m_a), m_b)
        self.slope ^= dot(factors, (a & m_b) ^ (b & m_a) ^ m_c)

    def told(self, mask: int, mask_lines: Words) -> tuple[int, int]:
        """The coefficients, behind a hidden element: its bits, and their M."""
        self.flush()
        return self.constant ^ dot(mask_lines, _PLACES), self.slope ^ mask


class CheckedLines(_Checked):
    """The verifier's: rows are keys."""

    value = 0

    def __init__(self, rows: Iterator[Words], key: bytes, delta: int) -> None:
        super().__init__(rows, key)
        self._delta = delta

    def public(self, lanes: Mask) -> Words:
        """Delta where the bit is one."""
        return filled(lanes) & np.uint64(self._delta)

    def add(self, factors: Words, left: Words, right: Words, product: Words) -> None:
        """The value at delta."""
        self.value ^= dot(products(factors, left), right) ^ multiplied(dot(factors, product), self._delta)

    def holds(self, constant: int, slope: int, mask_keys: Words) -> bool:
        """Whether the line that was told goes through it."""
        self.flush()
        return self.value ^ dot(mask_keys, _PLACES) == constant ^ multiplied(slope, self._delta)


def filled(lanes: Mask) -> Words:
    """All ones where a lane is set."""
    words: Words = -lanes.astype(np.uint64)
    return words
