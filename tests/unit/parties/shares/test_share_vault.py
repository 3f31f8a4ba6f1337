"""A share server's secrets in a file: durable, whole after a torn write, and overwritten when they are destroyed."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from localdp.errors import InvalidParameter, StorageFailed
from localdp.oracles.shared import binding_of
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import NOTHING_RELEASED, MemoryStorage, followed
from localdp.sharing.vault import MemoryVault
from parties.shares.run import rotated, server_with_state
from parties.shares.storage import SqliteStorage
from parties.shares.vault import MOST_KEYS, FileVault, vault_path
from tests.support.shares import bits, blocks_of, collection_of, released, upload

NAMES = [bytes([number]) * 32 for number in range(1, 6)]
SET = b"s" * 32
HEADERS = (0, 4096)
FIRST_SLOT = 8192


def released_in_order(*names: bytes) -> bytes:
    return functools.reduce(lambda history, name: followed(history, name, SET), names, NOTHING_RELEASED)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.secrets"


def contents(vault: FileVault) -> tuple[Any, ...]:
    secrets = {name: vault.secret(name) for name in vault.collections()}
    return vault.keys, vault.witness, vault.history, secrets


@contextmanager
def opened(path: Path) -> Iterator[FileVault]:
    with closing(FileVault(path)) as made:
        yield made


def test_everything_is_there_again(path: Path) -> None:
    with opened(path) as made:
        for name in NAMES:
            made.make(name)
        made.destroy(NAMES[1], SET)
        made.destroy(NAMES[3])
        before = contents(made)
    with opened(path) as again:
        assert contents(again) == before
        assert again.history == released_in_order(NAMES[1]) and set(again.collections()) == {
            NAMES[0],
            NAMES[2],
            NAMES[4],
        }
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_new_vault_has_the_key_that_is_given_or_one_of_its_own(path: Path, tmp_path: Path) -> None:
    for key in (b"k" * 32, b"l" * 32):  # the second time it is not new any more
        with closing(FileVault(path, key)) as made:
            assert made.keys == (b"k" * 32,) and made.history == NOTHING_RELEASED
    with opened(tmp_path / "one") as one, opened(tmp_path / "other") as other:
        assert one.keys != other.keys and one.witness != other.witness


def test_a_secret_is_made_once_and_is_its_own(path: Path) -> None:
    with opened(path) as made:
        for name in NAMES:
            made.make(name)
        first = contents(made)
        for name in NAMES:
            made.make(name)
        assert contents(made) == first
        assert len({made.secret(name) for name in NAMES}) == len(NAMES)
        assert made.secret(b"unknown") is None


def test_a_secret_that_is_destroyed_is_not_in_the_file_any_more(path: Path) -> None:
    with opened(path) as made:
        for name in NAMES:
            made.make(name)
        gone = [made.secret(name) or b"?" for name in NAMES[:2]]
        kept = [made.secret(name) or b"?" for name in NAMES[2:]]
        assert all(secret in path.read_bytes() for secret in (*gone, *kept))
        made.destroy(NAMES[0], SET)
        made.destroy(NAMES[1])
        left = path.read_bytes()
    assert not any(secret in left for secret in gone) and NAMES[1] not in left
    assert all(secret in left for secret in kept)


def test_all_secrets_and_the_witness_are_overwritten_when_a_new_memory_begins(path: Path) -> None:
    with opened(path) as made:
        made.make(NAMES[0])
        secret, witness, keys = made.secret(NAMES[0]) or b"?", made.witness, made.keys
        made.begin_anew(SET)
        left = path.read_bytes()
        assert (made.history, made.keys, made.collections()) == (SET, keys, ())
    assert secret not in left and witness not in left and keys[0] in left


def test_what_destroys_nothing_is_found_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin: a vault that forgets a secret and leaves it where it is."""
    write = os.pwrite
    monkeypatch.setattr(
        os, "pwrite", lambda file, data, at: write(file, data, at) if any(data) else len(data)
    )
    with opened(path) as made:
        made.make(NAMES[0])
        secret = made.secret(NAMES[0]) or b"?"
        made.destroy(NAMES[0], SET)
        assert secret in path.read_bytes()


def test_a_place_that_became_free_is_used_again(path: Path) -> None:
    with opened(path) as made:
        for name in NAMES:
            made.make(name)
        size = path.stat().st_size
        for _ in range(20):
            made.destroy(NAMES[2])
            made.make(NAMES[2])
    with opened(path) as again:
        again.destroy(NAMES[0])
        again.make(b"6" * 32)
    assert path.stat().st_size == size


@pytest.mark.parametrize("at", HEADERS)
def test_one_torn_header_loses_nothing(path: Path, at: int) -> None:
    with opened(path) as made:
        made.make(NAMES[0])
        made.add_key()  # both headers say the same but for their number
        before = contents(made)
    with path.open("r+b") as file:
        file.seek(at + 40)
        file.write(b"\xff" * 16)
    with opened(path) as again:
        assert contents(again) == before
        again.destroy(NAMES[0], SET)
    with opened(path) as last:
        assert last.history == released_in_order(NAMES[0])


def test_a_file_of_something_else_or_without_any_whole_header_is_refused(path: Path) -> None:
    path.write_bytes(b"something else" * 1000)
    path.chmod(0o600)
    with pytest.raises(StorageFailed, match="is no file of a share server's secrets"):
        FileVault(path)
    path.unlink()
    with opened(path):
        pass
    with path.open("r+b") as file:
        for at in HEADERS:
            file.seek(at + 20)
            file.write(b"\xff")
    with pytest.raises(StorageFailed, match="is damaged"):
        FileVault(path)


def test_a_file_that_was_begun_and_not_written_is_begun_again(path: Path) -> None:
    path.write_bytes(b"")
    path.chmod(0o600)
    with opened(path) as made:
        assert made.history == NOTHING_RELEASED and len(made.keys) == 1


def test_the_secrets_of_another_server_are_refused(path: Path) -> None:
    with closing(FileVault(path, server="server-0")) as made:
        made.make(NAMES[0])
        before = contents(made)
    with pytest.raises(InvalidParameter, match="another share server"):
        FileVault(path, server="server-1")
    with closing(FileVault(path, server="server-0")) as again:
        assert contents(again) == before


def test_a_file_that_others_can_read_is_refused(path: Path) -> None:
    with opened(path):
        pass
    path.chmod(0o644)
    with pytest.raises(InvalidParameter, match="chmod 600"):
        FileVault(path)


def test_one_process_at_a_time_has_it_open(path: Path) -> None:
    with opened(path), pytest.raises(StorageFailed, match="another process uses"):
        FileVault(path)
    with opened(path):
        pass


def test_half_a_secret_is_none(path: Path) -> None:
    with opened(path) as made:
        made.make(NAMES[0])
    os.truncate(path, FIRST_SLOT + 40)
    with opened(path) as again:
        assert again.collections() == ()
        again.make(NAMES[1])
    with opened(path) as last:
        assert last.collections() == (NAMES[1],)


class Disk:
    """The disk fails at the n-th write from now."""

    def __init__(self) -> None:
        self.left: int | None = None

    def pwrite(self, file: int, data: bytes, at: int) -> int:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise OSError(28, "no space")
        return self._pwrite(file, data, at)

    _pwrite = staticmethod(os.pwrite)


def test_a_write_that_fails_is_told_and_spoils_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk()
    monkeypatch.setattr(os, "pwrite", disk.pwrite)
    with opened(path) as made:
        made.make(NAMES[0])
        made.make(NAMES[1])
        made.destroy(NAMES[0], SET)
        disk.left = 0
        with pytest.raises(StorageFailed, match="No space"):
            made.make(NAMES[2])
        made.make(NAMES[3])  # takes the free place, and not that of another one
        for at in (0, 1):
            disk.left = at
            with pytest.raises(StorageFailed):
                made.destroy(NAMES[3], SET)
        made.destroy(NAMES[3], SET)
        before = contents(made)
    with opened(path) as again:
        assert contents(again) == before
        assert again.history == released_in_order(NAMES[0], NAMES[3]) and again.collections() == (NAMES[1],)


# Keys.


def test_a_new_key_comes_first_and_the_others_stay_while_they_are_needed(path: Path) -> None:
    with opened(path) as made:
        (first,) = made.keys
        made.add_key()
        made.add_key()
        second, third = made.keys[1], made.keys[0]
        assert list(made.keys) == [third, second, first]
        made.keep_keys([first])
        assert list(made.keys) == [third, first]
        assert second not in path.read_bytes()
        made.keep_keys([])
        assert first not in path.read_bytes()
    with opened(path) as again:
        assert again.keys == (third,)


def test_there_is_room_for_some_keys_and_no_more(path: Path) -> None:
    with opened(path) as made:
        for _ in range(MOST_KEYS - 1):
            made.add_key()
        with pytest.raises(InvalidParameter, match="wait for their end"):
            made.add_key()
        assert len(made.keys) == MOST_KEYS


def test_a_collection_is_finished_under_the_key_that_it_was_opened_under(tmp_path: Path) -> None:
    state = tmp_path / "state"
    helper = ShareServer("server-1", MemoryVault(bytes(32)))
    with server_with_state("server-0", state) as leader:
        collection = collection_of(binding=binding_of([leader, helper], bytes(16)))
        for server in (leader, helper):
            server.open(collection)
        old = leader.sealing_key.public
    new = bytes.fromhex(rotated("server-0", state))
    with server_with_state("server-0", state) as leader:
        assert leader.sealing_key.public == new != old
        assert leader.sealing_key_of(collection.digest).public == old
        later = collection_of(minimum_batch=11, binding=binding_of([leader, helper], bytes(16)))
        assert later.keys[0] == new
        leader.open(later)
        upload([leader, helper], blocks_of(collection, bits(*[1] * 20)))
        released([leader, helper], collection)
    with server_with_state("server-0", state) as leader:
        assert len(leader._vault.keys) == 1
        with pytest.raises(InvalidParameter, match="another key"):
            leader.open(collection_of(minimum_batch=12, binding=collection.binding))


def started(state: Path) -> None:
    with server_with_state("server-0", state):
        pass


STEPS: dict[str, Callable[[Path], object]] = {
    "run": started,
    "rotate": lambda state: rotated("server-0", state),
}


LOST: dict[str, Callable[[Path], None]] = {
    "gone": Path.unlink,
    "emptied": lambda path: os.truncate(path, 0),
}


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("step", STEPS)
def test_a_state_without_its_secrets_is_refused_with_what_to_do(
    tmp_path: Path, step: str, lost: str
) -> None:
    state = tmp_path / "state"
    started(state)
    LOST[lost](vault_path(state))
    with pytest.raises(StorageFailed, match="move the state away"):
        STEPS[step](state)
    assert not vault_path(state).exists() or not vault_path(state).stat().st_size


# What a copy of the state is worth.


class Keeping(FileVault):
    """Broken twin: keeps every secret."""

    def destroy(self, collection: bytes, accepted: bytes | None = None) -> None:
        pass


def readable_after_release(kind: type[FileVault], directory: Path) -> bool:
    """Whether reports can be read from a copy of the state of before a release, with the vault of after it."""
    state = directory / "state"
    vault = kind(vault_path(state))
    with closing(vault):
        storage = SqliteStorage(state, "server-0", vault)
        servers = [
            ShareServer("server-0", vault, storage),
            ShareServer("server-1", MemoryVault(bytes(32)), MemoryStorage()),
        ]
        collection = collection_of(binding=binding_of(servers, bytes(16)))
        for server in servers:
            server.open(collection)
        upload(servers, blocks_of(collection, bits(*[1] * 20)))
        copied = directory / "copy"
        with closing(storage):
            storage._file.execute("VACUUM INTO ?", (str(copied),))
            released(servers, collection)
        with closing(SqliteStorage(copied, "server-0", vault)) as old:
            try:
                return len(old.rows(collection.digest, 1)) == 20
            except StorageFailed:
                return False


def test_a_copy_of_the_state_cannot_be_read_after_the_release(tmp_path: Path) -> None:
    for name in ("good", "twin"):
        (tmp_path / name).mkdir()
    assert not readable_after_release(FileVault, tmp_path / "good")
    assert readable_after_release(Keeping, tmp_path / "twin")


def test_a_server_that_finds_an_old_state_or_none_says_so_at_its_start(tmp_path: Path) -> None:
    state, lines = tmp_path / "state", list[str]()

    def start() -> AbstractContextManager[ShareServer]:
        return server_with_state("server-1", state, told=lines.append)

    with start() as server:
        leader = ShareServer("server-0", MemoryVault(bytes(32)))
        collection = collection_of(binding=binding_of([leader, server], bytes(16)))
        for one in (leader, server):
            one.open(collection)
    old = state.read_bytes()
    with start() as server:
        upload([leader, server], blocks_of(collection, bits(*[1] * 20)))
        released([leader, server], collection)
    with start():
        pass
    assert not lines
    state.write_bytes(old)
    for _ in range(2):  # once
        with start():
            pass
    (line,) = lines
    assert "server-1" in line and "every collection of before" in line
