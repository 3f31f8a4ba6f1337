"""Share servers that lie to each other or to the collector: nothing wrong is released, and what can go on goes on.

A server that lies can always keep a batch from being released, and one that leaves out its noise cannot be told from one
that does not; against that stands the noise of the others (`localdp.sharing.noise_plans`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.errors import (
    DeadlineMissed,
    InvalidParameter,
    LocalDpError,
    ShareMismatch,
    TooFewReports,
    Unreachable,
)
from localdp.oracles.collecting import run_collection
from localdp.oracles.shared import InProcessShareServers
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.share_server import ShareServer
from parties.shares import leading
from parties.shares.service import SERVICE_NAME, ShareService
from parties.wire.v1 import share_server_pb2 as pb
from tests.support.federations import Served, collection_of, parties_of, people, served, share_servers_of

PEOPLE = 40
EVERYBODY = Cohort(0, PEOPLE)


class Liar(ShareService):
    """A share server that lies as it is told to, and is honest without."""

    def __init__(self, server: ShareServer) -> None:
        super().__init__(server)
        self.lie = ""

    async def DescribeServer(self, request: Any, context: Any) -> Any:  # noqa: N802
        answer = await super().DescribeServer(request, context)
        match self.lie:
            case "has no key":
                answer.witness_key = b""
            case "has another name":
                answer.name = "server-9"
        return answer

    async def CheckReports(self, request: Any, context: Any) -> Any:  # noqa: N802
        answer = await super().CheckReports(request, context)
        match self.lie:
            case "has nothing":
                answer.held = bytes(len(answer.held))
            case "wrong verifier shares":
                answer.verifiers = bytes(len(answer.verifiers))
            case "short verifier shares":
                answer.verifiers = answer.verifiers[: len(answer.verifiers) // 2]
            case "too many bits":
                answer.held += b"\xff"
            case "never answers":
                await asyncio.Event().wait()
        return answer

    async def VoteOnReports(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.lie == "wrong verifier shares":  # which it would not find to be its own
            return pb.VoteOnReportsResponse(accepted=b"\xff" * (PEOPLE // 8))
        answer = await super().VoteOnReports(request, context)
        if self.lie == "refuses everything":
            answer.accepted = bytes(len(answer.accepted))
        if self.lie == "votes on less":
            answer.accepted = answer.accepted[:-1]
        return answer

    async def CommitJob(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.lie in ("does not commit", "wrong verifier shares"):
            return pb.CommitJobResponse()
        if self.lie == "commits something else":
            request.accepted = bytes(len(request.accepted))
        return await super().CommitJob(request, context)

    async def SealReports(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.lie == "does not seal":
            return pb.SealReportsResponse()
        return await super().SealReports(request, context)

    async def GetOpening(self, request: Any, context: Any) -> Any:  # noqa: N802
        answer = await super().GetOpening(request, context)
        if self.lie == "opened it otherwise":
            answer.secret = bytes(32)
        return answer

    async def GetHolding(self, request: Any, context: Any) -> Any:  # noqa: N802
        answer = await super().GetHolding(request, context)
        match self.lie:
            case "does not sign":
                answer.signature = bytes(64)
            case "counts too many":
                answer.reports += 1
            case "knows of more decisions":
                answer.jobs += 1
            case "counts others":
                answer.accepted = bytes(32)
        return answer

    async def OpenCollection(self, request: Any, context: Any) -> Any:  # noqa: N802
        answer = await super().OpenCollection(request, context)
        if self.lie == "opens another":
            answer.digest = bytes(32)
        return answer

    async def Release(self, request: Any, context: Any) -> Any:  # noqa: N802
        answer = await super().Release(request, context)
        if self.lie == "releases two sums":
            answer.noisy_sums *= 2
        if self.lie == "releases other sums":
            answer.noisy_sums = bytes(len(answer.noisy_sums))
        if self.lie == "does not say what all proved":
            answer.attempt = b""
        return answer

    async def AgreeOnReports(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.lie == "agrees alone":
            holding = pb.GetHoldingResponse(reports=PEOPLE, accepted=b"mine" * 8, jobs=1, sealed=True)
            return pb.AgreeOnReportsResponse(complete=True, holding=holding)
        if self.lie == "agrees on too many":
            holding = pb.GetHoldingResponse(reports=PEOPLE + 1, accepted=bytes(32), jobs=1, sealed=True)
            return pb.AgreeOnReportsResponse(complete=True, holding=holding)
        if self.lie == "is never done":
            return pb.AgreeOnReportsResponse()
        return await super().AgreeOnReports(request, context)


class Cast:
    """The servers of a test."""

    def __init__(self) -> None:
        self.services: list[Liar] = []

    def make(self, number: int, server: ShareServer) -> ShareService:
        self.services.append(Liar(server))
        return self.services[-1]


Stage = tuple[Cast, Served]


@pytest.fixture
def stage() -> Iterator[Stage]:
    cast = Cast()
    with served(parties_of(people(PEOPLE), 2), wrap_server=cast.make, timeout_seconds=3.0) as federation:
        yield cast, federation


HELPERS: dict[str, type[LocalDpError]] = {
    "has nothing": TooFewReports,
    "wrong verifier shares": TooFewReports,
    "short verifier shares": ShareMismatch,
    "too many bits": ShareMismatch,
    "never answers": DeadlineMissed,
    "refuses everything": TooFewReports,
    "votes on less": ShareMismatch,
    "does not commit": ShareMismatch,
    "commits something else": ShareMismatch,
    "does not seal": ShareMismatch,
    "opened it otherwise": ShareMismatch,
    "does not sign": ShareMismatch,
    "counts too many": ShareMismatch,
    "counts others": ShareMismatch,
    "knows of more decisions": ShareMismatch,
    "opens another": ShareMismatch,
    "releases two sums": ShareMismatch,
}
LEADERS: dict[str, type[LocalDpError]] = {
    "agrees alone": ShareMismatch,
    "agrees on too many": ShareMismatch,
    "is never done": DeadlineMissed,
}
FINAL = {
    "wrong verifier shares",
    "refuses everything",
    "commits something else",
}  # what was refused stays refused


LIES = HELPERS | LEADERS
SAID = {  # of the one who lies, as far as anybody can know
    "has nothing": "share server server-1 has not got 40 reports that others have",
    "wrong verifier shares": "the proofs of 40 reports do not hold",
    "refuses everything": "share server server-1 refused 40 reports whose proofs hold",
    "short verifier shares": "share server server-1 answers wrongly: 40 rows were expected",
    "too many bits": "share server server-1 answers wrongly: yes or no about 40 reports takes 5 bytes",
    "votes on less": "share server server-1 answers wrongly: yes or no about 40 reports takes 5 bytes",
    "does not commit": "share server server-1 answers wrongly: it does not count the reports that all agreed on",
    "commits something else": "share server server-1 answers wrongly: it does not count",
    "does not seal": "share server server-1 answers wrongly: it does not count the reports that were agreed on",
    "counts too many": "share server server-1 answers wrongly: it does not count",
    "counts others": "share server server-1 answers wrongly: it does not count",
    "knows of more decisions": "^share server server-0: this share server leads, and its state is older than",
    "opens another": "share server server-1 answers wrongly: it has another collection in mind",
    "releases two sums": "share server server-1 answers wrongly: it released another number of sums",
    "agrees alone": "share server server-0 answers wrongly: it does not count the reports",
    "agrees on too many": "share server server-0 answers wrongly: it claims more reports than there are people",
    "opened it otherwise": "no opening of the collection that share server server-1 signed",
    "does not sign": "no signature of share server server-1 for this set",
}


@pytest.mark.parametrize(("lie", "error"), LIES.items(), ids=LIES)
def test_a_lie_is_a_typed_error_releases_nothing_and_is_over_when_it_is_over(
    stage: Stage, lie: str, error: type[LocalDpError]
) -> None:
    cast, federation = stage
    liar = cast.services[0 if lie in LEADERS else 1]
    collection = collection_of(federation.parties, tier="prio3")
    liar.lie = lie
    with pytest.raises(error, match=SAID.get(lie)):
        run_collection(federation.shared, collection, EVERYBODY)
    in_progress = lie != "releases two sums"  # they have both released by then, the numbers stay the same
    assert federation.servers[0].in_progress(collection.digest) == in_progress
    assert federation.servers[1].in_progress(collection.digest) == in_progress
    liar.lie = ""
    if lie in FINAL:
        collection = collection_of(federation.parties, number=1, tier="prio3")
    assert run_collection(federation.shared, collection, EVERYBODY)[1] == PEOPLE


@pytest.mark.parametrize(
    "lie", ["short verifier shares", "too many bits", "votes on less", "counts others"]
)
def test_a_helper_whose_answer_the_leader_refuses_is_in_its_metrics(stage: Stage, lie: str) -> None:
    cast, federation = stage
    cast.services[1].lie = lie
    with pytest.raises(ShareMismatch):
        run_collection(federation.shared, collection_of(federation.parties, tier="prio3"), EVERYBODY)
    told = cast.services[0]._observer.exposition()
    assert 'localdp_servers_named_total{server="server-1"} 1' in told


def test_who_releases_other_sums_than_it_proved_is_named_whenever_it_is_asked(stage: Stage) -> None:
    """The second time nobody proves anything: all of them have released."""
    cast, federation = stage
    collection = collection_of(federation.parties, plan=NoisePlan.PROVED, tier="additive")
    for lie, said in (
        ("releases other sums", "share server server-1 released other sums than it proved, says server-0"),
        ("does not say what all proved", "share server server-1 answers wrongly: it does not say"),
        ("releases other sums", "share server server-1 released other sums than it proved, says server-0"),
    ):
        cast.services[1].lie = lie
        with pytest.raises(ShareMismatch, match=said):
            run_collection(federation.shared, collection, EVERYBODY)
    cast.services[1].lie = ""
    assert run_collection(federation.shared, collection, EVERYBODY)[1] == PEOPLE


def test_a_server_that_says_something_else_of_itself_is_named(stage: Stage) -> None:
    cast, federation = stage
    cast.services[1].lie = "has no key"
    with pytest.raises(
        ShareMismatch, match="share server server-1 answers wrongly: it has a key that is not"
    ):
        federation.shared.bind(bytes(16))
    cast.services[1].lie = "has another name"
    with pytest.raises(InvalidParameter, match="share server server-1 calls itself otherwise"):
        federation.shared.bind(bytes(16))


def test_the_answer_over_the_network_is_that_in_process(stage: Stage) -> None:
    _, federation = stage
    here = InProcessShareServers(parties_of(people(PEOPLE), 2), share_servers_of(2))
    for number, tier in enumerate(("additive", "prio3")):
        collection = collection_of(federation.parties, number=number, tier=tier)
        one = run_collection(here, collection, EVERYBODY)
        other = run_collection(federation.shared, collection, EVERYBODY)
        assert (one[0].tolist(), one[1]) == (other[0].tolist(), other[1])


def test_a_server_that_is_cut_off_and_comes_back_costs_time_and_no_report(stage: Stage) -> None:
    _, federation = stage
    collection = collection_of(federation.parties, tier="prio3")
    federation.shared.open(collection)
    federation.shared.contribute(collection, EVERYBODY)
    helper = federation.loopback._servers[1]
    federation.loopback.run(helper.stop(0))
    with pytest.raises((Unreachable, DeadlineMissed)):
        federation.shared.agree(collection)
    again = ShareService(federation.servers[1])  # its state did not go anywhere
    port = int(federation.addresses["server-1"].rpartition(":")[2])
    federation.loopback.serve(SERVICE_NAME, again, port)
    assert run_collection(federation.shared, collection, EVERYBODY)[1] == PEOPLE


def test_much_work_is_done_in_several_calls(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    _, federation = stage
    monkeypatch.setattr(leading, "BUSY_SECONDS", 0.0)
    monkeypatch.setattr(leading, "IN_FLIGHT", 1)
    collection = collection_of(federation.parties)
    federation.shared.open(collection)
    federation.shared.contribute(collection, EVERYBODY)
    with pytest.raises(DeadlineMissed):  # no time at all: no progress, and the collector notices
        federation.shared.agree(collection)
    monkeypatch.setattr(leading, "BUSY_SECONDS", 10.0)
    assert federation.shared.agree(collection).reports == PEOPLE


def test_uploads_go_on_while_the_servers_verify(stage: Stage) -> None:
    _, federation = stage
    collection = collection_of(federation.parties, minimum_batch=PEOPLE)
    federation.shared.open(collection)
    for start in range(0, PEOPLE, 10):
        federation.shared.contribute(collection, Cohort(start, start + 10))
        if start + 10 < PEOPLE:
            with pytest.raises(TooFewReports):
                federation.shared.agree(collection)
    assert federation.shared.agree(collection).reports == PEOPLE
    sums = [server._task(collection.digest).sums for server in federation.servers]
    exact = sum(int(np.count_nonzero(party.records.column("smoker"))) for party in federation.parties)
    assert sum(one[0] for one in sums) % collection.field.modulus == exact


def test_two_requests_for_one_release_with_joint_noise_are_told_the_same() -> None:
    """The second waits for the first, and reads its release from the record."""
    with served(parties_of(people(PEOPLE), 2), servers=3, timeout_seconds=60.0) as federation:
        shared = federation.shared
        names = tuple(federation.addresses)
        collection = collection_of(federation.parties, servers=names, plan=NoisePlan.JOINT, tier="additive")
        shared.open(collection)
        shared.contribute(collection, EVERYBODY)
        accepted = shared.agree(collection).accepted
        signed = [holding.signature for holding in shared.holdings(collection)]
        request = pb.ReleaseRequest(
            collection=collection.digest,
            accepted=accepted,
            signatures=signed,
            addresses=list(federation.addresses.values()),
        )
        asked = [[stub.Release.future(request, timeout=60) for _ in range(3)] for stub in shared._stubs]
        for calls in asked:
            told = {(one.result().noisy_sums, one.result().attempt) for one in calls}
            assert len(told) == 1
