"""Logs and metrics: what they say of a call, in which format, and that no canary of a record is ever among it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, MemoryLedger, Receipt
from localdp.cohorts import Cohort
from localdp.domains import CategoryDomain, IntegerDomain, Records, Schema
from localdp.errors import BudgetExhausted, InvalidParameter, LocalDpError, QueryRefused
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.one_bit import OneBitRandomizer
from parties import codec
from parties.agent.service import AgentService
from parties.observability.logs import VARIABLE, configure_logs, log, release_logs
from parties.observability.metrics import Metric, MetricHistogram, exposition
from parties.observability.observer import Observer, WatchedLedger, outcome_of
from parties.shares.service import ShareService
from parties.wire.v1 import oracle_pb2 as pb
from parties.wire.v1 import share_server_pb2
from tests.support.federations import collection_of, parties_of, people, share_servers_of

SECRET = 471_100_815
CANARY = "zebra-canary"
ONE = Epsilon.requested(1)
KEY = b"a key that nobody shall ever see"
CANARIES = (str(SECRET), f"{SECRET:_}", CANARY, KEY.hex(), KEY.decode(), "4711")
SCHEMA = Schema(
    {
        "income": IntegerDomain(0, 10**9),
        "ward": CategoryDomain(("north", CANARY)),
        "age": IntegerDomain(0, 120),
    }
)
RECORDS = Records.from_columns(SCHEMA, {"income": [SECRET] * 9, "ward": [1] * 9, "age": [47] * 9})
SAMPLE = re.compile(r'[a-z_]+(\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})? [0-9.e+-]+(Inf)?')


class Context:
    """A caller on loopback, who waits for ever."""

    def auth_context(self) -> dict[str, list[bytes]]:
        return {"x509_common_name": [b"analyst"]}

    def time_remaining(self) -> None:
        return None

    def cancelled(self) -> bool:
        return False

    async def abort(self, code: grpc.StatusCode, text: str, trailing_metadata: Any = ()) -> None:
        raise grpc.aio.AbortError


class Crashing(MemoryLedger):
    """Fails with a record and a key in the exception."""

    def charge(self, charge: Charge) -> Receipt:
        raise ZeroDivisionError(f"{SECRET} {CANARY} {KEY!r}")


@contextmanager
def logged(level: str = "debug") -> Iterator[io.StringIO]:
    """What is logged meanwhile."""
    stream = io.StringIO()
    handler = configure_logs(level, stream)
    try:
        yield stream
    finally:
        release_logs(handler)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def agent_of(ledger: MemoryLedger) -> tuple[AgentService, Observer]:
    observer = Observer("agent", "north")
    watched = WatchedLedger(ledger, observer)
    party = Party("north", RECORDS, KEY, watched, Policy(largest_epsilon=Epsilon.requested(3)))
    return AgentService(party, {}, observer=observer), observer


async def asked(agent: Any, number: int, query: str, stop: int = 9) -> int:
    """How many reports come; none if the request is refused."""
    request = Request(number.to_bytes(16, "big"), query, OneBitRandomizer(Epsilon.requested(1)))
    message = codec.request_to_wire(request, Cohort(0, stop))
    try:
        return sum([int(part.reports) async for part in agent.Randomize(message, Context())])
    except grpc.aio.AbortError:
        return 0


async def everything(agent: AgentService) -> None:
    """Good requests, replays, refusals of every kind, and whatever else comes in."""
    context: Any = Context()
    await agent.Describe(pb.DescribeRequest(), context)
    for number, query in ((1, "income > 5"), (1, "income > 5"), (2, "age >= 65"), (3, "true"), (4, "true")):
        await asked(agent, number, query)
    await asked(agent, 5, "nothing")
    await asked(agent, 6, 'ward == "south"')
    await asked(agent, 7, "income > 5", stop=10)
    with pytest.raises(grpc.aio.AbortError):
        await agent.Contribute(pb.ContributeRequest(), context)
    async for _ in refused_stream(agent, context):
        pass
    await agent.close()


async def refused_stream(agent: AgentService, context: Any) -> AsyncIterator[Any]:
    """A message that is nothing at all."""
    try:
        async for part in agent.Randomize(pb.RandomizeRequest(), context):
            yield part
    except grpc.aio.AbortError:
        return


@pytest.mark.parametrize("ledger", [MemoryLedger, Crashing])
def test_no_canary_of_a_record_or_a_key_is_in_any_line_or_metric(ledger: type[MemoryLedger]) -> None:
    with logged() as stream:
        agent, observer = agent_of(ledger(9, Epsilon.requested(3)))
        asyncio.run(everything(agent))
    written = stream.getvalue() + observer.exposition()
    assert len(lines(stream)) == 11
    assert not [canary for canary in CANARIES if canary in written]


def test_a_line_names_a_request_as_the_ledger_does_however_it_was_written() -> None:
    ledger, holder = (
        MemoryLedger(9, Epsilon.requested(3)),
        Party("north", RECORDS, KEY, MemoryLedger(9, ONE)),
    )
    with logged() as stream:
        agent, _ = agent_of(ledger)
        assert asyncio.run(asked(agent, 1, "(65)<=age")) == 9
    request = Request((1).to_bytes(16, "big"), "65 <= age", OneBitRandomizer(ONE))
    line = lines(stream)[0]
    assert (line["query"], line["request"]) == ("65 <= age", holder.name_of(request)[:8].hex())


def test_a_line_says_who_asked_what_of_how_many_and_how_it_ended() -> None:
    with logged() as stream:
        agent, _ = agent_of(MemoryLedger(9, Epsilon.requested(3)))
        asyncio.run(everything(agent))
    told = lines(stream)
    good = next(line for line in told if line["method"] == "Randomize")
    assert good | {"time": "", "ms": 0} == {
        "time": "",
        "level": "info",
        "event": "call",
        "role": "agent",
        "name": "north",
        "method": "Randomize",
        "caller": "analyst",
        "request": good["request"],
        "people": 9,
        "epsilon": "1",
        "query": "income > 5",
        "code": "OK",
        "reports": 9,
        "ms": 0,
    }
    assert len(good["request"]) == 16 and good["ms"] >= 0
    ended = [(line["method"], line["code"], line.get("reason")) for line in told[5:]]
    assert ended == [
        ("Randomize", "RESOURCE_EXHAUSTED", "BUDGET_EXHAUSTED"),
        ("Randomize", "INVALID_ARGUMENT", "QUERY_REFUSED"),
        ("Randomize", "INVALID_ARGUMENT", "QUERY_REFUSED"),
        ("Randomize", "OUT_OF_RANGE", "UNKNOWN_INDEX"),
        ("Contribute", "INVALID_ARGUMENT", "INVALID_PARAMETER"),
        ("Randomize", "INVALID_ARGUMENT", "QUERY_REFUSED"),
    ]


def test_an_unforeseen_exception_is_an_error_by_its_type_alone() -> None:
    with logged("error") as stream:
        agent, _ = agent_of(Crashing(9, Epsilon.requested(3)))
        asyncio.run(asked(agent, 1, "true"))
    (line,) = lines(stream)
    assert (line["level"], line["code"], line["error"]) == ("error", "INTERNAL", "ZeroDivisionError")


def test_of_what_other_libraries_log_only_the_origin_is_written() -> None:
    with logged() as stream:
        try:
            raise KeyError(CANARY)
        except KeyError:
            logging.getLogger("grpc._server").exception("calling %s", CANARY)
    (line,) = lines(stream)
    assert {key: line[key] for key in ("event", "logger", "error")} == {
        "event": "library",
        "logger": "grpc._server",
        "error": "KeyError",
    }


def test_the_level_is_heeded_and_the_environment_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    with logged("warning") as stream:
        log(logging.INFO, "small", {})
        log(logging.ERROR, "large", {})
    assert [line["event"] for line in lines(stream)] == ["large"]
    monkeypatch.setenv(VARIABLE, "off")
    with logged("debug") as stream:
        log(logging.ERROR, "large", {})
    assert not lines(stream)
    monkeypatch.setenv(VARIABLE, "loud")
    with pytest.raises(InvalidParameter, match="warning"):
        configure_logs("info")


def test_the_metrics_of_an_agent_add_up() -> None:
    agent, observer = agent_of(MemoryLedger(9, Epsilon.requested(3)))
    asyncio.run(everything(agent))
    text = observer.exposition()
    for line in (
        'localdp_calls_total{method="Randomize",code="OK"} 4',
        'localdp_calls_total{method="Randomize",code="RESOURCE_EXHAUSTED"} 1',
        "localdp_reports_total 36",
        "localdp_charges_total 3",
        "localdp_epsilon_charged_nats_total 3",
        'localdp_call_seconds_count{method="Randomize"} 9',
    ):
        assert line in text.splitlines()


def test_the_calls_of_a_share_server_are_observed() -> None:
    async def calls(service: ShareService) -> None:
        context: Any = Context()
        collection = codec.collection_to_wire(collection_of(parties_of(people(4), 2)))
        await service.OpenCollection(share_server_pb2.OpenCollectionRequest(collection=collection), context)
        with pytest.raises(grpc.aio.AbortError):
            await service.GetHolding(share_server_pb2.GetHoldingRequest(collection=b"x"), context)

    with logged() as stream:
        asyncio.run(calls(ShareService(share_servers_of(1)[0])))
    assert [(line["role"], line["method"], line["code"]) for line in lines(stream)] == [
        ("share-server", "OpenCollection", "OK"),
        ("share-server", "GetHolding", "NOT_FOUND"),
    ]


def test_every_line_of_the_exposition_is_well_formed() -> None:
    odd = Metric("odd_total", "Odd.", "counter", ("what",))
    odd.add(0.5, 'a "b" \\ c\nd')
    times = MetricHistogram("time_seconds", "Time.", bounds=(0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7.0):
        times.observe(value)
    assert exposition([odd, times]).splitlines() == [
        "# HELP odd_total Odd.",
        "# TYPE odd_total counter",
        r'odd_total{what="a \"b\" \\ c\nd"} 0.5',
        "# HELP time_seconds Time.",
        "# TYPE time_seconds histogram",
        'time_seconds_bucket{le="0.1"} 2',
        'time_seconds_bucket{le="1"} 3',
        'time_seconds_bucket{le="+Inf"} 4',
        "time_seconds_sum 7.65",
        "time_seconds_count 4",
    ]
    agent, observer = agent_of(MemoryLedger(9, Epsilon.requested(3)))
    asyncio.run(everything(agent))
    samples = [line for line in observer.exposition().splitlines() if not line.startswith("#")]
    assert samples and all(SAMPLE.fullmatch(line) for line in samples)


def test_a_counter_never_goes_down() -> None:
    with pytest.raises(ValueError, match="up"):
        Metric("x_total", "X.", "counter").add(-1)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, "OK"),
        (BudgetExhausted(CANARY), "RESOURCE_EXHAUSTED"),
        (QueryRefused(CANARY), "INVALID_ARGUMENT"),
        (LocalDpError(CANARY), "UNKNOWN"),
        (asyncio.CancelledError(), "CANCELLED"),
        (GeneratorExit(), "CANCELLED"),
        (ValueError(CANARY), "INTERNAL"),
    ],
)
def test_an_outcome_is_a_code_and_never_a_text(error: BaseException | None, code: str) -> None:
    outcome = outcome_of(error)
    assert outcome["code"] == code
    assert CANARY not in str(outcome)
