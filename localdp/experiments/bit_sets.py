"""Made-up people of bits, with a target that is a formula of them: the rows of bits in `datasets.py`.

Formulas speak of the first bits: x0 and x1 and x2.  What is rare, unbalanced or wrong says so in its name.

Checked in tests/unit/experiments/test_datasets.py.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from localdp.domains import BitDomain, Records, Schema
from localdp.experiments.draws import Bits, Floats, bernoulli, table
from localdp.randomness.source import RandomSource

_WRONG = 0.05  # of the labels
_RARE = 0.2  # of the people have a rare bit
_FEW = 0.1  # of the people are in the smaller class
_LEAN = (0.02, 0.19)  # that the frequencies of bits are apart from one half, in either class

Make = Callable[[int, int, RandomSource], Records]
Formula = Callable[[Bits], Bits]


def fair_bits(source: RandomSource, people: int, dimension: int) -> Bits:
    """A table of fair coins, eight from a byte."""
    count = people * dimension
    bits = np.unpackbits(source.raw(np.uint8, -(-count // 8)), count=count).view(np.bool_)
    return bits.reshape(people, dimension)


def plain(people: int, dimension: int, source: RandomSource) -> Records:
    """Fair bits, and no target."""
    rows = fair_bits(source, people, dimension)
    columns = {f"x{place}": rows[:, place] for place in range(dimension)}
    return Records(Schema(dict.fromkeys(columns, BitDomain())), columns)


def labelled(formula: Formula, *, wrong: float = 0.0, rare: bool = False) -> Make:
    """Bits with a formula for a target, and so many wrong labels."""

    def made(people: int, dimension: int, source: RandomSource) -> Records:
        rows = (
            bernoulli(source, np.full((people, dimension), _RARE))
            if rare
            else fair_bits(source, people, dimension)
        )
        target = formula(rows)
        if wrong:
            target = target ^ bernoulli(source, np.full(people, wrong))
        return table(rows, BitDomain(), target, BitDomain())

    return made


def conjunction(literals: int, wrong: float = 0.0) -> Make:
    """The target is x0 and x1 and ..., of so many literals."""

    def formula(rows: Bits) -> Bits:
        holds: Bits = np.all(rows[:, :literals], axis=1)
        return holds

    return labelled(formula, wrong=wrong)


def noisy_conjunction() -> Make:
    """Three literals, and some wrong labels."""
    return conjunction(3, _WRONG)


def parity(wrong: float = 0.0) -> Make:
    """The target is the parity of every second bit, from x0."""
    return labelled(lambda rows: np.bitwise_xor.reduce(rows[:, ::2], axis=1), wrong=wrong)


def majority() -> Make:
    """The target is what most of the first five bits are."""
    return labelled(lambda rows: rows[:, :5].sum(axis=1) >= 3)


def tree(*, rare: bool = False) -> Make:
    """The target is a tree of three levels, with some wrong labels."""
    return labelled(_three_levels, wrong=_WRONG, rare=rare)


def _three_levels(rows: Bits) -> Bits:
    x = rows.T
    holds: Bits = (x[0] & (x[1] | x[2])) | (~x[0] & x[3] & x[4])
    return holds


def two_classes(*, few: bool = False, copied: bool = False) -> Make:
    """Bits that are independent given the class; or few people of one class; or every bit a copy of the one before."""

    def made(people: int, dimension: int, source: RandomSource) -> Records:
        target = bernoulli(source, np.full(people, _FEW if few else 0.5))
        lean = np.linspace(*_LEAN, dimension)
        chances: Floats = np.where(target[:, None], 0.5 + lean, 0.5 - lean)
        rows = bernoulli(source, chances)
        if copied:
            rows[:, 1::2] = rows[:, : dimension - 1 : 2]
        return table(rows, BitDomain(), target, BitDomain())

    return made
