"""Fully linear proofs that a circuit accepts (Boneh, Boyle, Corrigan-Gibbs, Gilboa and Ishai 2019, section 4.2).

As in draft-irtf-cfrg-vdaf-20, section 7.3.  With P = `wire_length` and a the P-th root of unity, wire polynomial j takes a
random seed at a**0, input j of gadget call k at a**k, and zero at the points that are left.  The proof is the seeds and the
polynomial that the gadget makes of the wire polynomials, whose value at a**k is the output of call k.

    prove   the measurement                ->  proof
    query   a share of measurement, proof  ->  a share of the verifier
    decide  the verifier                   ->  accepted or not

A verifier is the checks, reduced to one by random factors, then every wire polynomial and the gadget polynomial at a random
point t.  Query is linear, so that shares of verifiers add up to the verifier of the sum.  The verifier of
a valid measurement says nothing about it, unless t is one of the a**k; such a t is refused.

Error.  An invalid measurement is accepted with probability at most d / (modulus - P) over t, d the degree of the gadget
polynomial, plus 1 / modulus over the factors, plus that of the circuit over the joint randomness (`bits`).  The last one
counts for each joint randomness that a client tries, since it can compute it beforehand.

Checked exactly, over all coins of a small field, in tests/unit/sharing/prio3/test_flp.py: that valid ones are accepted, the
bound on accepted invalid ones, and that the law of the verifier is the same for every valid measurement.
"""

from typing import Any

from localdp.errors import MalformedReport
from localdp.sharing.prio3.circuit import Circuit, Vector
from localdp.sharing.prio3.polynomials import basis_at, coefficients_of, next_power_of_two, values_at_roots

AnyCircuit = Circuit[Any, Any]


def wires(circuit: AnyCircuit, seeds: Vector, inputs: list[list[int]]) -> list[list[int]]:
    """The values of each wire polynomial: its seed, its inputs, zeros."""
    zeros = [0] * (circuit.wire_length - 1 - len(inputs))
    return [[seed, *(call[j] for call in inputs), *zeros] for j, seed in enumerate(seeds)]


def prove(circuit: AnyCircuit, encoded: Vector, prove_coins: Vector, joint: Vector) -> list[int]:
    """The proof of an encoded measurement; `prove_coins` are the seeds of the wires."""
    field, size = circuit.field, next_power_of_two(circuit.gadget_length)
    polynomials = wires(circuit, prove_coins, circuit.gadget_inputs(encoded, joint, 1))
    extended = [values_at_roots(field, coefficients_of(field, values), size) for values in polynomials]
    # The gadget of polynomials has, at each point, the gadget of their values.
    columns = list(zip(*extended, strict=True))[: circuit.gadget_length]
    return [*prove_coins, *(circuit.gadget.evaluate(field, column) for column in columns)]


def query(
    circuit: AnyCircuit, encoded: Vector, proof: Vector, query_coins: Vector, joint: Vector, shares: int
) -> list[int]:
    """A share of the verifier, from one of so many shares of the measurement and of the proof."""
    field, arity = circuit.field, circuit.gadget.arity
    one = field.inverse(shares)
    *factors, point = query_coins
    if pow(point, circuit.wire_length, field.modulus) == 1:
        raise MalformedReport("the point of a test is one of the points of the wires")
    polynomials = wires(circuit, proof[:arity], circuit.gadget_inputs(encoded, joint, one))
    checks = circuit.checks(encoded, _gadget_outputs(circuit, proof[arity:]), one)
    basis = basis_at(field, circuit.wire_length, circuit.wire_length, point)
    return [
        field.dot(factors, checks) if factors else checks[0],
        *(field.dot(basis, values) for values in polynomials),
        _gadget_value(circuit, proof[arity:], point),
    ]


def _gadget_value(circuit: AnyCircuit, values: Vector, point: int) -> int:
    size = next_power_of_two(circuit.gadget_length)
    return circuit.field.dot(basis_at(circuit.field, size, len(values), point), values)


def _gadget_outputs(circuit: AnyCircuit, values: Vector) -> list[int]:
    """The gadget polynomial at a**k for every call k; these are roots of unity of the larger size too."""
    size = next_power_of_two(circuit.gadget_length)
    step = size // circuit.wire_length
    roots = circuit.field.roots(size)
    places = [k * step for k in range(1, circuit.calls + 1)]
    # In degree 2 every place was sent; a higher degree may leave some to be computed.
    return [
        values[place] if place < len(values) else _gadget_value(circuit, values, roots[place])
        for place in places
    ]


def decide(circuit: AnyCircuit, verifier: Vector) -> bool:
    """Whether the checks are zero and the gadget polynomial is the gadget of the wire polynomials."""
    check, *wire_values, gadget_value = verifier
    return check == 0 and circuit.gadget.evaluate(circuit.field, wire_values) == gadget_value
