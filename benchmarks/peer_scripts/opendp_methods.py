"""OpenDP 0.16: measurements of one value each; bits by randomized response, k-ary, a bit vector, and Laplace."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import opendp.prelude as dp

from benchmarks.peer_scripts.measuring import Method, main

INPUTS = 1024
EPSILON = 1.0
dp.enable_features("contrib")


def _binary() -> Method:
    keep = math.exp(EPSILON) / (1 + math.exp(EPSILON))
    measure = dp.m.make_randomized_response_bool(keep)
    return Method(
        client=lambda people: [measure(person) for person in people],
        server=lambda reports: (len(reports), sum(reports)),
        decode=lambda state: (state[1] / state[0] - (1 - keep)) / (2 * keep - 1),
        prepare=lambda values: (values == 0).tolist(),
        truth=lambda values: np.mean(values == 0),
    )


def _k_ary() -> Method:
    keep = math.exp(EPSILON) / (math.exp(EPSILON) + INPUTS - 1)
    other = (1 - keep) / (INPUTS - 1)
    measure = dp.m.make_randomized_response(list(range(INPUTS)), keep)

    def counted(reports: list[int]) -> tuple[int, Any]:
        counts = np.zeros(INPUTS)
        for report in reports:
            counts[report] += 1
        return len(reports), counts

    return Method(
        client=lambda people: [measure(person) for person in people],
        server=counted,
        decode=lambda state: (state[1] / state[0] - other) / (keep - other),
    )


def _symmetric_unary() -> Method:
    noise = 2 / (1 + math.exp(EPSILON / 2))
    measure = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=1), dp.discrete_distance(), noise
    )
    rows = [np.packbits(row, bitorder="little").tobytes() for row in np.eye(INPUTS, dtype=np.uint8)]
    return Method(
        client=lambda people: [measure(rows[person]) for person in people],
        server=lambda reports: (
            np.asarray(dp.m.debias_randomized_response_bitvec(reports, noise)) / len(reports)
        ),
        decode=lambda frequencies: frequencies,
    )


def _laplace() -> Method:
    domain = dp.atom_domain(T=float, nan=False)
    measure = dp.m.make_laplace(domain, dp.absolute_distance(T=float), scale=1 / EPSILON)
    return Method(
        client=lambda people: [measure(person) for person in people],
        server=lambda reports: (len(reports), sum(reports)),
        decode=lambda state: state[1] / state[0],
        prepare=lambda values: (values / INPUTS).tolist(),
        truth=lambda values: np.mean(values / INPUTS),
    )


METHODS: dict[str, Callable[[], Method]] = {
    "binary": _binary,
    "k-ary": _k_ary,
    "symmetric unary": _symmetric_unary,
    "Laplace mean": _laplace,
}

if __name__ == "__main__":
    main(METHODS)
