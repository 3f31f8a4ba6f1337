"""The proof: its error is bounded, and a verifier's view has one law, whatever is proved: by every coin of a field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product as every

import numpy as np
import pytest

from localdp.computing.proof import ProofShape, Prover, Verifier, error_bound, laurent
from localdp.computing.proof_code import NumpyProofCode
from localdp.computing.transcript import ProductGates, WordGates
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.prio3.fields import FIELD64
from tests.support.computing import FIELD64_KERNEL, THREE

CODE = NumpyProofCode(THREE)
NO_WORDS = WordGates(*(np.zeros((2, 0), np.uint64) for _ in range(4)))


class Script:
    """A stream whose elements a test writes; never asked for words here."""

    def __init__(self, values: tuple[int, ...]) -> None:
        self._values = iter(values)

    def words(self, count: int) -> Words:
        raise AssertionError(count)

    def elements(self, kernel: Kernel, count: int) -> Words:
        return np.array([[next(self._values) for _ in range(count)]], np.uint64)


def element(value: int) -> Words:
    return np.array([[value % 3]], np.uint64)


def statement(alpha: int, beta: int, gamma_left: int) -> ProductGates:
    gamma_right = alpha * beta - gamma_left
    return ProductGates(
        element(alpha)[None],
        element(beta)[None],
        element(alpha)[None],
        element(gamma_left),
        element(beta)[None],
        element(gamma_right),
    )


FIRST, POINT, THETA = 2, 2, (2,)


def proof_of(
    gates: ProductGates, share: tuple[int, ...], pad: int
) -> tuple[Words, Words, Verifier, Verifier]:
    """A proof of one product in a field of three: the first level (of no words), then the last."""
    prover = Prover(CODE, NO_WORDS, [gates], Script(share), Script((pad,)))
    nothing = np.zeros(0, np.uint64)
    words = nothing, nothing, nothing
    left = Verifier(CODE, words, [(gates.alpha_left, gates.gamma_left)], is_left=True)
    right = Verifier(CODE, words, [(gates.beta_right, gates.gamma_right)], is_left=False)
    first = prover.first()
    prover.fold_first(FIRST, Script(THETA))
    left.fold_first(np.array([share[:126]], np.uint64), FIRST, Script(THETA))
    right.fold_first(first, FIRST, Script(THETA))
    left.append(element(share[126]))
    right.append(element(pad))
    last = prover.last(3)
    left.fold(np.array([share[127:]], np.uint64), 3, POINT)
    right.fold(last, 3, POINT)
    return first, last, left, right


def coins() -> Iterator[tuple[tuple[int, ...], int]]:
    """Every share of the last level and both pads; those of the first level are all alike, and stay."""
    for drawn in every(range(3), repeat=5):
        yield (0,) * 126 + (drawn[0],) + drawn[1:], 0


def test_the_verifiers_agree_on_what_is_true_and_not_on_what_is_false() -> None:
    for alpha, beta in every(range(3), repeat=2):
        for wrong in (0, 1):
            gates = statement(alpha, beta, 2)
            false = replace(gates, gamma_right=element(int(gates.gamma_right[0, 0]) + wrong))
            _, _, left, right = proof_of(false, (1, 2) * 63 + (2, 1, 0, 1, 2), 2)
            (u, claim_left), (v, claim_right) = left.last_words(), right.last_words()
            assert ((u * v - claim_left - claim_right) % 3 == 0) == (wrong == 0)


@pytest.mark.parametrize("gates", [statement(1, 2, 0), statement(2, 0, 0), statement(0, 0, 0)])
def test_what_the_right_verifier_sees_is_uniform_whatever_the_left_factor_is(gates: ProductGates) -> None:
    """It has beta, gamma_right and its own pad; it sees the last level and the left one's last words."""
    seen: Counter[tuple[int, ...]] = Counter()
    fixed = statement(int(gates.alpha[0, 0, 0]), 2, 2 * int(gates.alpha[0, 0, 0]) - 1)  # gamma_right is 1
    for share, pad in coins():
        _, last, left, _ = proof_of(fixed, share, pad)
        seen[(*last[0].tolist(), left.last_words()[0])] += 1
    assert len(seen) == 3**5
    assert set(seen.values()) == {1}


def test_what_the_left_verifier_sees_is_uniform_whatever_the_right_factor_is() -> None:
    """It has alpha, gamma_left and all shares; of the right one it sees v, and a claim that follows from the check."""
    for beta in range(3):
        seen: Counter[int] = Counter()
        for pad in range(3):
            _, _, _, right = proof_of(statement(2, beta, 1), (0,) * 126 + (1, 2, 0, 1, 0), pad)
            seen[right.last_words()[0]] += 1
        assert seen == dict.fromkeys(range(3), 1)


def test_without_pads_the_last_words_would_tell_the_factors_apart() -> None:
    """The twin that the test above is there to catch: a last level whose pad is not drawn."""
    told = {
        beta: proof_of(statement(2, beta, 1), (0,) * 126 + (1, 2, 0, 1, 0), 0)[3].last_words()[0]
        for beta in range(3)
    }
    assert len(set(told.values())) > 1


@pytest.mark.parametrize("words", [0, 1, 24, 629, 1 << 14, 1 << 18])
@pytest.mark.parametrize("pairs", [0, 10, 10 << 16])
def test_the_error_is_below_two_to_the_minus_53_for_every_size_of_a_batch(words: int, pairs: int) -> None:
    bound = error_bound(ProofShape(words, pairs), FIELD64)
    assert Fraction(1, 1 << 58) < bound < Fraction(1, 1 << 53)
    assert ProofShape(words, pairs).chunks[-1] <= 258


def test_a_laurent_polynomial_has_both_signs_of_exponents_and_no_constant() -> None:
    p, point = FIELD64.modulus, 3
    expected = (2 * pow(point, -2, p) + 3 * pow(point, -1, p) + 4 * point + 5 * point**2) % p
    assert laurent(FIELD64_KERNEL, np.array([[2, 3, 4, 5]], np.uint64), point) == expected
    assert laurent(FIELD64_KERNEL, np.zeros((1, 0), np.uint64), point) == 0
