"""Adding up the verifier shares of a block and deciding, one report after the other: what `batch.flp.decide` computes.

Checked against the reference and the numpy form in tests/unit/sharing/prio3/test_engines.py.
"""

import numpy as np

from localdp.sharing.prio3.batch.compiled.arithmetic import (
    Element,
    accumulate,
    add,
    collapse,
    is_reduced,
    lift,
    load,
    nothing,
    store,
    subtract,
)
from localdp.sharing.prio3.batch.compiled.plan import SUM, Lengths
from localdp.sharing.prio3.batch.compiled.signatures import GIVEN, SHAPE, STATUS, element
from localdp.sharing.prio3.batch.compiled.toolchain import Kind, part, types
from localdp.sharing.prio3.batch.words import Octets, Words


def decide_signature(limbs: int) -> Kind:
    """For a field of so many words."""
    return types.void(SHAPE, element(limbs), GIVEN, STATUS)


def decide(shape: Lengths, zero: Element, shares: Words, holds: Octets) -> None:
    """Says of each report whether it holds; `shares` has the rows of the first server, then those of the second, ..."""
    count, length = len(holds), shape.arity + 2
    total = np.empty((1, 2 * length), np.uint64)
    for row in range(count):
        good = True
        for proof in range(shape.proofs):
            for i in range(length):
                good &= _add_up(zero, shares, count, row, proof * length + i, total, i)
            good &= load(total, 0, 0, zero) == zero
            good &= _gadget(shape, zero, total) == load(total, 0, length - 1, zero)
        holds[row] = good


@part
def _add_up(
    zero: Element, shares: Words, count: int, row: int, place: int, total: Words, into: int
) -> bool:
    """One element of all servers; whether all of them are reduced."""
    value = load(shares, row, place, zero)
    good = is_reduced(value)
    # Not a range with a step, which divides: once for each element, that takes longer than all else.
    at = row + count
    while at < len(shares):
        share = load(shares, at, place, zero)
        good &= is_reduced(share)
        value = add(value, share)
        at += count
    store(total, 0, into, value)
    return good


@part
def _gadget(shape: Lengths, zero: Element, total: Words) -> Element:
    """The gadget of the values of the wires."""
    sums = nothing(zero)
    if shape.kind == SUM:
        x = load(total, 0, 1, zero)
        return subtract(lift(collapse(accumulate(sums, x, x), zero)), x)
    for j in range(1, shape.arity + 1, 2):
        sums = accumulate(sums, load(total, 0, j, zero), load(total, 0, j + 1, zero))
    return lift(collapse(sums, zero))  # Neither factor was lifted, so that the sum of products is.
