"""The five circuits on blocks of reports: the same affine maps as in `scalar_circuits` and `vector_circuits`.

Arrays are of shape (limbs, ..., reports).  The inputs of the gadget come wire by wire, each as (limbs, calls,
reports), so that one wire of a block fits in the cache.

Checked against the circuits for one report in tests/unit/sharing/prio3/test_batch.py.
"""

from collections.abc import Iterator
from functools import singledispatch

import numpy as np

from localdp.errors import InvalidParameter
from localdp.sharing.prio3 import bits
from localdp.sharing.prio3.batch import kernels
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.prio3.circuit import Gadget, SumOfProducts, Univariate
from localdp.sharing.prio3.flp import AnyCircuit
from localdp.sharing.prio3.scalar_circuits import Count, Sum
from localdp.sharing.prio3.vector_circuits import DigitVector, HistogramCircuit, MultihotCountVec, SumVec


def wire_inputs(
    circuit: AnyCircuit, kernel: Kernel, encoded: Words, joint: Words, one: Words
) -> Iterator[Words]:
    """For each wire, its inputs in all calls of the gadget."""
    if isinstance(circuit, DigitVector):
        yield from _chunk_inputs(circuit, kernel, encoded, joint, one)
    elif isinstance(circuit, Count):
        yield from (encoded, encoded)
    else:
        yield encoded


def _chunk_inputs(
    circuit: AnyCircuit, kernel: Kernel, encoded: Words, joint: Words, one: Words
) -> Iterator[Words]:
    chunk = circuit.gadget.arity // 2
    missing = circuit.calls * chunk - circuit.encoded_length
    filled = np.concatenate([encoded, np.zeros_like(encoded[:, :1]).repeat(missing, axis=1)], axis=1)
    coins = powers = kernel.lift(joint)
    for place in range(chunk):
        x = filled[:, place::chunk]
        yield kernel.multiply(powers, x)
        yield kernel.subtract(x, one)
        if place + 1 < chunk:
            powers = kernel.multiply(coins, powers)


@singledispatch
def checks(circuit: AnyCircuit, kernel: Kernel, encoded: Words, outputs: Words, one: Words) -> Words:
    """All zero for valid measurements: (limbs, checks, reports)."""
    raise InvalidParameter("this circuit has no batched form")


@checks.register
def _(circuit: Count, kernel: Kernel, encoded: Words, outputs: Words, one: Words) -> Words:
    return kernel.subtract(outputs, encoded)


@checks.register
def _(circuit: Sum, kernel: Kernel, encoded: Words, outputs: Words, one: Words) -> Words:
    return outputs


@checks.register
def _(circuit: SumVec, kernel: Kernel, encoded: Words, outputs: Words, one: Words) -> Words:
    return kernels.total(kernel, outputs)[:, None]


@checks.register
def _(circuit: HistogramCircuit, kernel: Kernel, encoded: Words, outputs: Words, one: Words) -> Words:
    excess = kernel.subtract(kernels.total(kernel, encoded), one[:, 0])
    return np.stack([kernels.total(kernel, outputs), excess], axis=1)


@checks.register
def _(circuit: MultihotCountVec, kernel: Kernel, encoded: Words, outputs: Words, one: Words) -> Words:
    weight = kernels.total(kernel, encoded[:, : circuit.length])
    reported = _in_range(kernel, encoded[:, circuit.length :], circuit.heaviest)
    return np.stack([kernels.total(kernel, outputs), kernel.subtract(weight, reported)], axis=1)


def _in_range(kernel: Kernel, digits: Words, largest: int) -> Words:
    weights = kernels.factors(kernel, bits.range_weights(largest))
    return kernels.total(kernel, kernel.multiply(weights, digits))


def truncate(circuit: AnyCircuit, kernel: Kernel, encoded: Words) -> Words:
    """What is summed up: (limbs, outputs, reports)."""
    if isinstance(circuit, Sum):
        return _in_range(kernel, encoded, circuit.largest)[:, None]
    if isinstance(circuit, SumVec):
        width = circuit.largest.bit_length()
        entries = [encoded[:, i * width : (i + 1) * width] for i in range(circuit.length)]
        return np.stack([_in_range(kernel, digits, circuit.largest) for digits in entries], axis=1)
    return encoded[:, : circuit.output_length]


def gadget_values(gadget: Gadget, kernel: Kernel, inputs: Words) -> Words:
    """The gadget of (limbs, arity, reports)."""
    if isinstance(gadget, SumOfProducts):
        return kernels.total(kernel, kernel.multiply(kernel.lift(inputs[:, ::2]), inputs[:, 1::2]))
    if isinstance(gadget, Univariate):
        return horner(gadget, kernel, inputs[:, 0])
    raise InvalidParameter("this gadget has no batched form")


def horner(gadget: Univariate, kernel: Kernel, x: Words) -> Words:
    """The gadget at each of (limbs, reports) points."""
    point, value = kernel.lift(x), np.zeros_like(x)
    for coefficient in reversed(gadget.coefficients):
        constant = kernels.elements(kernel, [coefficient % kernel.field.modulus])[:, 0]
        value = kernel.add(kernel.multiply(point, value), constant)
    return value
