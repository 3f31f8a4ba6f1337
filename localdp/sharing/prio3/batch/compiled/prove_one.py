"""The client's proof that a vector of digits has exactly one one, for a block of reports: what `prove` computes, faster.

With the one in call K at place J, wire 2 j is s_j L_0 (and r_K**(J + 1) L_(K+1) more at j = J), and wire 2 j + 1 is
t_j L_0 - O (and L_(K+1) more at j = J), where s_j and t_j are the seeds of the wires, r the joint randomness, L_i the
polynomial that is one at the i-th root of unity and zero at the others, and O the sum of L_1 .. L_calls.  So the gadget
polynomial is, with e = r_K**(J + 1),

    S L_0**2 - T L_0 O + (s_J + t_J e) L_0 L_(K+1) + e (L_(K+1)**2 - O L_(K+1)),    S = sum s_j t_j,  T = sum s_j.

At the roots of unity it is S at the first and 0 at the others; between them it takes four products for each point, where
`prove` takes transforms of every wire.  What belongs to K and J is picked by masks that touch all the others as well.

How long this takes does not depend on the measurement by intention, and nothing more is claimed.
Checked against the reference in tests/unit/sharing/prio3/test_sharding.py.
"""

from functools import lru_cache

import numpy as np

from localdp.sharing.prio3 import polynomials
from localdp.sharing.prio3.batch import kernels
from localdp.sharing.prio3.batch.compiled.arithmetic import (
    Element,
    accumulate,
    add,
    collapse,
    is_reduced,
    lift,
    load,
    multiply,
    nothing,
    store,
)
from localdp.sharing.prio3.batch.compiled.plan import Lengths
from localdp.sharing.prio3.batch.compiled.signatures import GIVEN, MATRIX, SHAPE, STATUS, element
from localdp.sharing.prio3.batch.compiled.toolchain import Kind, part, types
from localdp.sharing.prio3.batch.compiled.words import ZERO
from localdp.sharing.prio3.batch.words import Octets, Words
from localdp.sharing.prio3.fields import PrimeField
from localdp.sharing.prio3.prio3 import Prio3

_SEEDS, _COIN, _POINTS = range(3)  # Rows of what is picked.


def prove_one_signature(limbs: int) -> Kind:
    """For a field of so many words."""
    return types.void(SHAPE, GIVEN, element(limbs), GIVEN, GIVEN, GIVEN, STATUS, MATRIX)


def factors_between(prio3: Prio3) -> Words:
    """Row 0: L_0**2 and - L_0 O at the points between the roots; row K + 1: L_0 L_(K+1) and L_(K+1)**2 - O L_(K+1)."""
    return _factors_between(prio3.field, prio3.circuit.wire_length, prio3.circuit.calls)


@lru_cache(maxsize=16)
def _factors_between(field: PrimeField, wire: int, calls: int) -> Words:
    p, rows = field.modulus, [list[int]() for _ in range(calls + 1)]
    for point in field.roots(2 * wire)[1:-1:2]:
        first, *others = polynomials.basis_at(field, wire, wire, point)[: calls + 1]
        ones = sum(others) % p
        rows[0] += [first * first % p, -first * ones % p]
        for row, other in zip(rows[1:], others, strict=True):
            row += [first * other % p, other * (other - ones) % p]
    kernel = kernels.kernel_for(field)
    words = [kernels.factors(kernel, row)[:, :, 0].T.ravel() for row in rows]
    return np.ascontiguousarray(words, np.uint64)


def prove_one(
    shape: Lengths,
    between: Words,
    zero: Element,
    measurements: Words,
    coins: Words,
    joint: Words,
    rejected: Octets,
    proofs: Words,
) -> None:
    """Fills the proofs of each report; marks those of which a coin is not an element."""
    limbs = measurements.shape[1] // shape.encoded
    calls, places = np.empty(shape.calls, np.uint64), np.empty(shape.chunk, np.uint64)
    digits = np.zeros((1, limbs * shape.chunk), np.uint64)
    picked = np.empty((3, max(2 * limbs, between.shape[1])), np.uint64)
    for row in range(len(rejected)):
        _find(shape, limbs, measurements, row, calls, places)
        for j in range(shape.chunk):
            digits[0, limbs * j] = places[j]
        for proof in range(shape.proofs):
            start = proof * (shape.arity + shape.gadget)
            for wire in range(shape.arity):
                seed = load(coins, row, proof * shape.arity + wire, zero)
                rejected[row] |= not is_reduced(seed)
                store(proofs, row, start + wire, seed)
            for k in range(shape.joint):
                rejected[row] |= not is_reduced(load(joint, row, proof * shape.joint + k, zero))
            picked[:] = ZERO
            for j in range(shape.chunk):
                _pick(proofs, row, limbs * (start + 2 * j), 2 * limbs, places[j], picked, _SEEDS)
            for k in range(shape.calls):
                _pick(joint, row, limbs * (proof * shape.joint + k), limbs, calls[k], picked, _COIN)
                _pick(between, k + 1, 0, between.shape[1], calls[k], picked, _POINTS)
            _fill(shape, between, zero, digits, picked, proofs, row, start)


@part
def _find(shape: Lengths, limbs: int, measurements: Words, row: int, calls: Words, places: Words) -> None:
    """One at the call and at the place of the one, zero elsewhere."""
    calls[:] = ZERO
    places[:] = ZERO
    for at in range(shape.encoded):
        digit = measurements[row, limbs * at]
        calls[at // shape.chunk] |= digit
        places[at % shape.chunk] |= digit


@part
def _pick(words: Words, row: int, start: int, count: int, taken: int, picked: Words, into: int) -> None:
    """So many words, if they are taken; none of the others changes what is picked."""
    mask = ZERO - taken
    for i in range(count):
        picked[into, i] |= words[row, start + i] & mask


@part
def _fill(
    shape: Lengths,
    between: Words,
    zero: Element,
    digits: Words,
    picked: Words,
    proofs: Words,
    row: int,
    start: int,
) -> None:
    """The values of the gadget polynomial."""
    sums, total = nothing(zero), zero
    for j in range(shape.chunk):
        left = load(proofs, row, start + 2 * j, zero)
        sums = accumulate(sums, lift(left), load(proofs, row, start + 2 * j + 1, zero))
        total = add(total, left)
    products, power, coin = collapse(sums, zero), zero, lift(load(picked, _COIN, 0, zero))
    for j in range(shape.chunk - 1, -1, -1):
        power = multiply(coin, add(power, load(digits, 0, j, zero)))
    right = lift(load(picked, _SEEDS, 1, zero))
    mixed = add(load(picked, _SEEDS, 0, zero), multiply(right, power))
    into = start + shape.arity
    for i in range(shape.wire):
        store(proofs, row, into + 2 * i, zero)
    store(proofs, row, into, products)
    for i in range(shape.wire - 1):
        value = accumulate(nothing(zero), load(between, 0, 2 * i, zero), products)
        value = accumulate(value, load(between, 0, 2 * i + 1, zero), total)
        value = accumulate(value, load(picked, _POINTS, 2 * i, zero), mixed)
        value = accumulate(value, load(picked, _POINTS, 2 * i + 1, zero), power)
        store(proofs, row, into + 2 * i + 1, collapse(value, zero))
