"""A circuit as numbers: what compiled code needs to know of an instance of Prio3.

The lengths are a tuple, the constants a matrix of factors with one row for each use, numbered here.  The formulas are those
of `batch.flp` and `batch.circuits`; only the five circuits of the draft have a plan, and an heir of one of them has none.

Checked by comparing all implementations in tests/unit/sharing/prio3/test_engines.py.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from localdp.sharing.prio3 import bits, polynomials
from localdp.sharing.prio3.batch import kernels
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.prio3.fields import FIELD64, FIELD128
from localdp.sharing.prio3.flp import AnyCircuit
from localdp.sharing.prio3.prio3 import Prio3
from localdp.sharing.prio3.scalar_circuits import Count, Sum
from localdp.sharing.prio3.vector_circuits import HistogramCircuit, MultihotCountVec, SumVec

COUNT, SUM, CHUNKS = 0, 1, 2  # Kinds of circuits: how the inputs of the gadget come from the measurement.
ROOTS, WIRE_WEIGHTS, GADGET_WEIGHTS, RANGE_WEIGHTS, TURNS = range(5)  # Rows of the constants.
_KINDS: dict[type, int] = {
    Count: COUNT,
    Sum: SUM,
    SumVec: CHUNKS,
    HistogramCircuit: CHUNKS,
    MultihotCountVec: CHUNKS,
}


class Lengths(NamedTuple):
    """The lengths, in field elements."""

    kind: int
    encoded: int
    calls: int
    chunk: int  # Digits of one call; 0 where the gadget is not called on chunks.
    arity: int
    wire: int  # Values of a wire polynomial, a power of two.
    gadget: int  # Values of the gadget polynomial that are sent.
    joint: int  # Joint randomness of one proof.
    coins: int  # Coins of the query of one proof.
    width: int  # Digits of one output; 1 where the first digits are the outputs.
    added: int  # The second check adds up so many digits,
    weighed: int  # takes away the integer of so many further digits,
    whole: int  # and takes away one, if this is one.
    proofs: int


def has_plan(prio3: Prio3) -> bool:
    """Whether compiled code knows the circuit and its field."""
    return type(prio3.circuit) in _KINDS and prio3.field in (FIELD64, FIELD128)


def shape_of(prio3: Prio3) -> Lengths:
    """The lengths of an instance."""
    circuit = prio3.circuit
    added, weighed, whole = _second_check(circuit)
    kind = _KINDS[type(circuit)]
    return Lengths(
        kind=kind,
        encoded=circuit.encoded_length,
        calls=circuit.calls,
        chunk=circuit.gadget.arity // 2 if kind == CHUNKS else 0,
        arity=circuit.gadget.arity,
        wire=circuit.wire_length,
        gadget=circuit.gadget_length,
        joint=circuit.joint_length,
        coins=circuit.query_length,
        width=len(_range_weights(circuit)) if isinstance(circuit, Sum | SumVec) else 1,
        added=added,
        weighed=weighed,
        whole=whole,
        proofs=prio3.proofs,
    )


def _second_check(circuit: AnyCircuit) -> tuple[int, int, int]:
    if isinstance(circuit, HistogramCircuit):
        return circuit.length, 0, 1
    if isinstance(circuit, MultihotCountVec):
        return circuit.length, len(_range_weights(circuit)), 0
    return 0, 0, 0


def _range_weights(circuit: AnyCircuit) -> list[int]:
    if isinstance(circuit, Sum | SumVec):
        return bits.range_weights(circuit.largest)
    if isinstance(circuit, MultihotCountVec):
        return bits.range_weights(circuit.heaviest)
    return []


def _bit_reversed(size: int) -> list[int]:
    """0 .. size - 1, a power of two, in the order of their digits read backwards."""
    return [0] if size == 1 else [2 * i + bit for bit in (0, 1) for i in _bit_reversed(size // 2)]


@lru_cache(maxsize=16)
def constants_of(prio3: Prio3) -> Words:
    """The constants as factors, in rows of one length: the same for every block, and never written to."""
    circuit, field = prio3.circuit, prio3.field
    size = 2 * circuit.wire_length
    scale = field.inverse(circuit.wire_length)
    roots = field.roots(size)
    table = {
        ROOTS: roots,
        WIRE_WEIGHTS: polynomials.weights(field, circuit.wire_length, circuit.wire_length),
        GADGET_WEIGHTS: polynomials.weights(field, size, circuit.gadget_length),
        RANGE_WEIGHTS: _range_weights(circuit),
        # From the roots of one size to those between them: a turn of every coefficient, and the scale of the transform.
        TURNS: [roots[i] * scale % field.modulus for i in _bit_reversed(circuit.wire_length)],
    }
    longest = max(map(len, table.values()))
    filled = [[*table[row], *([0] * (longest - len(table[row])))] for row in sorted(table)]
    kernel = kernels.kernel_for(field)
    words = [kernels.factors(kernel, row)[:, :, 0].T.ravel() for row in filled]
    return np.ascontiguousarray(words, np.uint64)
