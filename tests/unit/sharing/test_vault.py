"""Secrets apart from the state: what follows when the two of them do not fit to each other."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter, StorageFailed
from localdp.oracles.shared import binding_of
from localdp.sharing.agreement import agree
from localdp.sharing.collection import Collection
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import NOTHING_RELEASED, MemoryStorage, followed
from localdp.sharing.vault import MemoryVault
from parties.shares.vault import FileVault
from tests.support.shares import bits, blocks_of, collection_of, published, released, upload

NAMES = ("server-0", "server-1")


def test_secrets_in_memory_follow_from_the_key_and_are_gone_when_they_are_destroyed() -> None:
    one, same, other = (MemoryVault(key) for key in (b"k" * 32, b"k" * 32, b"l" * 32))
    assert one.secret(b"a") == same.secret(b"a") not in (None, one.secret(b"b"), other.secret(b"a"))
    one.destroy(b"a", b"set")
    assert one.secret(b"a") is None and one.secret(b"b") == same.secret(b"b")
    before = one.witness
    one.begin_anew(b"")
    assert one.witness != before == same.witness


class Failing(FileVault):
    """A vault whose disk fails when a secret, or a key, is to be destroyed, while it is told to."""

    fails = False
    keeps_keys = False

    def destroy(self, collection: bytes, accepted: bytes | None = None) -> None:
        if self.fails:
            raise StorageFailed("the disk is gone")
        super().destroy(collection, accepted)

    def _write_header(self, *, both: bool = False) -> None:
        if both and self.keeps_keys:
            raise OSError("the disk is gone")
        super()._write_header(both=both)


class Pair:
    """Two servers with vaults in files and states in memory, that can be built again from any copy of the states."""

    def __init__(self, directory: Path) -> None:
        self.vaults = [Failing(directory / name) for name in NAMES]
        self.states = [MemoryStorage(), MemoryStorage()]
        self.start()

    def start(self, states: list[MemoryStorage] | None = None) -> None:
        self.states = states or self.states
        self.servers = [ShareServer(*one) for one in zip(NAMES, self.vaults, self.states, strict=True)]

    def bound(self, number: int) -> Collection:
        """A new collection, open and with reports."""
        name = bytes([number]) * 16
        made = collection_of(collection_id=name, binding=binding_of(self.servers, name))
        for server in self.servers:
            server.open(made)
        upload(self.servers, blocks_of(made, bits(*[1] * 20)))
        return made

    def witnesses(self) -> list[bytes]:
        return [server.witness_key for server in self.servers]

    def require_agreement(self) -> None:
        """What each vault says was released is what its state says."""
        assert [vault.history for vault in self.vaults] == [state.history for state in self.states]

    def close(self) -> None:
        for vault in self.vaults:
            vault.close()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    yield made
    made.close()


def test_where_both_are_as_they_should_be_a_server_goes_on(pair: Pair) -> None:
    first, second = pair.bound(1), pair.bound(2)
    noisy, before = released(pair.servers, first), pair.witnesses()
    pair.start()
    assert pair.witnesses() == before
    pair.require_agreement()
    assert published(pair.servers, first) and released(pair.servers, first) == noisy
    released(pair.servers, second)


def test_after_a_crash_between_the_two_the_secret_is_destroyed_at_the_start(pair: Pair) -> None:
    first, second = pair.bound(1), pair.bound(2)
    before = pair.witnesses()
    pair.vaults[1].fails = True
    with pytest.raises(StorageFailed):
        released(pair.servers, first)
    assert pair.vaults[1].secret(first.digest) is not None
    assert pair.states[1].released(first.digest) is not None
    pair.vaults[1].fails = False
    pair.start()
    assert pair.vaults[1].secret(first.digest) is None
    pair.require_agreement()
    assert pair.witnesses() == before
    released(pair.servers, first)
    released(pair.servers, second)


def test_a_release_whose_secret_could_not_be_destroyed_is_not_told_before_it_is(pair: Pair) -> None:
    first = pair.bound(1)
    pair.vaults[1].fails = True
    for _ in range(2):
        with pytest.raises(StorageFailed):
            released(pair.servers, first)
    pair.vaults[1].fails = False
    released(pair.servers, first)
    pair.require_agreement()
    assert [vault.collections() for vault in pair.vaults] == [(), ()]


def test_a_state_that_is_old_or_lost_begins_a_new_memory_that_refuses_what_was_before(pair: Pair) -> None:
    first, second = pair.bound(1), pair.bound(2)
    old, before = copy.deepcopy(pair.states), pair.witnesses()
    released(pair.servers, first)
    for states in (old, [MemoryStorage(), MemoryStorage()]):
        pair.start(copy.deepcopy(states))
        assert not set(pair.witnesses()) & set(before)
        assert [vault.collections() for vault in pair.vaults] == [(), ()]
        for server in pair.servers:
            for collection in (first, second):
                assert not server.in_progress(collection.digest)
                with pytest.raises(InvalidParameter, match="does not remember"):
                    server.open(collection)
    released(pair.servers, pair.bound(3))  # the new memory is as good as any


def test_a_state_that_went_another_way_is_not_taken_for_the_right_one(pair: Pair) -> None:
    """It has as many releases, or more, and not the last one."""
    first = pair.bound(1)
    released(pair.servers, first)
    other_way = copy.deepcopy(pair.states)
    pair.start([MemoryStorage(), MemoryStorage()])
    second = pair.bound(2)
    released(pair.servers, second)
    pair.start(other_way)
    for server in pair.servers:
        with pytest.raises(InvalidParameter, match="does not remember"):
            server.open(second)


def test_a_new_memory_is_begun_once(pair: Pair) -> None:
    released(pair.servers, pair.bound(1))
    pair.start([MemoryStorage(), MemoryStorage()])
    anew = pair.witnesses()
    kept = pair.bound(2)
    pair.start()
    assert pair.witnesses() == anew
    released(pair.servers, kept)


def test_nothing_is_released_while_the_secret_of_a_release_is_left(pair: Pair) -> None:
    """Or a state from between the two would be taken for the right one."""
    first, second = pair.bound(1), pair.bound(2)
    pair.vaults[1].fails = True
    with pytest.raises(StorageFailed):
        released(pair.servers, first)
    between, before = copy.deepcopy(pair.states), pair.witnesses()
    with pytest.raises(StorageFailed):
        released(pair.servers, second)
    pair.vaults[1].fails = False
    released(pair.servers, second)
    released(pair.servers, first)
    pair.require_agreement()
    pair.start(between)
    assert not set(pair.witnesses()) & set(before)


@pytest.mark.parametrize("lost", range(4))
def test_a_state_that_lacks_any_release_begins_a_new_memory(pair: Pair, lost: int) -> None:
    """As a file of before does, with the log of later beside it."""
    collections = [pair.bound(number) for number in range(1, 5)]
    for collection in collections:
        released(pair.servers, collection)
    before = pair.witnesses()
    pair.start([_without(state, collections[lost].digest) for state in pair.states])
    assert not set(pair.witnesses()) & set(before)


def _without(state: MemoryStorage, lost: bytes) -> MemoryStorage:
    made = MemoryStorage()
    for name, release in state._released.items():
        if name != lost:
            made._released[name] = release
            made.history = followed(made.history, name, release.holding.accepted)
    return made


def test_without_its_vault_a_server_has_other_keys_and_no_collection_names_them(
    pair: Pair, tmp_path: Path
) -> None:
    first = pair.bound(1)
    pair.close()
    for path in tmp_path.iterdir():
        path.unlink()
    pair.vaults = [Failing(tmp_path / name) for name in NAMES]
    pair.start()
    for server in pair.servers:
        assert not server.in_progress(first.digest)
        with pytest.raises(InvalidParameter, match="another key"):
            server.open(first)
    assert not pair.states[0].kept()


def rotated(pair: Pair) -> bytes:
    """The second server gets a new key; returns the old one."""
    old = pair.vaults[1].keys[0]
    pair.vaults[1].add_key()
    pair.start()
    return old


def has_key(pair: Pair, tmp_path: Path, key: bytes) -> list[bool]:
    """Whether a key of the second server is in its vault, in its memory, and in its file."""
    in_memory = key in (secret for _, secret in pair.servers[1]._sealings.values())
    return [key in pair.vaults[1].keys, in_memory, key in (tmp_path / NAMES[1]).read_bytes()]


def test_an_old_key_is_destroyed_with_the_last_release_under_it(pair: Pair, tmp_path: Path) -> None:
    first, second = pair.bound(1), pair.bound(2)
    old = rotated(pair)
    released(pair.servers, first)
    released(pair.servers, pair.bound(3))
    assert has_key(pair, tmp_path, old) == [True] * 3
    noisy = released(pair.servers, second)
    assert has_key(pair, tmp_path, old) == [False] * 3
    assert released(pair.servers, second) == noisy
    released(pair.servers, pair.bound(4))


def test_an_old_key_that_could_not_be_destroyed_is_destroyed_later(pair: Pair, tmp_path: Path) -> None:
    first = pair.bound(1)
    old = rotated(pair)
    agree(pair.servers[0], pair.servers[1:], first)
    pair.vaults[1].keeps_keys = True
    for _ in range(2):
        with pytest.raises(StorageFailed):
            published(pair.servers, first)
    assert pair.vaults[1].secret(first.digest) is None
    assert has_key(pair, tmp_path, old) == [True] * 3
    pair.vaults[1].keeps_keys = False
    published(pair.servers, first)
    assert has_key(pair, tmp_path, old) == [False] * 3


def test_an_old_key_is_destroyed_when_the_last_collection_under_it_ends(tmp_path: Path) -> None:
    seconds, vault, other = [1000.0], FileVault(tmp_path / "vault"), MemoryVault(bytes(32))
    old = vault.keys[0]
    servers = [ShareServer("server-0", vault), ShareServer("server-1", other)]
    collection = collection_of(binding=replace(binding_of(servers, bytes(16)), ends=2000))
    state = MemoryStorage()
    ShareServer("server-0", vault, state).open(collection)
    vault.add_key()
    server = ShareServer("server-0", vault, state, clock=lambda: seconds[0])
    server.expire()
    assert old in vault.keys
    seconds[0] = 2000.0
    server.expire()
    assert len(server._sealings) == len(vault.keys) == 1
    assert old not in (tmp_path / "vault").read_bytes()
    vault.close()


def test_a_collection_that_could_not_be_dropped_at_its_end_is_dropped_later(tmp_path: Path) -> None:
    class Stuck(MemoryStorage):
        stuck = True

        def drop(self, collection: bytes) -> None:
            if self.stuck:
                raise StorageFailed("the disk is full")
            super().drop(collection)

    seconds, vault, state = [1000.0], FileVault(tmp_path / "vault"), Stuck()
    server = ShareServer("server-0", vault, state, clock=lambda: seconds[0])
    other = ShareServer("server-1", MemoryVault(bytes(32)))
    binding = binding_of([server, other], bytes(16))
    collection = collection_of(
        binding=type(binding)(binding.keys, binding.witnesses, binding.commitment, 2000)
    )
    server.open(collection)
    seconds[0] = 2000.0
    for _ in range(2):
        with pytest.raises(StorageFailed):
            server.expire()
    state.stuck = False
    server.expire()
    vault.close()
    assert (
        not server.in_progress(collection.digest) and not state.kept() and vault.history == NOTHING_RELEASED
    )
