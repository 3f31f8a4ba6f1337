"""The coordinator's side of the wire: the same oracles as in process, spoken over gRPC.

Every call has a deadline, and is sent again before it if the peer was away (`parties.repeating`).  Calls to many parties
run at once, at most `MOST_CALLS` of them: far more would come back as bare cancellations.  What a peer sends is checked
before it is used, and a party that fails, fails the round: no answer is ever made from part of a cohort in silence.  Of
several parties each is first asked whether it would answer, so that nobody pays where one refuses (`parties.quoting`).

A party is reached over a channel, and where that comes from is its own business: it is dialled (`Peer`), or the party has
dialled in (`parties.relay`).  What one agent is asked, and how, is `RemoteParty`; rounds that may do without some of the
parties (`parties.rounds`) ask them through the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar

import grpc
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.remaining import Step
from localdp.cohorts import Cohort
from localdp.domains import Schema
from localdp.errors import InvalidParameter, LocalDpError, MalformedReport, said_by
from localdp.oracles.lr import cohorts_by_party
from localdp.party.party import Request
from localdp.party.policy import operator_of
from localdp.randomizers.definition import Reports
from localdp.sharing.collection import LONGEST_NAME, Collection, Contributor
from localdp.sharing.flooded_round import FloodedRound
from parties import codec
from parties.flood_asking import FloodAsking, Flooded
from parties.identity import Identity
from parties.quoting import quote, told_if_any
from parties.receiving import Piece, Reception
from parties.repeating import Begin, Begun, Patience, Persistence, Stub, UnaryCall, answers, outcomes
from parties.serving import open_channel
from parties.status import error_of
from parties.wire.v1 import cohort_pb2, collection_pb2, oracle_pb2, oracle_pb2_grpc, share_server_pb2

MOST_CALLS = 256
CALL_SECONDS = 60.0
MOST_PEOPLE_OF_A_PARTY = 1 << 27  # that a party may claim: a split of them takes memory on this side

_Item = TypeVar("_Item")


class AnotherParty(InvalidParameter):
    """Somebody else answers at a party's address: its people would be counted for those of the party."""


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
        """Dial it, and with TLS nobody else."""
        return open_channel(self.address, identity, operator_of(self.name))


def _sized_windows(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    iterator = iter(items)
    while window := list(islice(iterator, MOST_CALLS)):
        yield window


class Channels:
    """One channel a peer, closed together, and the persistence of the calls over them."""

    def __init__(
        self, peers: Sequence[Reachable], identity: Identity | None, patience: Patience | None = None
    ) -> None:
        if not peers:
            raise InvalidParameter("there is nobody to talk to")
        self.peers = list(peers)
        self.persistence = Persistence(patience or Patience())
        self.channels = [peer.open(identity) for peer in peers]

    def let_go(self, numbers: Container[int]) -> None:
        """Close those of these numbers; the others move up."""
        kept = [number for number in range(len(self.peers)) if number not in numbers]
        for number in set(range(len(self.peers))).difference(kept):
            self.channels[number].close()
        self.peers = [self.peers[number] for number in kept]
        self.channels = [self.channels[number] for number in kept]

    def close(self) -> None:
        """Close them; calls that are waiting to be sent again are given up."""
        self.persistence.stop()
        for channel in self.channels:
            channel.close()


class RemoteParty:
    """One agent over a channel: each call that a coordinator makes to it, not begun yet."""

    def __init__(self, peer: Reachable, channel: grpc.Channel) -> None:
        self.peer, self.name = peer, f"party {peer.name}"
        self._oracle: Stub = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
        self._health: Stub = health_pb2_grpc.HealthStub(channel)

    def health(self) -> UnaryCall:
        """Whether it serves."""
        return self._call(self._health.Check, health_pb2.HealthCheckRequest())

    def description(self) -> UnaryCall:
        """What it says of itself."""
        return self._call(self._oracle.Describe, oracle_pb2.DescribeRequest())

    def budgets(self) -> UnaryCall:
        """What its people have left; None if it does not say."""
        return told_if_any(self._oracle.Budgets, self.name, oracle_pb2.BudgetsRequest())

    def quote(self, call: Message) -> UnaryCall:
        """Whether it would answer a call."""
        return quote(self._oracle, self.name, call)

    def contribution(self, request: oracle_pb2.ContributeRequest) -> UnaryCall:
        """Have it upload shares."""
        return self._call(self._oracle.Contribute, request)

    def sealed(self, request: oracle_pb2.ContributeSealedRequest, seconds: float) -> Begun:
        """Have it seal shares for somebody who carries them."""
        return self._oracle.ContributeSealed(request, timeout=seconds)

    def reports(self, request: Request, part: Cohort) -> Begin:
        """Its people's reports."""
        message = codec.request_to_wire(request, part)
        return lambda seconds: self._oracle.Randomize(message, timeout=seconds)

    def flood(self, request: Message) -> Begin:
        """Sealed messages of a flooded round."""
        return lambda seconds: self._oracle.Flood(request, timeout=seconds)

    def _call(self, method: Stub, request: Message) -> UnaryCall:
        return UnaryCall(self.name, lambda seconds: method.future(request, timeout=seconds))


def _common_schema(described: Sequence[oracle_pb2.DescribeResponse]) -> Schema:
    schemas = [codec.schema_from_wire(party.schema) for party in described]
    for party, schema in zip(described, schemas, strict=True):
        if schema != schemas[0]:
            raise InvalidParameter(
                f"party {party.name!s:.128} has other columns than party {described[0].name!s:.128}: "
                f"{schemas[0].difference(schema)}; the schemas in their configurations have to be the same"
            )
    return schemas[0]


def _one_schema(described: Sequence[oracle_pb2.DescribeResponse | LocalDpError]) -> Schema | None:
    """The schema that more parties have than any other one, if there is one."""
    held = Counter(
        codec.schema_from_wire(one.schema) for one in described if not isinstance(one, LocalDpError)
    ).most_common(2)
    return held[0][0] if len(held) == 1 or (held and held[0][1] > held[1][1]) else None


def _sound(
    described: oracle_pb2.DescribeResponse | LocalDpError, peer: Reachable, common: Schema | None = None
) -> oracle_pb2.DescribeResponse | LocalDpError:
    """What a party says of itself; or why it is left out: it refuses, is another one, or has other columns than most."""
    if isinstance(described, LocalDpError):
        return described
    try:
        introduced(described, peer)
        schema = codec.schema_from_wire(described.schema)
    except LocalDpError as error:
        return error
    if common in (None, schema):
        return described
    return InvalidParameter(
        f"party {peer.name} has other columns than most parties: {common.difference(schema)}"
    )


def introduced(described: oracle_pb2.DescribeResponse, peer: Reachable) -> Contributor:
    """The party that a peer says it is, if it is the one that was to be asked, and within bounds."""
    if described.name != peer.name:
        raise AnotherParty(f"party {peer.name} calls itself otherwise")
    if not 0 < len(described.name) <= LONGEST_NAME or not 0 < described.people <= MOST_PEOPLE_OF_A_PARTY:
        raise InvalidParameter(
            f"party {peer.name!s:.128}: its name or its number of people is out of bounds"
        )
    return Contributor(described.name, described.people)


def steps_of(told: oracle_pb2.BudgetsResponse | None, people: int) -> tuple[Step, ...] | None:
    """What a party says, if it is what the contract has."""
    with suppress(MalformedReport):
        return None if told is None else codec.budgets_from_wire(told, people)
    return None


def _contribution(collection: collection_pb2.Collection, part: Cohort) -> oracle_pb2.ContributeRequest:
    return oracle_pb2.ContributeRequest(collection=collection, cohort=codec.cohort_to_wire(part))


def _sealed_contribution(
    collection: collection_pb2.Collection, part: Cohort
) -> oracle_pb2.ContributeSealedRequest:
    return oracle_pb2.ContributeSealedRequest(collection=collection, cohort=codec.cohort_to_wire(part))


class RemoteParties:
    """Agents over their channels: an LR oracle, and the contributors of collections."""

    seals = True  # flooded messages, to the analyst

    def __init__(
        self,
        peers: Sequence[Reachable],
        timeout_seconds: float = CALL_SECONDS,
        identity: Identity | None = None,
        patience: Patience | None = None,
        *,
        may_miss: bool = False,
    ) -> None:
        """`timeout_seconds` is what one call may take, with all of its repetitions.

        With `may_miss`, whoever cannot be reached, refuses or has other columns than most is left out, and named in
        `away`; somebody has to be there.
        """
        self._channels = Channels(peers, identity, patience)
        self._timeout = timeout_seconds
        self.bytes_moved = 0
        self.away: dict[str, LocalDpError] = {}
        try:
            described = self._introduced(may_miss)
            self.schema = _common_schema(described)
            self.contributors = tuple(map(introduced, described, self._channels.peers))
            if len({party.name for party in self.contributors}) != len(self.contributors):
                raise InvalidParameter("a party is named twice: its people would be counted twice")
            self.by_row = any(party.by_row for party in described)
            self.samples = any(party.samples for party in described)
            self.by_content = tuple(str(party.name) for party in described if party.by_content)
            # Of each one's people.
            self.limits = tuple(Epsilon(party.budget_nanonats) for party in described)
        except BaseException:
            self.close()
            raise

    @property
    def people(self) -> int:
        return sum(party.people for party in self.contributors)

    @property
    def repeated(self) -> int:
        """How many calls were sent again so far, because a party was away."""
        return self._channels.persistence.repeated

    def close(self) -> None:
        """Close the channels."""
        self._channels.close()

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        parts = self._parts(cohort)
        self._require_granted(parts, lambda part: codec.request_to_wire(request, part))
        for window in _sized_windows(parts):
            calls = [self._begun(request, number, part) for number, part in window]
            try:
                for (number, part), call in zip(window, calls, strict=True):
                    for piece in call.counted(part.size()):
                        self.bytes_moved += len(piece.packed)
                        yield self._unpacked(request, number, piece)
            finally:
                for call in calls:
                    call.cancel()

    def granted_flooded(self, asked: FloodedRound) -> list[LocalDpError | None]:
        """Of each part of a flooded round, why its party would not answer now."""
        return self._flooding.granted(asked)

    def flooded(self, asked: FloodedRound, parts: Sequence[int]) -> Iterator[Flooded]:
        """Their sealed messages, or why there are none."""
        return self._flooding.messages(asked, parts)

    @property
    def _flooding(self) -> FloodAsking:
        return FloodAsking(self._parties, self._timeout, self._channels.persistence)

    def _unpacked(self, request: Request, number: int, piece: Piece) -> Reports:
        try:
            return request.randomizer.unpack(piece.packed, piece.reports)
        except MalformedReport as error:
            raise said_by(self._parties[number].name, error) from None

    def contribute(self, collection: Collection, *cohorts: Cohort) -> int:
        """Have the parties upload the shares of one cohort after the other, if they would those of all.

        Returns how many reports were new in the calls that were answered.
        """
        message, counted = codec.collection_to_wire(collection), 0
        by_cohort = [list(cohorts_by_party(cohort, collection.sizes)) for cohort in cohorts]
        every = [part for parts in by_cohort for part in parts]
        self._require_granted(every, lambda part: _contribution(message, part))
        for parts in by_cohort:
            for window in _sized_windows(parts):
                calls = [
                    self._parties[number].contribution(_contribution(message, part))
                    for number, part in window
                ]
                told = answers(calls, self._timeout, self._channels.persistence)
                counted += sum(answer.counted for answer in told)
        return counted

    def budgets(self) -> list[tuple[Step, ...] | None]:
        """What each party says that its people have left; None of a party that does not say."""
        told = answers(
            [party.budgets() for party in self._parties], self._timeout, self._channels.persistence
        )
        return [steps_of(one, party.people) for one, party in zip(told, self.contributors, strict=True)]

    def sealed(
        self, collection: Collection, *cohorts: Cohort
    ) -> Iterator[oracle_pb2.ContributeSealedResponse]:
        """The shares of cohorts, sealed to the share servers, for somebody who carries them there."""
        message = codec.collection_to_wire(collection)
        parts = [part for cohort in cohorts for part in cohorts_by_party(cohort, collection.sizes)]
        self._require_granted(parts, lambda part: _sealed_contribution(message, part))
        for number, part in parts:
            request = _sealed_contribution(message, part)
            try:
                for sealed in self._parties[number].sealed(request, self._timeout):
                    self._require_asked(number, collection, request.cohort, sealed.upload)
                    yield sealed
            except grpc.RpcError as failure:
                raise error_of(failure, self._parties[number].name) from None

    def _require_asked(
        self,
        number: int,
        collection: Collection,
        asked: cohort_pb2.Cohort,
        upload: share_server_pb2.UploadSealedRequest,
    ) -> None:
        """Refuse sealed shares of anybody but the people that a party was asked about: it could fill others' places."""
        told, place = upload.cohort, (collection.digest, self.contributors[number].name)
        inside = asked.start <= told.start <= told.stop <= asked.stop and told.split == asked.split
        if (upload.collection, upload.party) != place or not inside:
            raise MalformedReport(
                f"{self._parties[number].name} sealed shares for a place that it was not asked about"
            )

    def _parts(self, cohort: Cohort) -> list[tuple[int, Cohort]]:
        return list(cohorts_by_party(cohort, [party.people for party in self.contributors]))

    def _require_granted(
        self, parts: Sequence[tuple[int, Cohort]], call: Callable[[Cohort], Message]
    ) -> None:
        """Have every party say that it would answer its call, or raise a refusal; a call by itself needs no question."""
        if len(parts) < 2:
            return
        for window in _sized_windows(parts):
            quotes = [self._parties[number].quote(call(part)) for number, part in window]
            answers(quotes, self._timeout, self._channels.persistence)

    def _begun(self, request: Request, number: int, part: Cohort) -> Reception:
        party, persistence = self._parties[number], self._channels.persistence
        return Reception(party.reports(request, part), party.name, self._timeout, persistence).begun()

    def _introduced(self, may_miss: bool) -> list[oracle_pb2.DescribeResponse]:
        """What each says of itself; whoever stays away or cannot be believed is left out from here on, if that may be."""
        self._parties = list(map(RemoteParty, self._channels.peers, self._channels.channels))
        calls = [party.description() for party in self._parties]
        if not may_miss:
            return answers(calls, self._timeout, self._channels.persistence)
        said = outcomes(calls, self._timeout, self._channels.persistence)
        sound = list(map(_sound, said, self._channels.peers))
        common = _one_schema(sound)
        told = [_sound(one, peer, common) for one, peer in zip(sound, self._channels.peers, strict=True)]
        errors = {number: one for number, one in enumerate(told) if isinstance(one, LocalDpError)}
        self.away = {self._channels.peers[number].name: error for number, error in errors.items()}
        if len(errors) == len(told):
            raise errors[0]
        self._channels.let_go(errors)
        self._parties = [party for number, party in enumerate(self._parties) if number not in errors]
        return [one for one in told if not isinstance(one, LocalDpError)]
