"""What a server remembers of each gate until it is verified, as prover, as left and as right verifier.

Words.  Of z = x AND y server i keeps both components of x, of y, of the masks r, and of e = x y ^ z ^ r.  Its own
gate is right iff e_i ^ r_{i+1} ^ x_i y_{i+1} ^ y_i x_{i+1} = 0; e_i, x_i, y_i are known to the left verifier (server
i - 1), the rest to the right one (server i + 1).

Products.  A statement alpha . beta = gamma_left + gamma_right of a prover, over pairs (alpha, beta): the left
verifier knows alpha and gamma_left, the right one beta and gamma_right.

Checked through every gate in tests/unit/computing/test_verification.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from localdp.sharing.prio3.batch.words import Words


class WordGates(NamedTuple):
    """Both components, of shape (2, words), of what is kept of conjunctions."""

    x: Words
    y: Words
    e: Words
    r: Words


@dataclass(frozen=True, slots=True)
class ProductGates:
    """Statements about field elements, by role; factors are (pairs, limbs, count), the rest (limbs, count)."""

    alpha: Words  # as prover
    beta: Words
    alpha_left: Words  # as left verifier of the next server
    gamma_left: Words
    beta_right: Words  # as right verifier of the previous server
    gamma_right: Words


class GateTranscript:
    """What was computed and not yet verified, in the order in which it was computed."""

    def __init__(self) -> None:
        self.words: list[WordGates] = []
        self.products: list[ProductGates] = []

    def conjunctions(self, x: Words, y: Words, z: Words, r: Words) -> None:
        """Gates on words; all arrays are (2, ...)."""
        e = x & y
        e ^= z
        e ^= r
        self.words.append(WordGates(*(array.reshape(2, -1) for array in (x, y, e, r))))

    def taken(self) -> tuple[list[WordGates], list[ProductGates]]:
        """All of it, which is forgotten here."""
        words, products = self.words, self.products
        self.words, self.products = [], []
        return words, products

    @property
    def gates(self) -> int:
        """Conjunctions of single bits that wait to be verified."""
        return 64 * sum(int(gates.x.shape[1]) for gates in self.words)

    @property
    def is_empty(self) -> bool:
        """Whether everything was verified."""
        return not self.words and not self.products


def all_words(gates: list[WordGates]) -> WordGates:
    """One array for each kind."""
    if not gates:
        return WordGates(*(np.zeros((2, 0), np.uint64) for _ in WordGates._fields))
    return WordGates(*(np.concatenate(arrays, axis=1) for arrays in zip(*gates, strict=True)))
