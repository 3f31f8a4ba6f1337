"""Mutated and random messages: every one of them is decoded or refused by name, and a live agent outlives them all.

A million of them go through the decoder in the nightly run, some ten thousand in every run; descriptions of memoised
randomizers take milliseconds to check, so the bulk is made of the others.  Thousands go to a live agent over gRPC.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from google.protobuf.message import DecodeError

from localdp import errors
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.errors import LocalDpError
from parties import codec
from parties.agent.service import SERVICE_NAME, AgentService
from parties.status import error_of
from parties.wire.v1 import oracle_pb2 as pb
from tests.fault.fuzzing import hostile, noise, valid_contributions, valid_requests
from tests.support.federations import loopback, party, people
from tests.support.ledgers import entries_in, spent_by_day, sqlite_ledger

PEOPLE = 40
BUDGET = Epsilon.requested(30) * 100
REQUESTS, CONTRIBUTIONS = valid_requests(), valid_contributions()
QUICK = REQUESTS[:18]  # without the memoised ones
MILLION, PARTS = 1_000_000, 10
SLOWEST_SECONDS = 5.0  # for one message; a second on an idle machine would be much


def decode(method: str, message: bytes) -> str:
    """What becomes of a message; anything but a decoded request or a refusal by name is an error of this test."""
    try:
        if method == "Describe":
            pb.DescribeRequest.FromString(message)
        elif method == "Randomize":
            codec.request_from_wire(pb.RandomizeRequest.FromString(message))
        else:
            asked = pb.ContributeRequest.FromString(message)
            codec.collection_from_wire(asked.collection)
            codec.cohort_from_wire(asked.cohort)
    except DecodeError:
        return "no message"
    except LocalDpError as refusal:
        return type(refusal).__name__
    return "decoded"


def fuzz(method: str, messages: Iterator[bytes]) -> Counter[str]:
    """How many messages came to which end."""
    return Counter(decode(method, message) for message in messages)


def test_hostile_messages_are_decoded_or_refused_by_name() -> None:
    ends = fuzz("Randomize", hostile(1, 12_000, QUICK))
    assert min(ends["decoded"], ends["InvalidParameter"], ends["QueryRefused"], ends["no message"]) > 100
    assert fuzz("Randomize", hostile(2, 500, REQUESTS)).total() == 500
    assert fuzz("Randomize", noise(3, 5_000)).total() == 5_000
    ends = fuzz("Contribute", hostile(4, 5_000, CONTRIBUTIONS))
    assert min(ends["decoded"], ends["InvalidParameter"], ends["no message"]) > 50


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(PARTS))
def test_a_million_hostile_messages_are_decoded_or_refused_by_name(part: int) -> None:
    share, begun = MILLION // PARTS, time.process_time()
    ends = fuzz("Randomize", hostile(100 + part, share - 20_000, QUICK))
    ends += fuzz("Randomize", hostile(200 + part, 1_000, REQUESTS))
    ends += fuzz("Randomize", noise(300 + part, 9_000))
    ends += fuzz("Contribute", hostile(400 + part, 10_000, CONTRIBUTIONS))
    assert ends.total() == share
    print(f"{share / (time.process_time() - begun):,.0f} messages a second of computing; {dict(ends)}")


def answered(messages: Iterator[bytes]) -> int:
    """How many of the messages a party answers; it refuses the others by name and charges whatever it answers."""
    ledger, answers = MemoryLedger(PEOPLE, BUDGET), 0
    asked = party(people(PEOPLE), ledger=ledger, budget=Epsilon.requested(3))
    for message in messages:
        before, begun = ledger.spent(), time.perf_counter()
        try:
            request, cohort = codec.request_from_wire(pb.RandomizeRequest.FromString(message))
            reports = asked.randomize(request, cohort)
        except (DecodeError, LocalDpError):
            assert (ledger.spent() == before).all(), "a refused request was charged"
            continue
        finally:
            assert time.perf_counter() - begun < SLOWEST_SECONDS
        answers += 1
        assert len(reports) == cohort.size()
        assert (ledger.spent() >= before).all()
    return answers


def test_a_party_charges_for_what_it_answers_and_for_nothing_that_it_refuses() -> None:
    assert answered(hostile(5, 4_000, QUICK)) > 100
    assert answered(hostile(6, 100, REQUESTS)) > 1


@pytest.mark.nightly
def test_a_party_charges_for_what_it_answers_among_many_hostile_messages() -> None:
    assert answered(hostile(7, 60_000, QUICK)) > 1_000
    assert answered(hostile(8, 3_000, REQUESTS)) > 50


class Victim:
    """A live agent on a durable ledger, reached with bytes of the test's choice."""

    def __init__(self, channel: Any, ledger: Path) -> None:
        self._channel, self.ledger = channel, ledger

    def send(self, method: str, message: bytes) -> list[bytes]:
        """The replies, as bytes."""
        path = f"/{SERVICE_NAME}/{method}"
        if method == "Randomize":
            return [*self._channel.unary_stream(path)(message, timeout=20)]
        return [self._channel.unary_unary(path)(message, timeout=20)]

    def describes_itself(self) -> bool:
        """Whether it still lives."""
        told = pb.DescribeResponse.FromString(self.send("Describe", b"")[0])
        return bool(told.people == PEOPLE)

    def spent(self) -> Any:
        """By what stands in the file."""
        return sum(spent_by_day(entries_in(self.ledger), PEOPLE).values(), np.zeros(PEOPLE, np.int64))


@contextmanager
def a_victim(path: Path) -> Iterator[Victim]:
    """An agent for as long as it is needed."""
    with closing(sqlite_ledger(path, PEOPLE, BUDGET)) as ledger, loopback() as threads:
        asked = party(people(PEOPLE), ledger=ledger, budget=Epsilon.requested(3))
        address = threads.serve(SERVICE_NAME, AgentService(asked, {"server-0": "127.0.0.1:1"}))
        with grpc.insecure_channel(address) as channel:
            yield Victim(channel, path)


# What an agent may say of a request that it can read: all of it follows from the request and from public things.
NAMED = (
    errors.InvalidParameter,
    errors.QueryRefused,
    errors.UnknownIndex,
    errors.BudgetExhausted,
    errors.RequestExpired,  # a mutated epoch is another one than is open
    errors.PolicyRefused,
    errors.WorkRefused,
    errors.Busy,
)


def end_of(victim: Victim, method: str, message: bytes) -> str:
    """To which end the message comes."""
    try:
        victim.send(method, message)
    except grpc.RpcError as failure:
        said = error_of(failure, "agent")
        allowed = (errors.InvalidParameter,) if decode(method, message) == "no message" else NAMED
        return type(said).__name__ if isinstance(said, allowed) else f"{said} for {message.hex()}"
    return "answered"


def bombard(victim: Victim, method: str, messages: Iterator[bytes]) -> Counter[str]:
    """Send them all; how many came to which end."""
    ends = Counter(end_of(victim, method, message) for message in messages)
    assert not [end for end in ends if " " in end]
    return ends


def check_bombardment(path: Path, rounds: Sequence[tuple[str, Iterator[bytes]]]) -> None:
    """The agent outlives all rounds, and its ledger can be opened again."""
    with a_victim(path) as victim:
        for method, messages in rounds:
            ends = bombard(victim, method, messages)
            assert ends["answered"] or method == "Contribute"
            assert victim.describes_itself()
        spent = victim.spent()
    with closing(sqlite_ledger(path, PEOPLE, BUDGET)) as ledger:
        assert (ledger.spent() == spent).all()
        assert int(spent.max()) > 0


def test_a_live_agent_outlives_hostile_messages(tmp_path: Path) -> None:
    check_bombardment(
        tmp_path / "ledger",
        [
            ("Randomize", hostile(10, 1_500, QUICK)),
            ("Randomize", hostile(11, 60, REQUESTS)),
            ("Contribute", hostile(12, 300, CONTRIBUTIONS)),
            ("Describe", noise(13, 200)),
        ],
    )


@pytest.mark.nightly
def test_a_live_agent_outlives_many_hostile_messages(tmp_path: Path) -> None:
    check_bombardment(
        tmp_path / "ledger",
        [
            ("Randomize", hostile(20, 20_000, QUICK)),
            ("Randomize", hostile(21, 1_000, REQUESTS)),
            ("Contribute", hostile(22, 5_000, CONTRIBUTIONS)),
            ("Describe", noise(23, 5_000)),
        ],
    )
