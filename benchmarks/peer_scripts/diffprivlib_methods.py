"""diffprivlib: mechanisms of one value each; bits by randomized response, and Laplace."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from diffprivlib.mechanisms import Binary, Laplace

from benchmarks.peer_scripts.measuring import Method, main

INPUTS = 1024
EPSILON = 1.0


def _binary() -> Method:
    keep = math.exp(EPSILON) / (1 + math.exp(EPSILON))
    mechanism = Binary(epsilon=EPSILON, value0="0", value1="1")
    return Method(
        client=lambda people: [mechanism.randomise(person) for person in people],
        server=lambda reports: (len(reports), reports.count("1")),
        decode=lambda state: (state[1] / state[0] - (1 - keep)) / (2 * keep - 1),
        prepare=lambda values: ["1" if value == 0 else "0" for value in values.tolist()],
        truth=lambda values: np.mean(values == 0),
    )


def _laplace() -> Method:
    mechanism = Laplace(epsilon=EPSILON, sensitivity=1)
    return Method(
        client=lambda people: [mechanism.randomise(person) for person in people],
        server=lambda reports: (len(reports), sum(reports)),
        decode=lambda state: state[1] / state[0],
        prepare=lambda values: (values / INPUTS).tolist(),
        truth=lambda values: np.mean(values / INPUTS),
    )


METHODS: dict[str, Callable[[], Method]] = {"binary": _binary, "Laplace mean": _laplace}

if __name__ == "__main__":
    main(METHODS)
