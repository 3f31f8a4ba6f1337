"""Ours, measured as the others are: in a process of its own, by the same clock and the same memory meter.

"clipped" methods clip and normalise the frequencies as multi-freq-ldpy does, so that the errors of the same thing are
compared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peer_scripts.measuring import Method, main
from localdp.accounting.epsilon import Epsilon
from localdp.estimation.consistency import norm_mul
from localdp.randomizers.hadamard import HadamardResponse
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.one_bit import binary_randomized_response
from localdp.randomizers.rappor import BloomRappor, published_rounds
from localdp.randomizers.subset_selection import SubsetSelection
from localdp.randomizers.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding
from localdp.randomness.keystream import KeystreamSource

INPUTS = 1024
ONE = Epsilon.requested(1)
SOURCE = KeystreamSource.from_system()
CANDIDATES = np.arange(INPUTS)


def _frequencies(randomizer: Any) -> Method:
    return Method(
        client=lambda values: randomizer.randomize(values, SOURCE),
        server=randomizer.tally,
        decode=lambda tally: randomizer.estimate(tally).values,
        prepare=lambda values: values,
    )


def _clipped(made: Callable[[], Method]) -> Method:
    """In one step, as the peer's aggregators do it, so that both are warmed up as a whole."""
    method = made()
    return method._replace(
        server=lambda reports: norm_mul(method.decode(method.server(reports))),
        decode=lambda frequencies: frequencies,
    )


def _local_hashing() -> Method:
    randomizer = OptimalLocalHashing(ONE)
    return Method(
        client=lambda values: randomizer.randomize(values, SOURCE),
        server=lambda reports: (len(reports), randomizer.support_counts(reports, CANDIDATES)),
        decode=lambda state: randomizer.estimate_from_counts(state[1], state[0]).values,
        prepare=lambda values: values,
    )


def _bloom_rappor() -> Method:
    randomizer = BloomRappor(published_rounds("0.88", "0", "1"), width=128, hashes=2, cohorts=16)
    return _frequencies(randomizer)._replace(
        decode=lambda _: np.zeros(INPUTS)
    )  # as the peer's: not compared


def _mean(randomizer: Any, prepare: Callable[[Any], Any], scale: int) -> Method:
    return Method(
        client=lambda values: randomizer.randomize(values, SOURCE),
        server=randomizer.tally,
        decode=lambda tally: randomizer.estimate(tally).value,
        prepare=prepare,
        truth=lambda values: np.mean(prepare(values) / scale),
    )


def _laplace() -> Method:
    randomizer = LocalDiscreteLaplace(ONE, INPUTS)
    SOURCE.categorical(randomizer.noise, 1 << 12)  # The table of the law is built once, and kept.
    return _mean(randomizer, lambda values: values, INPUTS)


FREQUENCIES: dict[str, Callable[[], Method]] = {
    "k-ary": lambda: _frequencies(KaryRandomizedResponse(ONE, INPUTS)),
    "optimized unary": lambda: _frequencies(OptimizedUnaryEncoding(ONE, INPUTS)),
    "symmetric unary": lambda: _frequencies(SymmetricUnaryEncoding(ONE, INPUTS)),
    "subset selection": lambda: _frequencies(SubsetSelection(ONE, INPUTS)),
    "Hadamard": lambda: _frequencies(HadamardResponse(ONE, INPUTS)),
    "local hashing": _local_hashing,
    "Bloom RAPPOR": _bloom_rappor,
}
METHODS: dict[str, Callable[[], Method]] = {
    **FREQUENCIES,
    **{f"{name}, clipped": partial(_clipped, made) for name, made in FREQUENCIES.items()},
    "binary": lambda: _mean(binary_randomized_response(ONE), lambda values: values == 0, 1),
    "Laplace mean": _laplace,
}

if __name__ == "__main__":
    main(METHODS)
