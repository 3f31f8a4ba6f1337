"""Keccak-p[1600, 12] of several states at once, written as vector instructions.

The states are interleaved: word number `STATES * i + s` is lane i of state s, so that one vector holds a lane of every
state and a round is the same few operations on vectors as it is on words.  Steps and constants are those of the reference,
`localdp.sharing.prio3.keccak`.  Four states fill the vectors of AVX2; where a processor has narrower ones the compiler
cuts each operation in two.

Checked against the reference in tests/unit/sharing/prio3/test_compiled_sponge.py.
"""

from llvmlite import ir

from localdp.sharing.prio3.batch.compiled.toolchain import Emitted, Kind, emitted, types
from localdp.sharing.prio3.batch.compiled.words import WORD, Arguments, Target
from localdp.sharing.prio3.keccak import LANES, MOVES, NEXT, ROUND_CONSTANTS, ROUNDS, SECOND_NEXT

STATES = 4
_VECTOR = ir.VectorType(WORD, STATES)
_WORD_BYTES = 8


def _everywhere(value: int) -> ir.Value:
    return ir.Constant(_VECTOR, [value] * STATES)


def _turned(builder: ir.IRBuilder, lane: ir.Value, by: int) -> ir.Value:
    if not by:
        return lane
    return builder.or_(builder.shl(lane, _everywhere(by)), builder.lshr(lane, _everywhere(64 - by)))


def _round(builder: ir.IRBuilder, a: Arguments, constant: int) -> list[ir.Value]:
    c = [_xor(builder, [a[x], a[x + 5], a[x + 10], a[x + 15], a[x + 20]]) for x in range(5)]
    d = [builder.xor(c[x - 1], _turned(builder, c[x - 4], 1)) for x in range(5)]
    b: list[ir.Value] = [None] * LANES
    for source, target, shift in MOVES:
        b[target] = _turned(builder, builder.xor(a[source], d[source % 5]), shift)
    clear = [builder.and_(builder.not_(b[i]), b[j]) for i, j in zip(NEXT, SECOND_NEXT, strict=True)]
    first, *rest = [builder.xor(lane, other) for lane, other in zip(b, clear, strict=True)]
    return [builder.xor(first, _everywhere(constant)), *rest]


def _xor(builder: ir.IRBuilder, lanes: Arguments) -> ir.Value:
    first, *rest = lanes
    for lane in rest:
        first = builder.xor(first, lane)
    return first


@emitted
def permute(_typing: Kind, states: Kind) -> Emitted:
    """The permutation of all interleaved states, in place."""

    def emit(context: Target, builder: ir.IRBuilder, signature: Kind, arguments: Arguments) -> ir.Value:
        array = context.make_array(signature.args[0])(context, builder, value=arguments[0])
        vectors = builder.bitcast(array.data, _VECTOR.as_pointer())
        places = [builder.gep(vectors, [ir.Constant(WORD, i)], source_etype=_VECTOR) for i in range(LANES)]
        lanes = [builder.load(place, align=_WORD_BYTES, typ=_VECTOR) for place in places]
        for constant in ROUND_CONSTANTS[-ROUNDS:]:
            lanes = _round(builder, lanes, constant)
        for place, lane in zip(places, lanes, strict=True):
            builder.store(lane, place, align=_WORD_BYTES)
        return context.get_dummy_value()

    return types.void(states), emit
