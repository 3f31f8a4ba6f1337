"""The client's proofs for a block of reports, on numpy: what `localdp.sharing.prio3.flp.prove` computes.

Wire polynomials are given at the P-th roots of unity, and the gadget polynomial is sent at the 2 P-th ones.  Every other of
those is one of the former; the values between come from the coefficients, each turned by a power of the larger root.

Checked against the reference in tests/unit/sharing/prio3/test_sharding.py.
"""

import numpy as np

from localdp.errors import InvalidParameter
from localdp.sharing.prio3.batch import circuits, kernels
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.prio3.circuit import SumOfProducts, Univariate
from localdp.sharing.prio3.flp import AnyCircuit


def prove(kernel: Kernel, circuit: AnyCircuit, encoded: Words, coins: Words, joint: Words) -> Words:
    """The proofs of encoded measurements; `coins` are the seeds of the wires."""
    if circuit.gadget.degree != 2:
        raise InvalidParameter("only gadgets of degree 2 have a batched form")
    one = kernels.elements(kernel, [1])
    inputs = circuits.wire_inputs(circuit, kernel, encoded, joint, one)
    wires = (_extended(kernel, circuit, coins[:, j], wire) for j, wire in enumerate(inputs))
    if isinstance(circuit.gadget, SumOfProducts):
        values: Words = np.zeros((kernel.limbs, circuit.gadget_length, encoded.shape[2]), np.uint64)
        for left, right in zip(wires, wires, strict=True):  # One iterator: two neighbours at a time.
            values = kernel.add(values, kernel.multiply(left, right))
        values = kernel.lift(values)  # Neither factor was lifted, so that the sum of products is.
    elif isinstance(circuit.gadget, Univariate):
        wire = next(wires)
        flat = circuits.horner(circuit.gadget, kernel, wire.reshape(kernel.limbs, -1))
        values = flat.reshape(wire.shape)
    else:
        raise InvalidParameter("this gadget has no batched form")
    return np.concatenate([coins, values], axis=1)


def _extended(kernel: Kernel, circuit: AnyCircuit, seeds: Words, inputs: Words) -> Words:
    """A wire polynomial at all points that are sent."""
    size = circuit.wire_length
    values = np.zeros((kernel.limbs, size, inputs.shape[2]), np.uint64)
    values[:, 0], values[:, 1 : circuit.calls + 1] = seeds, inputs
    field = kernel.field
    roots, scale = field.roots(2 * size), field.inverse(size)
    turns = kernels.factors(kernel, [root * scale % field.modulus for root in roots[:size]])
    inverse_roots = [roots[-2 * i] for i in range(size)]
    coefficients = _transform(kernel, values, kernels.factors(kernel, inverse_roots))
    between = _transform(kernel, kernel.multiply(turns, coefficients), kernels.factors(kernel, roots[::2]))
    return np.stack([values, between], axis=2).reshape(kernel.limbs, 2 * size, -1)[
        :, : circuit.gadget_length
    ]


def _transform(kernel: Kernel, values: Words, roots: Words) -> Words:
    """The number-theoretic transform along axis 1, by halving; `roots` are the powers of the root, as factors."""
    if values.shape[1] == 1:
        return values
    even = _transform(kernel, values[:, ::2], roots[:, ::2])
    odd = kernel.multiply(roots[:, : even.shape[1]], _transform(kernel, values[:, 1::2], roots[:, ::2]))
    return np.concatenate([kernel.add(even, odd), kernel.subtract(even, odd)], axis=1)
