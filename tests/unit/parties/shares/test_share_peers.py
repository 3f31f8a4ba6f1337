"""Where a party uploads: only to servers that it chose, and sealed only to keys that it knows."""

from dataclasses import replace

import pytest

from localdp.errors import InvalidParameter, PolicyRefused
from localdp.sharing.collection import Collection
from parties.shares.peers import SharePeer, require_known
from tests.support.shares import bound, collection_of

ONE, TWO = bytes(range(32)), bytes(range(32, 64))
KNOWN = {"server-0": SharePeer("a:1", ONE), "server-1": SharePeer("b:2", TWO)}
UNSURE = {"server-0": SharePeer("a:1", ONE), "server-1": SharePeer("b:2")}
COLLECTION = collection_of(binding=bound(("server-0", "server-1"), keys=(ONE, TWO)))
CARRIED = replace(COLLECTION, relayed=True)


def test_an_address_may_come_with_a_key() -> None:
    assert SharePeer.parse("127.0.0.1:7001") == SharePeer("127.0.0.1:7001")
    assert SharePeer.parse(f"127.0.0.1:7001#{ONE.hex()}") == SharePeer("127.0.0.1:7001", ONE)


@pytest.mark.parametrize("key", ["", "00", ONE.hex() + "00", ONE.hex().upper(), "g" * 64])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(InvalidParameter):
        SharePeer.parse(f"127.0.0.1:7001#{key}")


def test_servers_that_the_party_did_not_choose_are_refused() -> None:
    require_known(KNOWN, COLLECTION)
    with pytest.raises(InvalidParameter):
        require_known(KNOWN, collection_of(servers=("server-0", "mallory")))


def test_some_of_the_servers_that_the_party_chose_are_not_the_ones_that_it_chose() -> None:
    more = {**KNOWN, "server-2": SharePeer("c:3")}
    with pytest.raises(PolicyRefused, match="all of its 3 share servers"):
        require_known(more, COLLECTION)


def test_a_key_that_is_not_the_servers_is_refused_however_the_shares_travel() -> None:
    swapped = replace(COLLECTION.binding, keys=(ONE, ONE))
    for sealed in (False, True):
        other = replace(COLLECTION, binding=swapped, relayed=sealed)
        with pytest.raises(InvalidParameter, match="another key"):
            require_known(KNOWN, other, sealed=sealed)


def test_shares_are_sealed_only_to_keys_that_the_party_knows() -> None:
    require_known(KNOWN, CARRIED, sealed=True)
    require_known(UNSURE, COLLECTION)
    with pytest.raises(PolicyRefused):
        require_known(UNSURE, CARRIED, sealed=True)


@pytest.mark.parametrize(("collection", "sealed"), [(COLLECTION, True), (CARRIED, False)])
def test_shares_travel_the_way_that_the_collection_says(collection: Collection, sealed: bool) -> None:
    with pytest.raises(InvalidParameter, match="this collection"):
        require_known(KNOWN, collection, sealed=sealed)
