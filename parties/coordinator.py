"""The coordinator's side of the wire: the same oracles as in process, spoken over gRPC.

Every call has a deadline.  Calls to many parties run at once, at most `MOST_CALLS` of them: far more would come back as
bare cancellations.  What a peer sends is checked before it is used, and a party that fails, fails the round: no answer
is ever made from part of a cohort in silence.

A party is reached over a channel, and where that comes from is its own business: it is dialled (`Peer`), or the party has
dialled in (`parties.relay`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeVar

import grpc

from localdp.cohorts import LARGEST_INDEX, Cohort
from localdp.domains import Schema
from localdp.errors import InvalidParameter, MalformedReport, ShareMismatch
from localdp.oracles.lr import cohorts_by_party
from localdp.oracles.party import Request
from localdp.randomizers.definition import Reports
from localdp.sharing.collection import LONGEST_NAME, Collection, Contributor
from localdp.sharing.field import PRIME
from localdp.sharing.share_server import Holding
from parties import codec
from parties.identity import Identity
from parties.serving import open_channel
from parties.status import error_of
from parties.wire.v1 import oracle_pb2, oracle_pb2_grpc, share_server_pb2, share_server_pb2_grpc

MOST_CALLS = 256
CALL_SECONDS = 60.0

_Item = TypeVar("_Item")


class Reachable(Protocol):
    """Whoever can be talked to: what it calls itself, and a channel to it."""

    @property
    def name(self) -> str:
        """What it calls itself."""
        ...

    def open(self, identity: Identity | None) -> grpc.Channel:
        """A channel for its caller, who shows this identity and closes it."""
        ...


@dataclass(frozen=True, slots=True)
class Peer:
    """A process to dial: what it calls itself, and where it listens."""

    name: str
    address: str

    def open(self, identity: Identity | None) -> grpc.Channel:
        """Dial it."""
        return open_channel(self.address, identity)


def _sized_windows(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    iterator = iter(items)
    while window := list(islice(iterator, MOST_CALLS)):
        yield window


def _result(future: Any, peer: str) -> Any:
    try:
        return future.result()
    except grpc.RpcError as failure:
        raise error_of(failure, peer) from None


class _Channels:
    """One channel a peer, closed together."""

    def __init__(self, peers: Sequence[Reachable], identity: Identity | None) -> None:
        if not peers:
            raise InvalidParameter("there is nobody to talk to")
        self.peers = list(peers)
        self.channels = [peer.open(identity) for peer in peers]

    def close(self) -> None:
        for channel in self.channels:
            channel.close()


def _common_schema(described: Sequence[Any]) -> Schema:
    schemas = {codec.schema_from_wire(party.schema) for party in described}
    if len(schemas) != 1:
        raise InvalidParameter("the parties' schemas differ")
    return schemas.pop()


def _contributor(described: Any, peer: Reachable) -> Contributor:
    if described.name != peer.name:
        raise InvalidParameter(f"party {peer.name} calls itself otherwise")
    if not 0 < len(described.name) <= LONGEST_NAME or described.people > LARGEST_INDEX:
        raise InvalidParameter("a party's name or its number of people is out of bounds")
    return Contributor(described.name, described.people)


class RemoteParties:
    """Agents over their channels: an LR oracle, and the contributors of collections."""

    def __init__(
        self,
        peers: Sequence[Reachable],
        timeout_seconds: float = CALL_SECONDS,
        identity: Identity | None = None,
    ) -> None:
        self._channels = _Channels(peers, identity)
        self._stubs = [oracle_pb2_grpc.LocalRandomizerOracleServiceStub(c) for c in self._channels.channels]
        self._timeout = timeout_seconds
        self.bytes_moved = 0
        try:
            described = self._described()
            self.schema = _common_schema(described)
            self.contributors = tuple(map(_contributor, described, self._channels.peers))
        except BaseException:
            self.close()
            raise

    @property
    def people(self) -> int:
        """How many people there are, over all parties."""
        return sum(party.people for party in self.contributors)

    def close(self) -> None:
        """Close the channels."""
        self._channels.close()

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """The reports of the cohort, in order of index, party by party."""
        sizes = [party.people for party in self.contributors]
        for window in _sized_windows(list(cohorts_by_party(cohort, sizes))):
            calls = [
                (
                    number,
                    part,
                    self._stubs[number].Randomize(
                        codec.request_to_wire(request, part), timeout=self._timeout
                    ),
                )
                for number, part in window
            ]
            try:
                for number, part, call in calls:
                    yield from self._received(request, part, call, self.contributors[number].name)
            finally:
                for _, _, call in calls:
                    call.cancel()

    def contribute(self, collection: Collection, cohort: Cohort) -> int:
        """Have the parties upload their shares; returns how many reports were new."""
        sizes = [party.people for party in self.contributors]
        message = codec.collection_to_wire(collection)
        counted = 0
        for window in _sized_windows(list(cohorts_by_party(cohort, sizes))):
            calls = [(number, self._contribution(number, message, part)) for number, part in window]
            counted += sum(
                _result(call, f"party {self.contributors[number].name}").counted for number, call in calls
            )
        return counted

    def _contribution(self, number: int, collection: Any, part: Cohort) -> Any:
        request = oracle_pb2.ContributeRequest(collection=collection, cohort=codec.cohort_to_wire(part))
        return self._stubs[number].Contribute.future(request, timeout=self._timeout)

    def _described(self) -> list[Any]:
        calls = [
            stub.Describe.future(oracle_pb2.DescribeRequest(), timeout=self._timeout)
            for stub in self._stubs
        ]
        return [
            _result(call, f"party {peer.name}")
            for call, peer in zip(calls, self._channels.peers, strict=True)
        ]

    def _received(self, request: Request, part: Cohort, call: Any, name: str) -> Iterator[Reports]:
        expected = part.size()
        wrong = MalformedReport(f"party {name} sent another number of reports than it was asked for")
        try:
            for message in call:
                self.bytes_moved += len(message.packed)
                expected -= message.reports
                if expected < 0 or message.reports == 0:
                    raise wrong  # at once: such a stream might have no end
                yield request.randomizer.unpack(message.packed, message.reports)
        except grpc.RpcError as failure:
            raise error_of(failure, f"party {name}") from None
        if expected:
            raise wrong


class RemoteShareServers:
    """Share servers and contributing parties behind their addresses."""

    def __init__(
        self,
        parties: RemoteParties,
        peers: Sequence[Peer],
        timeout_seconds: float = CALL_SECONDS,
        identity: Identity | None = None,
    ) -> None:
        self._parties = parties
        self._channels = _Channels(peers, identity)
        self._stubs = [share_server_pb2_grpc.ShareServerServiceStub(c) for c in self._channels.channels]
        self._timeout = timeout_seconds
        self.servers = tuple(peer.name for peer in peers)

    @property
    def schema(self) -> Schema:
        """What the parties' records consist of."""
        return self._parties.schema

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        """The parties, in order, and how many people each speaks for."""
        return self._parties.contributors

    def close(self) -> None:
        """Close the channels to the share servers."""
        self._channels.close()

    def open(self, collection: Collection) -> None:
        """Announce a collection to every server."""
        request = share_server_pb2.OpenCollectionRequest(collection=codec.collection_to_wire(collection))
        for response in self._of_each(
            lambda stub: stub.OpenCollection.future(request, timeout=self._timeout)
        ):
            if response.digest != collection.digest:
                raise ShareMismatch("a share server has another collection in mind")

    def contribute(self, collection: Collection, cohort: Cohort) -> int:
        """Have the parties upload their shares."""
        return self._parties.contribute(collection, cohort)

    def holdings(self, collection: Collection) -> list[Holding]:
        """What each server holds."""
        request = share_server_pb2.GetHoldingRequest(collection=collection.digest)
        answers = self._of_each(lambda stub: stub.GetHolding.future(request, timeout=self._timeout))
        if any(answer.reports > collection.people for answer in answers):
            raise MalformedReport("a share server claims more reports than there are people")
        return [Holding(answer.reports, answer.accepted) for answer in answers]

    def release(self, collection: Collection, accepted: bytes) -> list[int]:
        """Each server's noisy sum over exactly the agreed reports."""
        request = share_server_pb2.ReleaseRequest(collection=collection.digest, accepted=accepted)
        answers = self._of_each(lambda stub: stub.Release.future(request, timeout=self._timeout))
        if any(answer.noisy_sum >= PRIME for answer in answers):
            raise MalformedReport("a share server released something that is not a field element")
        return [answer.noisy_sum for answer in answers]

    def _of_each(self, call: Callable[[Any], Any]) -> list[Any]:
        futures = [call(stub) for stub in self._stubs]
        return [
            _result(future, f"share server {name}")
            for future, name in zip(futures, self.servers, strict=True)
        ]
