"""A share server: stores before it says so, counts once, releases once, never too few, always with its noise."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.errors import (
    CollectionClosed,
    InvalidParameter,
    MalformedReport,
    ShareMismatch,
    StorageFailed,
    TooFewReports,
    UnknownCollection,
    UnknownIndex,
)
from localdp.sharing.agreement import agree, proposals, verify
from localdp.sharing.blocks import Rows, ShareBlock
from localdp.sharing.checks import Checks
from localdp.sharing.collection import Collection, Tier
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Holding, Job, MemoryStorage
from localdp.sharing.task import CollectionTask
from localdp.sharing.vault import MemoryVault
from tests.support.shares import (
    COINS,
    KEYRING,
    QUIET,
    bits,
    blocks_of,
    bound,
    collection_of,
    exact_sums,
    openings_of,
    published,
    released,
    servers_for,
    signed_by,
    upload,
    vote_unproved,
)

COLLECTION = collection_of()
DIGEST = COLLECTION.digest


@pytest.fixture
def servers() -> list[ShareServer]:
    return servers_for(COLLECTION)


def ones(start: int, stop: int, party: str = "party-0") -> list[ShareBlock]:
    return blocks_of(COLLECTION, bits(*[1] * (stop - start)), start, party)


def test_a_block_that_comes_twice_is_stored_once(servers: list[ShareServer]) -> None:
    assert upload(servers, ones(0, 30)) == [30, 30]
    assert upload(servers, ones(0, 30)) == [0, 0]
    agree(servers[0], servers[1:], COLLECTION)
    assert exact_sums(servers, COLLECTION) == [30]


def test_of_an_overlapping_block_only_new_people_are_stored(servers: list[ShareServer]) -> None:
    upload(servers, ones(0, 30))
    assert upload(servers, ones(20, 40)) == [10, 10]
    assert servers[0].accept(ones(35, 50)[0], ones(45, 60)[0]) == 20  # also within one call
    assert servers[1].accept(ones(40, 60)[1]) == 20
    agree(servers[0], servers[1:], COLLECTION)
    assert exact_sums(servers, COLLECTION) == [60]


def test_the_same_people_of_different_parties_are_different_people(servers: list[ShareServer]) -> None:
    upload(servers, ones(0, 30))
    upload(servers, ones(0, 30, party="party-1"))
    assert agree(servers[0], servers[1:], COLLECTION).reports == 60


def test_nothing_is_sealed_or_released_below_the_minimum_batch(servers: list[ShareServer]) -> None:
    upload(servers, ones(0, 9))
    with pytest.raises(TooFewReports):
        released(servers, COLLECTION)
    with pytest.raises(TooFewReports):
        servers[1].seal(DIGEST, None, openings_of(servers, COLLECTION))
    with pytest.raises(TooFewReports):
        servers[0].release(DIGEST, servers[0].holding(DIGEST).accepted)
    upload(servers, ones(9, 10))
    released(servers, COLLECTION)


def test_a_release_repeats_the_same_number_and_closes_the_collection(servers: list[ShareServer]) -> None:
    upload(servers, ones(0, 30))
    assert released(servers, COLLECTION) == released(servers, COLLECTION)
    for server, block in zip(servers, ones(30, 40), strict=True):
        with pytest.raises(CollectionClosed):
            server.accept(block)
        with pytest.raises(CollectionClosed):
            server.commit(DIGEST, Job(1, np.array([31], np.uint32), np.array([True])))
    assert servers[0].holding(DIGEST).reports == 30


def test_before_the_set_is_final_nothing_is_released(servers: list[ShareServer]) -> None:
    upload(servers, ones(0, 30))
    agreed = agree(servers[0], servers[1:], COLLECTION)
    signed = signed_by(servers, COLLECTION)
    with pytest.raises(ShareMismatch):
        servers[1].release(DIGEST, b"another set", signed)
    fresh = servers_for(COLLECTION)
    upload(fresh, ones(0, 30))
    with pytest.raises(TooFewReports):  # stored, and nothing decided
        fresh[1].release(DIGEST, agreed.accepted, signed)
    for positions in proposals(fresh[0], COLLECTION):
        verify(fresh[0], fresh[1:], DIGEST, positions)
    with pytest.raises(ShareMismatch):  # decided, and not sealed
        fresh[1].release(DIGEST, agreed.accepted, signed)


def test_a_server_seals_what_it_counts_and_nothing_else(servers: list[ShareServer]) -> None:
    upload(servers, ones(0, 30))
    agree(servers[0], servers[1:], COLLECTION)
    good = servers[0].holding(DIGEST)
    for wrong in (
        replace(good, reports=29),
        replace(good, accepted=bytes(32)),
        replace(good, jobs=2),
        Holding(0, b"", 0, True),
    ):
        with pytest.raises(ShareMismatch):
            servers[1].seal(DIGEST, wrong)
    assert servers[1].seal(DIGEST, good) == good


def test_different_sets_of_reports_have_different_digests(servers: list[ShareServer]) -> None:
    seen = set()
    for start, stop in ((0, 20), (20, 21), (50, 60)):
        upload(servers, ones(start, stop))
        for number, positions in enumerate([servers[0].stored(DIGEST)], start=len(servers[0].jobs(DIGEST))):
            servers[0].check(DIGEST, servers[0].verify_key(DIGEST), positions)
            vote_unproved(servers[0], COLLECTION, positions)
            servers[0].commit(DIGEST, Job(number, positions, np.ones(len(positions), np.bool_)))
        seen.add(servers[0].holding(DIGEST).accepted)
    assert len(seen) == 3


def test_the_people_of_a_split_are_found_at_their_places(servers: list[ShareServer]) -> None:
    cohort = Cohort(0, 100, Split(bytes(16), 2, 1))
    rows = np.zeros((cohort.size(), 8), np.uint8)
    empty = np.zeros((cohort.size(), 0), np.uint8)
    for server in servers:
        server.accept(ShareBlock(DIGEST, "party-0", cohort, Rows(empty, rows)))
    assert servers[0].stored(DIGEST).tolist() == list(cohort.lanes())
    upload(servers, ones(0, 100))  # the others
    assert agree(servers[0], servers[1:], COLLECTION).reports == 100
    assert exact_sums(servers, COLLECTION) == [100 - cohort.size()]


LOUD = collection_of(epsilon=Epsilon.requested("0.000001"))


def test_noise_depends_on_the_server_the_collection_and_the_set_of_reports() -> None:
    seen = set()
    for collection, people in ((LOUD, 30), (LOUD, 31), (replace(LOUD, minimum_batch=11), 30)):
        servers = servers_for(collection)
        upload(servers, blocks_of(collection, bits(*[0] * people)))
        agree(servers[0], servers[1:], collection)
        exact = [server._task(collection.digest).sums[0] for server in servers]
        noisy = [sums[0] for sums in published(servers, collection)]
        seen |= {(b - a) % collection.field.modulus for a, b in zip(exact, noisy, strict=True)}
    assert len(seen) == 6


class NoiseOfPlaces(ShareServer):
    """A broken twin: its noise does not depend on the reports, but on their places alone."""

    def _noise(self, task: CollectionTask) -> list[int]:
        sums, task.sums = task.sums, [0] * len(task.sums)
        try:
            return super()._noise(task)
        finally:
            task.sums = sums


def released_again(
    make: type[ShareServer], collection: Collection, value: int, secret: bytes = COINS
) -> int:
    """A release of one person's answer and of 29 others', by servers that are as they were before anybody uploaded."""
    servers = [make(name, MemoryVault(KEYRING.server(at))) for at, name in enumerate(collection.servers)]
    for server in servers:
        server.open(collection)
    upload(servers, blocks_of(collection, bits(value), secret=secret))
    upload(servers, blocks_of(collection, bits(*[1, 0] * 14, 1), start=1))
    return released(servers, collection)[0]


@pytest.mark.parametrize("tier", ["additive", "prio3"])
def test_servers_that_were_put_back_do_not_tell_the_difference_of_two_sums(tier: Tier) -> None:
    """Somebody's own 0 in one person's place; the difference would be that person's answer."""
    collection = replace(LOUD, tier=tier)
    for make, is_exact in ((ShareServer, False), (NoiseOfPlaces, True)):
        first = released_again(make, collection, 1)
        assert released_again(make, collection, 1) == first
        assert (first - released_again(make, collection, 0, bytes(32)) == 1) is is_exact


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"cohort": Cohort(90, 120)}, UnknownIndex),
        ({"party": "stranger"}, InvalidParameter),
        ({"collection": bytes(32)}, UnknownCollection),
        ({"cohort": Cohort(0, 29)}, MalformedReport),
        ({"rows": Rows(np.zeros((30, 1), np.uint8), np.zeros((30, 8), np.uint8))}, MalformedReport),
        ({"rows": Rows(np.zeros((30, 0), np.uint8), np.zeros((30, 16), np.uint8))}, MalformedReport),
    ],
)
def test_a_wrong_block_is_refused_and_leaves_nothing(
    servers: list[ShareServer], wrong: dict[str, Any], error: type[Exception]
) -> None:
    block = replace(ones(0, 30)[0], **wrong)
    with pytest.raises(error):
        servers[0].accept(ones(30, 40)[0], block) if "collection" not in wrong else servers[0].accept(block)
    assert servers[0].stored(DIGEST).size == 0


def test_blocks_of_two_collections_do_not_come_together(servers: list[ShareServer]) -> None:
    with pytest.raises(InvalidParameter):
        servers[0].accept(ones(0, 3)[0], replace(ones(0, 3)[0], collection=bytes(32)))
    assert servers[0].accept() == 0


def test_a_share_that_is_not_reduced_drops_its_report_at_all_servers(servers: list[ShareServer]) -> None:
    leader, helper = ones(0, 30)
    spoiled = helper.rows.inputs.copy()
    spoiled[4] = 0xFF
    servers[0].accept(leader)
    servers[1].accept(replace(helper, rows=Rows(helper.rows.public, spoiled)))
    agreed = agree(servers[0], servers[1:], COLLECTION)
    assert agreed.reports == 29
    assert exact_sums(servers, COLLECTION) == [29]
    without = servers_for(COLLECTION)
    upload(without, ones(0, 4))
    upload(without, ones(5, 30))
    # It is as if it had never come.
    assert agree(without[0], without[1:], COLLECTION).accepted == agreed.accepted


def test_a_server_takes_part_only_where_it_is_named_with_its_key() -> None:
    with pytest.raises(InvalidParameter, match="not part of"):
        ShareServer("stranger", MemoryVault(bytes(32))).open(COLLECTION)
    with pytest.raises(InvalidParameter, match="another key"):
        servers_for(collection_of(binding=bound(COLLECTION.servers, keys=(bytes(32), bytes(32)))))
    servers_for(collection_of(binding=bound(COLLECTION.servers)))


def test_only_the_first_server_leads(servers: list[ShareServer]) -> None:
    servers[0].verify_key(DIGEST)
    with pytest.raises(InvalidParameter):
        servers[1].verify_key(DIGEST)


def test_a_leader_that_names_another_key_than_it_committed_to_is_noticed(
    servers: list[ShareServer],
) -> None:
    upload(servers, ones(0, 30))
    positions, key = servers[1].stored(DIGEST), servers[0].verify_key(DIGEST)
    for _ in ("as the first key", "as the second"):
        for wrong in (bytes(32), b"1" * 32, b"too short", b""):
            with pytest.raises(ShareMismatch, match="share server server-0 names another"):
                servers[1].check(DIGEST, wrong, positions)
        servers[1].check(DIGEST, key, positions)


def test_before_the_leader_names_its_key_nothing_is_voted_on(servers: list[ShareServer]) -> None:
    upload(servers, ones(0, 30))
    positions = servers[1].stored(DIGEST)
    with pytest.raises(ShareMismatch, match="before it names"):
        servers[1].vote(DIGEST, positions, [np.zeros((30, 0), np.uint8)] * 2)
    assert agree(servers[0], servers[1:], COLLECTION).reports == 30


def test_a_leader_that_decides_twice_about_a_job_is_noticed(servers: list[ShareServer]) -> None:
    upload(servers, ones(0, 30))
    agree(servers[0], servers[1:], COLLECTION)
    told = servers[1].jobs(DIGEST)[0]
    servers[1].commit(DIGEST, told)  # the same again changes nothing
    for wrong in (
        replace(told, accepted=~told.accepted),
        replace(told, positions=told.positions + np.uint32(1)),
    ):
        with pytest.raises(ShareMismatch):
            servers[1].commit(DIGEST, wrong)
    assert servers[1].holding(DIGEST).reports == 30


def test_a_decision_about_reports_that_are_not_here_or_out_of_turn_is_refused(
    servers: list[ShareServer],
) -> None:
    upload(servers, ones(0, 30))
    vote_unproved(servers[1], COLLECTION, servers[1].stored(DIGEST))
    some, absent = np.array([0, 1], np.uint32), np.array([0, 31], np.uint32)
    for wrong in (Job(0, absent, np.ones(2, np.bool_)), Job(1, some, np.ones(2, np.bool_))):
        with pytest.raises(ShareMismatch):
            servers[1].commit(DIGEST, wrong)
    with pytest.raises(UnknownIndex):
        servers[1].commit(DIGEST, Job(0, np.array([150], np.uint32), np.ones(1, np.bool_)))
    with pytest.raises(MalformedReport):
        servers[1].commit(DIGEST, Job(0, some, np.ones(3, np.bool_)))
    assert servers[1].holding(DIGEST).reports == 0


def test_nothing_of_a_block_stays_in_memory_after_the_release(servers: list[ShareServer]) -> None:
    upload(servers, blocks_of(COLLECTION, bits(*[1] * 12)))
    some = servers[0].stored(COLLECTION.digest)[:5]  # computed, and decided in another block
    servers[1].check(COLLECTION.digest, servers[0].verify_key(COLLECTION.digest), some)
    assert servers[1]._checks._checked
    released(servers, COLLECTION)
    assert not servers[1]._checks._checked


def test_what_is_asked_again_is_not_computed_again(
    servers: list[ShareServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a block that takes longer than a leader waits were never told."""
    upload(servers, blocks_of(COLLECTION, bits(*[1] * 12)))
    asked = (
        COLLECTION.digest,
        servers[0].verify_key(COLLECTION.digest),
        servers[0].stored(COLLECTION.digest),
    )
    held, told = servers[1].check(*asked)
    monkeypatch.setattr(Checks, "begin", None)
    again = servers[1].check(*asked)
    assert (again[0] == held).all() and (again[1] == told).all()


def test_blocks_that_overlap_do_not_count_a_report_twice(servers: list[ShareServer]) -> None:
    upload(servers, ones(0, 30))
    blocks = [np.arange(0, 10, dtype=np.uint32), np.arange(5, 15, dtype=np.uint32)]
    for positions in blocks:
        vote_unproved(servers[1], COLLECTION, positions)
    servers[1].commit(DIGEST, Job(0, blocks[0], np.ones(10, np.bool_)))
    with pytest.raises(ShareMismatch):
        servers[1].commit(DIGEST, Job(1, blocks[1], np.ones(10, np.bool_)))
    assert servers[1].holding(DIGEST).reports == 10


def test_once_the_set_is_final_what_came_may_come_again_and_what_is_new_may_not(
    servers: list[ShareServer],
) -> None:
    upload(servers, ones(0, 30))
    agree(servers[0], servers[1:], COLLECTION)
    assert upload(servers, ones(0, 30)) == [0, 0]
    for _ in range(2):
        with pytest.raises(CollectionClosed):
            servers[0].accept(ones(25, 31)[0])


def test_a_decision_that_accepts_what_the_server_refused_is_refused(servers: list[ShareServer]) -> None:
    spoiled = ones(0, 30)[1].rows.inputs.copy()
    spoiled[4] = 0xFF
    servers[1].accept(replace(ones(0, 30)[1], rows=Rows(ones(0, 30)[1].rows.public, spoiled)))
    positions = servers[1].stored(DIGEST)
    vote_unproved(servers[1], COLLECTION, positions)
    with pytest.raises(ShareMismatch, match="that this server refused"):
        servers[1].commit(DIGEST, Job(0, positions, np.ones(30, np.bool_)))
    servers[1].commit(DIGEST, Job(0, positions, positions != 4))
    assert servers[1].holding(DIGEST).reports == 29


def test_a_server_built_again_from_its_storage_goes_on(servers: list[ShareServer]) -> None:
    storages = [MemoryStorage(), MemoryStorage()]
    first = servers_for(COLLECTION, storages)
    upload(first, ones(0, 30))
    second = servers_for(COLLECTION, storages)
    upload(second, ones(20, 60))
    agree(second[0], second[1:], COLLECTION)
    third = servers_for(COLLECTION, storages)
    assert third[0].holding(DIGEST) == second[0].holding(DIGEST)
    value = released(third, COLLECTION)
    assert released(servers_for(COLLECTION, storages), COLLECTION) == value
    upload(servers, ones(0, 60))
    assert released(servers, COLLECTION) == value  # as if nothing had happened


def test_what_is_not_needed_any_more_is_let_go() -> None:
    storages = [MemoryStorage(), MemoryStorage()]
    servers = servers_for(COLLECTION, storages)
    upload(servers, ones(0, 30))
    servers[0].accept(ones(30, 40)[0])  # of which the other server has no share
    agree(servers[0], servers[1:], COLLECTION)
    assert [sorted(one.uploads) for one in storages[0].kept()] == [[2]]
    released(servers, COLLECTION)
    for server, storage in zip(servers, storages, strict=True):
        assert (
            not storage.kept() and not server.in_progress(DIGEST) and storage.released(DIGEST) is not None
        )
    with pytest.raises(StorageFailed):
        storages[0].rows(DIGEST, 2)


def test_shares_of_all_servers_add_up_to_the_answer_plus_noise() -> None:
    quiet = collection_of(epsilon=QUIET, servers=("server-0", "server-1", "server-2"))
    servers = servers_for(quiet)
    upload(servers, blocks_of(quiet, bits(*[1, 0, 1, 1, 0] * 20)))
    assert released(servers, quiet) == [60]
