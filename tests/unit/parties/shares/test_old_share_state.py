"""A share server's state as version 0.1 wrote it: releases and the key are kept, and what was in clear is wiped."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter, StorageFailed
from localdp.oracles.shared import binding_of
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import Encoding
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault
from parties import codec
from parties.shares.run import rotated, server_with_state
from parties.shares.vault import FileVault, vault_path
from tests.support.shares import bits, blocks_of, collection_of, released, upload

KEY = bytes(range(100, 132))
LAYOUT = """
CREATE TABLE server (one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT NOT NULL, key BLOB NOT NULL) STRICT;
CREATE TABLE collections (
  digest BLOB PRIMARY KEY,
  description BLOB NOT NULL,
  owner TEXT NOT NULL,
  verify_key BLOB NOT NULL DEFAULT x'',
  sums BLOB NOT NULL DEFAULT x'',
  reports INTEGER,
  accepted BLOB,
  jobs INTEGER,
  noise BLOB,
  noisy_sums BLOB
) STRICT;
CREATE TABLE uploads (
  collection BLOB NOT NULL,
  number INTEGER NOT NULL,
  reports INTEGER NOT NULL,
  positions BLOB NOT NULL,
  public BLOB NOT NULL,
  inputs BLOB NOT NULL,
  PRIMARY KEY (collection, number)
) STRICT;
CREATE TABLE jobs (
  collection BLOB NOT NULL,
  number INTEGER NOT NULL,
  positions BLOB NOT NULL,
  accepted BLOB NOT NULL,
  PRIMARY KEY (collection, number)
) STRICT;
"""
COUNT = collection_of()
CELLS = collection_of(encoding=Encoding.histogram(3), tier="prio3")
SUMS, NOISE = (0x1111222233334444,), (0x5555666677778888,)
NOISY = {COUNT.digest: (0x6666888899998888,), CELLS.digest: (5, 2**100, 7)}
VERIFY_KEY = bytes(range(200, 232))


def packed(*elements: int) -> bytes:
    return b"".join(element.to_bytes(16, "little") for element in elements)


def described(collection: Collection) -> bytes:
    """As it was written down when nothing bound it to its servers."""
    message = codec.collection_to_wire(collection)
    for name in ("witnesses", "commitment", "ends", "keys"):
        message.ClearField(name)
    return message.SerializeToString(deterministic=True)


def write(path: Path, *collections: Collection, pending: Collection | None = None) -> None:
    """The state of a server with these collections released, as version 0.1 left it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA page_size = 32768")
        file.execute("PRAGMA journal_mode = WAL")
        file.executescript(LAYOUT)
        file.execute("INSERT INTO server VALUES (1, 'server-0', ?)", (KEY,))
        for one in collections:
            row = (one.digest, described(one), "analyst", VERIFY_KEY, packed(*SUMS), 30, b"set", 2)
            noise = packed(*NOISE), packed(*NOISY[one.digest])
            file.execute("INSERT INTO collections VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row + noise)
        if pending is not None:
            file.execute(
                "INSERT INTO collections (digest, description, owner) VALUES (?, ?, '')",
                (pending.digest, described(pending)),
            )


def started(state: Path) -> None:
    with server_with_state("server-0", state):
        pass


def files(state: Path) -> bytes:
    """All that is on the disk but the vault."""
    vault = vault_path(state)
    return b"".join(path.read_bytes() for path in state.parent.iterdir() if path != vault)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    write(tmp_path / "state", COUNT, CELLS)
    return tmp_path / "state"


def test_releases_are_kept_with_their_bytes_and_their_owner(state: Path) -> None:
    for _ in range(2):
        with server_with_state("server-0", state) as server:
            for collection in (COUNT, CELLS):
                release = server.release(collection.digest, b"set")
                assert tuple(collection.field.unpack(release.noisy_sums)) == NOISY[collection.digest]
                assert release.element_bytes == len(release.noisy_sums) // collection.encoding.length
                assert (release.holding.reports, release.holding.jobs) == (30, 2)
                assert server.owner(collection.digest) == "analyst"
                assert server.open(collection)  # final, as it was


def test_the_key_is_kept_so_that_agents_need_not_be_told(state: Path) -> None:
    with server_with_state("server-0", state) as server:
        assert server.sealing_key == ShareServer("server-0", MemoryVault(KEY)).sealing_key
    with closing(FileVault(vault_path(state), server="server-0")) as vault:
        assert vault.keys == (KEY,)


def test_the_key_the_sums_and_the_noise_are_not_in_the_file_any_more(state: Path) -> None:
    secrets = KEY, VERIFY_KEY, packed(*SUMS), packed(*NOISE)
    assert all(secret in files(state) for secret in secrets)
    with server_with_state("server-0", state):
        assert not any(secret in files(state) for secret in secrets)
    assert not any(secret in files(state) for secret in secrets)
    assert packed(*NOISY[COUNT.digest])[:8] in files(state)


def test_a_state_with_a_collection_in_progress_is_refused_with_what_to_do_and_left_as_it_is(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"
    write(state, COUNT, pending=CELLS)
    before = files(state)
    for step in (started, lambda state: rotated("server-0", state)):
        with pytest.raises(
            StorageFailed, match="1 collections in progress: release them with that version"
        ):
            step(state)
    assert KEY in files(state) and NOISE[0].to_bytes(16, "little") in before
    assert not vault_path(state).exists()


def test_a_server_goes_on_from_there_and_notices_when_it_is_put_back(state: Path) -> None:
    started(state)
    upgraded = state.with_name("copy")
    shutil.copy(state, upgraded)
    helper = ShareServer("server-1", MemoryVault(bytes(32)))
    with server_with_state("server-0", state) as leader:
        collection = collection_of(minimum_batch=11, binding=binding_of([leader, helper], bytes(16)))
        for server in (leader, helper):
            server.open(collection)
        upload([leader, helper], blocks_of(collection, bits(*[1] * 20)))
        released([leader, helper], collection)
        before = leader.witness_key
    shutil.copy(upgraded, state)
    with server_with_state("server-0", state) as leader:
        assert leader.witness_key != before
        with pytest.raises(InvalidParameter, match="does not remember"):
            leader.open(collection)


def test_a_new_key_can_be_made_of_an_old_state(state: Path) -> None:
    new = rotated("server-0", state)
    with server_with_state("server-0", state) as server:
        assert server.sealing_key.public.hex() == new
        assert server.release(COUNT.digest, b"set").owner == "analyst"
    with closing(FileVault(vault_path(state), server="server-0")) as vault:
        assert KEY not in vault.keys


def test_an_old_state_of_another_server_is_refused(state: Path) -> None:
    with pytest.raises(InvalidParameter), server_with_state("server-1", state):
        pass
