"""The collector's side of the share servers: opens collections, has the parties contribute, and asks for the release.

Checked in tests/unit/parties/shares/test_collector.py and tests/fault/test_share_lying_servers.py.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from threading import Event, Thread

import grpc

from localdp.cohorts import Cohort
from localdp.computing.dialogue import Traffic
from localdp.domains import Schema
from localdp.errors import (
    ComputationAborted,
    DeadlineMissed,
    InvalidParameter,
    MalformedReport,
    ShareMismatch,
)
from localdp.sharing.binding import KEY_BYTES, MOST_SECONDS, Binding
from localdp.sharing.blame import answer_of
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.proof_record import ProofStep
from localdp.sharing.proving_noise import run_proofs
from localdp.sharing.storage import Holding, Published
from localdp.sharing.tiers import people_per_block
from parties import codec
from parties.coordinator import CALL_SECONDS, Channels, Peer, RemoteParties
from parties.identity import Identity
from parties.repeating import Begun, Patience, Response, Stub, UnaryCall, answers
from parties.shares.messages import holding_from_wire, release_from_wire
from parties.status import error_of
from parties.wire.v1 import share_server_pb2 as pb
from parties.wire.v1 import share_server_pb2_grpc

LONGEST_SECONDS = 3600
SAID_SECONDS = 5.0  # that a server has to say why it stopped, once another one has
FOLLOWED_SECONDS = 1.0  # between two questions after how far servers are that compute together
BLOCKS_PER_CALL = 64  # megabytes that a party uploads to a server before it answers


def in_an_hour() -> int:
    """When a collection ends that begins now."""
    return int(time.time()) + LONGEST_SECONDS


def never() -> int:
    """The same for simulations, which can be repeated."""
    return MOST_SECONDS


class RemoteShareServers:
    """Share servers and contributing parties behind their addresses."""

    def __init__(
        self,
        parties: RemoteParties,
        peers: Sequence[Peer],
        timeout_seconds: float = CALL_SECONDS,
        identity: Identity | None = None,
        patience: Patience | None = None,
        *,
        relayed: bool = False,
        ends: Callable[[], int] | None = None,
        told: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`timeout_seconds` is what one call may take, with all of its repetitions; `relayed`: parties do not upload.

        `ends`: the second since 1970 in which a collection that begins now ends; in an hour, if nothing is said.  `told`
        hears how far the servers are, where it takes long.
        """
        self._parties = parties
        self._channels = Channels(peers, identity, patience)
        self._stubs = [share_server_pb2_grpc.ShareServerServiceStub(c) for c in self._channels.channels]
        self._timeout = timeout_seconds
        self.servers = tuple(peer.name for peer in peers)
        self._addresses = [peer.address for peer in peers]
        self.relayed = relayed
        self.traffic = Traffic()
        self._ends = ends or in_an_hour
        self._told = told

    @property
    def schema(self) -> Schema:
        return self._parties.schema

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        return self._parties.contributors

    @property
    def by_row(self) -> bool:
        return self._parties.by_row

    @property
    def samples(self) -> bool:
        return self._parties.samples

    @property
    def repeated(self) -> int:
        """How many calls were sent again so far, because a server was away."""
        return self._channels.persistence.repeated

    def bind(self, collection_id: bytes) -> Binding:
        """The servers as each says of itself now, and as long as a collection may take."""
        request = pb.DescribeServerRequest(collection_id=collection_id)
        told = self._of_each(lambda stub, left: stub.DescribeServer.future(request, timeout=left))
        for name, answer in zip(self.servers, told, strict=True):
            if answer.name != name:
                raise InvalidParameter(f"share server {name} calls itself otherwise")
            with answer_of(name):
                lengths = {len(answer.sealing_key), len(answer.witness_key)}
                _require(lengths == {KEY_BYTES}, f"it has a key that is not of {KEY_BYTES} bytes")
        return Binding(
            tuple(answer.sealing_key for answer in told),
            tuple(answer.witness_key for answer in told),
            told[0].commitment,
            self._ends(),
        )

    def close(self) -> None:
        """Close the channels to the share servers."""
        self._channels.close()

    def open(self, collection: Collection) -> bool:
        request = pb.OpenCollectionRequest(collection=codec.collection_to_wire(collection))
        told = self._of_each(lambda stub, left: stub.OpenCollection.future(request, timeout=left))
        for name, answer in zip(self.servers, told, strict=True):
            with answer_of(name):
                _require(answer.digest == collection.digest, "it has another collection in mind")
        return any(answer.sealed for answer in told)

    def contribute(self, collection: Collection, *cohorts: Cohort) -> int:
        """Have the parties upload their shares, or carry them there, sealed."""
        if not collection.relayed:
            most = BLOCKS_PER_CALL * people_per_block(collection)
            cut = [piece for cohort in cohorts for piece in pieces(cohort, collection.sizes, most)]
            return self._parties.contribute(collection, *cut)
        counted = [0] * len(self.servers)
        for sealed in self._parties.sealed(collection, *cohorts):
            if sealed.server >= len(self.servers):
                raise MalformedReport("a party sealed shares for a server that there is not")
            counted[sealed.server] += self._carried(sealed.server, sealed.upload)
        return min(counted)

    def _carried(self, number: int, upload: pb.UploadSealedRequest) -> int:
        """Take one sealed block to its server: it may be taken there again."""
        method = self._stubs[number].UploadSealed
        call = UnaryCall(
            f"share server {self.servers[number]}",
            lambda seconds: method.future(iter([upload]), timeout=seconds),
        )
        return int(answers([call], self._timeout, self._channels.persistence)[0].counted)

    def agree(self, collection: Collection) -> Holding:
        """Have the leader verify, decide and seal together with the others: it is asked until it is done."""
        request = pb.AgreeOnReportsRequest(collection=collection.digest, addresses=self._addresses[1:])
        method = self._stubs[0].AgreeOnReports
        call = UnaryCall(
            f"share server {self.servers[0]}", lambda seconds: method.future(request, timeout=seconds)
        )
        decided = -1
        while True:
            answer = answers([call], self._timeout, self._channels.persistence)[0]
            if answer.complete:
                return _counted(self.servers[0], collection, answer.holding)
            if answer.holding.jobs <= decided:  # or a leader that lies could be asked forever
                raise DeadlineMissed("the share servers come no nearer to an agreement")
            with answer_of(self.servers[0]):  # every decision is about somebody
                _require(answer.holding.jobs <= collection.people, "it claims more decisions than people")
            decided = answer.holding.jobs
            self._told(
                f"the share servers have accepted {answer.holding.reports} of {collection.people} reports"
            )

    def holdings(self, collection: Collection) -> list[Holding]:
        request = pb.GetHoldingRequest(collection=collection.digest)
        told = self._of_each(lambda stub, left: stub.GetHolding.future(request, timeout=left))
        return [_counted(name, collection, one) for name, one in zip(self.servers, told, strict=True)]

    def release(self, collection: Collection, accepted: bytes, signed: Sequence[bytes]) -> list[Published]:
        if collection.plan.is_proved:
            self._prove(collection, accepted, signed)
        addresses = self._addresses if collection.plan.is_joint else ()
        request = pb.ReleaseRequest(
            collection=collection.digest, accepted=accepted, signatures=signed, addresses=addresses
        )
        begun = dict[Stub, Begun]()

        def call(stub: Stub, left: float) -> Begun:
            begun[stub] = stub.Release.future(request, timeout=left)
            return begun[stub]

        with self._followed(collection):
            try:
                told = self._of_each(call)
            except (ComputationAborted, MalformedReport):
                if not collection.plan.is_joint:
                    raise
                # One of the servers lies, and it may be the one that was heard.
                raise self._said_by_all([begun[stub] for stub in self._stubs]) from None
        if collection.plan.is_joint:
            self.traffic.add(max(one.rounds for one in told), [one.octets for one in told])
        return [_released(name, collection, one) for name, one in zip(self.servers, told, strict=True)]

    def _said_by_all(self, calls: Sequence[Begun]) -> ComputationAborted:
        """What every server has to say about a computation that stopped."""
        said = list[str]()
        for name, call in zip(self.servers, calls, strict=True):
            try:
                call.result(timeout=SAID_SECONDS)
            except grpc.RpcError as failure:
                said.append(str(error_of(failure, f"share server {name}")))
            except grpc.FutureTimeoutError:
                call.cancel()
        return ComputationAborted("; ".join(said))

    @contextmanager
    def _followed(self, collection: Collection) -> Iterator[None]:
        """While servers compute together, tell now and then which round the first of them is in."""
        done, request = Event(), pb.GetHoldingRequest(collection=collection.digest)

        def follow() -> None:
            while not done.wait(FOLLOWED_SECONDS):
                with suppress(grpc.RpcError, ValueError):  # it is away, or everything has been closed
                    number = self._stubs[0].GetHolding(request, timeout=FOLLOWED_SECONDS + 1).round
                    if number and not done.is_set():
                        self._told(f"the share servers compute together: round {number:,}")

        if collection.plan.is_joint:
            Thread(target=follow, daemon=True).start()
        try:
            yield
        finally:
            done.set()

    def _prove(self, collection: Collection, accepted: bytes, signed: Sequence[bytes]) -> None:
        """Have the servers prove their noise to each other: what they say is carried, and believed by none of them."""

        def ask(step: ProofStep, messages: Sequence[bytes]) -> list[bytes]:
            request = pb.ProveNoiseRequest(
                collection=collection.digest,
                accepted=accepted,
                signatures=signed,
                step=step,
                messages=messages,
            )
            told = self._of_each(lambda stub, left: stub.ProveNoise.future(request, timeout=left))
            return [one.message for one in told]

        run_proofs(len(self.servers), ask)

    def _of_each(self, call: Callable[[Stub, float], Begun]) -> list[Response]:
        """The answer of every server; every call of theirs may be sent again."""
        calls = [
            UnaryCall(f"share server {name}", functools.partial(call, stub))
            for name, stub in zip(self.servers, self._stubs, strict=True)
        ]
        return answers(calls, self._timeout, self._channels.persistence)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ShareMismatch(otherwise)


def _counted(server: str, collection: Collection, message: pb.GetHoldingResponse) -> Holding:
    with answer_of(server):
        _require(message.reports <= collection.people, "it claims more reports than there are people")
        return holding_from_wire(message)


def _released(server: str, collection: Collection, message: pb.ReleaseResponse) -> Published:
    with answer_of(server):
        return release_from_wire(collection, message)


def pieces(cohort: Cohort, sizes: Sequence[int], most: int) -> Iterator[Cohort]:
    """A cohort of all people in parts of at most `most`, so that each is uploaded well before a deadline.

    Parties are kept whole, several in a part, where they are small; a large one is cut evenly, so that no part is so small
    that its policy would refuse it.
    """
    begin, first = cohort.start, 0
    for size in sizes:
        low, high = max(first, cohort.start), min(first + size, cohort.stop)
        first += size
        if high - low > most:
            cuts = -(-(high - low) // most)
            edges = [begin, *(low + (high - low) * cut // cuts for cut in range(cuts + 1))]
            yield from (Cohort(a, b, cohort.split) for a, b in pairwise(edges) if a < b)
            begin = high
        elif low < high and high - begin > most:
            yield Cohort(begin, low, cohort.split)
            begin = low
    if begin < cohort.stop:
        yield Cohort(begin, cohort.stop, cohort.split)
