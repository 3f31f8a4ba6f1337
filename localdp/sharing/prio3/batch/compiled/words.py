"""What numba has no words for: products of 128 bits, carries, and words at any byte.

Each function becomes a few instructions on integers of 128 bits, which the compiler turns into the processor's own widening
product and additions with carry.

Checked against Python integers in tests/unit/sharing/prio3/test_compiled_fields.py.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir

from localdp.sharing.prio3.batch.compiled.toolchain import Emitted, Kind, emitted, types

Word = np.uint64
Pair = tuple[Word, Word]
Accumulator = tuple[Word, ...]
Target: TypeAlias = Any  # of a target of numba
Arguments = Sequence[ir.Value]
WORD = ir.IntType(64)
_DOUBLE = ir.IntType(128)
_PAIR = types.UniTuple(types.uint64, 2)
ZERO, ONE = np.uint64(0), np.uint64(1)


def _pair(context: Target, builder: ir.IRBuilder, double: ir.Value) -> ir.Value:
    """A double word as a pair, low word first."""
    high = builder.lshr(double, ir.Constant(_DOUBLE, 64))
    return context.make_tuple(builder, _PAIR, [builder.trunc(double, WORD), builder.trunc(high, WORD)])


def _doubles(builder: ir.IRBuilder, words: Sequence[ir.Value]) -> list[ir.Value]:
    return [builder.zext(word, _DOUBLE) for word in words]


@emitted
def multiply_add(_typing: Kind, a: Kind, b: Kind, c: Kind, d: Kind) -> Emitted:
    """a * b + c + d, which is always below 2**128: (low, high)."""

    def emit(context: Target, builder: ir.IRBuilder, _signature: Kind, arguments: Arguments) -> ir.Value:
        left, right, third, fourth = _doubles(builder, arguments)
        return _pair(context, builder, builder.add(builder.add(builder.mul(left, right), third), fourth))

    return _PAIR(*[types.uint64] * 4), emit


@emitted
def add_carry(_typing: Kind, a: Kind, b: Kind, carry: Kind) -> Emitted:
    """a + b + carry: (low, carry)."""

    def emit(context: Target, builder: ir.IRBuilder, _signature: Kind, arguments: Arguments) -> ir.Value:
        left, right, third = _doubles(builder, arguments)
        return _pair(context, builder, builder.add(builder.add(left, right), third))

    return _PAIR(*[types.uint64] * 3), emit


@emitted
def subtract_borrow(_typing: Kind, a: Kind, b: Kind, borrow: Kind) -> Emitted:
    """a - b - borrow: (low, borrow)."""

    def emit(context: Target, builder: ir.IRBuilder, _signature: Kind, arguments: Arguments) -> ir.Value:
        left, right, third = _doubles(builder, arguments)
        double = builder.sub(builder.sub(left, right), third)
        sign = builder.lshr(double, ir.Constant(_DOUBLE, 127))
        return context.make_tuple(builder, _PAIR, [builder.trunc(double, WORD), builder.trunc(sign, WORD)])

    return _PAIR(*[types.uint64] * 3), emit


@emitted
def put_word(_typing: Kind, words: Kind, octet: Kind, word: Kind) -> Emitted:
    """Write a word into an array of words at any octet, its lowest octet first."""

    def emit(context: Target, builder: ir.IRBuilder, signature: Kind, arguments: Arguments) -> ir.Value:
        array = context.make_array(signature.args[0])(context, builder, value=arguments[0])
        octets = builder.bitcast(array.data, ir.IntType(8).as_pointer())
        place = builder.gep(octets, [arguments[1]], source_etype=ir.IntType(8))
        builder.store(arguments[2], builder.bitcast(place, WORD.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.uint64), emit
