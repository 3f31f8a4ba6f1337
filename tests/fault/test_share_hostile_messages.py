"""Mutated and random messages to a live share server: each is answered or refused by name, and it goes on serving."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.oracles.collecting import run_collection
from localdp.sharing.blocks import pack_positions
from localdp.sharing.storage import Job
from parties import codec
from parties.shares import messages
from parties.shares.service import SERVICE_NAME
from parties.wire.v1 import share_server_pb2 as pb
from tests.fault.fuzzing import hostile, noise
from tests.support.federations import Served, collection_of, parties_of, people, served
from tests.support.shares import openings_of

PEOPLE = 40

NAMED = {
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OUT_OF_RANGE",
    "ABORTED",
    "FAILED_PRECONDITION",
    "PERMISSION_DENIED",
}
COUNT = 150  # of each kind and method


@pytest.fixture
def federation() -> Iterator[Served]:
    with served(parties_of(people(PEOPLE), 2)) as made:
        yield made


def valid(federation: Served) -> dict[str, list[bytes]]:
    """A message of every method, as an honest role would send it."""
    collection = collection_of(federation.parties, tier="prio3")
    federation.shared.open(collection)
    federation.shared.contribute(collection, Cohort(0, PEOPLE))
    name, positions = collection.digest, np.arange(0, PEOPLE, 2, dtype=np.uint32)
    packed, yes = pack_positions(positions), np.ones(len(positions), np.bool_)
    block = federation.parties[0].share(collection, Cohort(0, 20))[1]
    carried = collection_of(federation.parties, number=1, tier="prio3", relayed=True)
    federation.shared.open(carried)
    own = federation.parties[0].share(carried, Cohort(0, 20))[1]
    sealed = messages.sealed_to_wire(own, "server-1", federation.servers[1].sealing_key.public)
    key = federation.servers[0].verify_key(name)
    said = [server.check(name, key, positions)[1].tobytes() for server in federation.servers]
    openings = map(messages.opening_to_wire, openings_of(federation.servers, collection))
    made: dict[str, Any] = {
        "DescribeServer": pb.DescribeServerRequest(collection_id=collection.collection_id),
        "OpenCollection": pb.OpenCollectionRequest(collection=codec.collection_to_wire(collection)),
        "UploadShares": messages.block_to_wire(block),
        "UploadSealed": sealed,
        "AgreeOnReports": pb.AgreeOnReportsRequest(collection=name, addresses=["127.0.0.1:1"]),
        "CheckReports": pb.CheckReportsRequest(collection=name, verify_key=key, positions=packed),
        "VoteOnReports": pb.VoteOnReportsRequest(collection=name, positions=packed, verifiers=said),
        "CommitJob": messages.job_to_wire(name, Job(0, positions, yes)),
        "GetOpening": pb.GetOpeningRequest(collection=name),
        "SealReports": pb.SealReportsRequest(
            collection=name, expected=pb.GetHoldingResponse(reports=20, jobs=1), openings=openings
        ),
        "GetHolding": pb.GetHoldingRequest(collection=name),
        "Release": pb.ReleaseRequest(collection=name, accepted=bytes(32), signatures=[bytes(64)] * 2),
        "ProveNoise": pb.ProveNoiseRequest(
            collection=name,
            accepted=bytes(32),
            signatures=[bytes(64)] * 2,
            step=1,
            messages=[bytes(96)] * 2,
        ),
        "Compute": pb.ComputeRequest(collection=name, server=0, round=0, payload=bytes(64)),
    }
    assert set(made) == set(pb.DESCRIPTOR.services_by_name["ShareServerService"].methods_by_name)
    return {method: [message.SerializeToString()] for method, message in made.items()}


@contextmanager
def channel_to(federation: Served, server: str) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(federation.addresses[server]) as channel:
        yield channel


def end_of(channel: Any, method: str, message: bytes) -> str:
    path = f"/{SERVICE_NAME}/{method}"
    try:
        if method.startswith("Upload"):
            channel.stream_unary(path)(iter([message]), timeout=20)
        elif method == "Compute":
            list(channel.stream_stream(path)(iter([message]), timeout=20))
        else:
            channel.unary_unary(path)(message, timeout=20)
    except grpc.RpcError as failure:
        return str(failure.code().name)
    return "answered"


def test_a_share_server_answers_or_refuses_by_name_and_goes_on(federation: Served) -> None:
    ends: Counter[str] = Counter()
    with channel_to(federation, "server-1") as channel:
        for seed, (method, seeds) in enumerate(valid(federation).items()):
            for message in [*hostile(seed, COUNT, seeds), *noise(seed, COUNT // 5)]:
                ends[end_of(channel, method, message)] += 1
    assert set(ends) <= NAMED | {"answered"}, ends
    assert min(ends["answered"], ends["INVALID_ARGUMENT"], ends["NOT_FOUND"]) > 50
    fresh = collection_of(federation.parties, number=7, tier="prio3")
    assert run_collection(federation.shared, fresh, Cohort(0, PEOPLE))[1] == PEOPLE
