"""Exact draws from a cryptographic keystream against numpy's floating-point draws, which are not safe.

Each row times the two in turn, in one run, and takes the best of all turns of each: on a shared machine
only the ratio means something.  Run with `python -m benchmarks.samplers`.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from benchmarks.rows import Row, best_seconds, print_rows, row_of
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.lanes import LanedSource
from localdp.randomness.polya import PolyaDifference

DRAWS = 1_000_000
TURNS = 25
TARGET = 0.5  # Of numpy's time; 0.2 is reached on a quiet machine.


def _row(
    name: str,
    ours: Callable[[], object],
    numpys: Callable[[], object],
    yardstick: str,
    target: float | None,
) -> Row:
    ours()  # Tables are built once per law, and are not part of a draw.
    value, unsafe = best_seconds([ours, numpys], TURNS)
    return row_of(name, value / DRAWS * 1e9, "ns per draw", yardstick, value / unsafe, target)


def _threshold() -> int:
    """e / (1 + e) over 2**64, rounded down: randomized response at epsilon = 1."""
    low, _ = exp_enclosure(Fraction(1), 128)
    return (low << 64) // ((1 << 128) + low)


def _bernoulli_rows(source: KeystreamSource, generator: np.random.Generator) -> list[Row]:
    threshold = _threshold()
    probability = threshold / 2**64
    key = bytes(32)

    def numpys() -> object:
        return generator.random(DRAWS) < probability

    def laned() -> object:
        return LanedSource(key, range(DRAWS)).bernoulli(threshold, DRAWS)

    return [
        _row(
            "exact Bernoulli, lazy",
            lambda: source.bernoulli(threshold, DRAWS),
            numpys,
            "numpy random() < p",
            TARGET,
        ),
        _row("exact Bernoulli, constant work, lanes", laned, numpys, "numpy random() < p", None),
    ]


def _laplace_row(
    source: KeystreamSource, generator: np.random.Generator, scale: int, target: float | None
) -> Row:
    law = DiscreteLaplace(Fraction(1, scale))
    return _row(
        f"exact discrete Laplace, scale {scale}",
        lambda: law.sample(source, DRAWS),
        lambda: generator.laplace(scale=scale, size=DRAWS),
        "numpy laplace()",
        target,
    )


def _polya_row(source: KeystreamSource, generator: np.random.Generator) -> Row:
    law = PolyaDifference(Fraction(1, 10), 2)
    success = float(-np.expm1(-0.1))

    def numpys() -> object:
        return generator.negative_binomial(0.5, success, DRAWS) - generator.negative_binomial(
            0.5, success, DRAWS
        )

    return _row(
        "exact Polya difference, scale 10, 2 parts",
        lambda: law.sample(source, DRAWS),
        numpys,
        "numpy negative_binomial()",
        None,
    )


def samplers() -> list[Row]:
    """Every row of the comparison."""
    source, generator = KeystreamSource.from_system(), np.random.default_rng()
    rows = _bernoulli_rows(source, generator)
    rows += [_laplace_row(source, generator, scale, TARGET) for scale in (1, 10, 50)]
    rows += [_laplace_row(source, generator, scale, None) for scale in (1_000, 1_000_000)]
    return [*rows, _polya_row(source, generator)]


if __name__ == "__main__":
    print_rows(samplers())
