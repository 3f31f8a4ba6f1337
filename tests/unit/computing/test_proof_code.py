"""The arithmetic of proofs against Python integers, in numpy and compiled, in both fields."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.computing import compiled_proof, proof
from localdp.computing.compiled_proof import CompiledProofCode
from localdp.computing.proof import compiled_later, proof_code_for
from localdp.computing.proof_code import NumpyProofCode, ProofCode
from localdp.sharing.prio3.batch.engine import WITHOUT_NUMBA
from localdp.sharing.prio3.batch.field128 import NumpyField128
from localdp.sharing.prio3.batch.kernels import Kernel, elements
from localdp.sharing.prio3.batch.words import Words
from tests.support.computing import FIELD64_KERNEL

KERNELS: list[Kernel] = [FIELD64_KERNEL, NumpyField128()]
CODES: list[ProofCode] = [
    form(kernel) for kernel in KERNELS for form in (NumpyProofCode, CompiledProofCode)
]
ids = [f"{type(code).__name__}-{code.kernel.limbs}" for code in CODES]
GENERATOR = np.random.default_rng(1)
LEFT, RIGHT = (tuple(GENERATOR.integers(0, 1 << 64, (3, 5), np.uint64)) for _ in range(2))


def bits(word: int) -> list[int]:
    return [word >> place & 1 for place in range(64)]


def signed_sum(word: int, point: int) -> int:
    return sum((-1) ** bit * point**lane for lane, bit in enumerate(bits(word)))


def vector(kernel: Kernel, length: int, seed: int) -> tuple[list[int], Words]:
    generator = np.random.default_rng(seed)
    edge = [kernel.field.modulus - 1, 0, 1]
    drawn = [int.from_bytes(generator.bytes(24), "big") % kernel.field.modulus for _ in range(length)]
    values = (edge + drawn)[:length]
    return values, elements(kernel, values)[:, :, 0]


def integers(kernel: Kernel, made: Words) -> list[int]:
    return [sum(int(word) << 64 * place for place, word in enumerate(words)) for words in made.T]


@pytest.mark.parametrize("code", CODES, ids=ids)
def test_coefficients_of_the_first_level_count_lanes(code: ProofCode) -> None:
    expected = [0] * 127
    for e, a, c, f, b, d in zip(*(words.tolist() for words in LEFT + RIGHT), strict=True):
        sides = [list(zip(bits(x), bits(y), bits(z), strict=True)) for x, y, z in ((e, a, c), (f, b, d))]
        for left, (e_l, a_l, c_l) in enumerate(sides[0]):
            for right, (f_m, b_m, d_m) in enumerate(sides[1]):
                expected[63 + left - right] += (-1) ** (e_l ^ f_m ^ (a_l & b_m) ^ (c_l & d_m))
    found = integers(code.kernel, code.rotations(LEFT, RIGHT))
    assert found == [count % code.kernel.field.modulus for count in expected]


@pytest.mark.parametrize("code", CODES, ids=ids)
@pytest.mark.parametrize("transformed", [False, True])
def test_signs_are_summed_with_powers_of_the_point(code: ProofCode, transformed: bool) -> None:
    kernel, point = code.kernel, 0x1234567890ABCDEF
    four = (LEFT[0], LEFT[0] ^ LEFT[1], LEFT[0] ^ LEFT[2], LEFT[0] ^ LEFT[1] ^ LEFT[2])
    rows = [[signed_sum(int(one), point) for one in words] for words in four]
    if transformed:
        signs = [(1, 1, 1, 1), (1, -1, 1, -1), (1, 1, -1, -1), (1, -1, -1, 1)]
        rows = [
            [sum(s * x for s, x in zip(sign, column, strict=True)) for column in zip(*rows, strict=True)]
            for sign in signs
        ]
    expected = [value % kernel.field.modulus for row in rows for value in row]
    assert integers(kernel, code.signs(LEFT, point, transformed=transformed)) == expected


@pytest.mark.parametrize("code", CODES, ids=ids)
@pytest.mark.parametrize(("length", "chunks"), [(12, 4), (7, 7), (3, 1), (2500, 2)])
def test_chunks_are_correlated_and_combined(code: ProofCode, length: int, chunks: int) -> None:
    kernel, size, p = code.kernel, length // chunks, code.kernel.field.modulus
    (us, u), (vs, v) = vector(kernel, length, 1), vector(kernel, length, 2)
    expected = [0] * (2 * chunks - 1)
    for left in range(chunks):
        for right in range(chunks):
            pairs = zip(
                us[left * size : (left + 1) * size], vs[right * size : (right + 1) * size], strict=True
            )
            expected[chunks - 1 + left - right] += sum(a * b for a, b in pairs)
    assert integers(kernel, code.correlated(u, v, chunks)) == [value % p for value in expected]
    folded = [
        sum(us[chunk * size + i] * pow(9, chunk, p) for chunk in range(chunks)) % p for i in range(size)
    ]
    assert integers(kernel, code.combined(u, chunks, 9)) == folded


@pytest.mark.parametrize("code", CODES, ids=ids)
def test_products_element_by_element(code: ProofCode) -> None:
    (us, u), (vs, v) = vector(code.kernel, 20, 3), vector(code.kernel, 20, 4)
    expected = [a * b % code.kernel.field.modulus for a, b in zip(us, vs, strict=True)]
    assert integers(code.kernel, code.scaled(u, v)) == expected


@pytest.mark.parametrize("code", CODES, ids=ids)
def test_nothing_is_nothing(code: ProofCode) -> None:
    nothing = np.zeros(0, np.uint64)
    none = nothing, nothing, nothing
    assert not code.rotations(none, none).any()
    assert code.signs(none, 5, transformed=True).shape == (code.kernel.limbs, 0)


def test_what_another_thread_compiles_is_done_without_until_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server's first release on a machine: the compiler may be busy for longer than others wait."""
    monkeypatch.setattr(proof, "_ready", set())
    monkeypatch.setattr(proof, "_under_way", set())
    work = compiled_later(FIELD64_KERNEL)
    assert work is not None and compiled_later(FIELD64_KERNEL) is None  # one thread is enough
    assert isinstance(proof_code_for(FIELD64_KERNEL), NumpyProofCode)
    assert isinstance(proof_code_for(KERNELS[1]), CompiledProofCode)
    work()
    assert isinstance(proof_code_for(FIELD64_KERNEL), CompiledProofCode)
    assert compiled_later(FIELD64_KERNEL) is compiled_later(KERNELS[1]) is None


def test_what_cannot_be_compiled_is_done_without_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(limbs: int) -> None:
        raise RuntimeError(limbs)

    monkeypatch.setattr(proof, "_ready", set())
    monkeypatch.setattr(proof, "_under_way", set())
    monkeypatch.setattr(compiled_proof, "compiled_steps", fails)
    work = compiled_later(FIELD64_KERNEL)
    assert work is not None
    with pytest.raises(RuntimeError):
        work()
    assert isinstance(proof_code_for(FIELD64_KERNEL), NumpyProofCode)


def test_compiled_code_is_taken_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(proof_code_for(FIELD64_KERNEL), CompiledProofCode)
    monkeypatch.setenv(WITHOUT_NUMBA, "1")
    assert isinstance(proof_code_for(FIELD64_KERNEL), NumpyProofCode)
