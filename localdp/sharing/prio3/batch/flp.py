"""Querying and deciding the proofs of a block of reports; what is computed is that of `localdp.sharing.prio3.flp`.

The point of the test differs from report to report, and so do the factors that turn values at roots of unity into the
value at that point.  They are computed once for all wires of a report, by prefix and suffix products, without an inversion
(see `polynomials`).

Checked to give the same bytes as the reference in tests/unit/sharing/prio3/test_batch.py.
"""

from collections.abc import Iterable

import numpy as np

from localdp.errors import InvalidParameter
from localdp.sharing.prio3 import polynomials
from localdp.sharing.prio3.batch import circuits, kernels
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Mask, Words
from localdp.sharing.prio3.flp import AnyCircuit


def basis_at(kernel: Kernel, size: int, count: int, points: Words) -> Words:
    """For lifted points, the factors of the first `count` of `size` values: (limbs, count, reports)."""
    roots = kernels.factors(kernel, kernel.field.roots(size)[:count])
    gaps = kernel.subtract(points[:, None], roots)
    # Both running products at once: row 0 goes up through the gaps, row 1 down.
    both = np.stack([gaps, gaps[:, ::-1]], axis=2)
    products = np.empty_like(both)
    products[:, 0] = kernels.factors(kernel, [1])
    for i in range(1, count):
        products[:, i] = kernel.multiply(products[:, i - 1], both[:, i - 1])
    weights = kernels.factors(kernel, polynomials.weights(kernel.field, size, count))
    around = kernel.multiply(products[:, :, 0], products[:, ::-1, 1])
    return kernel.multiply(weights, around)


def query(
    kernel: Kernel,
    circuit: AnyCircuit,
    encoded: Words,
    proof: Words,
    coins: Words,
    joint: Words,
    shares: int,
) -> tuple[Words, Mask]:
    """Shares of the verifiers, and where the point of the test is one that must not be used."""
    if circuit.gadget.degree != 2:
        raise InvalidParameter("only gadgets of degree 2 have a batched form")
    arity, size = circuit.gadget.arity, polynomials.next_power_of_two(circuit.gadget_length)
    one = kernels.elements(kernel, [kernel.field.inverse(shares)])
    points = kernel.lift(coins[:, -1])
    # In degree 2 the gadget polynomial is given at twice as many points as the wires: every other value is an output.
    outputs = proof[:, arity + 2 : arity + 2 * circuit.calls + 1 : 2]
    check = _reduced(kernel, coins[:, :-1], circuits.checks(circuit, kernel, encoded, outputs, one))
    inputs = circuits.wire_inputs(circuit, kernel, encoded, joint, one)
    wires = _wire_values(kernel, circuit, proof[:, :arity], inputs, points)
    gadget_basis = basis_at(kernel, size, circuit.gadget_length, points)
    gadget = kernels.total(kernel, kernel.multiply(gadget_basis, proof[:, arity:]))
    return np.stack([check, *wires, gadget], axis=1), _is_root(kernel, circuit.wire_length, points)


def _wire_values(
    kernel: Kernel, circuit: AnyCircuit, seeds: Words, inputs: Iterable[Words], points: Words
) -> list[Words]:
    """Each wire polynomial at the points: its seed and its inputs; what follows is zero."""
    basis = basis_at(kernel, circuit.wire_length, circuit.wire_length, points)
    from_seeds = kernel.multiply(basis[:, :1], seeds)
    of_calls = basis[:, 1 : circuit.calls + 1]
    from_inputs = (kernels.total(kernel, kernel.multiply(of_calls, wire)) for wire in inputs)
    return [kernel.add(from_seeds[:, j], value) for j, value in enumerate(from_inputs)]


def _is_root(kernel: Kernel, size: int, points: Words) -> Mask:
    """Whether the size-th power of a point is one; `size` is a power of two."""
    for _ in range(size.bit_length() - 1):
        points = kernel.multiply(points, points)
    return np.asarray((points == kernels.factors(kernel, [1])[:, 0]).all(axis=0))


def _reduced(kernel: Kernel, coins: Words, checks: Words) -> Words:
    if not coins.shape[1]:
        return checks[:, 0]
    return kernels.total(kernel, kernel.multiply(kernel.lift(coins), checks))


def decide(kernel: Kernel, circuit: AnyCircuit, verifiers: Words) -> Mask:
    """Whether each verifier is that of a valid measurement."""
    gadget = circuits.gadget_values(circuit.gadget, kernel, verifiers[:, 1:-1])
    return np.asarray((verifiers[:, 0] == 0).all(axis=0) & (gadget == verifiers[:, -1]).all(axis=0))
