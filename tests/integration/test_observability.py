"""Logs and metrics of an agent that runs from a file, as its operator reads them; and the endpoint by itself."""

from __future__ import annotations

import asyncio
import json
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, LocalDpError, Unreachable
from parties.agent.config import load_config
from parties.coordinator import Peer, RemoteParties
from parties.observability.endpoint import metrics_served
from tests.support.federations import request
from tests.support.processes import COMMAND, localdp, stage, wait_until

CANARIES = ("471100815", "zebra-canary")
CONFIG = """
name = "north"
data.path = "people.csv"
budget.total = 2
policy.largest_epsilon = 1
schema.smoker = { kind = "bit" }
schema.income = { kind = "integer", low = 0, high = 1000000000 }
schema.ward = { kind = "category", labels = ["north", "zebra-canary"] }
observe.log = "info"
observe.metrics = "127.0.0.1:0"
"""


def written(directory: Path, text: str = CONFIG) -> Path:
    rows = ["1,471100815,zebra-canary"] * 20
    (directory / "people.csv").write_text("\n".join(["smoker,income,ward", *rows]) + "\n")
    config = directory / "agent.toml"
    config.write_text(text)
    return config


def lines(path: Path, event: str) -> list[dict[str, Any]]:
    """The complete lines so far that are about an event."""
    whole = path.read_text().rpartition("\n")[0]
    told = [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
    return [line for line in told if line["event"] == event]


@contextmanager
def running(directory: Path) -> Iterator[tuple[str, Path]]:
    """The address of an agent, and the file that its standard error goes to."""
    config, out, log = written(directory), directory / "out", directory / "log"
    assert localdp(directory, "agent", "init", str(config)).returncode == 0
    with stage(directory) as made, out.open("wb") as told, log.open("wb") as logged:
        process = made.popen(
            [str(COMMAND), "agent", "run", str(config), "--json"], stdout=told, stderr=logged
        )
        try:
            wait_until(lambda: out.read_text().endswith("\n"), "the agent serves")
            yield json.loads(out.read_text())["data"]["address"], log
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0


def test_an_operator_sees_every_call_and_no_canary(tmp_path: Path) -> None:
    with (
        running(tmp_path) as (address, log),
        closing(RemoteParties([Peer("north", address)], 20)) as remote,
    ):
        for number, query in ((1, "smoker"), (1, "smoker"), (2, "income > 5"), (3, "smoker"), (4, "smokr")):
            ask(remote, number, query)
        wait_until(lambda: len(lines(log, "call")) == 6, "all calls are logged")
        metrics = fetched_text(lines(log, "metrics")[0]["address"])
        told = lines(log, "call")
    assert [(line["method"], line["code"]) for line in told] == [
        ("Describe", "OK"),
        ("Randomize", "OK"),
        ("Randomize", "OK"),
        ("Randomize", "OK"),
        ("Randomize", "RESOURCE_EXHAUSTED"),
        ("Randomize", "INVALID_ARGUMENT"),
    ]
    for line in (
        "localdp_people 20",
        "localdp_budget_nats 2",
        "localdp_charges_total 2",
        "localdp_reports_total 60",
    ):
        assert line in metrics.splitlines()
    assert not [canary for canary in CANARIES if canary in log.read_text() + metrics]


def ask(remote: RemoteParties, number: int, query: str) -> None:
    try:
        np.concatenate(list(remote.reports(request(number, query), Cohort(0, 20))))
    except LocalDpError:
        assert number > 2


def fetched_text(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        text: str = answer.read().decode()
    return text


@pytest.mark.parametrize(
    ("key", "wrong", "said"),
    [
        ('log = "info"', 'log = "loud"', "observe.log: one of off"),
        ('metrics = "127.0.0.1:0"', 'metrics = "here"', "observe.metrics: a host and a port"),
        ('metrics = "127.0.0.1:0"', "metrics = 5", "observe.metrics: expected str"),
        ("observe.log", "observe.logs", "observe.logs: unknown"),
    ],
)
def test_a_mistake_in_what_to_observe_is_told_by_its_key(
    tmp_path: Path, key: str, wrong: str, said: str
) -> None:
    with pytest.raises(InvalidParameter, match=said):
        load_config(written(tmp_path, CONFIG.replace(key, wrong)))


async def fetched(address: str, request: bytes) -> bytes:
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"200 OK"),
        (b"GET /metrics?x=1 HTTP/1.0\r\n\r\n", b"200 OK"),
        (b"GET /other HTTP/1.1\r\n\r\n", b"404 "),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"405 "),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"y" * 20_000 + b"\r\n\r\n", b"431 "),
    ],
)
def test_the_endpoint_serves_metrics_and_nothing_else(request_head: bytes, status: bytes) -> None:
    async def run() -> bytes:
        async with metrics_served("127.0.0.1:0", lambda: "the text\n") as address:
            return await fetched(address, request_head)

    answer = asyncio.run(run())
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert answer.endswith(b"the text\n") is (status == b"200 OK")


def test_metrics_are_served_on_this_machine_alone_and_on_a_free_port() -> None:
    async def twice() -> None:
        async with metrics_served("127.0.0.1:0", str) as address, metrics_served(address, str):
            pass

    with pytest.raises(Unreachable, match="in use"):
        asyncio.run(twice())
    with pytest.raises(InvalidParameter, match="loopback"):
        asyncio.run(metrics_served("192.0.2.1:0", str).__aenter__())
