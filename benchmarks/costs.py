"""What a report costs, by type and size: bytes that travel and are stored, and the processor's microseconds of each side.

Of shares for two servers with proofs, a block of reports at a time, by compiled code; of local reports, a slice of a crowd.
Informational: targets are in `benchmarks.prio3`, `benchmarks.randomizers` and `benchmarks.crowds`.

Run with `python -m benchmarks.costs` for the table of docs/scale.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import thread_time

import numpy as np

from benchmarks.prio3 import CONTEXT, KEY
from benchmarks.rows import Row, best_seconds, row_of
from localdp.accounting.epsilon import Epsilon
from localdp.experiments.crowd import Crowd
from localdp.randomizers.registry import entry_of
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.encoding import Encoding
from localdp.sharing.prio3 import Prio3
from localdp.sharing.prio3.batch.encoding import Measurements
from localdp.sharing.prio3.batch.engine import can_compile, warm_up
from localdp.sharing.prio3.batch.sharding import BlockSharder
from localdp.sharing.prio3.batch.verification import BlockVerifier
from localdp.sharing.prio3.prio3 import NONCE_BYTES
from localdp.sharing.prio3_tier import circuit_of

TURNS = 7
ONE = Epsilon.requested(1)
ELEMENTS = 1 << 18  # of a block of reports
SLICE = 1 << 16
SHARED: list[tuple[str, Encoding]] = [
    ("count", Encoding.count()),
    ("sum up to 255", Encoding.sum(255)),
    ("sum up to 2^32 - 1", Encoding.sum((1 << 32) - 1)),
    ("histogram of 16", Encoding.histogram(16)),
    ("histogram of 256", Encoding.histogram(256)),
    ("histogram of 1,024", Encoding.histogram(1024)),
    ("8 of 256 entries", Encoding.multihot(256, 8)),
    ("vector of 64 x 255", Encoding.vector(64, 255, 64 * 255)),
]
LOCAL = [
    ("one-bit", 2),
    ("k-ary", 1024),
    ("projective-geometry", 1024),
    ("hadamard", 1024),
    ("optimized-unary", 1024),
]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one report."""

    name: str
    leader_bytes: int  # that the first server gets and stores; the only one, of a local report: bits
    helper_bytes: int
    made: float  # microseconds of a core
    verified: float  # by the leader, the costlier of the two
    between: int  # bytes that the servers send to each other


def shared_costs() -> list[Cost]:
    """Of shares for two servers."""
    return [_shared(name, encoding) for name, encoding in SHARED]


def _shared(name: str, encoding: Encoding) -> Cost:
    prio3, layout = Prio3(circuit_of(encoding), 2), Prio3(circuit_of(encoding), 2).layout
    if can_compile(prio3):
        warm_up(prio3, sharding=True)
    count = max(16, min(1000, ELEMENTS // layout.leader_elements))
    source = KeystreamSource.from_system()
    nonces = source.raw(np.uint8, NONCE_BYTES * count).reshape(count, NONCE_BYTES)
    coins = source.raw(np.uint8, prio3.rand_bytes * count).reshape(count, prio3.rand_bytes)
    measured, sharder = _measurements(encoding, count), BlockSharder(prio3, CONTEXT)
    public, inputs = sharder.shard(measured, nonces, coins)
    verifiers = [BlockVerifier(prio3, KEY, CONTEXT, server) for server in (0, 1)]
    said = [one.init(nonces, public, part) for one, part in zip(verifiers, inputs, strict=True)]

    def verify() -> None:
        state, _ = verifiers[0].init(nonces, public, inputs[0])
        messages, holds = verifiers[0].combine([shares for _, shares in said])
        verifiers[0].aggregate(state, verifiers[0].finish(state, messages, holds))

    made, verified = best_seconds(
        [lambda: sharder.shard(measured, nonces, coins), verify], TURNS, thread_time
    )
    shown = NONCE_BYTES + layout.public_bytes
    return Cost(
        name,
        shown + layout.input_bytes(0),
        shown + layout.input_bytes(1),
        made / count * 1e6,
        verified / count * 1e6,
        2 * layout.verifier_bytes,
    )


def _measurements(encoding: Encoding, count: int) -> Measurements:
    if encoding.kind in ("multihot", "vector"):
        rows = np.zeros((count, encoding.length), np.int64)
        rows[:, : encoding.weight or 8] = 1
        return rows
    return np.ones(count, np.int64)


def local_costs() -> list[Cost]:
    """Of local reports: made by a simulation or a server, from a keystream; packed, and added up."""
    return [_local(name, inputs) for name, inputs in LOCAL]


def _local(name: str, inputs: int) -> Cost:
    made = entry_of(name).made(ONE, inputs)
    people = SLICE if made.report_bits < 64 else SLICE // 64
    values = Crowd.by_law(people, inputs, "uniform").cycle[:people]
    source = KeystreamSource.from_system()
    packed = made.pack(made.randomize(values, source))
    drawn, added = best_seconds(
        [lambda: made.randomize(values, source), lambda: made.tally(made.unpack(packed, people))],
        TURNS,
        thread_time,
    )
    named = f"{name}, {inputs:,} inputs"
    return Cost(named, made.report_bits, 0, drawn / people * 1e6, added / people * 1e6, 0)


def costs() -> list[Row]:
    """Every figure as a row."""
    rows = []
    for one in shared_costs():
        whole = one.leader_bytes + one.helper_bytes
        rows.append(row_of(f"cost: {one.name}, bytes of both shares", whole, "bytes", "nothing", 1.0, None))
        rows.append(row_of(f"cost: {one.name}, made", one.made, "us", "nothing", 1.0, None))
        rows.append(
            row_of(f"cost: {one.name}, verified by the leader", one.verified, "us", "nothing", 1.0, None)
        )
    for one in local_costs():
        rows.append(row_of(f"cost: {one.name}, made", one.made, "us", "nothing", 1.0, None))
        rows.append(
            row_of(f"cost: {one.name}, unpacked and tallied", one.verified, "us", "nothing", 1.0, None)
        )
    return rows


def main() -> None:
    """The tables of docs/scale.md."""
    print(
        "| shares for two servers | bytes, leader | bytes, helper | bytes between servers | made, us | verified, us |"
    )
    print("|---|---|---|---|---|---|")
    for one in shared_costs():
        sizes = f"{one.leader_bytes:,} | {one.helper_bytes:,} | {one.between:,}"
        print(f"| {one.name} | {sizes} | {one.made:.2g} | {one.verified:.2g} |")
    print("\n| local report | bits | made, ns | unpacked and tallied, ns |")
    print("|---|---|---|---|")
    for one in local_costs():
        print(f"| {one.name} | {one.leader_bytes:,} | {1000 * one.made:.2g} | {1000 * one.verified:.2g} |")


if __name__ == "__main__":
    main()
