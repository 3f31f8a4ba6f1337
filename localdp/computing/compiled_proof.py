"""The arithmetic of the proofs as compiled code: what `NumpyProofCode` computes, five to seven times faster.

Elements stand one after the other, the least limb first, as on the wire; each function is compiled for each field
that is used, by the means of `sharing/prio3/batch/compiled`.  Loops over words run over whole slices in a function of
their own, which is what lets the compiler use the widest counting and rotating instructions that the processor has.
All compiled functions are in this file, because numba looks for changes in an entry's own file only.

Checked against the numpy form in tests/unit/computing/test_proof_code.py.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from llvmlite import ir

from localdp.computing.proof_code import LANES, Side, constants, counted, powers, sign_table
from localdp.sharing.prio3.batch.compiled.arithmetic import (
    Element,
    accumulate,
    accumulate_element,
    add,
    collapse,
    lift,
    load,
    multiply,
    nothing,
    store,
    subtract,
)
from localdp.sharing.prio3.batch.compiled.signatures import GIVEN, MATRIX, VECTOR, element
from localdp.sharing.prio3.batch.compiled.toolchain import Code, Emitted, Kind, emitted, entry, part, types
from localdp.sharing.prio3.batch.compiled.words import Arguments, Target, Word
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Words

_BLOCK = 1024  # words or elements that stay in the first cache
_COUNTS = types.Array(types.int64, 1, "C")
_OCTET = np.uint64(255)


@emitted
def ones_in(_typing: Kind, word: Kind) -> Emitted:
    """How many bits of a word are one."""

    def emit(_context: Target, builder: ir.IRBuilder, _signature: Kind, arguments: Arguments) -> ir.Value:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), emit


@part
def _wrong(
    e: Words, a: Words, c: Words, f: Words, b: Words, d: Words, turn: int, mask: Word
) -> tuple[np.int64, np.int64]:
    """Lanes that do not hold when the right words are turned: those of the mask, and all."""
    left, right = np.uint64(turn), np.uint64((64 - turn) & 63)
    masked, every = np.uint64(0), np.uint64(0)
    for i in range(e.size):
        turned_f = (f[i] << left) | (f[i] >> right)
        turned_b = (b[i] << left) | (b[i] >> right)
        turned_d = (d[i] << left) | (d[i] >> right)
        word = e[i] ^ turned_f ^ (a[i] & turned_b) ^ (c[i] & turned_d)
        masked += ones_in(word & mask)
        every += ones_in(word)
    return np.int64(masked), np.int64(every)


ROTATIONS = types.void(*[VECTOR] * 6, _COUNTS)


def rotations(e: Words, a: Words, c: Words, f: Words, b: Words, d: Words, wrong: Words) -> None:
    """Adds up, for each exponent -63 .. 63, the lanes in which gates do not hold."""
    for start in range(0, e.size, _BLOCK):
        end = min(e.size, start + _BLOCK)
        for turn in range(64):
            mask = ~np.uint64(0) << np.uint64(turn)
            above, every = _wrong(
                e[start:end],
                a[start:end],
                c[start:end],
                f[start:end],
                b[start:end],
                d[start:end],
                turn,
                mask,
            )
            wrong[63 + turn] += above
            if turn:
                wrong[turn - 1] += every - above


@part
def _signed(table: Words, word: Word, zero: Element) -> Element:
    """The sum of the table's entries for the eight octets of a word, reduced once."""
    sums = nothing(zero)
    for place in range(8):
        octet = int(word >> np.uint64(8 * place) & _OCTET)
        sums = accumulate_element(sums, load(table, 0, 256 * place + octet, zero))
    return collapse(sums, zero)


def signs_signature(limbs: int) -> Kind:
    """For a field of so many words."""
    return types.void(VECTOR, VECTOR, VECTOR, GIVEN, types.boolean, element(limbs), MATRIX)


def signs(e: Words, a: Words, c: Words, table: Words, transformed: bool, zero: Element, out: Words) -> None:
    """The four vectors of a side, one behind the other."""
    count = e.size
    for i in range(count):
        one, two = _signed(table, e[i], zero), _signed(table, e[i] ^ a[i], zero)
        three, four = _signed(table, e[i] ^ c[i], zero), _signed(table, e[i] ^ a[i] ^ c[i], zero)
        if transformed:
            s, t, x, y = add(one, two), subtract(one, two), add(three, four), subtract(three, four)
            one, two, three, four = add(s, x), add(t, y), subtract(s, x), subtract(t, y)
        store(out, 0, i, one)
        store(out, 0, count + i, two)
        store(out, 0, 2 * count + i, three)
        store(out, 0, 3 * count + i, four)


def correlated_signature(limbs: int) -> Kind:
    """For a field of so many words."""
    return types.void(GIVEN, GIVEN, types.int64, types.int64, element(limbs), MATRIX)


def correlated(u: Words, v: Words, chunks: int, size: int, zero: Element, out: Words) -> None:
    """The coefficients of all exponents, added to `out`; chunks have `size` elements."""
    for start in range(0, size, _BLOCK):
        end = min(size, start + _BLOCK)
        for shift in range(1 - chunks, chunks):
            sums = nothing(zero)
            for chunk in range(max(0, shift), min(chunks, chunks + shift)):
                left, right = chunk * size, (chunk - shift) * size
                for i in range(start, end):
                    sums = accumulate(sums, load(u, 0, left + i, zero), load(v, 0, right + i, zero))
            total = add(load(out, 0, chunks - 1 + shift, zero), collapse(sums, zero))
            store(out, 0, chunks - 1 + shift, total)


def combined_signature(limbs: int) -> Kind:
    """For a field of so many words."""
    return types.void(GIVEN, GIVEN, types.int64, types.int64, element(limbs), MATRIX)


def combined(u: Words, weights: Words, chunks: int, size: int, zero: Element, out: Words) -> None:
    """The sum of the chunks of u, each times its weight; weights are factors."""
    for i in range(size):
        sums = nothing(zero)
        for chunk in range(chunks):
            sums = accumulate(sums, load(weights, 0, chunk, zero), load(u, 0, chunk * size + i, zero))
        store(out, 0, i, collapse(sums, zero))


def scaled_signature(limbs: int) -> Kind:
    """For a field of so many words."""
    return types.void(GIVEN, GIVEN, types.int64, element(limbs), MATRIX)


def scaled(theta: Words, alpha: Words, count: int, zero: Element, out: Words) -> None:
    """Products, element by element."""
    for i in range(count):
        store(out, 0, i, multiply(lift(load(theta, 0, i, zero)), load(alpha, 0, i, zero)))


def _row(vector: Words) -> Words:
    """(limbs, count) as one row of elements."""
    return np.ascontiguousarray(vector.T).reshape(1, -1)


class _Compiled(NamedTuple):
    rotations: Code
    signs: Code
    correlated: Code
    combined: Code
    scaled: Code


@cache
def compiled_steps(limbs: int) -> _Compiled:
    """Everything that a field of so many words needs: compiled now, or loaded from disk."""
    return _Compiled(
        entry(rotations, ROTATIONS),
        entry(signs, signs_signature(limbs)),
        entry(correlated, correlated_signature(limbs)),
        entry(combined, combined_signature(limbs)),
        entry(scaled, scaled_signature(limbs)),
    )


class CompiledProofCode:
    """The proof's arithmetic for Field64 and Field128."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._zero = np.uint64(0) if kernel.limbs == 1 else (np.uint64(0), np.uint64(0))
        self._steps = compiled_steps(kernel.limbs)

    def _columns(self, row: Words) -> Words:
        return np.ascontiguousarray(row.reshape(-1, self.kernel.limbs).T)

    def rotations(self, left: Side, right: Side) -> Words:
        wrong = np.zeros(2 * LANES - 1, np.int64)
        self._steps.rotations(*left, *right, wrong)
        lanes = len(left[0]) * (LANES - np.abs(np.arange(1 - LANES, LANES)))
        return counted(self.kernel, lanes - 2 * wrong)

    def signs(self, words: Side, point: int, *, transformed: bool) -> Words:
        limbs = self.kernel.limbs
        table = sign_table(self.kernel, point).reshape(limbs, -1)
        out = np.empty((1, 4 * limbs * len(words[0])), np.uint64)
        self._steps.signs(*words, _row(table), transformed, self._zero, out)
        return self._columns(out)

    def correlated(self, u: Words, v: Words, chunks: int) -> Words:
        kernel = self.kernel
        out = np.zeros((1, kernel.limbs * (2 * chunks - 1)), np.uint64)
        size = u.shape[1] // chunks
        self._steps.correlated(_row(kernel.lift(u)), _row(v), chunks, size, self._zero, out)
        return self._columns(out)

    def combined(self, u: Words, chunks: int, point: int) -> Words:
        kernel = self.kernel
        weights = kernel.lift(constants(kernel, powers(kernel, point, chunks)))
        size = u.shape[1] // chunks
        out = np.empty((1, kernel.limbs * size), np.uint64)
        self._steps.combined(_row(u), _row(weights), chunks, size, self._zero, out)
        return self._columns(out)

    def scaled(self, theta: Words, alpha: Words) -> Words:
        out = np.empty((1, theta.size), np.uint64)
        self._steps.scaled(_row(theta), _row(alpha), theta.shape[1], self._zero, out)
        return self._columns(out)
