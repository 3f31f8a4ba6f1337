"""A caller who keeps an agent as busy as it can, as a process of its own.

    python -m tests.integration.loading_caller KEYS ADDRESS PEOPLE SECONDS KIND ...

It writes a line when it has begun, and goes on until the time is over or its input ends.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.party.party import Request
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.priv_unit import PrivUnit
from parties import codec
from parties.identity import load_identity
from parties.serving import open_channel
from parties.wire.v1 import oracle_pb2 as pb
from parties.wire.v1 import oracle_pb2_grpc

TINY, ONE = Epsilon(1), Epsilon.requested(1)
STREAMS = 1000
IN_FLIGHT = 200


def asked(query: str, randomizer: LocalRandomizer, people: int) -> pb.RandomizeRequest:
    """A request under an identifier of its own."""
    return codec.request_to_wire(Request(os.urandom(16), query, randomizer), Cohort(0, people))


def largest_normals(people: int) -> pb.RandomizeRequest:
    """4 million normals for each person, in 19 KB."""
    forms = ", ".join(["smoker"] * 2047)
    return asked(f"ball({forms})", PrivUnit(TINY, 2047, candidates=2048), min(people, 1000))


def most_nodes(people: int) -> pb.RandomizeRequest:
    """4,000 conditions, of which the first that holds counts."""
    return asked(f"which({', '.join(['smoker'] * 4000)})", KaryRandomizedResponse(TINY, 4001), people)


def long_answer(people: int) -> pb.RandomizeRequest:
    """Ten bytes for each person, which are soon drawn."""
    return asked("region", OptimalLocalHashing(ONE, 1 << 16), people)


def slow_to_read(people: int) -> pb.RandomizeRequest:
    """A few bytes that stand for a long table."""
    return asked("clip(age/120)", LocalDiscreteLaplace(ONE, 1 << 16), 1)


def largest_message(people: int) -> pb.RandomizeRequest:
    """4 MB that are refused once they are read."""
    message = asked("smoker", KaryRandomizedResponse(TINY, 2), people)
    message.query = " or ".join(["x" * 60] * 62_000)
    return message


Stub = oracle_pb2_grpc.LocalRandomizerOracleServiceStub
KINDS: dict[str, Callable[[int], pb.RandomizeRequest]] = {
    "normals": largest_normals,
    "nodes": most_nodes,
    "long": long_answer,
    "tables": slow_to_read,
    "messages": largest_message,
}


def unread(stubs: list[Any], message: pb.RandomizeRequest, streams: int = STREAMS) -> list[Any]:
    """Begin streams of one request, and read none of them."""
    return [
        stub.Randomize(message) for stub, _ in zip(itertools.cycle(stubs), range(streams), strict=False)
    ]


def load(stubs: list[Any], messages: list[pb.RandomizeRequest], until: float) -> None:
    """Quotes and answers of all of these, at most so many at a time, over and over."""
    turns, flying = itertools.cycle(messages), list[Any]()
    while time.monotonic() < until:
        flying = [call for call in flying if not call.done()]
        while len(flying) < IN_FLIGHT:
            message, stub = next(turns), stubs[len(flying) % len(stubs)]
            flying.append(stub.Quote.future(pb.QuoteRequest(randomize=message), timeout=60))
            if len(flying) % 8 == 0:
                flying.append(stub.Randomize(message, timeout=60))
        time.sleep(0.05)
    for call in flying:
        call.cancel()


def main(keys: str, address: str, people: str, seconds: str, *kinds: str) -> None:
    """Load the agent."""
    until, identity = time.monotonic() + float(seconds), load_identity(Path(keys) / "mallory")
    with contextlib.ExitStack() as stack:
        channels = [stack.enter_context(open_channel(address, identity, "party-0")) for _ in range(2)]
        for channel in channels:
            grpc.channel_ready_future(channel).result(20)
        stubs = [Stub(channel) for channel in channels]
        held = unread(stubs, long_answer(int(people))) if "streams" in kinds else []
        messages = [KINDS[kind](int(people)) for kind in kinds if kind in KINDS]
        print("begun", flush=True)
        if messages:
            load(stubs, messages, until)
        time.sleep(max(0.0, until - time.monotonic()))
        print(sum(not call.done() for call in held), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
