"""multi-freq-ldpy 0.2.5: compiled clients, one person at a time; its aggregators tally, decode, clip, normalise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

from benchmarks.peer_scripts.measuring import Method, main

INPUTS = 1024
EPSILON = 1.0


def _method(client: Callable[[int], Any], aggregator: Callable[[Any], Any]) -> Method:
    return Method(
        client=lambda people: [client(person) for person in people],
        server=aggregator,
        decode=lambda frequencies: frequencies,
    )


METHODS: dict[str, Callable[[], Method]] = {
    "k-ary": lambda: _method(
        lambda person: GRR_Client(person, INPUTS, EPSILON),
        lambda reports: GRR_Aggregator_MI(reports, INPUTS, EPSILON),
    ),
    "optimized unary": lambda: _method(
        lambda person: UE_Client(person, INPUTS, EPSILON, True),
        lambda reports: UE_Aggregator_MI(reports, EPSILON, True),
    ),
    "symmetric unary": lambda: _method(
        lambda person: UE_Client(person, INPUTS, EPSILON, False),
        lambda reports: UE_Aggregator_MI(reports, EPSILON, False),
    ),
    "subset selection": lambda: _method(
        lambda person: SS_Client(person, INPUTS, EPSILON),
        lambda reports: SS_Aggregator_MI(reports, INPUTS, EPSILON),
    ),
    "local hashing": lambda: _method(
        lambda person: LH_Client(person, INPUTS, EPSILON),
        lambda reports: LH_Aggregator_MI(reports, INPUTS, EPSILON),
    ),
}

if __name__ == "__main__":
    main(METHODS)
