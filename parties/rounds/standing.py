"""Who of running parties is up, and what each says of itself: asked once, all at the same time, at no charge.

Unlike `Federation.connect` it needs nobody to be there, and says of everybody what is the matter.
Checked in tests/integration/test_parties_status.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

import grpc

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.remaining import Step
from localdp.errors import LocalDpError
from parties.coordinator import AnotherParty, Peer, RemoteParty, steps_of
from parties.identity import Identity
from parties.repeating import Begun, Response
from parties.status import error_of
from parties.wire.v1 import (
    share_server_pb2,
    share_server_pb2_grpc,
    shuffler_pb2,
    shuffler_pb2_grpc,
)

SECONDS = 5.0
Role = Literal["agent", "share server", "shuffler"]


@dataclass(frozen=True, slots=True)
class RoleStanding:
    """Somebody who should be running."""

    role: Role
    peer: Peer
    error: LocalDpError | None = None  # why it is not up, for whoever asks
    people: int | None = None  # as it says itself, or else as the file of parties has it
    epoch: int | None = None
    budget: Epsilon | None = None  # of each person, in total
    left: tuple[Step, ...] | None = None  # to how many people; None: it does not say


def standings(
    named: Sequence[RoleStanding], identity: Identity | None = None, seconds: float = SECONDS
) -> list[RoleStanding]:
    """How everybody stands who is named."""
    with _channels(named, identity) as channels:
        described = [
            _described(one, channel, seconds) for one, channel in zip(named, channels, strict=True)
        ]
        met = [_introduced(one, begun) for one, begun in zip(named, described, strict=True)]
        budgets = [_budgets(one, channel, seconds) for one, channel in zip(met, channels, strict=True)]
        return [_with_budgets(one, begun) for one, begun in zip(met, budgets, strict=True)]


@contextmanager
def _channels(named: Sequence[RoleStanding], identity: Identity | None) -> Iterator[list[grpc.Channel]]:
    channels: list[grpc.Channel] = []
    try:
        channels.extend(one.peer.open(identity) for one in named)
        yield channels
    finally:
        for channel in channels:
            channel.close()


def _described(one: RoleStanding, channel: grpc.Channel, seconds: float) -> Begun:
    """Begin to ask who it is."""
    match one.role:
        case "agent":
            return RemoteParty(one.peer, channel).description().begin(seconds)
        case "share server":
            server = share_server_pb2_grpc.ShareServerServiceStub(channel)
            return server.DescribeServer.future(share_server_pb2.DescribeServerRequest(), timeout=seconds)
        case "shuffler":
            shuffler = shuffler_pb2_grpc.ShufflerServiceStub(channel)
            return shuffler.DescribeShuffler.future(shuffler_pb2.DescribeShufflerRequest(), timeout=seconds)


def _introduced(one: RoleStanding, begun: Begun) -> RoleStanding:
    """What it says, or why it does not."""
    try:
        told: Response = begun.result()
    except grpc.RpcError as failure:
        word = "party" if one.role == "agent" else one.role
        return replace(one, error=error_of(failure, f"{word} {one.peer.name}"))
    if told.name != one.peer.name:
        return replace(one, error=AnotherParty("somebody of another name answers at this address"))
    if one.role == "share server":
        return one
    if one.role == "shuffler":
        return replace(one, people=told.people)
    return replace(one, people=told.people, epoch=told.epoch, budget=Epsilon(told.budget_nanonats))


def _budgets(one: RoleStanding, channel: grpc.Channel, seconds: float) -> Begun | None:
    if one.role != "agent" or one.error is not None:
        return None
    return RemoteParty(one.peer, channel).budgets().begin(seconds)


def _with_budgets(one: RoleStanding, begun: Begun | None) -> RoleStanding:
    """An agent that does not say what is left, or says it otherwise than the contract has it, is up all the same."""
    if begun is None or one.people is None:
        return one
    return replace(one, left=steps_of(begun.result(), one.people))
