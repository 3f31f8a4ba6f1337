"""What the operator of a share server allows, whatever collectors and parties agree on."""

from __future__ import annotations

from typing import Any

import pytest

from localdp.errors import InvalidParameter, PolicyRefused, TooFewReports
from localdp.sharing.agreement import agree
from localdp.sharing.binding import MOST_SECONDS
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.server_policy import ServerPolicy, kinds_of
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import MemoryStorage
from localdp.sharing.task import described_bytes
from localdp.sharing.vault import MemoryVault
from tests.support.shares import (
    KEYRING,
    bits,
    blocks_of,
    bound,
    collection_of,
    released,
    servers_for,
    upload,
)

NAMES = ("server-0", "server-1")
NOW = 1_000_000.0


def ending(seconds: float, **changes: Any) -> Collection:
    """A collection that ends so many seconds after now."""
    return collection_of(binding=bound(NAMES, ends=int(NOW + seconds)), **changes)


@pytest.mark.parametrize(
    ("policy", "collection", "opened", "error"),
    [
        (ServerPolicy(), ending(0), 0, InvalidParameter),
        (ServerPolicy(), ending(-5), 0, InvalidParameter),
        (ServerPolicy(longest_seconds=60), ending(61), 0, PolicyRefused),
        (ServerPolicy(longest_seconds=60), collection_of(), 0, PolicyRefused),
        (ServerPolicy(kinds=frozenset({"sum", "histogram"})), ending(9), 0, PolicyRefused),
        (ServerPolicy(minimum_batch=11), ending(9), 0, PolicyRefused),
        (ServerPolicy(most_open=3), ending(9), 3, PolicyRefused),
        (ServerPolicy(), ending(9, relayed=True), 0, PolicyRefused),
    ],
    ids=["ended now", "ended before", "too long", "for ever", "kind", "small batch", "too many", "relayed"],
)
def test_a_collection_that_the_operator_does_not_want_is_refused(
    policy: ServerPolicy, collection: Collection, opened: int, error: type[Exception]
) -> None:
    with pytest.raises(error):
        policy.require(collection, NOW, opened)


@pytest.mark.parametrize(
    ("policy", "collection", "opened"),
    [
        (ServerPolicy(), ending(1), 0),
        (ServerPolicy(), collection_of(), 9999),
        (ServerPolicy(longest_seconds=60), ending(60), 0),
        (ServerPolicy(kinds=frozenset({"count"})), ending(9), 0),
        (ServerPolicy(minimum_batch=10), ending(9), 0),
        (ServerPolicy(most_open=3), ending(9), 2),
        (ServerPolicy(relayed=True), ending(9, relayed=True), 0),
        (ServerPolicy(relayed=True), ending(9), 0),
    ],
)
def test_a_collection_at_the_limit_is_taken(
    policy: ServerPolicy, collection: Collection, opened: int
) -> None:
    policy.require(collection, NOW, opened)


def test_kinds_have_names() -> None:
    assert kinds_of(["count", "vector"]) == {"count", "vector"}
    with pytest.raises(InvalidParameter, match="and not median"):
        kinds_of(["count", "median"])


def server(policy: ServerPolicy, number: int = 0) -> ShareServer:
    return ShareServer(NAMES[number], MemoryVault(KEYRING.server(number)), policy=policy)


def test_a_collection_that_is_refused_leaves_nothing_and_one_that_is_open_may_be_opened_again() -> None:
    made = server(ServerPolicy(most_open=1, kinds=frozenset({"count"})))
    made.open(collection_of())
    made.open(collection_of())
    for refused in (collection_of(minimum_batch=11), collection_of(encoding=Encoding.sum(2))):
        with pytest.raises(PolicyRefused):
            made.open(refused)
        assert not made.in_progress(refused.digest)


def test_a_released_collection_is_not_in_progress_and_makes_room() -> None:
    collection, next_one = collection_of(), collection_of(minimum_batch=11)
    servers = [server(ServerPolicy(most_open=1), number) for number in range(2)]
    for one in servers:
        one.open(collection)
        with pytest.raises(PolicyRefused, match="release some"):
            one.open(next_one)
    upload(servers, blocks_of(collection, bits(*[1] * 10)))
    released(servers, collection)
    for one in servers:
        one.open(next_one)


def test_a_collection_below_the_operators_minimum_is_refused_before_anybody_uploads() -> None:
    made = server(ServerPolicy(minimum_batch=20))
    with pytest.raises(PolicyRefused, match="at least 20 reports"):
        made.open(collection_of(minimum_batch=19))
    made.open(collection_of(minimum_batch=20))


def test_a_minimum_that_was_raised_holds_for_what_is_open() -> None:
    collection, storages = collection_of(), [MemoryStorage(), MemoryStorage()]
    first = servers_for(collection, storages)
    upload(first, blocks_of(collection, bits(*[1] * 15)))
    vaults = [MemoryVault(KEYRING.server(number)) for number in range(2)]
    raised = [
        ShareServer(
            f"server-{number}", vaults[number], storages[number], policy=ServerPolicy(minimum_batch=16)
        )
        for number in range(2)
    ]
    with pytest.raises(TooFewReports, match="minimum batch of 16"):
        agree(raised[0], raised[1:], collection)
    upload(raised, blocks_of(collection, bits(1), start=15))
    assert agree(raised[0], raised[1:], collection).reports == 16


def test_who_opened_a_collection_first_is_its_owner_and_others_are_told() -> None:
    made, collection = server(ServerPolicy()), collection_of()
    assert not made.open(collection, "analyst")
    assert not made.open(collection, "analyst")
    with pytest.raises(PolicyRefused, match="somebody else"):
        made.open(collection, "server-1")


REPORT_BYTES = 8
OPEN = collection_of(), collection_of(minimum_batch=11)


def servers_with_room(reports: int) -> list[ShareServer]:
    """Of two collections, which are open, with room for so many reports."""
    room = sum(described_bytes(one) for one in OPEN) + reports * REPORT_BYTES
    servers = [server(ServerPolicy(most_bytes=room), number) for number in range(2)]
    for made in servers:
        for collection in OPEN:
            made.open(collection)
    return servers


def ones(collection: Collection, start: int, stop: int) -> list[ShareBlock]:
    return blocks_of(collection, bits(*[1] * (stop - start)), start)


def test_reports_are_stored_while_there_is_room_and_decided_ones_make_room() -> None:
    servers, (collection, other) = servers_with_room(20), OPEN
    upload(servers, ones(collection, 0, 15))
    for wanted in OPEN:  # of all collections together
        with pytest.raises(PolicyRefused, match="no room"):
            servers[0].accept(ones(wanted, 20, 26)[0])
    assert servers[0].stored(collection.digest).size == 15
    agree(servers[0], servers[1:], collection)
    upload(servers, ones(other, 0, 20))


def test_what_comes_together_has_no_more_room_than_what_comes_one_after_the_other() -> None:
    made, (collection, other) = servers_with_room(20)[0], OPEN
    groups = [[ones(one, at, at + 4)[0]] for at in range(0, 32, 4) for one in (collection, other)]
    outcomes = made.accept_all(groups)
    assert sum(one for one in outcomes if isinstance(one, int)) == 20
    assert sum(isinstance(one, PolicyRefused) for one in outcomes) == 11
    assert sum(made.stored(one.digest).size for one in OPEN) == 20


def test_what_is_stored_may_come_again_where_there_is_no_room() -> None:
    made, (collection, _) = servers_with_room(20)[0], OPEN
    made.accept(ones(collection, 0, 20)[0])
    assert made.accept(ones(collection, 0, 20)[0]) == 0
    for _ in range(2):  # what was refused is not taken for stored
        with pytest.raises(PolicyRefused, match="no room"):
            made.accept(ones(collection, 19, 21)[0])


def test_an_upload_takes_its_room_until_all_of_it_is_decided_and_also_after_a_restart() -> None:
    storages, collection = [MemoryStorage(), MemoryStorage()], OPEN[0]
    room = ServerPolicy(most_bytes=described_bytes(collection) + 20 * REPORT_BYTES)
    servers = servers_for(collection, storages)
    servers[0].accept(ones(collection, 0, 20)[0])
    servers[1].accept(ones(collection, 0, 19)[1])
    agree(servers[0], servers[1:], collection)
    again = ShareServer("server-0", MemoryVault(KEYRING.server(0)), storages[0], policy=room)
    assert [one._task(collection.digest).bytes_held for one in (servers[0], again)] == [room.most_bytes] * 2
    assert servers[1]._task(collection.digest).bytes_held == described_bytes(collection)


def test_collections_that_are_open_take_room_too() -> None:
    made = server(ServerPolicy(most_bytes=2000))
    made.open(collection_of())
    with pytest.raises(PolicyRefused, match="no room"):
        made.open(collection_of(parties=tuple(Contributor(f"party-{at}", 1) for at in range(100))))
    made.open(collection_of(minimum_batch=11))


def test_without_a_word_of_the_operator_there_is_room_for_everything_and_no_end() -> None:
    assert collection_of().binding.ends == MOST_SECONDS
    servers_for(collection_of(encoding=Encoding.vector(4, 9, 36)))
