"""The proof of one server's noise: complete, sound against changes of every part, and simulatable.

Twins that must be caught: each part of a proof with one bit changed, and proofs for other challenges.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import LocalDpError, MalformedReport, ShareMismatch
from localdp.framing import digest
from localdp.sharing.digit_coins import LaplaceCoins
from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField
from localdp.sharing.proved import hidden_bits, trees
from localdp.sharing.proved.noise_circuit import bits_of
from localdp.sharing.proved.noise_proof import (
    ERROR,
    Challenges,
    Named,
    NoiseProver,
    Response,
    Tie,
    require_proved,
)
from localdp.sharing.proved.shape import NoiseShape, shape_for

SALT = bytes(32)
TOLD = Challenges(b"h" * 32, b"c" * 32, b"k" * 32, bytes([3, 1, 4, 1, 5, 9]))


def shape_of(field: PrimeField = FIELD64, lanes: int = 5, epsilon: float = 1.0) -> NoiseShape:
    return shape_for(LaplaceCoins.of(Epsilon.requested(epsilon), 1), field, lanes)


@dataclass
class Proved:
    """Everything that a prover says."""

    shape: NoiseShape
    sums: list[int]
    named: Named
    proof: bytes

    def holds(self, told: Challenges = TOLD, proof: bytes | None = None) -> list[int]:
        given = self.proof if proof is None else proof
        return self.shape.field.unpack(require_proved(self.shape, SALT, self.named, told, given))


def prove(
    shape: NoiseShape, seed: int = 0, told: Challenges = TOLD, sums: list[int] | None = None
) -> Proved:
    p = shape.field.modulus
    sums = [(p - 2 + lane) % p for lane in range(shape.lanes)] if sums is None else sums
    prover = NoiseProver(shape, sums, digest(b"%d" % seed), SALT)
    fixed, tie, coins = prover.fixed(), prover.tied(told.key), shape.coins(told.coins)
    said = prover.said(coins)
    response = prover.response(coins, told.factors)
    assert Response.unpacked(response.packed()) == response and Tie.unpacked(tie.packed()) == tie
    return Proved(shape, sums, Named(fixed, tie, said, response), prover.proof(told.delta))


def noise_in(made: Proved) -> list[int]:
    p = made.shape.field.modulus
    differences = [(y - s) % p for y, s in zip(made.holds(), made.sums, strict=True)]
    return [one - p if one > p // 2 else one for one in differences]


@pytest.mark.parametrize("field", [FIELD64, FIELD128])
@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_an_honest_proof_holds_also_where_sums_wrap(field: PrimeField, epsilon: float) -> None:
    made = prove(shape_of(field, 40, epsilon))
    noise = noise_in(made)
    assert 0 < np.abs(noise).max() < 60 / epsilon and min(noise) < 0 < max(noise)
    assert len(made.proof) == made.shape.proof_bytes


def test_the_error_is_stated_and_below_what_is_promised() -> None:
    planes = hidden_bits.TREES * trees.DEPTH
    assert Fraction(2, 1 << planes) + 16 * Fraction(1, 1 << 64) <= ERROR <= Fraction(1, 1 << 40)


def test_every_part_with_one_bit_changed_is_refused() -> None:
    made = prove(shape_of())
    at = 0
    for length in made.shape.lengths:
        for place in (at, at + length // 2, at + length - 1):
            changed = bytearray(made.proof)
            changed[place] ^= 1
            with pytest.raises(LocalDpError):
                made.holds(proof=bytes(changed))
        at += length
    for proof in (made.proof[1:], made.proof + b"\0", b""):
        with pytest.raises(MalformedReport):
            made.holds(proof=proof)


def test_every_part_of_a_response_is_looked_at() -> None:
    made = prove(shape_of())
    honest, tie, response = made.named, made.named.tie, made.named.response
    for other in (
        honest._replace(tie=tie._replace(of_u=tie.of_u ^ 1)),
        honest._replace(tie=tie._replace(named=bytes(32))),
        honest._replace(response=response._replace(constant=response.constant ^ 1)),
        honest._replace(response=response._replace(slope=response.slope ^ 1)),
    ):
        made.named = other
        with pytest.raises(LocalDpError):
            made.holds()
    for kind in (Tie, Response):
        with pytest.raises(MalformedReport):
            kind.unpacked(bytes(55))


@pytest.mark.parametrize("part", Challenges._fields)
def test_a_proof_for_other_challenges_is_refused(part: str) -> None:
    made = prove(shape_of())
    other = bytes(len(getattr(TOLD, part)))
    with pytest.raises(LocalDpError):
        made.holds(TOLD._replace(**{part: other}))


def test_the_same_seed_says_the_same_and_another_has_other_noise() -> None:
    one, again, other = (prove(shape_of(lanes=30), seed) for seed in (1, 1, 2))
    assert one.proof == again.proof and one.named == again.named
    assert noise_in(one) != noise_in(other)
    told = TOLD._replace(coins=b"d" * 32)
    public = prove(shape_of(lanes=30), 1, told)
    assert public.named[:2] == one.named[:2] and public.named.said != one.named.said


def view_of(made: Proved) -> np.ndarray:
    """What is seen beside the trees: by which bits the hidden ones are moved, and the response."""
    _, moved_sums, _, moved, _ = np.split(
        np.frombuffer(made.proof, np.uint8), np.cumsum(made.shape.lengths[:-1])
    )
    of_u, response = made.named.tie.packed()[:8], made.named.response.packed()
    packed = np.frombuffer(of_u + response, np.uint8)
    return np.unpackbits(np.concatenate([moved_sums, moved, packed]))


@pytest.mark.parametrize("proofs", [60, pytest.param(1200, marks=pytest.mark.nightly)])
def test_what_is_seen_has_the_same_law_whatever_the_sums_are(proofs: int) -> None:
    """So many proofs for each of two sums: every bit seen is one in half of them.

    A bit that follows the sums, such as one that is not masked, is the same in all of them.  At 6.5 standard errors for
    each of some 1,000 bits a false alarm has probability below 1e-7; with 60 proofs a bit that is one in 0.93 of them is
    seen, with 1,200 one that is in 0.6.
    """
    shape = shape_of(lanes=1)
    for total in (0, FIELD64.modulus - 1):
        seen = np.mean([view_of(prove(shape, 7000 + seed, sums=[total])) for seed in range(proofs)], axis=0)
        whole = seen[: 64 + 440]  # the last bits of a byte are zero
        assert np.abs(whole - 0.5).max() < 6.5 * 0.5 / proofs**0.5


def both_open(guess: bytes) -> list[NoiseProver]:
    """A prover that fixes two vectors of coins under one digest, opposite to each other: one in each half of
    the trees.  Each of the two holds where the bits of delta of the other three trees were guessed."""
    shape = shape_of(lanes=1)
    made, other = NoiseProver(shape, [1000], bytes(32), SALT)._hidden, np.zeros(8 * shape.size, np.uint8)
    other[: shape.own_bits] = 1
    packed = np.packbits(other, bitorder="little")
    differences, bits = (
        made.differences.copy(),
        np.unpackbits(np.frombuffer(guess, np.uint8), bitorder="little"),
    )
    differences[2:] ^= packed
    provers = []
    for u, guessed in ((made.u, slice(24, 48)), (made.u ^ packed, slice(0, 24))):
        planes = made.planes.copy()
        planes[guessed] ^= packed & -bits[guessed, None]
        prover = NoiseProver(shape, [1000], bytes(32), SALT)
        prover._hidden = hidden_bits.Hidden(made.grown, u, planes, differences)
        prover._bits = np.unpackbits(u, bitorder="little")
        prover._moved_sums = prover._moved_to(bits_of([1000], shape.circuit.width), shape.own_bits)
        provers.append(prover)
    return provers


@pytest.mark.parametrize(("tied", "taken"), [(0, 0), (1, 1), (0, 1), (1, 0)])
def test_a_prover_with_two_vectors_of_coins_cannot_choose_between_them_once_it_knows_its_noise(
    tied: int, taken: int
) -> None:
    """With half of the bits of delta guessed, which has probability 2^-24: what it tied itself to before it heard the
    public coins holds, where the other half is anything, and the other vector does not."""
    shape = shape_of(lanes=1)
    for seed in range(4):
        drawn = np.random.default_rng(seed)
        guess, delta = drawn.bytes(6), bytearray(drawn.bytes(6))
        half = slice(3, 6) if taken == 0 else slice(0, 3)
        delta[half] = guess[half]
        told, provers = TOLD._replace(delta=bytes(delta)), both_open(guess)
        assert provers[0].fixed() == provers[1].fixed()
        tie, prover = provers[tied].tied(told.key), provers[taken]
        said = prover.said(shape.coins(told.coins))
        named = Named(prover.fixed(), tie, said, prover.response(shape.coins(told.coins), told.factors))
        proof = prover.proof(told.delta)
        if tied == taken:
            require_proved(shape, SALT, named, told, proof)
        else:
            with pytest.raises(ShareMismatch, match="not the same in all trees"):
                require_proved(shape, SALT, named, told, proof)
