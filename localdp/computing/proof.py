"""A distributed zero-knowledge proof that a server computed its gates rightly (Boyle, Gilboa, Ishai and Nof 2019).

A prover P convinces a left and a right verifier, who share a key that P has not got.  Of every gate the left one
knows (e, a, c), the right one (f, b, d), and P all; the gate is right iff e ^ f ^ ab ^ cd = 0.

**Deviation**: no random weight for each gate.  With signs A = (-1)^a and so on, (-1)^(ab) = (1 + A + B - AB) / 2; so
with u = s (1, A, C, AC), s = (-1)^e, and v = H t (1, B, D, BD), t = (-1)^f, H = [[1, 1], [1, -1]] (x) [[1, 1], [1,
-1]]: <u, v> = 4 (-1)^(e ^ f ^ ab ^ cd).  The sum over n lanes is 4n modulo p *iff* every lane is right, since 8n < p.

Levels.  A claim <u, v> = y, y shared between the verifiers, is made shorter: u and v are cut into chunks, and P
shares the coefficients of G(X) = sum <u_l, v_m> X^(l - m) between the verifiers (the left one's share is a keystream,
the right one's a message), all but the constant one, which is the claim.  At a random point both fold: u <- sum
point^l u_l, v <- sum point^-m v_m, y <- G(point). On the first level the chunks are the lanes of words, and the
coefficients are counts.  After it field products join: a statement alpha . beta = gamma_left + gamma_right enters as
(theta alpha, beta) with a random theta of its own.  On the last level, of at most 256 elements, one random element is
appended to u, known to the left, and one to v, known to the right, so that what the verifiers tell each other in the
end, u(point) and v(point), is uniform.

Claim.  A false gate is accepted with probability at most `error_bound`, below 2**-53; the verifiers see what is
uniform to them.
Checked in tests/unit/computing/test_proof.py, the view by every coin of a small field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from localdp.computing.keyed_streams import SharedStream
from localdp.computing.proof_code import LANES, NumpyProofCode, ProofCode, Side
from localdp.computing.transcript import ProductGates, WordGates
from localdp.sharing.prio3.batch.engine import compiler_is_wanted
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField

LONGEST_LAST = 256
_LONG, _CHUNKS_OF_LONG, _CHUNKS = 1 << 14, 8, 32
_PADS = 2  # on the last level, one of each side


_ready: set[int] = set()  # words of an element: for which fields compiled code is loaded in this process
_under_way: set[int] = set()


def proof_code_for(kernel: Kernel) -> ProofCode:
    """Compiled code where it is installed, wanted and made for the field; and numpy's while another thread makes it."""
    if not _can_compile(kernel) or kernel.limbs in _under_way:
        return NumpyProofCode(kernel)
    from localdp.computing.compiled_proof import CompiledProofCode

    code = CompiledProofCode(kernel)
    _ready.add(kernel.limbs)
    return code


def compiled_later(kernel: Kernel) -> Callable[[], None] | None:
    """Compiling, or loading, as work for another thread, which is under way from now on; None if there is nothing to do.

    What cannot be compiled stays under way, so that nobody waits for it again.
    """
    if not _can_compile(kernel) or kernel.limbs in _ready | _under_way:
        return None
    _under_way.add(kernel.limbs)

    def work() -> None:
        from localdp.computing.compiled_proof import compiled_steps

        compiled_steps(kernel.limbs)
        _ready.add(kernel.limbs)
        _under_way.discard(kernel.limbs)

    return work


def _can_compile(kernel: Kernel) -> bool:
    return kernel.field in (FIELD64, FIELD128) and compiler_is_wanted()


@dataclass(frozen=True, slots=True)
class ProofShape:
    """How many words and pairs of elements are proved: it decides all levels."""

    words: int
    pairs: int

    @property
    def length(self) -> int:
        """Of u and v after the first level."""
        return 4 * self.words + self.pairs

    @property
    def chunks(self) -> list[int]:
        """Of every level after the first; on the last one, a chunk is one element."""
        found, length = [], self.length
        while length > LONGEST_LAST:
            found.append(_CHUNKS_OF_LONG if length > _LONG else _CHUNKS)
            length = -(-length // found[-1])
        return [*found, length + _PADS]


def error_bound(shape: ProofShape, field: PrimeField) -> Fraction:
    """At least the probability that a proof of something false is accepted: degrees over points, and the weights theta."""
    degrees = 2 * (LANES - 1) + sum(2 * (chunks - 1) for chunks in shape.chunks)
    return Fraction(degrees, field.modulus - 1) + Fraction(1, field.modulus)


def padded(vector: Words, chunks: int) -> Words:
    """Zeros at the end, up to whole chunks."""
    missing = -vector.shape[1] % chunks
    return np.pad(vector, ((0, 0), (0, missing))) if missing else vector


def flat(pairs: Words) -> Words:
    """(pairs, limbs, count) as (limbs, pairs * count)."""
    return np.ascontiguousarray(pairs.swapaxes(0, 1)).reshape(pairs.shape[1], -1)


def laurent(kernel: Kernel, coefficients: Words, point: int) -> int:
    """The sum of the coefficients X^-k .. X^-1, X^1 .. X^k at a point; the constant one is not among them."""
    values, p = as_integers(coefficients), kernel.field.modulus
    half, total = len(values) // 2, 0
    for side, base in ((values[:half], kernel.field.inverse(point)), (values[: half - 1 : -1], point)):
        value = 0
        for coefficient in side:
            value = (value + coefficient) * base % p
        total += value
    return total % p


def as_integers(vector: Words) -> list[int]:
    """Elements as Python integers."""
    if len(vector) == 1:
        return list(map(int, vector[0].tolist()))
    return [low + (high << 64) for low, high in zip(*vector.tolist(), strict=True)]


def _thetas(seed: SharedStream, kernel: Kernel, products: list[ProductGates]) -> list[Words]:
    return [seed.elements(kernel, gates.gamma_left.shape[1]) for gates in products]


class Prover:
    """Folds both sides, and gives shares of the coefficients."""

    def __init__(
        self,
        code: ProofCode,
        gates: WordGates,
        products: list[ProductGates],
        share: SharedStream,
        pad: SharedStream,
    ) -> None:
        """`share` is the stream that the left verifier has too, `pad` the one of the right verifier."""
        self._code, self._products, self._share, self._pad = code, products, share, pad
        self._left: Side = (gates.e[0], gates.x[0], gates.y[0])
        self._right: Side = (gates.r[1], gates.y[1], gates.x[1])
        self._u = self._v = np.zeros((code.kernel.limbs, 0), np.uint64)

    def first(self) -> Words:
        """The right verifier's share of the first level."""
        return self._masked(self._code.rotations(self._left, self._right))

    def fold_first(self, point: int, seed: SharedStream) -> None:
        """At the first point, with the weights of the products."""
        code, kernel = self._code, self._code.kernel
        thetas = _thetas(seed, kernel, self._products)
        self._u = with_products(
            code, code.signs(self._left, point, transformed=False), thetas, self._alphas()
        )
        inverse = kernel.field.inverse(point)
        signs = code.signs(self._right, inverse, transformed=True)
        self._v = np.concatenate([signs, *(flat(gates.beta) for gates in self._products)], axis=1)

    def _alphas(self) -> list[Words]:
        return [gates.alpha for gates in self._products]

    def level(self, chunks: int) -> Words:
        """The right verifier's share of a level."""
        self._u, self._v = padded(self._u, chunks), padded(self._v, chunks)
        return self._masked(self._code.correlated(self._u, self._v, chunks))

    def last(self, chunks: int) -> Words:
        """The same for the last level, with both pads."""
        kernel = self._code.kernel
        self._u = with_pad(self._u, self._share.elements(kernel, 1), 0)
        self._v = with_pad(self._v, self._pad.elements(kernel, 1), 1)
        return self.level(chunks)

    def fold(self, chunks: int, point: int) -> None:
        """At the point of a level."""
        self._u = self._code.combined(self._u, chunks, point)
        self._v = self._code.combined(self._v, chunks, self._code.kernel.field.inverse(point))

    def _masked(self, coefficients: Words) -> Words:
        """Without the constant coefficient, less what the left verifier draws."""
        kernel, half = self._code.kernel, coefficients.shape[1] // 2
        sent = np.concatenate([coefficients[:, :half], coefficients[:, half + 1 :]], axis=1)
        return kernel.subtract(sent, self._share.elements(kernel, sent.shape[1]))


def with_pad(vector: Words, pad: Words, place: int) -> Words:
    """A random element behind a vector, and zero in the place of the other side's."""
    ends = [np.zeros_like(pad), np.zeros_like(pad)]
    ends[place] = pad
    return np.concatenate([vector, *ends], axis=1)


def with_products(code: ProofCode, signs: Words, thetas: list[Words], alphas: list[Words]) -> Words:
    """u after the first level: the folded signs, then theta times the left factors of the products."""
    scaled = [
        code.scaled(theta, np.ascontiguousarray(factor))
        for theta, pairs in zip(thetas, alphas, strict=True)
        for factor in pairs
    ]
    return np.concatenate([signs, *scaled], axis=1)


class Verifier:
    """One side of a proof: its vector and its share of the claim."""

    def __init__(
        self, code: ProofCode, words: Side, products: list[tuple[Words, Words]], *, is_left: bool
    ) -> None:
        """`words`: (e, a, c) or (f, b, d); `products`: factors and parts of the product of each statement."""
        self._code, self._words, self._products, self._is_left = code, words, products, is_left
        self._vector = np.zeros((code.kernel.limbs, 0), np.uint64)
        self._claim = 0

    def fold_first(self, coefficients: Words, point: int, seed: SharedStream) -> None:
        """At the first point; the constant coefficient, the number of lanes, stands with the left verifier."""
        code, field = self._code, self._code.kernel.field
        lanes = LANES * len(self._words[0]) if self._is_left else 0
        self._claim = 4 * (lanes + laurent(code.kernel, coefficients, point)) % field.modulus
        thetas = [seed.elements(code.kernel, gamma.shape[1]) for _, gamma in self._products]
        for theta, (_, gamma) in zip(thetas, self._products, strict=True):
            self._claim += as_integers(code.correlated(theta, gamma, 1))[0]
        factors = [factor for factor, _ in self._products]
        if self._is_left:
            signs = code.signs(self._words, point, transformed=False)
            self._vector = with_products(code, signs, thetas, factors)
        else:
            signs = code.signs(self._words, field.inverse(point), transformed=True)
            self._vector = np.concatenate([signs, *(flat(factor) for factor in factors)], axis=1)

    def fold(self, coefficients: Words, chunks: int, point: int) -> None:
        """At the point of a level."""
        field = self._code.kernel.field
        self._claim += laurent(self._code.kernel, coefficients, point)
        at = point if self._is_left else field.inverse(point)
        self._vector = self._code.combined(padded(self._vector, chunks), chunks, at)

    def append(self, pad: Words) -> None:
        """The random element of this side, before the last level."""
        self._vector = with_pad(self._vector, pad, 0 if self._is_left else 1)

    def last_words(self) -> tuple[int, int]:
        """What is left of the vector, and of the claim."""
        (value,) = as_integers(self._vector)
        return value, self._claim % self._code.kernel.field.modulus
