"""What a server proves about a released sum: that it is the sum it fixed before, and noise from coins that nobody chose.

Written once for arrays of lanes, one lane a sum, over an `Algebra`: on plain bits it makes the witness, on the prover's
lines the proof, and on the verifier's keys the check.  Xor, and "and" with what is public, are those of arrays.

    fixed before the public coins are known     the server's own coins, 64 for each coin of the law and one for the sign,
                                                and its sum s, as an integer
    u = own xor public coins                    uniform, if one server is honest
    coin = [u < threshold]                      bit after bit, the lowest first: a one in the threshold gives
                                                less' = not (u and not less), a zero less' = not u and less
    z = nonzero (2 sign - 1) (1 + digits)       -(1 + g) is `not g` in two's complement, so z = y + carry with
                                                y_i = nonzero (digit_i xor sign), carry = nonzero (not sign)
    y = s + z modulo p                          as integers s + z is y, y + p or y - p; which of them stays hidden

In the last line the carries of the addition are sums of what is there already, so each costs one product and no bit.

Claim.  The law of z is exactly that of `LaplaceCoins`; y is determined by what was fixed and the public coins.
Checked for every coin and sum of small cases in tests/unit/sharing/proved/test_noise_circuit.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from localdp.sharing.digit_coins import LaplaceCoins
from localdp.sharing.prio3.batch.words import Mask, Words


class Algebra(Protocol):
    """What lanes are made of."""

    def public(self, lanes: Mask) -> Words:
        """What everybody knows."""
        ...

    def fixed(self) -> Words:
        """The next row that was fixed beforehand."""
        ...

    def said(self, lanes: Words) -> Words:
        """The next row, which only the prover can compute: it has plain bits, and others do not look at them."""
        ...

    def product(self, left: Words, right: Words) -> Words:
        """The next row, which is this product."""
        ...

    def require_product(self, left: Words, right: Words, product: Words) -> None:
        """That a row is the product of two."""
        ...


@dataclass(frozen=True)
class NoiseCircuit:
    """The noise of a law, on sums modulo a prime."""

    law: LaplaceCoins
    modulus: int

    @property
    def width(self) -> int:
        """Bits of a sum."""
        return self.modulus.bit_length()

    @property
    def own_rows(self) -> int:
        """Of the server's own coins, and as many public ones."""
        return self.law.magnitude.bits * len(self.law.thresholds) + 1

    @property
    def fixed_rows(self) -> int:
        """Of what is fixed before the public coins are known."""
        return self.own_rows + self.width

    @property
    def made_rows(self) -> int:
        """Of what the prover says after that."""
        steps = sum(_steps(threshold, self.law.magnitude.bits) for threshold in self.law.thresholds)
        return steps + self.law.magnitude.digits + 1 + 2

    def run(self, algebra: Algebra, coins: Mask, released: Sequence[int]) -> None:
        """All of it, for these public coins and sums."""
        own = [algebra.fixed() ^ algebra.public(row) for row in coins]
        sums = [algebra.fixed() for _ in range(self.width)]
        noise, carry = self.noise(algebra, own)
        meant = tuple(
            bits_of((y + wrapped for y in released), self.width + 2)
            for wrapped in (0, self.modulus, -self.modulus)
        )
        self._require_sum(algebra, sums, noise, carry, meant)

    def noise(self, algebra: Algebra, uniform: list[Words]) -> tuple[list[Words], Words]:
        """The bits of y, of which the last one goes on for ever, and the carry."""
        bits = self.law.magnitude.bits
        nonzero, *digits = (
            self._coin(algebra, uniform[bits * at : bits * (at + 1)], threshold)
            for at, threshold in enumerate(self.law.thresholds)
        )
        sign = uniform[-1]
        negative = algebra.product(nonzero, sign)
        return [*(algebra.product(nonzero, digit ^ sign) for digit in digits), negative], nonzero ^ negative

    def _coin(self, algebra: Algebra, uniform: list[Words], threshold: int) -> Words:
        lanes = uniform[0].shape[-1]
        nothing, one = (algebra.public(np.full(lanes, bit)) for bit in (False, True))
        less, begun = nothing, False
        for place, bit in enumerate(uniform):
            if threshold >> place & 1:
                less = one ^ bit ^ (algebra.product(bit, less) if begun else nothing)
                begun = True
            elif begun:
                less = algebra.product(one ^ bit, less)
        return less

    def _require_sum(
        self,
        algebra: Algebra,
        sums: list[Words],
        noise: list[Words],
        carry: Words,
        released: tuple[Mask, ...],
    ) -> None:
        nothing = algebra.public(np.zeros(carry.shape[-1], np.bool_))
        places = self.width + 2
        terms = [*sums, nothing, nothing]
        noises = [*noise, *[noise[-1]] * (places - len(noise))]
        is_above, is_below = self._wrapped(algebra, terms, noises, carry)
        algebra.require_product(is_above, is_below, nothing)
        totals = (
            algebra.public(y) ^ (is_above & _filled(y ^ up)) ^ (is_below & _filled(y ^ down))
            for y, up, down in zip(*released, strict=True)
        )
        carries = [total ^ s ^ z for total, s, z in zip(totals, terms, noises, strict=True)]
        algebra.require_product(nothing, nothing, carries[0] ^ carry)
        for at in range(places - 1):
            before = carries[at]
            algebra.require_product(terms[at] ^ before, noises[at] ^ before, carries[at + 1] ^ before)

    def _wrapped(
        self, algebra: Algebra, terms: list[Words], noises: list[Words], carry: Words
    ) -> tuple[Words, Words]:
        """Whether s + z is above p - 1, and below 0."""
        total, limits = [], [(self.modulus >> place & 1) for place in range(len(terms))]
        for s, z in zip(terms, noises, strict=True):
            total.append(s ^ z ^ carry)
            carry = (s & z) | (carry & (s | z))
        less = np.zeros_like(carry)
        for bit, limit in zip(total, limits, strict=True):
            less = ~bit | less if limit else ~bit & less
        negative = total[-1]
        return algebra.said(~less & ~negative), algebra.said(negative)


def bits_of(values: Iterable[int], places: int) -> Mask:
    """The bits of integers in two's complement, a row for each place."""
    size = -(-places // 8)
    data = b"".join((value % (1 << 8 * size)).to_bytes(size, "little") for value in values)
    rows = np.frombuffer(data, np.uint8).reshape(-1, size)
    return np.unpackbits(rows, axis=1, count=places, bitorder="little").T.astype(np.bool_)


def _filled(lanes: Mask | int) -> Words:
    """All ones where a lane is set."""
    filled: Words = -np.asarray(lanes, np.uint64)
    return filled


def _steps(threshold: int, bits: int) -> int:
    """How many products a comparison takes."""
    lowest = (threshold & -threshold).bit_length() - 1 if threshold else bits
    return max(0, bits - 1 - lowest)
