"""Prio3 per report: making it on the client, verifying it on a server, compiled and plain, on one core.

The limits are microseconds on a reference machine, an AMD EPYC on which `a * b % p` of Python integers takes 90 ns for p of
128 bits and AES-128-CTR makes 6.5 GB/s.  Both are measured here as well, beside each variant, and a limit is scaled by how
much slower this machine is by the milder of the two, so that a slow build of Python excuses nothing.  All
times are the processor's for one thread, so that waiting for it does not count.

The limits of verification are well below what libprio-rs (Rust) takes on that machine: 2.5 and 3.3 us for a count (leader,
helper), 8.8 and 10.3 for sums up to 255, 89 and 93 up to 2**32 - 1, 82 for a histogram of 256 buckets, 244 and 301 for a
thousand bits.  Those of sharding, and that of verifying a thousand bits, are libprio-rs's own figures.

A phone makes one report and has no compiler: what that takes through the tier, without compiled code, has its own limits.

Run with `python -m benchmarks.prio3`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from time import thread_time
from typing import Any
from unittest.mock import patch

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from benchmarks.rows import Row, best_seconds, print_rows, row_of
from localdp.accounting.epsilon import Epsilon
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.binding import COMMITMENT_BYTES, KEY_BYTES, Binding
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.prio3 import Count, HistogramCircuit, MultihotCountVec, Prio3, Sum, SumVec
from localdp.sharing.prio3.batch.engine import WITHOUT_NUMBA, can_compile, warm_up
from localdp.sharing.prio3.batch.sharding import BlockSharder
from localdp.sharing.prio3.batch.verification import BlockVerifier
from localdp.sharing.prio3.batch.words import Octets
from localdp.sharing.prio3.fields import PRIME128
from localdp.sharing.prio3_tier import Prio3Tier

REPORTS = 1000
TURNS, PLAIN_TURNS = 15, 3
YARDSTICK_TURNS = 100  # Right after one another: their data must be in the cache.
KEY, CONTEXT = bytes(32), b"benchmark"
REFERENCE_PRODUCT_NS = 90.0
REFERENCE_CTR_GB = 6.5
REST = 0.1  # Of the limit of verification: combining, finishing and adding up together.
_PRODUCTS = 2000
_CTR_BYTES = 1 << 18  # Stays in the cache: it is the processor that is measured.
_ZEROS, _STREAM = bytes(_CTR_BYTES), bytearray(_CTR_BYTES + 15)


@dataclass(frozen=True)
class Variant:
    """What is measured, and the limits in microseconds on the reference machine."""

    name: str
    prio3: Prio3
    measurement: Any
    verify_limit: float | None
    shard_limit: float | None

    @cached_property
    def measurements(self) -> Any:
        """The same for each report: nothing here depends on it."""
        return np.array([self.measurement] * REPORTS)


VARIANTS = [
    Variant("Count", Prio3(Count(), 2), 1, 2.0, 4.0),
    Variant("Sum up to 255", Prio3(Sum(255), 2), 200, 3.0, 4.9),
    Variant("Sum up to 2^32 - 1", Prio3(Sum((1 << 32) - 1), 2), 12345, 5.0, 12.5),
    Variant("Histogram of 256", Prio3(HistogramCircuit(256, 16), 2), 7, 25.0, 35.0),
    Variant("SumVec of 1000 bits", Prio3(SumVec(1000, 1, 32), 2), [0, 1] * 500, 244.0, 653.0),
    Variant("Multihot of 256", Prio3(MultihotCountVec(256, 8, 16), 2), [1] * 8 + [0] * 248, None, None),
]


# What one person answers through the tier, and the limit in microseconds on the reference machine.
PEOPLE_ALONE: list[tuple[str, Encoding, float]] = [
    ("Count", Encoding.count(), 1_000.0),
    ("Histogram of 256", Encoding.histogram(256), 30_000.0),
]


def _products() -> object:
    left, right, p = PRIME128 - 12345, PRIME128 // 3, PRIME128
    for _ in range(_PRODUCTS):
        left = left * right % p
    return left


def _keystream() -> object:
    cipher = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16))).encryptor()
    return cipher.update_into(_ZEROS, _STREAM)


YARDSTICKS: list[Callable[[], object]] = [_products, _keystream]


def _scale(seconds: list[float]) -> float:
    """How much slower than the reference machine this one is, at least, from the seconds of the yardsticks."""
    product_ns = seconds[0] / _PRODUCTS * 1e9
    gigabytes = _CTR_BYTES / seconds[1] / 1e9
    return min(product_ns / REFERENCE_PRODUCT_NS, REFERENCE_CTR_GB / gigabytes)


def _row(name: str, seconds: float, limit: float | None, scale: float) -> Row:
    micros = seconds / REPORTS * 1e6
    if limit is None:
        return row_of(name, micros, "us per report", "nothing", 1.0, None)
    words = f"{limit:g} us, scaled by {scale:.2f}"
    return row_of(name, micros, "us per report", words, micros / (limit * scale), 1.0)


class Servers:
    """Two servers, and a block of reports for them."""

    def __init__(self, variant: Variant, reports: tuple[Octets, list[Octets]], nonces: Octets) -> None:
        self.variant, (self.public, self.inputs), self.nonces = variant, reports, nonces

    def init(self, server: int, compiled: bool) -> Callable[[], Any]:
        """The first step of a server."""
        verifier = BlockVerifier(self.variant.prio3, KEY, CONTEXT, server, compiled=compiled)
        return lambda: verifier.init(self.nonces, self.public, self.inputs[server])

    def rest(self) -> Callable[[], object]:
        """All other steps of the leader."""
        runs = [self.init(server, compiled=True)() for server in (0, 1)]
        verifier = BlockVerifier(self.variant.prio3, KEY, CONTEXT, 0, compiled=True)

        def steps() -> object:
            messages, holds = verifier.combine([shares for _, shares in runs])
            accepted = verifier.finish(runs[0][0], messages, holds)
            assert accepted.all()
            return verifier.aggregate(runs[0][0], accepted)

        return steps


def _compiled_rows(variant: Variant, servers: Servers, sharding: Callable[[], object]) -> list[Row]:
    calls = [servers.init(0, True), servers.init(1, True), servers.rest(), sharding]
    seconds = best_seconds(calls, TURNS, thread_time)
    scale = _scale(best_seconds(YARDSTICKS, YARDSTICK_TURNS, thread_time))
    limit, name = variant.verify_limit, f"Prio3 {variant.name}"
    rest = None if limit is None else limit * REST
    return [
        _row(f"{name}: verify, leader", seconds[0], limit, scale),
        _row(f"{name}: verify, helper", seconds[1], limit, scale),
        _row(f"{name}: combine, finish, add up", seconds[2], rest, scale),
        _row(f"{name}: shard a block", seconds[3], variant.shard_limit, scale),
    ]


def _plain_rows(variant: Variant, servers: Servers, one: Callable[[], object]) -> list[Row]:
    calls = [servers.init(0, False), servers.init(1, False), one]
    leader, helper, client = best_seconds(calls, PLAIN_TURNS, thread_time)
    return [
        _row(f"Prio3 {variant.name}: verify, leader, plain numpy", leader, None, 1.0),
        _row(f"Prio3 {variant.name}: verify, helper, plain numpy", helper, None, 1.0),
        _row(f"Prio3 {variant.name}: shard one, plain Python", client * REPORTS, None, 1.0),
    ]


def _rows(variant: Variant) -> list[Row]:
    prio3, source = variant.prio3, KeystreamSource.from_system()
    nonces = source.raw(np.uint8, 16 * REPORTS).reshape(REPORTS, 16)
    coins = source.raw(np.uint8, prio3.rand_bytes * REPORTS).reshape(REPORTS, prio3.rand_bytes)
    warm_up(prio3, sharding=True)
    sharder = BlockSharder(prio3, CONTEXT)

    def sharding() -> tuple[Octets, list[Octets]]:
        return sharder.shard(variant.measurements, nonces, coins)

    def one() -> object:
        return prio3.shard(CONTEXT, variant.measurement, nonces[0].tobytes(), coins[0].tobytes())

    servers = Servers(variant, sharding(), nonces)
    compiled = _compiled_rows(variant, servers, sharding) if can_compile(prio3) else []
    return [*compiled, *_plain_rows(variant, servers, one)]


def _alone(encoding: Encoding) -> Callable[[], object]:
    """The report of one person among many."""
    party, servers = Contributor("phone", 100), ("server-0", "server-1")
    one, plan = Epsilon.requested(1), NoisePlan.EACH_SERVER
    keys = tuple(bytes([number]) * KEY_BYTES for number in range(len(servers)))
    binding = Binding(keys, keys, bytes(COMMITMENT_BYTES))
    tier = Prio3Tier(
        Collection(bytes(16), "x", encoding, one, plan, servers, (party,), 10, binding, "prio3")
    )
    values = np.zeros((1, encoding.length), np.int64)
    values[0, 0] = 1
    return partial(tier.split, values, KeystreamSource.from_system())


def _alone_rows() -> list[Row]:
    with patch.dict(os.environ, {WITHOUT_NUMBA: "1"}):
        calls = [_alone(encoding) for _, encoding, _ in PEOPLE_ALONE]
        seconds = best_seconds(calls, TURNS, thread_time)
    # No faster than on the reference machine is asked for: fast AES does not make Python fast.
    scale = max(1.0, _scale(best_seconds(YARDSTICKS, YARDSTICK_TURNS, thread_time)))
    return [
        _row(f"Prio3 {name}: one person, through the tier", taken * REPORTS, limit, scale)
        for (name, _, limit), taken in zip(PEOPLE_ALONE, seconds, strict=True)
    ]


def _yardstick_rows() -> list[Row]:
    seconds = best_seconds(YARDSTICKS, YARDSTICK_TURNS, thread_time)
    product_ns, gigabytes = seconds[0] / _PRODUCTS * 1e9, _CTR_BYTES / seconds[1] / 1e9
    return [
        row_of("Python product modulo p of 128 bits", product_ns, "ns", "90 ns", product_ns / 90, None),
        row_of("AES-128-CTR", gigabytes, "GB/s", "6.5 GB/s", gigabytes / REFERENCE_CTR_GB, None),
    ]


def prio3() -> list[Row]:
    """Every row, and the yardsticks."""
    return [*_yardstick_rows(), *_alone_rows(), *(row for variant in VARIANTS for row in _rows(variant))]


if __name__ == "__main__":
    print_rows(prio3())
