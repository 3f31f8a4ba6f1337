"""The proof of one server's noise, as prover and verifier, step by step and without a network.

    prover                                             everybody else
    fixed       own coins, sums         -- digest -->
                                        <-- seeds --   public coins
    said        sums with noise, bits   -- digest -->
                                        <-- seeds --   factors and the key of a hash
    response    hashes, two elements    -- 56 bytes -->
                                        <-- seeds --   delta
    proof       all of it               ---------->    `require_proved`

Everything that the prover says is a function of its seed, its sums and what it is told, so that it says the same again
after a restart; and it must never be told two deltas (`proving_noise`).

**Deviation** from fully linear proofs among the servers: there a prover would be one of those who hold its shares, or the
others together could open them.  This one needs nobody's help, so it is sound against all but one server and hides from
all but its own, for two servers as for many.

Claim.  What is not the noise of the coins that were fixed, with the public ones, on the sums that were fixed, passes with
probability at most `ERROR`.  What the others see follows from the public coins and the released sums.
Checked in tests/unit/sharing/proved/test_noise_proof.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from localdp.errors import MalformedReport, ShareMismatch
from localdp.framing import DIGEST_BYTES, digest
from localdp.randomness.keys import derive_key
from localdp.sharing.prio3.batch.words import Mask, Octets, Words
from localdp.sharing.proved import hidden_bits
from localdp.sharing.proved.binary_field import WORD
from localdp.sharing.proved.lines import CheckedLines, PlainBits, ProvedLines, filled
from localdp.sharing.proved.noise_circuit import bits_of
from localdp.sharing.proved.shape import MASKS, WORD_BYTES, NoiseShape

# 2 / 2^48 over delta, 2^-64 for the factors and as much for each of 15 pairs of trees in a hash.
ERROR = Fraction(1, 1 << 46)
DELTA_BYTES = hidden_bits.TREES
TIE_BYTES = WORD_BYTES + DIGEST_BYTES
RESPONSE_BYTES = 2 * WORD_BYTES


class Tie(NamedTuple):
    """What a prover tells before it knows the public coins: after that its own are the same in all trees."""

    of_u: int
    named: bytes

    def packed(self) -> bytes:
        """As bytes."""
        return self.of_u.to_bytes(WORD_BYTES, "little") + self.named

    @classmethod
    def unpacked(cls, data: bytes) -> Tie:
        """From its bytes."""
        if len(data) != TIE_BYTES:
            raise MalformedReport("what ties coins to noise has another length")
        return cls(int.from_bytes(data[:WORD_BYTES], "little"), data[WORD_BYTES:])


class Response(NamedTuple):
    """What a prover tells before it knows delta."""

    constant: int
    slope: int

    def packed(self) -> bytes:
        """As bytes."""
        return b"".join(one.to_bytes(WORD_BYTES, "little") for one in self)

    @classmethod
    def unpacked(cls, data: bytes) -> Response:
        """From its bytes."""
        if len(data) != RESPONSE_BYTES:
            raise MalformedReport("a response about noise has another length")
        constant, slope = data[:WORD_BYTES], data[WORD_BYTES:]
        return cls(int.from_bytes(constant, "little"), int.from_bytes(slope, "little"))


class NoiseProver:
    """One server's side, for one set of sums."""

    def __init__(self, shape: NoiseShape, sums: Sequence[int], seed: bytes, salt: bytes) -> None:
        """`seed` serves nothing but these sums, and is told to nobody; `salt` is public, and another for every proof."""
        self._shape = shape
        self._hidden = hidden_bits.hidden(derive_key(seed, b"hidden bits"), salt, shape.size)
        self._bits = np.unpackbits(self._hidden.u, bitorder="little")
        self._sums = list(sums)
        self._moved_sums = self._moved_to(bits_of(sums, shape.circuit.width), shape.own_bits)
        self._moved_made = np.zeros(0, np.uint8)
        self.released: list[int] = []

    @property
    def bytes_held(self) -> int:
        """What it has in memory."""
        hidden = self._hidden
        arrays = hidden.u, hidden.planes, hidden.differences, self._bits, self._moved_sums, self._moved_made
        return sum(array.nbytes for array in arrays)

    def fixed(self) -> bytes:
        """The digest of the coins and the sums."""
        return _fixed(self._hidden.digest, self._moved_sums)

    def tied(self, key: bytes) -> Tie:
        """What shows that the trees have one and the same hidden bits."""
        u, planes = (hidden_bits.hashes(bits, key) for bits in (self._hidden.u[None], self._hidden.planes))
        return Tie(u[0], hidden_bits.hashes_named(planes))

    def said(self, coins: Mask) -> bytes:
        """The digest of the sums with noise, and of all bits that follow from the public coins."""
        shape, circuit = self._shape, self._shape.circuit
        count = circuit.fixed_rows * shape.lanes
        fixed = filled(shape.as_rows(self._bits[:count]))
        uniform = [row ^ filled(coin) for row, coin in zip(fixed[: circuit.own_rows], coins, strict=True)]
        noise, carry = circuit.noise(PlainBits(fixed[:0]), uniform)
        p = circuit.modulus
        self.released = [(s + z) % p for s, z in zip(self._sums, integers_of([*noise], carry), strict=True)]
        plain = PlainBits(fixed)
        circuit.run(plain, coins, self.released)
        self._moved_made = self._moved_to(np.stack(plain.made).astype(np.bool_), count)
        return self._named()

    def _named(self) -> bytes:
        return _said(self._shape.field.pack(self.released), self._moved_made)

    def _moved_to(self, wanted: Mask, start: int) -> Octets:
        """Have these bits from there on; returns what changes the hidden ones into them."""
        bits = wanted.reshape(-1).astype(np.uint8)
        stop = start + len(bits)
        self._bits[start:stop] = bits
        hidden = np.unpackbits(self._hidden.u, bitorder="little")[start:stop]
        return np.packbits(hidden ^ bits, bitorder="little")

    def response(self, coins: Mask, key: bytes) -> Response:
        """What proves all of it, before delta is known."""
        shape, hidden = self._shape, self._hidden
        lines = hidden_bits.elements(hidden.planes, 8 * shape.size)
        pairs = np.stack([filled(self._bits.astype(np.bool_)), lines])
        proved = ProvedLines(_paired(shape, pairs), key)
        shape.circuit.run(proved, coins, self.released)
        mask = int.from_bytes(hidden.u[-MASKS * WORD_BYTES : -WORD_BYTES].tobytes(), "little")
        return Response(*proved.told(mask, _mask_of(lines)))

    def proof(self, delta: bytes) -> bytes:
        """Everything that was named by digests, and what lets everybody check it at one delta."""
        return b"".join(
            (
                self._hidden.differences.tobytes(),
                self._moved_sums.tobytes(),
                self._shape.field.pack(self.released),
                self._moved_made.tobytes(),
                hidden_bits.opened(self._hidden, delta),
            )
        )


class Challenges(NamedTuple):
    """What a prover was told, each after what came before."""

    key: bytes
    coins: bytes  # a key
    factors: bytes  # a key
    delta: bytes


class Named(NamedTuple):
    """What a prover said, each before the challenge of the same place."""

    fixed: bytes
    tie: Tie
    said: bytes
    response: Response


def require_proved(
    shape: NoiseShape,
    salt: bytes,
    named: Named,
    challenges: Challenges,
    proof: bytes,
) -> bytes:
    """The released sums, if the proof holds."""
    fixed, tie, said, response = named
    differences, sums, released, made, opening = _parts(shape, proof)
    rows = hidden_bits.unpacked(differences, hidden_bits.TREES - 1, shape.size)
    moved_sums, moved_made = np.frombuffer(sums, np.uint8), np.frombuffer(made, np.uint8)
    planes, hidden_digest = hidden_bits.keyed(opening, challenges.delta, salt, rows)
    _require(_fixed(hidden_digest, moved_sums) == fixed, "its coins and sums are not those that it fixed")
    _require(_said(released, moved_made) == said, "its released sums are not those that it said")
    hashes = hidden_bits.hashes(planes, challenges.key)
    wanted = hidden_bits.hashes_wanted(hashes, challenges.delta, tie.of_u)
    _require(wanted == tie.named, "its coins are not the same in all trees")
    planes = hidden_bits.moved(planes, challenges.delta, shape.moves(moved_sums, moved_made))
    keys = hidden_bits.elements(planes, 8 * shape.size)
    delta = hidden_bits.element_of(challenges.delta)
    checked = CheckedLines(shape.rows_of(keys), challenges.factors, delta)
    shape.circuit.run(checked, shape.coins(challenges.coins), shape.field.unpack(released))
    holds = checked.holds(response.constant, response.slope, _mask_of(keys))
    _require(holds, "its noise is not that of its coins")
    return released


def integers_of(noise: Sequence[Words], carry: Words) -> list[int]:
    """Noise as integers, from plain bits."""
    *digits, negative = (row.astype(np.bool_).tolist() for row in noise)
    values = [int(bit) for bit in carry.astype(np.bool_).tolist()]
    for place, row in enumerate(digits):
        values = [value + (bit << place) for value, bit in zip(values, row, strict=True)]
    return [value - (bit << len(digits)) for value, bit in zip(values, negative, strict=True)]


def _paired(shape: NoiseShape, pairs: Words) -> Iterator[Words]:
    for row in range(shape.rows):
        yield pairs[:, row * shape.lanes : (row + 1) * shape.lanes]


def _mask_of(elements: Words) -> Words:
    return elements[-MASKS * WORD : -WORD]


def _fixed(hidden_digest: bytes, moved_sums: Octets) -> bytes:
    return digest(b"localdp noise fixed v1", hidden_digest, moved_sums.tobytes())


def _said(released: bytes, moved_made: Octets) -> bytes:
    return digest(b"localdp noise said v1", released, moved_made.tobytes())


def _parts(shape: NoiseShape, proof: bytes) -> list[bytes]:
    if len(proof) != shape.proof_bytes:
        raise MalformedReport("a proof of noise has another length")
    parts, at = [], 0
    for length in shape.lengths:
        parts.append(proof[at : at + length])
        at += length
    return parts


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise ShareMismatch(why)
