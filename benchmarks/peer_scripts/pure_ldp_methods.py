"""pure-ldp 1.2.0: one person at a time on both sides; its items are 1 .. d."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.rappor import RAPPORClient, RAPPORServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

from benchmarks.peer_scripts.measuring import Method, main

INPUTS = 1024
EPSILON = 1
WIDTH, HASHES, COHORTS, NOISE = 128, 2, 16, 0.88


def _method(client: Any, server: Any) -> Method:
    def collected(reports: Any) -> Any:
        server.reset()
        server.aggregate_all(reports)
        return server

    return Method(
        client=lambda people: [client.privatise(person) for person in people],
        server=collected,
        decode=lambda state: state.estimate_all(range(1, INPUTS + 1), suppress_warnings=True) / state.n,
        prepare=lambda values: (values + 1).tolist(),
    )


def _rappor() -> Method:
    server = RAPPORServer(NOISE, WIDTH, HASHES, INPUTS, COHORTS)

    def collected(reports: Any) -> Any:
        server.reset()
        server.bloom_filters = [filters * 0 for filters in server.bloom_filters]  # its reset forgets these
        server.cohort_count *= 0
        server.aggregate_all(reports)
        return server

    return _method(RAPPORClient(NOISE, WIDTH, server.get_hash_funcs(), COHORTS), server)._replace(
        server=collected,
        decode=lambda _: np.zeros(INPUTS),  # LASSO over 1,024 inputs takes minutes
    )


METHODS: dict[str, Callable[[], Method]] = {
    "k-ary": lambda: _method(DEClient(EPSILON, INPUTS), DEServer(EPSILON, INPUTS)),
    "optimized unary": lambda: _method(UEClient(EPSILON, INPUTS, True), UEServer(EPSILON, INPUTS, True)),
    "symmetric unary": lambda: _method(UEClient(EPSILON, INPUTS), UEServer(EPSILON, INPUTS)),
    "local hashing": lambda: _method(
        LHClient(EPSILON, INPUTS, use_olh=True), LHServer(EPSILON, INPUTS, use_olh=True)
    ),
    "Hadamard": lambda: _method(
        HadamardResponseClient(EPSILON, INPUTS, None), HadamardResponseServer(EPSILON, INPUTS)
    ),
    "Bloom RAPPOR": _rappor,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(METHODS)
