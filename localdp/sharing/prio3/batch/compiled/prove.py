"""The client's proofs for a block of reports, one report after the other: what `localdp.sharing.prio3.flp.prove` computes.

Wire polynomials are given at the P-th roots of unity.  The gadget polynomial is sent at the 2 P-th ones, of which every
other is one of the former; the values between come from two transforms of size P, with a turn of every coefficient between
them.  The first transform leaves coefficients in bit-reversed order and the second takes them so: nothing is reordered.

How long this takes does not depend on the measurement by intention, and nothing more is claimed.
Checked against the reference in tests/unit/sharing/prio3/test_sharding.py.
"""

import numpy as np

from localdp.sharing.prio3.batch.compiled.arithmetic import (
    Element,
    add,
    is_reduced,
    lift,
    load,
    multiply,
    store,
    subtract,
)
from localdp.sharing.prio3.batch.compiled.plan import CHUNKS, ROOTS, SUM, TURNS, Lengths
from localdp.sharing.prio3.batch.compiled.signatures import GIVEN, MATRIX, SHAPE, STATUS, element
from localdp.sharing.prio3.batch.compiled.toolchain import Kind, part, types
from localdp.sharing.prio3.batch.words import Octets, Words

_LEFT, _RIGHT, _VALUES, _POWERS, _COINS = range(5)  # Rows of the room to work in.


def prove_signature(limbs: int) -> Kind:
    """For a field of so many words."""
    return types.void(SHAPE, GIVEN, element(limbs), element(limbs), GIVEN, GIVEN, GIVEN, STATUS, MATRIX)


def prove(
    shape: Lengths,
    constants: Words,
    zero: Element,
    one: Element,
    measurements: Words,
    coins: Words,
    joint: Words,
    rejected: Octets,
    proofs: Words,
) -> None:
    """Fills the proofs of each report; marks those of which a coin is not an element."""
    room = np.empty((5, max(4 * shape.wire, 2 * shape.calls)), np.uint64)
    for row in range(len(rejected)):
        for proof in range(shape.proofs):
            start = proof * (shape.arity + shape.gadget)
            for wire in range(shape.arity):
                seed = load(coins, row, proof * shape.arity + wire, zero)
                rejected[row] |= not is_reduced(seed)
                store(proofs, row, start + wire, seed)
            for k in range(shape.joint):
                coin = load(joint, row, proof * shape.joint + k, zero)
                rejected[row] |= not is_reduced(coin)
                store(room, _COINS, k, lift(coin))
                store(room, _POWERS, k, load(constants, ROOTS, 0, zero))
            for i in range(shape.gadget):
                store(room, _VALUES, i, zero)
            for pair in range(max(1, shape.arity // 2)):
                _fill_wires(shape, zero, one, measurements, proofs, room, row, start, pair)
                _add_products(shape, constants, zero, one, room)
            for i in range(shape.gadget):
                store(proofs, row, start + shape.arity + i, lift(load(room, _VALUES, i, zero)))


@part
def _fill_wires(
    shape: Lengths,
    zero: Element,
    one: Element,
    measurements: Words,
    proofs: Words,
    room: Words,
    row: int,
    start: int,
    pair: int,
) -> None:
    """The values of two wires at the roots of unity: seeds, inputs, zeros."""
    for i in range(shape.wire):
        store(room, _LEFT, i, zero)
        store(room, _RIGHT, i, zero)
    store(room, _LEFT, 0, load(proofs, row, start + 2 * pair, zero))
    if shape.arity > 1:
        store(room, _RIGHT, 0, load(proofs, row, start + 2 * pair + 1, zero))
    for k in range(shape.calls):
        if shape.kind == CHUNKS:
            power = multiply(load(room, _POWERS, k, zero), load(room, _COINS, k, zero))
            store(room, _POWERS, k, power)
            place = k * shape.chunk + pair
            digit = load(measurements, row, place, zero) if place < shape.encoded else zero
            store(room, _LEFT, k + 1, multiply(power, digit))
            store(room, _RIGHT, k + 1, subtract(digit, one))
        else:
            digit = load(measurements, row, k, zero)
            store(room, _LEFT, k + 1, digit)
            store(room, _RIGHT, k + 1, digit)


@part
def _add_products(shape: Lengths, constants: Words, zero: Element, one: Element, room: Words) -> None:
    """Adds what the gadget makes of the two wires, at all points that are sent; the sums are still to be lifted."""
    for half in range(2):
        if half:
            _turn(constants, zero, room, _LEFT, shape.wire)
            if shape.kind != SUM:
                _turn(constants, zero, room, _RIGHT, shape.wire)
        for i in range(shape.wire - half):
            left = load(room, _LEFT, i, zero)
            right = subtract(left, one) if shape.kind == SUM else load(room, _RIGHT, i, zero)
            value = add(load(room, _VALUES, 2 * i + half, zero), multiply(left, right))
            store(room, _VALUES, 2 * i + half, value)


@part
def _turn(constants: Words, zero: Element, room: Words, row: int, size: int) -> None:
    """From values at the roots of unity to the values at the points between them, in place."""
    half = size // 2
    while half:
        for start in range(0, size, 2 * half):
            for i in range(half):
                exponent = i * (size // half)  # Of the root of order 2 * size.
                root = load(constants, ROOTS, 2 * size - exponent if i else 0, zero)
                a, b = load(room, row, start + i, zero), load(room, row, start + i + half, zero)
                store(room, row, start + i, add(a, b))
                store(room, row, start + i + half, multiply(root, subtract(a, b)))
        half //= 2
    for i in range(size):
        store(room, row, i, multiply(load(constants, TURNS, i, zero), load(room, row, i, zero)))
    half = 1
    while half < size:
        for start in range(0, size, 2 * half):
            for i in range(half):
                root = load(constants, ROOTS, i * (size // half), zero)
                a, b = load(room, row, start + i, zero), load(room, row, start + i + half, zero)
                b = multiply(root, b)
                store(room, row, start + i, add(a, b))
                store(room, row, start + i + half, subtract(a, b))
        half *= 2


def take_away_signature(limbs: int) -> Kind:
    """For a field of so many words."""
    return types.void(element(limbs), types.int64, MATRIX, GIVEN, STATUS)


def take_away(zero: Element, count: int, left: Words, right: Words, rejected: Octets) -> None:
    """left - right, `count` elements a row, in place; marks rows where a word of `right` is not an element."""
    for row in range(len(rejected)):
        for i in range(count):
            share = load(right, row, i, zero)
            rejected[row] |= not is_reduced(share)
            store(left, row, i, subtract(load(left, row, i, zero), share))
