"""How servers agree: what all hold and accept counts, what somebody lacks waits, and a disagreement is told."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from localdp.errors import InvalidParameter, MalformedReport, ShareMismatch, TooFewReports
from localdp.sharing import agreement
from localdp.sharing.agreement import agree, catch_up, proposals, verify
from localdp.sharing.encoding import Encoding
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Job, MemoryStorage
from localdp.sharing.tiers import sharing_of
from tests.support.shares import (
    QUIET,
    bits,
    blocks_of,
    collection_of,
    exact_sums,
    released,
    servers_for,
    upload,
    vote_unproved,
)

THREE = collection_of(servers=("server-0", "server-1", "server-2"))
DIGEST = THREE.digest


@pytest.fixture
def servers() -> list[ShareServer]:
    made = servers_for(THREE)
    upload(made, blocks_of(THREE, bits(*[1] * 30)))
    return made


def test_a_report_that_somebody_lacks_waits_and_is_counted_when_it_has_come(
    servers: list[ShareServer],
) -> None:
    late = blocks_of(THREE, bits(*[1] * 10), start=30)
    for server in servers[:2]:
        server.accept(late[server._task(DIGEST).server])
    for positions in proposals(servers[0], THREE):
        verify(servers[0], servers[1:], DIGEST, positions)
    assert {server.holding(DIGEST).reports for server in servers} == {30}
    assert servers[0].stored(DIGEST).tolist() == list(range(30, 40))
    servers[2].accept(late[2])
    assert agree(servers[0], servers[1:], THREE).reports == 40
    assert exact_sums(servers, THREE) == [40]


def test_what_only_a_helper_has_is_not_waited_for(servers: list[ShareServer]) -> None:
    servers[1].accept(blocks_of(THREE, bits(1, 1), start=50)[1])
    assert agree(servers[0], servers[1:], THREE).reports == 30


def test_nothing_in_common_is_no_batch() -> None:
    servers = servers_for(THREE)
    for number, server in enumerate(servers):
        server.accept(blocks_of(THREE, bits(*[1] * 20), start=30 * number)[number])
    with pytest.raises(TooFewReports):
        agree(servers[0], servers[1:], THREE)
    assert all(server.holding(DIGEST).jobs == 0 for server in servers)


def test_a_helper_that_missed_decisions_is_told_again(
    servers: list[ShareServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreement, "ADDED_AT_ONCE", 7)
    told: list[int] = []
    deaf = [servers[1], Deaf(servers[2], told)]
    for positions in proposals(servers[0], THREE):
        verify(servers[0], deaf, DIGEST, positions)  # type: ignore[arg-type]
    assert [server.holding(DIGEST).jobs for server in servers] == [5, 5, 0]
    assert told == [0, 1, 2, 3, 4]
    assert agree(servers[0], servers[1:], THREE).reports == 30
    assert [server.holding(DIGEST).jobs for server in servers] == [5, 5, 5]


class Deaf:
    """A helper whose commits get lost."""

    def __init__(self, server: ShareServer, told: list[int]) -> None:
        self._server, self._told = server, told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def commit(self, collection: bytes, job: Job) -> None:
        self._told.append(job.number)


def test_a_helper_that_counts_something_else_stops_the_release(servers: list[ShareServer]) -> None:
    for positions in proposals(servers[0], THREE):
        verify(servers[0], servers[1:], DIGEST, positions)
    extra = blocks_of(THREE, bits(1), start=60)[1]
    servers[1].accept(extra)
    vote_unproved(servers[1], THREE, np.array([60], np.uint32))
    servers[1].commit(DIGEST, Job(1, np.array([60], np.uint32), np.array([True])))
    with pytest.raises(ShareMismatch):
        catch_up(servers[0], servers[1], DIGEST)
    with pytest.raises(ShareMismatch):
        agree(servers[0], servers[1:], THREE)
    assert all(not server.holding(DIGEST).sealed for server in servers)


def test_the_agreement_is_the_same_however_often_it_is_asked_for(servers: list[ShareServer]) -> None:
    first = agree(servers[0], servers[1:], THREE)
    assert first.sealed
    assert agree(servers[0], servers[1:], THREE) == first
    value = released(servers, THREE)
    assert agree(servers[0], servers[1:], THREE) == first
    assert released(servers, THREE) == value


def test_answers_of_the_wrong_shape_are_refused(servers: list[ShareServer]) -> None:
    positions = servers[0].stored(DIGEST)
    yes = np.ones(30, np.bool_)
    servers[0].check(DIGEST, servers[0].verify_key(DIGEST), positions)
    with pytest.raises(InvalidParameter):
        servers[0].decide(DIGEST, positions, [yes, yes])
    with pytest.raises(ShareMismatch, match="share server server-2 answers wrongly: 30 rows were expected"):
        servers[0].decide(DIGEST, positions, [yes, yes, yes[:29]])
    with pytest.raises(MalformedReport):
        servers[0].vote(DIGEST, positions, [np.zeros((30, 1), np.uint8)] * 3)
    with pytest.raises(MalformedReport):
        servers[0].vote(DIGEST, positions, [np.zeros((29, 0), np.uint8)] * 3)
    with pytest.raises(InvalidParameter):
        servers[0].vote(DIGEST, positions, [np.zeros((30, 0), np.uint8)] * 2)
    assert servers[0].holding(DIGEST).jobs == 0


class Liar:
    """A helper that answers as it should, and then changes one of its answers."""

    def __init__(self, server: ShareServer, method: str, lie: Callable[[Any], Any]) -> None:
        self._server, self._method, self._lie = server, method, lie

    def __getattr__(self, name: str) -> Any:
        honest = getattr(self._server, name)
        return (lambda *asked: self._lie(honest(*asked))) if name == self._method else honest


LIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "another number of reports": ("holding", lambda one: replace(one, reports=one.reports + 1)),
    "another set": ("holding", lambda one: replace(one, accepted=bytes(32)) if one.jobs else one),
    "rows of another length": ("check", lambda one: (one[0], np.zeros((30, 1), np.uint8))),
    "rows of fewer reports": ("check", lambda one: (one[0], one[1][:-1])),
    "fewer reports that it has": ("check", lambda one: (one[0][:-1], one[1])),
    "fewer votes": ("vote", lambda one: one[:-1]),
}


@pytest.mark.parametrize(("method", "lie"), LIES.values(), ids=LIES)
def test_whoever_answers_what_cannot_be_is_named_and_nobody_else(
    servers: list[ShareServer], method: str, lie: Callable[[Any], Any]
) -> None:
    helpers: list[Any] = [servers[1], Liar(servers[2], method, lie)]
    with pytest.raises(ShareMismatch, match=r"^share server server-2 answers wrongly: ") as refused:
        agree(servers[0], helpers, THREE)
    assert "server-1" not in str(refused.value)
    assert list(servers[0].blame(DIGEST).servers) == ["server-2"]


@pytest.mark.parametrize("jobs", [0, 1, 2])
@pytest.mark.parametrize("sealed", [False, True])
def test_a_leader_whose_state_was_put_back_says_so_and_names_nobody(
    monkeypatch: pytest.MonkeyPatch, jobs: int, sealed: bool
) -> None:
    monkeypatch.setattr(agreement, "ADDED_AT_ONCE", 10)
    storages = [MemoryStorage() for _ in range(3)]
    made = servers_for(THREE, storages)
    upload(made, blocks_of(THREE, bits(*[1] * 30)))
    blocks = list(proposals(made[0], THREE))
    for positions in blocks[:jobs]:
        verify(made[0], made[1:], DIGEST, positions)
    old = copy.deepcopy(storages[0])
    for positions in blocks[jobs:]:
        verify(made[0], made[1:], DIGEST, positions)
    if sealed:
        agree(made[0], made[1:], THREE)
    back = servers_for(THREE, [old, *storages[1:]])[0]
    with pytest.raises(ShareMismatch, match="its state is older than the others'") as refused:
        agree(back, made[1:], THREE)
    assert "server-" not in str(refused.value) and not back.blame(DIGEST).servers
    assert back.holding(DIGEST).jobs == jobs and not back.holding(DIGEST).sealed
    made[0] = servers_for(THREE, storages)[0]  # with the newer state all is well
    assert agree(made[0], made[1:], THREE).reports == 30


def test_blocks_are_as_large_as_the_tier_wants_them() -> None:
    wide = collection_of(encoding=Encoding.vector(1 << 12, 1, 1))
    servers = servers_for(wide)
    upload(servers, blocks_of(wide, np.ones((40, 1 << 12), np.int64)))
    assert [len(positions) for positions in proposals(servers[0], wide)] == [32, 8]


@pytest.mark.parametrize(
    "encoding",
    [
        Encoding.count(),
        Encoding.histogram(256),
        Encoding.vector(20_000, 1, 1),
        Encoding.vector(8, 2**32, 1),
    ],
)
@pytest.mark.parametrize("servers", [2, 3, 20])
def test_a_block_with_proofs_fits_into_memory_and_into_messages(encoding: Encoding, servers: int) -> None:
    names = tuple(f"server-{number}" for number in range(servers))
    collection = collection_of(encoding=encoding, tier="prio3", epsilon=QUIET, servers=names)
    sharing, size = sharing_of(collection), agreement.block_size(collection)
    assert 1 <= size <= 1 << 14
    assert size * sharing.input_bytes(0) <= 8 << 20
    assert size * (servers * sharing.verifier_bytes + 8) < 4 << 20  # a vote is about what all servers say
