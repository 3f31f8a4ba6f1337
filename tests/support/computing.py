"""Three servers in one process for the tests of `localdp/computing`: seats, sharings, and coins that a test chooses."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from localdp.computing.attempts import RESHARE
from localdp.computing.dialogue import SERVERS, Dialogue, Exchange, others, run_together
from localdp.computing.gates import elements_in, entered, pack_elements
from localdp.computing.keyed_streams import HeldKeys, KeyedAttempt
from localdp.computing.seat import Seat, SharedElements, SharedWords
from localdp.sharing.digit_coins import LaplaceCoins
from localdp.sharing.prio3.batch.field64 import NumpyField64
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Mask, Words
from localdp.sharing.prio3.fields import PrimeField

T = TypeVar("T")
FIELD64_KERNEL = NumpyField64()


@dataclass(frozen=True, slots=True)
class SmallField:
    """A kernel of a prime so small that all of its elements can be tried."""

    field: PrimeField
    limbs: int = 1

    def add(self, left: Words, right: Words) -> Words:
        return (left + right) % np.uint64(self.field.modulus)

    def subtract(self, left: Words, right: Words) -> Words:
        return (left + np.uint64(self.field.modulus) - right) % np.uint64(self.field.modulus)

    def multiply(self, factors: Words, other: Words) -> Words:
        return (factors * other) % np.uint64(self.field.modulus)

    def lift(self, elements: Words) -> Words:
        return elements

    def unreduced(self, words: Words) -> Mask:
        return np.asarray(words[0] >= np.uint64(self.field.modulus))


THREE, FIVE = SmallField(PrimeField(3, 8, 2, 2)), SmallField(PrimeField(5, 8, 4, 2))


def keys_of(seed: int) -> list[HeldKeys]:
    keys = [hashlib.sha256(f"{seed} {server}".encode()).digest() for server in range(SERVERS)]
    return [HeldKeys(keys[server], keys[(server + 1) % SERVERS]) for server in range(SERVERS)]


def seats(
    seed: int, kernel: Kernel = FIELD64_KERNEL, *, attempt: int = 0, computation: bytes = b"test"
) -> list[Seat]:
    """The seats of three servers; another attempt has other nonces, and the same noise."""
    nonces = tuple(
        hashlib.sha256(f"{attempt} {server}".encode()).digest()[:16] for server in range(SERVERS)
    )
    return [
        Seat(server, KeyedAttempt(keys, computation, nonces), kernel)
        for server, keys in enumerate(keys_of(seed))
    ]


def run(seated: Sequence[Seat], part: Callable[[Seat], Dialogue[T]]) -> list[T]:
    """All three servers run the same part."""
    return run_together([part(seat) for seat in seated])


def reshared(seat: Seat, additive: Words) -> Dialogue[SharedElements]:
    """Replicated shares of additive ones, as an attempt begins (`attempts.begun`): here without nonces and digests."""
    own = entered(seat.kernel, seat.lasting(RESHARE), additive)
    received = yield Exchange(to_previous=pack_elements(own), from_next=own.nbytes)
    following = elements_in(seat.kernel, received.next, others(seat.server)[1])
    return SharedElements(np.stack([own, following]))


def shared_words(secret: Words, seed: int) -> list[SharedWords]:
    """A fresh sharing: what each server holds."""
    generator = np.random.default_rng(seed)
    parts = [generator.integers(0, 1 << 64, secret.shape, np.uint64) for _ in range(2)]
    parts.append(secret ^ parts[0] ^ parts[1])
    return [SharedWords(np.stack([parts[i], parts[(i + 1) % SERVERS]])) for i in range(SERVERS)]


def shared_elements(secret: Words, kernel: Kernel, seed: int) -> list[SharedElements]:
    """A fresh sharing of elements of shape (limbs, count)."""
    generator = np.random.default_rng(seed)
    most = np.iinfo(np.uint64).max if kernel.field.modulus > 1 << 64 else kernel.field.modulus - 1
    parts = [generator.integers(0, most, secret.shape, np.uint64) for _ in range(2)]
    if kernel.limbs == 2:
        for part in parts:
            part[1] >>= np.uint64(1)
    parts.append(kernel.subtract(kernel.subtract(secret, parts[0]), parts[1]))
    return [SharedElements(np.stack([parts[i], parts[(i + 1) % SERVERS]])) for i in range(SERVERS)]


def secret_words(held: Sequence[SharedWords]) -> Words:
    """The secret, if every component is held alike by both of its holders."""
    for server in range(SERVERS):
        assert (held[server].both[1] == held[(server + 1) % SERVERS].both[0]).all()
    return np.asarray(held[0].both[0] ^ held[1].both[0] ^ held[2].both[0])


def secret_elements(held: Sequence[SharedElements], kernel: Kernel) -> Words:
    """The same for field elements."""
    for server in range(SERVERS):
        assert (held[server].both[1] == held[(server + 1) % SERVERS].both[0]).all()
    return kernel.add(kernel.add(held[0].both[0], held[1].both[0]), held[2].both[0])


def bit_rows(values: Sequence[int], bits: int, *, most_significant_first: bool) -> Words:
    """Numbers as rows of bits, one lane a number."""
    places = reversed(range(bits)) if most_significant_first else range(bits)
    width = -(-len(values) // 64)
    rows = np.zeros((bits, width), np.uint64)
    for row, place in enumerate(places):
        for lane, value in enumerate(values):
            rows[row, lane // 64] |= np.uint64((value >> place & 1) << lane % 64)
    return rows


def numbers_in(rows: Words, count: int, *, most_significant_first: bool) -> list[int]:
    """Rows of bits as numbers again."""
    order = list(rows if most_significant_first else rows[::-1])
    return [
        int("".join(str(int(row[lane // 64]) >> lane % 64 & 1) for row in order), 2)
        for lane in range(count)
    ]


def laplace_masses(law: LaplaceCoins) -> dict[int, Fraction]:
    """The exact law of two-sided noise, by all outcomes of its coins."""
    nonzero = Fraction(law.nonzero.threshold, 1 << law.magnitude.bits)
    masses = {0: 1 - nonzero}
    for value, mass in law.magnitude.masses().items():
        masses[value + 1] = masses[-value - 1] = mass * nonzero / 2
    return masses
