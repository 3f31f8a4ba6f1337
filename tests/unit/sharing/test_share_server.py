"""A share server: counts once, releases once, never too few, always with its noise."""

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
    TooFewReports,
    UnknownCollection,
    UnknownIndex,
)
from localdp.sharing import additive
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.share_server import ShareBatch, ShareServer
from tests.support.people import ONE, servers_of

COLLECTION = Collection(
    collection_id=bytes(16),
    query="smoker",
    resolution=1,
    epsilon=ONE,
    plan=NoisePlan.EACH_SERVER,
    servers=("server-0", "server-1"),
    parties=(Contributor("party-0", 100), Contributor("party-1", 50)),
    minimum_batch=10,
)


def batch(start: int, stop: int, party: str = "party-0", **changes: Any) -> ShareBatch:
    # Every person's share has a bin of its own, so a double count shows.
    shares = np.array([1 << (index % 40) for index in range(start, stop)], np.uint64)
    return replace(ShareBatch(COLLECTION.digest, party, Cohort(start, stop), shares), **changes)


@pytest.fixture
def server() -> ShareServer:
    ready = servers_of(1)[0]
    ready.open(COLLECTION)
    return ready


def released(server: ShareServer) -> int:
    return server.release(COLLECTION.digest, server.holding(COLLECTION.digest).accepted)


def test_a_batch_that_comes_twice_is_counted_once(server: ShareServer) -> None:
    once, twice = servers_of(1)[0], server
    once.open(COLLECTION)
    assert once.accept(batch(0, 30)) == 30
    assert [twice.accept(batch(0, 30)) for _ in range(2)] == [30, 0]
    assert released(once) == released(twice)


def test_of_an_overlapping_batch_only_new_people_are_counted(server: ShareServer) -> None:
    whole = servers_of(1)[0]
    whole.open(COLLECTION)
    whole.accept(batch(0, 40))
    assert server.accept(batch(0, 30)) == 30
    assert server.accept(batch(20, 40)) == 10
    assert server.holding(COLLECTION.digest) == whole.holding(COLLECTION.digest)
    assert released(server) == released(whole)


def test_the_same_people_of_different_parties_are_different_people(server: ShareServer) -> None:
    server.accept(batch(0, 30))
    server.accept(batch(0, 30, party="party-1"))
    assert server.holding(COLLECTION.digest).reports == 60


def test_nothing_is_released_below_the_minimum_batch(server: ShareServer) -> None:
    server.accept(batch(0, 9))
    with pytest.raises(TooFewReports):
        released(server)
    server.accept(batch(9, 10))
    released(server)


def test_a_release_repeats_the_same_number_and_closes_the_collection(server: ShareServer) -> None:
    server.accept(batch(0, 30))
    assert released(server) == released(server)
    with pytest.raises(CollectionClosed):
        server.accept(batch(30, 40))
    assert server.holding(COLLECTION.digest).reports == 30


def test_a_release_names_exactly_the_reports_that_are_held(server: ShareServer) -> None:
    server.accept(batch(0, 30))
    earlier = server.holding(COLLECTION.digest).accepted
    server.accept(batch(30, 31))
    with pytest.raises(ShareMismatch):
        server.release(COLLECTION.digest, earlier)


def test_different_sets_of_reports_have_different_digests(server: ShareServer) -> None:
    seen = set()
    for cohort in (Cohort(0, 20), Cohort(20, 21), Cohort(50, 60, Split(bytes(16), 2, 0))):
        size = cohort.size()
        server.accept(ShareBatch(COLLECTION.digest, "party-0", cohort, np.ones(size, np.uint64)))
        seen.add(server.holding(COLLECTION.digest).accepted)
    assert len(seen) == 3


def test_noise_depends_on_the_server_the_collection_and_the_set_of_reports() -> None:
    loud = replace(COLLECTION, epsilon=Epsilon.requested("0.000001"))
    sums = set()
    for number, people in ((0, 30), (1, 30), (0, 31)):
        server = servers_of(2)[number]
        server.open(loud)
        zeros = ShareBatch(loud.digest, "party-0", Cohort(0, people), np.zeros(people, np.uint64))
        server.accept(zeros)
        sums.add(server.release(loud.digest, server.holding(loud.digest).accepted))
    assert len(sums) == 3


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (batch(90, 101), UnknownIndex),
        (batch(0, 30, party="stranger"), InvalidParameter),
        (batch(0, 30, collection=bytes(32)), UnknownCollection),
        (batch(0, 30, shares=np.zeros(29, np.uint64)), MalformedReport),
    ],
)
def test_a_wrong_batch_is_refused_and_leaves_nothing(
    server: ShareServer, wrong: ShareBatch, error: type[Exception]
) -> None:
    with pytest.raises(error):
        server.accept(wrong)
    assert server.holding(COLLECTION.digest).reports == 0


def test_a_server_takes_part_only_where_it_is_named() -> None:
    with pytest.raises(InvalidParameter):
        ShareServer("stranger", bytes(32)).open(COLLECTION)


@pytest.mark.parametrize(
    "changes",
    [
        {"collection_id": b"1" * 16},
        {"query": "not smoker"},
        {"resolution": 2},
        {"epsilon": Epsilon.requested("0.5")},
        {"plan": NoisePlan.DIVIDED},
        {"servers": ("server-1", "server-0")},
        {"parties": (Contributor("party-0", 150),)},
        {"minimum_batch": 11},
    ],
)
def test_whatever_is_changed_in_a_collection_changes_its_digest(changes: dict[str, object]) -> None:
    assert replace(COLLECTION, **changes).digest != COLLECTION.digest  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"collection_id": b"short"},
        {"resolution": 0},
        {"resolution": (1 << 20) + 1},
        {"epsilon": Epsilon(0)},
        {"servers": ("server-0",)},
        {"servers": ("server-0", "server-0")},
        {"servers": ("server-0", "")},
        {"parties": ()},
        {"parties": (Contributor("party-0", 1 << 33),)},
        {"minimum_batch": 0},
    ],
)
def test_a_collection_outside_its_bounds_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        replace(COLLECTION, **changes)  # type: ignore[arg-type]


def test_shares_of_both_servers_add_up_to_the_answer_plus_noise() -> None:
    quiet = replace(COLLECTION, epsilon=Epsilon.requested(30))  # noise is zero but for 1 in 10**13
    servers = servers_of(2)
    values = np.array([1, 0, 1, 1, 0] * 20)
    from localdp.randomness.hazmat import SeededSource

    for server, shares in zip(servers, additive.split(values, 2, SeededSource(3)), strict=True):
        server.open(quiet)
        server.accept(ShareBatch(quiet.digest, "party-0", Cohort(0, 100), shares))
    sums = [server.release(quiet.digest, server.holding(quiet.digest).accepted) for server in servers]
    assert additive.combine(sums) == 60
