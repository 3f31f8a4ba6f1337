"""Prio3 from shard to unshard in a few lines, for tests that change something on the way."""

from dataclasses import replace
from typing import Any

import pytest

from localdp.randomness.hazmat import SeededSource
from localdp.sharing.prio3 import Count, HistogramCircuit, MultihotCountVec, Prio3, Report, Sum, SumVec
from localdp.sharing.prio3.flp import AnyCircuit

KEY, CONTEXT = bytes(range(100, 132)), b"task"
INSTANCES: dict[str, tuple[Prio3, list[Any]]] = {
    "Count": (Prio3(Count(), 2), [1, 0, 1]),
    "Sum": (Prio3(Sum(13), 3), [13, 0, 6]),
    "SumVec": (Prio3(SumVec(2, 6, 3), 2), [[6, 1], [0, 0], [5, 5]]),
    "Histogram": (Prio3(HistogramCircuit(5, 2), 2), [4, 0, 4]),
    "MultihotCountVec": (Prio3(MultihotCountVec(4, 3, 3), 3), [[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]]),
    "two proofs": (Prio3(SumVec(2, 6, 3), 2, proofs=2), [[6, 1], [0, 0], [5, 5]]),
}
RESULTS: dict[str, Any] = {
    "Count": 2,
    "Sum": 19,
    "SumVec": [11, 6],
    "Histogram": [1, 0, 0, 0, 2],
    "MultihotCountVec": [1, 1, 1, 1],
    "two proofs": [11, 6],
}

MEASUREMENTS: list[tuple[AnyCircuit, list[Any]]] = [
    (Count(), [1, 0, 1, 1]),
    (Sum(13), [13, 0, 6, 7]),
    (SumVec(2, 6, 3), [[6, 1], [0, 0], [5, 5], [2, 3]]),
    (HistogramCircuit(5, 2), [4, 0, 4, 1]),
    (MultihotCountVec(4, 3, 3), [[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]]),
]

# How a block of measurements is sharded: what `BlockSharder` is told.
Way = dict[str, bool]
WAYS: dict[str, Way] = {
    "numpy": {"compiled": False},
    "compiled": {"compiled": True},
    "one by one": {"one_by_one": True},
}
EVERY_WAY = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def make_reports(name: str) -> list[Report]:
    prio3, measurements = INSTANCES[name]
    source = SeededSource(2026)
    return [prio3.shard_from(CONTEXT, measurement, source) for measurement in measurements]


def verify(
    prio3: Prio3, report: Report, key: bytes = KEY, contexts: tuple[bytes, ...] | None = None
) -> list[tuple[int, ...]]:
    """All servers' output shares; raises where the report is refused."""
    contexts = contexts or (CONTEXT,) * prio3.shares
    public = report.nonce, report.public_share
    runs = [
        prio3.verify_init(key, contexts[j], j, *public, report.input_shares[j]) for j in range(prio3.shares)
    ]
    message = prio3.combine(contexts[0], [share for _, share in runs])
    return [prio3.verify_next(state, message) for state, _ in runs]


def with_byte_changed(report: Report, message: int, byte: int, by: int = 1) -> Report:
    """A bit flipped in the public share (message -1) or in an input share."""
    if message < 0:
        return replace(report, public_share=_changed(report.public_share, byte, by))
    shares = list(report.input_shares)
    shares[message] = _changed(shares[message], byte, by)
    return replace(report, input_shares=tuple(shares))


def _changed(data: bytes, byte: int, by: int) -> bytes:
    return data[:byte] + bytes([data[byte] ^ by]) + data[byte + 1 :]


# Seeds and a nonce, found by searching, for which the stream has a word that is not an element of Field64: one in 2**32 is.
# They belong to `Prio3(Sum(2**32 - 1), 2)`, KEY and CONTEXT; each is a little-endian number, filled up with zeros.
SEED_OF_PROOFS_WITH_A_GAP = (155_975_737).to_bytes(32, "little")
SEED_OF_MEASUREMENT_WITH_A_GAP = (83_896_514).to_bytes(32, "little")
NONCE_OF_COINS_WITH_A_GAP = (39_889_719).to_bytes(16, "little")
