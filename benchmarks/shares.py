"""What share servers reach, end to end: reports uploaded to two durable processes, verified, sealed and released.

Reports are made beforehand, since that is the parties' work; how fast they are made is a row of its own.  Everything
else counts: the network, both disks with every write synced, the verification in rounds between the servers, the release.

And in process, without proofs, as `localdp compare` runs it thousands of times: the processor's time of a whole count,
parties and servers together, beside the time that the shares alone take to be drawn.

Run with `python -m benchmarks.shares`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from time import perf_counter, process_time

import numpy as np

from benchmarks.rows import Row, best_seconds, print_rows, row_of
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.domains.dealing import dealt
from localdp.experiments.population import made_up_people
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.party.party import Party
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.lanes import LanedSource
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.collection import COLLECTION_ID_BYTES, Collection, Contributor, Tier
from localdp.sharing.encoding import Encoding
from localdp.sharing.field import PRIME
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.share_server import ShareServer
from localdp.sharing.tiers import people_per_block, sharing_of
from localdp.sharing.vault import MemoryVault
from parties.coordinator import Peer
from parties.serving import open_aio_channel
from parties.shares.client import upload
from parties.shares.collector import RemoteShareServers
from parties.simulation.launcher import Simulation

ONE = Epsilon.requested(1)
TURNS = 3
UPLOAD_SECONDS = 120.0
DRAWN = 1_000_000
PARTIES = 4
IN_PROCESS = {100: 1.2, 1_000_000: 16.0}  # people, and how many times a million draws a count may take
CASES: list[tuple[str, Encoding, Tier, int, float | None]] = [
    ("Count with proofs", Encoding.count(), "prio3", 200_000, 20_000),
    ("Histogram of 256 with proofs", Encoding.histogram(256), "prio3", 8_000, 5_000),
    ("Sum up to 255 with proofs", Encoding.sum(255), "prio3", 40_000, None),
    ("256 entries without proofs", Encoding.histogram(256), "additive", 20_000, None),
]


def shares() -> list[Row]:
    """Reports a second through two share servers, for each kind of report; and how fast they are made."""
    people = made_up_people(1, KeystreamSource.from_system())
    with Simulation([people], budget=ONE, synced=True) as running:
        through = [row for case in CASES for row in _case(running.shared, running.share_servers, *case)]
    return through + [_in_process(people, limit) for people, limit in IN_PROCESS.items()]


def _in_process(people: int, limit: float) -> Row:
    source = KeystreamSource.from_system()
    records = dealt(made_up_people(people, source), PARTIES)
    parties = [
        Party(f"party-{number}", part, os.urandom(32), MemoryLedger(part.people, ONE * 100_000))
        for number, part in enumerate(records)
    ]
    servers = [ShareServer(name, MemoryVault(os.urandom(32))) for name in ("server-0", "server-1")]
    oracle = SharedOracle(InProcessShareServers(parties, servers), ONE, source, tier="additive")
    lanes = LanedSource(os.urandom(32), range(DRAWN))
    many = max(1, 20_000 // people)
    count, draw = best_seconds(
        [
            lambda: [oracle.answer(["smoker"]) for _ in range(many)],
            lambda: lanes.below(PRIME, DRAWN),
        ],
        9,
        process_time,
    )
    name = f"Count of {people:,} people in process, {PARTIES} parties"
    milliseconds = 1000 * count / many
    return row_of(name, milliseconds, "ms of CPU", "a million shares drawn", count / many / draw, limit)


def _case(
    servers: RemoteShareServers,
    peers: list[Peer],
    name: str,
    encoding: Encoding,
    tier: Tier,
    reports: int,
    target: float | None,
) -> list[Row]:
    made, passed = 0.0, 0.0
    for _ in range(TURNS):
        collection = _collection(servers, encoding, tier, reports)
        start = perf_counter()
        blocks = list(_blocks(collection, reports))
        made = max(made, reports / (perf_counter() - start))
        start = perf_counter()
        servers.open(collection)
        asyncio.run(uploaded(peers, blocks))
        agreed = servers.agree(collection)
        signed = [holding.signature for holding in servers.holdings(collection)]
        servers.release(collection, agreed.accepted, signed)
        passed = max(passed, reports / (perf_counter() - start))
        if agreed.reports != reports:
            raise SystemExit("a report was lost")
    ratio = 0.0 if target is None else target / passed
    yardstick = "a report" if target is None else f"{target:.0f}/s"
    return [
        row_of(f"{name}, through two servers", passed, "reports/s", yardstick, ratio, target and 1.0),
        row_of(f"{name}, made by a party", made, "reports/s", "a report", 0.0, None),
    ]


def _collection(servers: RemoteShareServers, encoding: Encoding, tier: Tier, reports: int) -> Collection:
    parties = (Contributor("party", reports),)
    name = os.urandom(COLLECTION_ID_BYTES)
    plan = NoisePlan.EACH_SERVER
    binding = servers.bind(name)
    return Collection(name, "true", encoding, ONE, plan, servers.servers, parties, 2, binding, tier)


def _blocks(collection: Collection, reports: int) -> list[list[ShareBlock]]:
    sharing, blocks = sharing_of(collection), []
    length = collection.encoding.length
    key = os.urandom(32)
    for part in Cohort(0, reports).parts(people_per_block(collection)):
        lanes = np.arange(part.start, part.stop)
        values = np.eye(length, dtype=np.int64)[lanes % length] if length > 1 else (lanes % 2)[:, None]
        rows = sharing.split(values, LanedSource(key, part.lanes()))
        blocks.append([ShareBlock(collection.digest, "party", part, one) for one in rows])
    return blocks


async def uploaded(peers: list[Peer], blocks: list[list[ShareBlock]]) -> None:
    """Every server has its shares on disk."""

    async def each() -> AsyncIterator[list[ShareBlock]]:
        for block in blocks:
            yield block

    channels = [open_aio_channel(peer.address) for peer in peers]
    outcomes = await upload(channels, each(), UPLOAD_SECONDS)
    for channel in channels:
        await channel.close()
    if not all(isinstance(outcome, int) for outcome in outcomes):
        raise SystemExit("an upload failed")


if __name__ == "__main__":
    print_rows(shares())
