"""Querying the proofs of a block of reports, one report after the other: what `batch.flp.query` computes.

Every polynomial is a dot product of its values with factors that depend on the point only.  Where digits are checked in
chunks, wire 2 j takes r_k**(j + 1) x_kj and wire 2 j + 1 takes x_kj - 1 in call k.  With b_k the factor of that call,
the former's value is the sum of (b_k r_k**(j + 1)) x_kj: from one j to the next the factor in brackets gains one r_k.
So a digit costs one full product, and two that are reduced only once for each wire.

Checked against the reference and the numpy form in tests/unit/sharing/prio3/test_engines.py.
"""

import numpy as np

from localdp.sharing.prio3.batch.compiled.arithmetic import (
    Element,
    accumulate,
    accumulate_element,
    add,
    collapse,
    is_reduced,
    lift,
    load,
    multiply,
    nothing,
    store,
    subtract,
)
from localdp.sharing.prio3.batch.compiled.plan import (
    COUNT,
    GADGET_WEIGHTS,
    RANGE_WEIGHTS,
    ROOTS,
    SUM,
    WIRE_WEIGHTS,
    Lengths,
)
from localdp.sharing.prio3.batch.compiled.signatures import GIVEN, MATRIX, SHAPE, STATUS, element
from localdp.sharing.prio3.batch.compiled.toolchain import Kind, part, types
from localdp.sharing.prio3.batch.words import Octets, Words

FINE, AT_A_ROOT, SHARE_UNREDUCED, COINS_UNREDUCED = range(4)


def query_signature(limbs: int) -> Kind:
    """For a field of so many words."""
    return types.void(SHAPE, GIVEN, element(limbs), GIVEN, GIVEN, GIVEN, GIVEN, STATUS, MATRIX, MATRIX)


def query(
    shape: Lengths,
    constants: Words,
    one: Element,
    measurements: Words,
    proofs: Words,
    coins: Words,
    joint: Words,
    status: Octets,
    outputs: Words,
    verifiers: Words,
) -> None:
    """Fills the status, the verifier and, where digits have weights, the outputs of each report."""
    basis = np.empty((3, len(constants[0])), np.uint64)
    factors = np.empty((2, max(1, shape.calls) * 2), np.uint64)
    for row in range(len(status)):
        status[row] = _readable(shape, one, measurements, proofs, coins, joint, row)
        if status[row] == FINE:
            for proof in range(shape.proofs):
                point = lift(load(coins, row, (proof + 1) * shape.coins - 1, one))
                if _is_root(point, shape.wire, load(constants, ROOTS, 0, one)):
                    status[row] = AT_A_ROOT
                _fill_basis(constants, WIRE_WEIGHTS, 2, shape.wire, point, basis, 0)
                _fill_basis(constants, GADGET_WEIGHTS, 1, shape.gadget, point, basis, 1)
                _verify(
                    shape,
                    constants,
                    one,
                    basis,
                    factors,
                    measurements,
                    proofs,
                    coins,
                    joint,
                    verifiers,
                    row,
                    proof,
                )
            if shape.width > 1:
                _truncate(shape, constants, one, measurements, outputs, row)


@part
def _readable(
    shape: Lengths, one: Element, measurements: Words, proofs: Words, coins: Words, joint: Words, row: int
) -> int:
    """Whether all words are elements of the field."""
    length = shape.arity + shape.gadget
    if not (
        _all_reduced(measurements, row, shape.encoded, one)
        and _all_reduced(proofs, row, length * shape.proofs, one)
    ):
        return SHARE_UNREDUCED
    if not (
        _all_reduced(coins, row, shape.coins * shape.proofs, one)
        and _all_reduced(joint, row, shape.joint * shape.proofs, one)
    ):
        return COINS_UNREDUCED
    return FINE


@part
def _all_reduced(words: Words, row: int, count: int, like: Element) -> bool:
    good = True
    for i in range(count):
        good &= is_reduced(load(words, row, i, like))
    return good


@part
def _is_root(point: Element, size: int, one: Element) -> bool:
    """Whether the size-th power of a point is one; `size` is a power of two."""
    while size > 1:
        point = multiply(point, point)
        size //= 2
    return bool(point == one)


@part
def _fill_basis(
    constants: Words, weights: int, step: int, count: int, point: Element, basis: Words, into: int
) -> None:
    """The factors of `count` values, by prefix and suffix products (see `polynomials`)."""
    before = after = load(constants, ROOTS, 0, point)
    for i in range(count):  # Both running products at once: neither waits for the other.
        j = count - 1 - i
        store(basis, into, i, before)
        store(basis, 2, j, after)
        before = multiply(before, subtract(point, load(constants, ROOTS, step * i, point)))
        after = multiply(after, subtract(point, load(constants, ROOTS, step * j, point)))
    for i in range(count):
        around = multiply(load(basis, into, i, point), load(basis, 2, i, point))
        store(basis, into, i, multiply(load(constants, weights, i, point), around))


@part
def _verify(
    shape: Lengths,
    constants: Words,
    one: Element,
    basis: Words,
    factors: Words,
    measurements: Words,
    proofs: Words,
    coins: Words,
    joint: Words,
    verifiers: Words,
    row: int,
    proof: int,
) -> None:
    """One verifier: the check, the wires, the gadget."""
    start = proof * (shape.arity + shape.gadget)
    into = proof * (shape.arity + 2)
    check = _check(shape, constants, one, measurements, proofs, start, coins, row, proof)
    store(verifiers, row, into, check)
    if shape.kind > SUM:
        _chunk_wires(
            shape, one, basis, factors, measurements, proofs, start, joint, verifiers, row, proof, into + 1
        )
    else:
        _plain_wires(shape, one, basis, measurements, proofs, start, verifiers, row, into + 1)
    sums = nothing(one)
    for i in range(shape.gadget):
        sums = accumulate(sums, load(basis, 1, i, one), load(proofs, row, start + shape.arity + i, one))
    store(verifiers, row, into + shape.arity + 1, collapse(sums, one))


@part
def _check(
    shape: Lengths,
    constants: Words,
    one: Element,
    measurements: Words,
    proofs: Words,
    start: int,
    coins: Words,
    row: int,
    proof: int,
) -> Element:
    """All checks in one; in degree 2 every other value of the gadget polynomial is an output of the gadget."""
    outputs, drawn = start + shape.arity + 2, proof * shape.coins
    sums = nothing(one)
    if shape.kind == SUM and shape.coins > 1:
        for k in range(shape.calls):
            factor = lift(load(coins, row, drawn + k, one))
            sums = accumulate(sums, factor, load(proofs, row, outputs + 2 * k, one))
        return collapse(sums, one)
    for k in range(shape.calls):
        sums = accumulate_element(sums, load(proofs, row, outputs + 2 * k, one))
    first = collapse(sums, one)
    if shape.kind == COUNT:
        return subtract(first, load(measurements, row, 0, one))
    if shape.coins == 1:
        return first
    second = _second_check(shape, constants, one, measurements, row)
    by_first, by_second = lift(load(coins, row, drawn, one)), lift(load(coins, row, drawn + 1, one))
    return add(multiply(by_first, first), multiply(by_second, second))


@part
def _second_check(shape: Lengths, constants: Words, one: Element, measurements: Words, row: int) -> Element:
    sums = nothing(one)
    for i in range(shape.added):
        sums = accumulate_element(sums, load(measurements, row, i, one))
    total = collapse(sums, one)
    if shape.whole:
        total = subtract(total, one)
    weighed = _in_range(constants, one, measurements, row, shape.added, shape.weighed)
    return subtract(total, weighed)


@part
def _in_range(constants: Words, like: Element, words: Words, row: int, start: int, count: int) -> Element:
    """The integer of so many digits."""
    sums = nothing(like)
    for i in range(count):
        sums = accumulate(sums, load(constants, RANGE_WEIGHTS, i, like), load(words, row, start + i, like))
    return collapse(sums, like)


@part
def _plain_wires(
    shape: Lengths,
    one: Element,
    basis: Words,
    measurements: Words,
    proofs: Words,
    start: int,
    verifiers: Words,
    row: int,
    into: int,
) -> None:
    """Every wire takes the digits as they are: one call for each."""
    sums = nothing(one)
    for k in range(shape.calls):
        sums = accumulate(sums, load(basis, 0, k + 1, one), load(measurements, row, k, one))
    for wire in range(shape.arity):
        seeded = accumulate(sums, load(basis, 0, 0, one), load(proofs, row, start + wire, one))
        store(verifiers, row, into + wire, collapse(seeded, one))


@part
def _chunk_wires(
    shape: Lengths,
    one: Element,
    basis: Words,
    factors: Words,
    measurements: Words,
    proofs: Words,
    start: int,
    joint: Words,
    verifiers: Words,
    row: int,
    proof: int,
    into: int,
) -> None:
    sums = nothing(one)
    for k in range(shape.calls):
        factor = load(basis, 0, k + 1, one)
        sums = accumulate(sums, factor, one)
        store(factors, 0, k, factor)
        store(factors, 1, k, lift(load(joint, row, proof * shape.joint + k, one)))
    ones = collapse(sums, one)
    first = load(basis, 0, 0, one)
    for j in range(shape.chunk):
        turned, plain = nothing(one), nothing(one)
        for k in range(shape.calls):
            factor = multiply(load(factors, 0, k, one), load(factors, 1, k, one))
            store(factors, 0, k, factor)
            place = k * shape.chunk + j
            if place < shape.encoded:  # The last chunk is filled up with zeros.
                digit = load(measurements, row, place, one)
                turned = accumulate(turned, factor, digit)
                plain = accumulate(plain, load(basis, 0, k + 1, one), digit)
        turned = accumulate(turned, first, load(proofs, row, start + 2 * j, one))
        plain = accumulate(plain, first, load(proofs, row, start + 2 * j + 1, one))
        store(verifiers, row, into + 2 * j, collapse(turned, one))
        store(verifiers, row, into + 2 * j + 1, subtract(collapse(plain, one), ones))


@part
def _truncate(
    shape: Lengths, constants: Words, like: Element, measurements: Words, outputs: Words, row: int
) -> None:
    for i in range(shape.encoded // shape.width):
        value = _in_range(constants, like, measurements, row, i * shape.width, shape.width)
        store(outputs, row, i, value)
