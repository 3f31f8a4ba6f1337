"""What numba has no words for: products of 128 bits, carries, and words at any byte.

Each function becomes a few instructions on integers of 128 bits, which the compiler turns into the processor's own widening
product and additions with carry.

Checked against Python integers in tests/unit/sharing/prio3/test_compiled_fields.py.
"""

from typing import Any

import numpy as np
from llvmlite import ir

from localdp.sharing.prio3.batch.compiled.toolchain import emitted, types

WORD = ir.IntType(64)
_DOUBLE = ir.IntType(128)
_PAIR = types.UniTuple(types.uint64, 2)
ZERO, ONE = np.uint64(0), np.uint64(1)


def _pair(context: Any, builder: Any, double: Any) -> Any:
    """A double word as a pair, low word first."""
    high = builder.lshr(double, ir.Constant(_DOUBLE, 64))
    return context.make_tuple(builder, _PAIR, [builder.trunc(double, WORD), builder.trunc(high, WORD)])


def _doubles(builder: Any, words: Any) -> list[Any]:
    return [builder.zext(word, _DOUBLE) for word in words]


@emitted
def multiply_add(_typing: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """a * b + c + d, which is always below 2**128: (low, high)."""

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        left, right, third, fourth = _doubles(builder, arguments)
        return _pair(context, builder, builder.add(builder.add(builder.mul(left, right), third), fourth))

    return _PAIR(*[types.uint64] * 4), emit


@emitted
def add_carry(_typing: Any, a: Any, b: Any, carry: Any) -> Any:
    """a + b + carry: (low, carry)."""

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        left, right, third = _doubles(builder, arguments)
        return _pair(context, builder, builder.add(builder.add(left, right), third))

    return _PAIR(*[types.uint64] * 3), emit


@emitted
def subtract_borrow(_typing: Any, a: Any, b: Any, borrow: Any) -> Any:
    """a - b - borrow: (low, borrow)."""

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        left, right, third = _doubles(builder, arguments)
        double = builder.sub(builder.sub(left, right), third)
        sign = builder.lshr(double, ir.Constant(_DOUBLE, 127))
        return context.make_tuple(builder, _PAIR, [builder.trunc(double, WORD), builder.trunc(sign, WORD)])

    return _PAIR(*[types.uint64] * 3), emit


@emitted
def put_word(_typing: Any, words: Any, octet: Any, word: Any) -> Any:
    """Write a word into an array of words at any octet, its lowest octet first."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, value=arguments[0])
        octets = builder.bitcast(array.data, ir.IntType(8).as_pointer())
        place = builder.gep(octets, [arguments[1]], source_etype=ir.IntType(8))
        builder.store(arguments[2], builder.bitcast(place, WORD.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.uint64), emit
