"""The agent under test, as its callers see it: calls, replies, and a memory of every refusal.

Nothing that it sends is believed: a stream that goes on after the last report that was asked for is cut off, every call has
a deadline, and reports are unpacked by this library's own rules.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import grpc
import numpy as np
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from localdp.cohorts import Cohort
from localdp.errors import MalformedReport
from localdp.party.party import Request
from localdp.randomizers.definition import Reports
from parties import codec
from parties.identity import Identity
from parties.repeating import Begun, Stub
from parties.serving import open_channel
from parties.status import DOMAIN, details_in
from parties.wire.v1 import oracle_pb2 as pb
from parties.wire.v1 import oracle_pb2_grpc

CALL_SECONDS = 10.0
PROMPT_SECONDS = 2.0  # for an answer of little work, whatever else the agent has been asked for
_SHOWN = 60  # characters of a query


class Broken(Exception):
    """A promise that was not kept: what was expected, and what came."""


@dataclass(frozen=True, slots=True)
class Reply:
    """How a call ended, and what came before that."""

    code: grpc.StatusCode
    reason: str = ""  # of the google.rpc.ErrorInfo of our domain; empty without one
    text: str = ""
    parts: tuple[pb.RandomizeResponse, ...] = ()
    told: pb.QuoteResponse = field(default_factory=pb.QuoteResponse)  # by a quote
    seconds: float = 0.0  # that it took, as its caller saw it

    @property
    def name(self) -> str:
        """The code, and the reason if there is one."""
        return f"{self.code.name} {self.reason}".strip()


@dataclass(frozen=True, slots=True)
class Answered:
    """What came for a request when it was first answered, and when that was."""

    parts: tuple[pb.RandomizeResponse, ...]
    at: float


def reply_of(
    failure: grpc.RpcError, parts: Iterable[pb.RandomizeResponse] = (), seconds: float = 0.0
) -> Reply:
    """The reply of a call that failed."""
    return Reply(failure.code(), _reason(failure), failure.details() or "", tuple(parts), seconds=seconds)


def _reason(failure: grpc.RpcError) -> str:
    try:
        status = status_pb2.Status.FromString(details_in(failure))
    except DecodeError:
        return ""
    info = error_details_pb2.ErrorInfo()
    found = [info.reason for detail in status.details if detail.Unpack(info) and info.domain == DOMAIN]
    return found[0] if found else ""


class Subject:
    """One agent behind its address."""

    def __init__(self, address: str, identity: Identity | None, seconds: float) -> None:
        """All calls together have to end within these seconds."""
        self.address = address
        self.identity = identity
        self.refusals: list[Reply] = []
        self.answered: dict[bytes, Answered] = {}  # by the message that asked
        self.channel = open_channel(address, identity)
        self.stub: Stub = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(self.channel)
        self._ends = time.monotonic() + seconds
        self._longest = CALL_SECONDS

    def close(self) -> None:
        """Close the channel."""
        self.channel.close()

    @contextmanager
    def another_channel(self, *options: tuple[str, int]) -> Iterator[grpc.Channel]:
        """A channel over a connection of its own."""
        given = (("grpc.use_local_subchannel_pool", 1), *options)
        with closing(open_channel(self.address, self.identity, options=given)) as channel:
            yield channel

    @property
    def timeout(self) -> float:
        """What a call may take now."""
        return min(self._longest, max(0.001, self._ends - time.monotonic()))

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """In here calls have to end promptly."""
        self._longest = PROMPT_SECONDS
        try:
            yield
        finally:
            self._longest = CALL_SECONDS

    @property
    def out_of_time(self) -> bool:
        """Whether the check has to end."""
        return time.monotonic() >= self._ends

    def describe(self) -> pb.DescribeResponse:
        """What the agent says of itself."""
        described: pb.DescribeResponse = self.stub.Describe(pb.DescribeRequest(), timeout=self.timeout)
        return described

    def began(self, request: Request, cohort: Cohort) -> Begun:
        """A call that is under way."""
        return self.stub.Randomize(codec.request_to_wire(request, cohort), timeout=self.timeout)

    def ended(self, call: Begun, people: int, began: float | None = None) -> Reply:
        """How the call ended; what goes beyond the reports of so many people is cut off."""
        parts: list[pb.RandomizeResponse] = []
        began = time.monotonic() if began is None else began
        try:
            for part in call:
                parts.append(part)
                people -= part.reports
                if part.reports == 0 or people < 0:
                    call.cancel()
                    break
        except grpc.RpcError as failure:
            return self.refused(reply_of(failure, parts, time.monotonic() - began))
        return Reply(grpc.StatusCode.OK, parts=tuple(parts), seconds=time.monotonic() - began)

    def ask(self, request: Request, cohort: Cohort) -> Reply:
        """One request, to its end."""
        return self.send(codec.request_to_wire(request, cohort))

    def send(self, message: pb.RandomizeRequest) -> Reply:
        """A message, which perhaps no `Request` can express, to its end."""
        began = time.monotonic()
        people = max(0, message.cohort.stop - message.cohort.start)
        reply = self.ended(self.stub.Randomize(message, timeout=self.timeout), people, began)
        if reply.code is grpc.StatusCode.OK:
            self.answered.setdefault(message.SerializeToString(), Answered(reply.parts, began))
        return reply

    def quote(self, message: pb.RandomizeRequest) -> Reply:
        """Whether a message would be answered."""
        return self.quoted(pb.QuoteRequest(randomize=message))

    def quoted(self, request: pb.QuoteRequest) -> Reply:
        """How a call of Quote ended."""
        began = time.monotonic()
        try:
            told = self.stub.Quote(request, timeout=self.timeout)
        except grpc.RpcError as failure:
            return self.refused(reply_of(failure, seconds=time.monotonic() - began))
        return Reply(grpc.StatusCode.OK, told=told, seconds=time.monotonic() - began)

    def refused(self, reply: Reply) -> Reply:
        """Remember a refusal: what all of them said is looked at in the end."""
        self.refusals.append(reply)
        return reply

    def reports(self, request: Request, cohort: Cohort) -> Reports:
        """The reports of a request that has to be answered."""
        return unpacked(request, cohort, self.ask(request, cohort))


def unpacked(request: Request, cohort: Cohort, reply: Reply) -> Reports:
    """The reports of a reply, each part of the right length, as many as people were asked."""
    if reply.code is not grpc.StatusCode.OK:
        raise Broken(
            f"{request.randomizer.canonical} of {request.query[:_SHOWN]} was refused: {reply.name}"
        )
    came = sum(part.reports for part in reply.parts)
    if came != cohort.size() or any(part.reports == 0 for part in reply.parts):
        raise Broken(f"{cohort.size()} people were asked, and {came} reports came, or an empty part")
    try:
        parts = [request.randomizer.unpack(part.packed, part.reports) for part in reply.parts]
    except MalformedReport as error:
        raise Broken(f"{request.randomizer.canonical}: {error}") from None
    return np.concatenate(parts)


def require_refused(what: str, reply: Reply, *expected: str) -> None:
    """The call ended as one of `CODE` or `CODE REASON`, and not one report came with it."""
    if reply.parts:
        raise Broken(f"{what}: reports came, and then {reply.name}")
    if reply.name not in expected:
        raise Broken(f"{what}: expected {' or '.join(expected)}, got {reply.name}")
