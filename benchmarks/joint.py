"""What three durable servers take to draw joint noise and to select, over loopback, with proofs and every write synced.

A release is measured alone: reports are uploaded, agreed on and sealed before.  It is from the collector's request to its
answer, so the greeting, all rounds and two transactions at each server are in it.

The seconds are those of a quiet machine with two cores.  On a busy one they mean little.

Run with `python -m benchmarks.joint`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np

from benchmarks.rows import Row, print_rows, row_of
from benchmarks.shares import uploaded
from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.experiments.population import made_up_people
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.lanes import LanedSource
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.collection import COLLECTION_ID_BYTES, Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.selection import Selection
from localdp.sharing.tiers import sharing_of
from parties.coordinator import Peer
from parties.shares.collector import RemoteShareServers
from parties.simulation.launcher import Simulation

ONE = Epsilon.requested(1)
REPORTS = 4
TURNS = 5


class Case(NamedTuple):
    """What is released, in how many seconds at most, and in how many octets that a server says to the others."""

    name: str
    encoding: Encoding
    selection: Selection | None
    seconds: float
    octets: float | None = None


CASES = [
    Case("Joint noise on a count", Encoding.count(), None, 0.1),
    Case("Joint noise on 256 bins", Encoding.histogram(256), None, 0.15, 64e3),
    Case("Joint noise on 65,536 bins", Encoding.histogram(65_536), None, 3.0, 12e6),
    Case("Noisy maximum of 256 scores", Encoding.histogram(256), Selection("largest", 256), 0.3),
    Case("Noisy maximum of 4,096 scores", Encoding.histogram(4096), Selection("largest", 4096), 0.8),
    Case(
        "Median over 1,024 bins",
        Encoding.histogram(1024),
        Selection("quantile", 1024, (REPORTS // 2,)),
        0.8,
    ),
]


def joint() -> list[Row]:
    """Seconds of a release and octets of a server, for each case."""
    people = made_up_people(1, KeystreamSource.from_system())
    with Simulation([people], budget=ONE, servers=3, synced=True) as running:
        return [row for case in CASES for row in _rows(running, case)]


def _rows(running: Simulation, case: Case) -> list[Row]:
    servers, before = running.shared, max(running.shared.traffic.octets)
    taken = release_seconds(servers, running.share_servers, case.encoding, case.selection)
    said = (max(servers.traffic.octets) - before) / (TURNS + 1)
    rows = [row_of(case.name, 1000 * taken, "ms", f"{case.seconds:g} s", taken / case.seconds, 1.0)]
    if case.octets is not None:
        most, what = f"{case.octets / 1000:,.0f} kB", f"{case.name}, said by a server"
        rows.append(row_of(what, said / 1000, "kB", most, said / case.octets, 1.0))
    return rows


def release_seconds(
    servers: RemoteShareServers,
    peers: Sequence[Peer],
    encoding: Encoding,
    selection: Selection | None,
    turns: int = TURNS,
) -> float:
    """The fastest of several releases; the first one, for which code and channels are made ready, does not count."""
    taken = [_released(servers, peers, encoding, selection) for _ in range(turns + 1)]
    return min(taken[1:])


def _released(
    servers: RemoteShareServers, peers: Sequence[Peer], encoding: Encoding, selection: Selection | None
) -> float:
    collection = _collection(servers, encoding, selection)
    values = np.zeros((REPORTS, encoding.length), np.int64)
    values[np.arange(REPORTS), np.arange(REPORTS) % encoding.length] = 1
    rows = sharing_of(collection).split(values, LanedSource(os.urandom(32), Cohort(0, REPORTS).lanes()))
    blocks = [ShareBlock(collection.digest, "party", Cohort(0, REPORTS), one) for one in rows]
    servers.open(collection)
    asyncio.run(uploaded(list(peers), [blocks]))
    agreed = servers.agree(collection)
    signed = [holding.signature for holding in servers.holdings(collection)]
    start = perf_counter()
    servers.release(collection, agreed.accepted, signed)
    return perf_counter() - start


def _collection(servers: RemoteShareServers, encoding: Encoding, selection: Selection | None) -> Collection:
    name = os.urandom(COLLECTION_ID_BYTES)
    return Collection(
        name,
        "true",
        encoding,
        ONE,
        NoisePlan.JOINT,
        servers.servers,
        (Contributor("party", REPORTS),),
        2,
        servers.bind(name),
        selection=selection,
    )


if __name__ == "__main__":
    print_rows(joint())
