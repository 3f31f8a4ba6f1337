"""Servers that make sure of each other: who leads does not decide alone, who stands in the way is named, one release.

The promises of `share_server`, one by one, and with servers that leave out what each of them rests on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.errors import (
    CollectionClosed,
    InvalidParameter,
    ShareMismatch,
    TooFewReports,
    UnknownCollection,
    Unreachable,
)
from localdp.oracles.collecting import run_collection
from localdp.oracles.shared import InProcessShareServers, binding_of
from localdp.sharing import share_server
from localdp.sharing.agreement import agree, proposals, verify
from localdp.sharing.blocks import Mask, Octets, Positions, Rows
from localdp.sharing.collection import Collection
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Job, MemoryStorage, Published
from localdp.sharing.vault import MemoryVault
from tests.support import federations
from tests.support.shares import (
    KEYRING,
    bits,
    blocks_of,
    bound,
    collection_of,
    openings_of,
    published,
    released,
    servers_for,
    signed_by,
    upload,
    vote_unproved,
)

PEOPLE = 30
COLLECTION = collection_of(tier="prio3")
DIGEST = COLLECTION.digest
ALL = np.arange(PEOPLE, dtype=np.uint32)
YES = np.ones(PEOPLE, np.bool_)


@pytest.fixture
def servers() -> list[ShareServer]:
    made = servers_for(COLLECTION)
    upload(made, blocks_of(COLLECTION, bits(*[1] * PEOPLE)))
    return made


def checked(servers: Sequence[ShareServer]) -> list[Octets]:
    """What each server says about all reports."""
    key = servers[0].verify_key(DIGEST)
    return [server.check(DIGEST, key, ALL)[1] for server in servers]


# The verification key.


def test_reports_are_verified_under_the_key_that_the_leader_committed_to(
    servers: list[ShareServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    key, other = servers[0].verify_key(DIGEST), bytes(32)
    _, first = servers[1].check(DIGEST, key, ALL)
    forgetful = servers_for(COLLECTION)[1]  # it knows nothing of the first key
    forgetful.accept(blocks_of(COLLECTION, bits(*[1] * PEOPLE))[1])
    for server in (servers[1], forgetful):
        with pytest.raises(ShareMismatch, match="share server server-0 names another verification key"):
            server.check(DIGEST, other, ALL)
    # Broken twin: whatever is named first is believed, and the same report is seen at two points.
    monkeypatch.setattr(share_server, "commitment_to", lambda key: COLLECTION.binding.commitment)
    assert (forgetful.check(DIGEST, other, ALL)[1] != first).any()


def test_the_leader_opens_no_collection_with_another_commitment_than_its_own() -> None:
    other = replace(COLLECTION, binding=replace(COLLECTION.binding, commitment=bytes(32)))
    leader, helper = servers_for(COLLECTION)
    with pytest.raises(InvalidParameter, match="another verification key"):
        leader.open(other)
    helper.open(other)  # which is not for it to know


def test_a_server_opens_no_collection_of_another_memory() -> None:
    binding = bound(COLLECTION.servers, witnesses=(COLLECTION.binding.witnesses[0], bytes(32)))
    with pytest.raises(InvalidParameter, match="does not remember"):
        servers_for(replace(COLLECTION, binding=binding))


# Votes.


def test_what_a_server_was_not_asked_about_it_does_not_count(servers: list[ShareServer]) -> None:
    checked(servers)
    with pytest.raises(ShareMismatch, match="was not asked to vote"):
        servers[1].commit(DIGEST, Job(0, ALL, YES))
    assert servers[1].holding(DIGEST).reports == 0


def test_a_server_that_is_told_that_it_said_something_else_names_the_leader(
    servers: list[ShareServer],
) -> None:
    said = checked(servers)
    wrong = said[1].copy()
    wrong[7, 0] ^= 1
    with pytest.raises(ShareMismatch, match="share server server-0 changed what this server said"):
        servers[1].vote(DIGEST, ALL, [said[0], wrong])
    assert servers[1].blame(DIGEST).servers == {"server-0": "changed what others said"}
    assert servers[1].vote(DIGEST, ALL, said).all()  # it has not voted yet


def test_a_leader_that_lies_about_the_others_has_reports_refused_and_never_accepted() -> None:
    false = blocks_of(COLLECTION, bits(*[1] * PEOPLE))
    inputs = false[0].rows.inputs.copy()
    inputs[3, 0] ^= 1  # a report whose proof does not hold
    false[0] = replace(false[0], rows=Rows(false[0].rows.public, inputs))
    made = servers_for(COLLECTION)
    upload(made, false)
    said = checked(made)
    told = [np.zeros_like(said[0]), said[1]]
    assert not made[1].vote(DIGEST, ALL, told).any()
    assert "proofs of 30 reports do not hold" in made[1].blame(DIGEST).text
    with pytest.raises(ShareMismatch, match="accepts a report that this server refused"):
        made[1].commit(DIGEST, Job(0, ALL, YES))


def test_the_first_vote_is_the_vote_also_after_a_restart() -> None:
    storages = [MemoryStorage(), MemoryStorage()]
    made = servers_for(COLLECTION, storages)
    upload(made, blocks_of(COLLECTION, bits(*[1] * PEOPLE)))
    said = checked(made)
    nothing = [np.zeros_like(said[0]), said[1]]
    assert not made[1].vote(DIGEST, ALL, nothing).any()
    again = servers_for(COLLECTION, storages)[1]
    for server in (made[1], again):
        assert not server.vote(DIGEST, ALL, said).any()


def test_a_vote_binds_because_it_is_on_record_before_it_is_told() -> None:
    storages = [MemoryStorage(), MemoryStorage()]
    made = servers_for(COLLECTION, storages)
    upload(made, blocks_of(COLLECTION, bits(*[1] * PEOPLE)))
    said = checked(made)
    made[1].vote(DIGEST, ALL, said)
    # Broken twin: a server that only remembers its vote could not follow after a restart.
    without = copy.deepcopy(storages)
    without[1]._kept[DIGEST].votes.clear()
    with pytest.raises(ShareMismatch, match="was not asked"):
        servers_for(COLLECTION, without)[1].commit(DIGEST, Job(0, ALL, YES))
    again = servers_for(COLLECTION, storages)[1]
    again.commit(DIGEST, Job(0, ALL, YES))
    assert again.holding(DIGEST).reports == PEOPLE


# Who stood in the way.


class Refusing:
    """A helper that refuses what holds."""

    def __init__(self, server: ShareServer) -> None:
        self._server = server

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def vote(self, collection: bytes, positions: Positions, verifiers: Sequence[Octets]) -> Mask:
        return ~self._server.vote(collection, positions, verifiers)


def test_a_helper_that_refuses_what_holds_is_named(servers: list[ShareServer]) -> None:
    helper: Any = Refusing(servers[1])
    why = "refused 30 reports whose proofs hold: it lies, or their party showed it another public share"
    with pytest.raises(TooFewReports, match=f"share server server-1 {why}"):
        agree(servers[0], [helper], COLLECTION)
    assert servers[0].blame(DIGEST).servers == {"server-1": why}
    # And of two servers the other one knows that it was the leader's decision, or its own.
    assert list(servers[1].blame(DIGEST).servers) == ["server-0"]


def test_a_server_that_has_not_got_reports_is_named() -> None:
    made = servers_for(COLLECTION)
    blocks = blocks_of(COLLECTION, bits(*[1] * PEOPLE))
    made[0].accept(blocks[0])
    made[1].accept(blocks_of(COLLECTION, bits(*[1] * 5))[1])
    why = "has not got 25 reports that others have: it lost them, or their party sent none there"
    with pytest.raises(TooFewReports, match=f"share server server-1 {why}"):
        agree(made[0], made[1:], COLLECTION)
    assert made[0].blame(DIGEST).servers == {"server-1": why}
    made[1].accept(blocks[1])
    assert agree(made[0], made[1:], COLLECTION).reports == PEOPLE
    assert not made[0].blame(DIGEST).servers  # they came in the end


@pytest.mark.parametrize("server", [0, 1, 2])
def test_for_elements_that_are_not_reduced_no_server_is_named(server: int) -> None:
    unproved = collection_of(servers=("server-0", "server-1", "server-2"), minimum_batch=20)
    made = servers_for(unproved)
    blocks = blocks_of(unproved, bits(*[1] * PEOPLE))
    inputs = blocks[server].rows.inputs.copy()
    inputs[5:25] = 0xFF  # no field element: what only a party can have sent
    blocks[server] = replace(blocks[server], rows=Rows(blocks[server].rows.public, inputs))
    upload(made, blocks)
    with pytest.raises(TooFewReports, match="20 reports could not be read: a party sent") as refused:
        agree(made[0], made[1:], unproved)
    assert "server-" not in str(refused.value)
    assert all(not one.blame(unproved.digest).servers for one in made)


def test_where_all_is_well_nobody_is_named(servers: list[ShareServer]) -> None:
    agree(servers[0], servers[1:], COLLECTION)
    assert all(not server.blame(DIGEST).servers and not server.blame(DIGEST).text for server in servers)


# One set, one release.


def decided(servers: Sequence[ShareServer], collection: Collection = COLLECTION) -> None:
    """Everything but the seal."""
    for positions in proposals(servers[0], collection):
        verify(servers[0], servers[1:], collection.digest, positions)


def test_a_server_seals_with_its_own_opening_and_with_true_ones_of_the_others(
    servers: list[ShareServer],
) -> None:
    decided(servers)
    own, theirs = openings_of(servers, COLLECTION)
    other = ShareServer("server-1", MemoryVault(KEYRING.server(1)))._witness.opening(DIGEST, b"another")
    for wrong in ([], [own], [theirs, own], [own, replace(theirs, secret=bytes(32))]):
        with pytest.raises(ShareMismatch):
            servers[0].seal(DIGEST, None, wrong)
    with pytest.raises(ShareMismatch, match="this share server opened the collection otherwise"):
        servers[1].seal(DIGEST, None, [own, other])
    assert not servers[0].holding(DIGEST).sealed and not servers[1].holding(DIGEST).sealed


def test_a_final_set_is_named_by_what_is_in_it_and_by_who_opened_it_with_which_secret(
    servers: list[ShareServer],
) -> None:
    decided(servers)
    openings = openings_of(servers, COLLECTION)
    again = servers[1]._witness.opening(DIGEST, b"a secret of another opening")
    one = servers[0].seal(DIGEST, None, openings)
    lenient = servers_for(COLLECTION)
    upload(lenient, blocks_of(COLLECTION, bits(*[1] * PEOPLE)))
    decided(lenient)
    other = lenient[0].seal(DIGEST, None, [openings[0], again])
    assert one.accepted != other.accepted and one.reports == other.reports


def test_a_release_needs_the_signatures_of_all_about_this_set(servers: list[ShareServer]) -> None:
    agree(servers[0], servers[1:], COLLECTION)
    accepted, (first, second) = servers[0].holding(DIGEST).accepted, signed_by(servers, COLLECTION)
    other_set = servers_for(COLLECTION)
    upload(other_set, blocks_of(COLLECTION, bits(*[1] * (PEOPLE - 1))))
    agree(other_set[0], other_set[1:], COLLECTION)
    elsewhere = signed_by(other_set, COLLECTION)
    for wrong in ([], [first], [second, first], [first, bytes(64)], [first, elsewhere[1]], elsewhere):
        with pytest.raises(ShareMismatch, match=r"no signature|at every server"):
            servers[0].release(DIGEST, accepted, wrong)
    assert servers[0].in_progress(DIGEST)
    servers[0].release(DIGEST, accepted, [first, second])


def test_a_server_without_that_check_would_release_what_nobody_else_has(
    servers: list[ShareServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    agree(servers[0], servers[1:], COLLECTION)
    monkeypatch.setattr(share_server, "require_sealed", lambda *_: None)
    own = servers[0].holding(DIGEST)
    servers[0].release(DIGEST, own.accepted, [own.signature])
    assert not servers[0].in_progress(DIGEST)


def test_a_server_that_was_put_back_alone_gets_no_signature_for_a_second_release(
    servers: list[ShareServer],
) -> None:
    agree(servers[0], servers[1:], COLLECTION)
    published(servers, COLLECTION)
    signed = signed_by(servers, COLLECTION)
    # State and secrets of the first server are those of before it opened the collection.
    back = ShareServer("server-0", Redrawn(KEYRING.server(0)))
    back.open(COLLECTION)
    back.accept(blocks_of(COLLECTION, bits(*[1] * PEOPLE))[0])
    with pytest.raises((ShareMismatch, CollectionClosed, UnknownCollection)):
        agree(back, servers[1:], COLLECTION)
    assert back.opening(DIGEST) != openings_of(servers_for(COLLECTION), COLLECTION)[0]
    with pytest.raises((ShareMismatch, TooFewReports)):
        back.release(DIGEST, servers[1].holding(DIGEST).accepted, signed)


class Redrawn(MemoryVault):
    """The keys of a server, with another secret for every collection: what an old copy of a vault makes."""

    def secret(self, collection: bytes) -> bytes | None:
        held = super().secret(collection)
        return None if held is None else held[::-1]


def test_after_its_release_the_task_the_sums_and_the_secret_of_a_collection_are_gone() -> None:
    storages = [MemoryStorage(), MemoryStorage()]
    vaults = [MemoryVault(KEYRING.server(number)) for number in range(2)]
    made = [ShareServer(*parts) for parts in zip(COLLECTION.servers, vaults, storages, strict=True)]
    for server in made:
        server.open(COLLECTION, "analyst")
    upload(made, blocks_of(COLLECTION, bits(*[1] * PEOPLE)))
    first = released(made, COLLECTION)
    for server, vault, storage in zip(made, vaults, storages, strict=True):
        assert not server.in_progress(DIGEST) and vault.secret(DIGEST) is None
        assert not storage._kept and not storage._rows
        for gone in (server.collection, server.blame, server.opening, server.jobs):
            with pytest.raises(UnknownCollection):
                gone(DIGEST)
        assert server.owner(DIGEST) == "analyst" and server.open(COLLECTION)
    assert released(made, COLLECTION) == first


def test_a_vault_that_does_not_destroy_is_noticed_by_that() -> None:
    class Keeping(MemoryVault):
        def destroy(self, collection: bytes, accepted: bytes | None = None) -> None:
            pass

    vaults = [Keeping(KEYRING.server(number)) for number in range(2)]
    made = [ShareServer(*parts) for parts in zip(COLLECTION.servers, vaults, strict=True)]
    for server in made:
        server.open(COLLECTION)
    upload(made, blocks_of(COLLECTION, bits(*[1] * PEOPLE)))
    released(made, COLLECTION)
    assert all(vault.secret(DIGEST) is not None for vault in vaults)


# The end.


class Clock:
    """Seconds since 1970, as the test wants them."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def until(clock: Clock) -> tuple[Collection, list[ShareServer], list[MemoryStorage], list[MemoryVault]]:
    """A collection that ends at 2000, open at two servers, with reports."""
    storages = [MemoryStorage(), MemoryStorage()]
    vaults = [MemoryVault(KEYRING.server(number)) for number in range(2)]
    made = [
        ShareServer(*parts, clock=clock) for parts in zip(COLLECTION.servers, vaults, storages, strict=True)
    ]
    collection = collection_of(binding=replace(binding_of(made, bytes(16)), ends=2000))
    for server in made:
        server.open(collection)
    upload(made, blocks_of(collection, bits(*[1] * PEOPLE)))
    return collection, made, storages, vaults


STEPS: dict[str, Callable[[ShareServer, Collection], object]] = {
    "accept": lambda server, one: server.accept(blocks_of(one, bits(1), start=40)[1]),
    "check": lambda server, one: vote_unproved(server, one, ALL),
    "commit": lambda server, one: server.commit(one.digest, Job(0, ALL, YES)),
    "opening": lambda server, one: server.opening(one.digest),
    "seal": lambda server, one: server.seal(one.digest),
    "holding": lambda server, one: server.holding(one.digest),
    "release": lambda server, one: server.release(one.digest, bytes(32)),
}


@pytest.mark.parametrize("step", STEPS)
def test_from_its_end_on_nothing_is_taken_decided_or_released(step: str) -> None:
    clock = Clock()
    collection, made, storages, vaults = until(clock)
    agree(made[0], made[1:], collection)
    clock.seconds = 2000.0
    with pytest.raises(CollectionClosed, match="has ended"):
        STEPS[step](made[1], collection)
    made[1].expire()
    assert not made[1].in_progress(collection.digest)
    assert not storages[1].kept() and vaults[1].secret(collection.digest) is None
    with pytest.raises(UnknownCollection):
        STEPS[step](made[1], collection)
    with pytest.raises(InvalidParameter, match="ended before it began"):
        made[1].open(collection)


def test_before_its_end_a_collection_is_not_dropped_and_what_was_released_stays() -> None:
    clock = Clock()
    collection, made, storages, _ = until(clock)
    clock.seconds = 1999.0
    for server in made:
        server.expire()
    first = released(made, collection)
    clock.seconds = 3000.0
    for server in made:
        server.expire()
    assert released(made, collection) == first and storages[0].released(collection.digest) is not None


def test_opening_a_collection_drops_those_that_have_ended() -> None:
    clock = Clock()
    collection, made, storages, _ = until(clock)
    clock.seconds = 2001.0
    made[0].open(collection_of(minimum_batch=11))
    assert not made[0].in_progress(collection.digest) and len(storages[0].kept()) == 1


# A release that did not reach everybody.


class HalfWay(InProcessShareServers):
    """The second server goes away before it releases, once."""

    away = True

    def release(self, collection: Collection, accepted: bytes, signed: Sequence[bytes]) -> list[Published]:
        if self.away:
            self.away = False
            self._servers[0].release(collection.digest, accepted, signed)
            raise Unreachable("share server server-1 is away")
        return super().release(collection, accepted, signed)


def test_a_collection_that_was_released_by_half_of_the_servers_can_be_asked_for_again() -> None:
    holders = federations.parties_of(federations.people(PEOPLE), 2)
    collection = federations.collection_of(holders)
    halfway = HalfWay(holders, federations.share_servers_of(2))
    straight = InProcessShareServers(
        federations.parties_of(federations.people(PEOPLE), 2), federations.share_servers_of(2)
    )
    with pytest.raises(Unreachable):
        run_collection(halfway, collection, Cohort(0, PEOPLE))
    assert [server.in_progress(collection.digest) for server in halfway._servers] == [False, True]
    again = run_collection(halfway, collection, Cohort(0, PEOPLE))
    assert again == run_collection(straight, collection, Cohort(0, PEOPLE))
    assert run_collection(halfway, collection, Cohort(0, PEOPLE)) == again
