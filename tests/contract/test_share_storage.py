"""What every storage of a share server promises: a server built from it again knows what the one before knew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from localdp.errors import InvalidParameter, StorageFailed
from localdp.sharing.agreement import agree
from localdp.sharing.blocks import Rows
from localdp.sharing.encoding import Encoding
from localdp.sharing.storage import Holding, Job, MemoryStorage, Release, ShareStorage, Upload
from localdp.sharing.vault import MemoryVault
from parties.shares.rest import Rest
from parties.shares.storage import SqliteStorage
from tests.support.shares import (
    KEYRING,
    bits,
    blocks_of,
    collection_of,
    one_hot,
    released,
    servers_for,
    upload,
)

COLLECTION = collection_of(encoding=Encoding.histogram(3), tier="prio3")
DIGEST = COLLECTION.digest

Again = Callable[[], ShareStorage]  # the storage as the next process finds it


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Again]:
    if request.param == "memory":
        kept = MemoryStorage()
        yield lambda: kept
        return
    opened: list[SqliteStorage] = []

    def again() -> ShareStorage:
        for before in opened:
            before.close()
        opened.append(sqlite(tmp_path / "state"))
        return opened[-1]

    yield again
    opened[-1].close()


def sqlite(path: Path, name: str = "server-0") -> SqliteStorage:
    """A file, with the secrets that the servers of these tests have."""
    return SqliteStorage(path, name, MemoryVault(KEYRING.server(0)))


def positions(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.array(numbers, np.uint32)


def some(number: int, *at: int) -> Upload:
    rows = Rows(
        np.full((len(at), 2), number, np.uint8), np.arange(len(at) * 3, dtype=np.uint8).reshape(-1, 3)
    )
    return Upload(number, positions(*at), rows)


def test_a_new_storage_is_empty(storage: Again) -> None:
    assert list(storage().kept()) == []
    assert storage().released(DIGEST) is None


def test_everything_is_there_again_in_its_order(storage: Again) -> None:
    made = storage()
    made.open(COLLECTION, "analyst")
    made.open(collection_of())
    made.keep_key(DIGEST, b"k" * 32)
    made.upload(DIGEST, [some(1, 0, 1, 2), some(2, 7)])
    made.vote(DIGEST, positions(1, 2), np.array([False, True]))
    made.keep_joint(DIGEST, b"an identity")
    made.keep_joint(DIGEST, b"an identity, and noisy sums")
    made.commit(DIGEST, Job(0, positions(0, 7), np.array([True, False])), [5, 2**100, 0], [2])
    first, second = storage().kept()
    assert (first.collection, second.collection) == (COLLECTION, collection_of())
    assert (first.owner, second.owner) == ("analyst", "")
    assert (first.verify_key, first.sums) == (b"k" * 32, (5, 2**100, 0))
    assert {number: at.tolist() for number, at in first.uploads.items()} == {1: [0, 1, 2]}
    assert [(j.number, j.positions.tolist(), j.accepted.tolist()) for j in first.jobs] == [
        (0, [0, 7], [True, False])
    ]
    assert [(at.tolist(), accepted.tolist()) for at, accepted in first.votes] == [([1, 2], [False, True])]
    assert first.sealed is None
    assert (first.joint, second.joint) == (b"an identity, and noisy sums", b"")
    assert (second.verify_key, second.sums, second.uploads, second.jobs) == (b"", (), {}, [])
    assert second.votes == []


def test_rows_come_back_as_they_went(storage: Again) -> None:
    made = storage()
    made.open(COLLECTION)
    made.upload(DIGEST, [some(1, 0, 5)])
    rows = storage().rows(DIGEST, 1)
    assert rows.inputs.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert rows.public.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(StorageFailed):
        storage().rows(DIGEST, 2)


def test_a_release_is_kept_and_what_led_to_it_goes(storage: Again) -> None:
    made = storage()
    made.open(COLLECTION)
    made.upload(DIGEST, [some(1, 0, 1, 2)])
    made.commit(DIGEST, Job(0, positions(0), np.array([True])), [1, 2, 3], [])
    holding = Holding(1, b"set", 1, True)
    made.seal(DIGEST, holding)
    assert next(iter(storage().kept())).sealed == holding
    release = Release("analyst", holding, bytes(range(48)), 16, b"attempt")
    storage().release(DIGEST, release)
    assert list(storage().kept()) == []
    assert storage().released(DIGEST) == release
    with pytest.raises(StorageFailed):
        storage().rows(DIGEST, 1)


def test_what_is_dropped_is_gone_and_was_not_released(storage: Again) -> None:
    made = storage()
    made.open(COLLECTION)
    made.open(collection_of())
    made.upload(DIGEST, [some(1, 0, 1, 2)])
    made.vote(DIGEST, positions(0), np.array([True]))
    made.commit(DIGEST, Job(0, positions(0), np.array([True])), [1, 2, 3], [])
    made.drop(DIGEST)
    assert [one.collection for one in storage().kept()] == [collection_of()]
    assert storage().released(DIGEST) is None
    with pytest.raises(StorageFailed):
        storage().rows(DIGEST, 1)
    storage().open(COLLECTION)  # nothing of before is in its way, or comes back
    assert [(one.uploads, one.votes, one.jobs) for one in storage().kept()] == [({}, [], [])] * 2


def test_a_server_goes_on_after_every_step(storage: Again) -> None:
    others = MemoryStorage()
    values = one_hot(3, *[0, 1, 2, 2] * 3)
    straight = servers_for(COLLECTION)
    upload(straight, blocks_of(COLLECTION, values))
    expected = released(straight, COLLECTION)

    upload(servers_for(COLLECTION, [storage(), others]), blocks_of(COLLECTION, values[:7]))
    upload(servers_for(COLLECTION, [storage(), others]), blocks_of(COLLECTION, values[5:], start=5))
    servers = servers_for(COLLECTION, [storage(), others])
    agree(servers[0], servers[1:], COLLECTION)
    for _ in range(2):
        assert released(servers_for(COLLECTION, [storage(), others]), COLLECTION) == expected


def test_a_file_belongs_to_one_server_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "state"
    first = sqlite(path)
    with pytest.raises(StorageFailed):  # somebody else has it open
        sqlite(path)
    first.close()
    sqlite(path).close()
    with pytest.raises(InvalidParameter):
        sqlite(path, "server-1")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_state_with_other_secrets_is_not_read(tmp_path: Path) -> None:
    made = sqlite(tmp_path / "state")
    made.open(COLLECTION)
    made.upload(DIGEST, [some(1, 0)])
    made.commit(DIGEST, Job(0, positions(0), np.array([True])), [1, 2, 3], [])
    made.close()
    other = SqliteStorage(tmp_path / "state", "server-0", MemoryVault(bytes(32)))
    with closing(other):
        with pytest.raises(StorageFailed, match="does not fit to its secrets"):
            other.kept()
        with pytest.raises(StorageFailed):
            other.rows(DIGEST, 1)


def test_where_a_secret_is_gone_there_is_nothing_left_but_the_collection(tmp_path: Path) -> None:
    vault = MemoryVault(KEYRING.server(0))
    with closing(SqliteStorage(tmp_path / "state", "server-0", vault)) as made:
        made.open(COLLECTION)
        made.upload(DIGEST, [some(1, 0)])
        made.commit(DIGEST, Job(0, positions(0), np.array([True])), [1, 2, 3], [])
        vault.destroy(DIGEST)
        (kept,) = made.kept()
        assert (kept.collection, kept.uploads, kept.jobs, kept.sums) == (COLLECTION, {}, [], ())
        with pytest.raises(StorageFailed, match="is gone"):
            made.rows(DIGEST, 1)


JOINT = b"the key of the next server, and components of sums"
SHARE, SUM = b"a share of somebody's", 0x0123456789ABCDEF0123456789ABCDEF


def at_rest(directory: Path) -> bytes:
    """All bytes that a storage leaves on the disk of one report and its sum."""
    with closing(sqlite(directory / "state")) as made:
        made.open(COLLECTION)
        rows = np.frombuffer(SHARE, np.uint8).reshape(1, -1)
        made.upload(DIGEST, [Upload(1, positions(0), Rows(rows[:, :0], rows))])
        made.commit(DIGEST, Job(0, positions(0), np.array([True])), [SUM], [])
        made.keep_joint(DIGEST, JOINT)
        return b"".join(path.read_bytes() for path in directory.iterdir())


def test_reports_and_sums_rest_under_the_secret_of_their_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = SHARE, SUM.to_bytes(16, "little"), JOINT
    sealed, clear = tmp_path / "sealed", tmp_path / "clear"
    for directory in (sealed, clear):
        directory.mkdir()
    left = at_rest(sealed)
    assert not any(one in left for one in wanted)
    # Broken twin: what is stored is what came.
    monkeypatch.setattr(Rest, "sealed", lambda self, data, name: data)
    left = at_rest(clear)
    assert all(one in left for one in wanted)


def test_what_is_at_rest_cannot_be_put_in_the_place_of_something_else(tmp_path: Path) -> None:
    with closing(sqlite(tmp_path / "state")) as made:
        made.open(COLLECTION)
        made.upload(DIGEST, [some(1, 0), some(2, 1)])
        made._file.execute("UPDATE uploads SET rows = (SELECT rows FROM uploads WHERE number = 1)")
    with closing(sqlite(tmp_path / "state")) as made:  # which has nothing in memory
        assert len(made.rows(DIGEST, 1)) == 1
        with pytest.raises(StorageFailed):
            made.rows(DIGEST, 2)


def test_a_state_of_before_joint_noise_goes_on(tmp_path: Path) -> None:
    path, holding = tmp_path / "state", Holding(1, b"set", 1, True)
    with closing(sqlite(path)) as made:
        made.open(COLLECTION)
        made.open(collection_of())
        made.release(collection_of().digest, Release("analyst", holding, bytes(8), 8))
        made._file.execute("ALTER TABLE collections DROP COLUMN joint")
        made._file.execute("ALTER TABLE released DROP COLUMN attempt")
        made._file.execute("PRAGMA user_version = 2")
    for _ in range(2):  # once it is brought up to date, it stays so
        with closing(sqlite(path)) as made:
            assert [one.joint for one in made.kept()] == [b""]
            assert made.released(collection_of().digest) == Release("analyst", holding, bytes(8), 8)


def test_a_file_that_is_no_state_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_bytes(b"this is not a database, but long enough to look like one" * 20)
    with pytest.raises(StorageFailed):
        sqlite(path)


def test_a_collection_that_was_tampered_with_on_disk_is_noticed(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "state"
    made = sqlite(path)
    made.open(COLLECTION)
    made.close()
    other = tmp_path / "other"
    changed = sqlite(other)
    changed.open(collection_of())
    changed.close()
    with sqlite3.connect(other) as file:
        description = file.execute("SELECT description FROM collections").fetchone()
    file.close()
    with sqlite3.connect(path) as file:
        file.execute("UPDATE collections SET description = ?", description)
    file.close()
    again = sqlite(path)
    with pytest.raises(StorageFailed):
        again.kept()
    again.close()


def test_bits_are_for_counts(storage: Again) -> None:
    collection = collection_of()
    servers = servers_for(collection, [storage(), MemoryStorage()])
    upload(servers, blocks_of(collection, bits(*[1] * 20)))
    assert agree(servers[0], servers[1:], collection).reports == 20
