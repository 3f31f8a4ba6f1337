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
from localdp.sharing.vault import MemoryVault, Vault
from parties.shares import storage as share_storage
from parties.shares.rest import Rest
from parties.shares.storage import PostgresStorage, SqliteStorage, TableStorage
from tests.support.postgres import new_database
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
VAULT = MemoryVault(KEYRING.server(0))  # the secrets that the servers of these tests have


class Place:
    """Where a state outlives its process: a file, or a database."""

    def __init__(self, kind: str, directory: Path) -> None:
        self.path = directory / "state"
        self.address = new_database() if kind == "postgres" else ""

    def opened(self, name: str = "server-0", vault: Vault = VAULT) -> TableStorage:
        if self.address:
            return PostgresStorage(self.address, name, vault)
        return SqliteStorage(self.path, name, vault)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request.param, tmp_path)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Again]:
    if request.param == "memory":
        kept = MemoryStorage()
        yield lambda: kept
        return
    place, opened = Place(request.param, tmp_path), list[TableStorage]()

    def again() -> ShareStorage:
        for before in opened:
            before.close()
        opened.append(place.opened())
        return opened[-1]

    yield again
    opened[-1].close()


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


def test_a_state_belongs_to_one_server_of_one_name(place: Place) -> None:
    first = place.opened()
    with pytest.raises(StorageFailed):  # somebody else has it open
        place.opened()
    first.close()
    place.opened().close()
    with pytest.raises(InvalidParameter):
        place.opened("server-1")
    place.opened().close()  # who was refused has let go of it


def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    SqliteStorage(tmp_path / "state", "server-0", VAULT).close()
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600


def test_a_state_with_other_secrets_is_not_read(place: Place) -> None:
    made = place.opened()
    made.open(COLLECTION)
    made.upload(DIGEST, [some(1, 0)])
    made.commit(DIGEST, Job(0, positions(0), np.array([True])), [1, 2, 3], [])
    made.close()
    with closing(place.opened(vault=MemoryVault(bytes(32)))) as other:
        with pytest.raises(StorageFailed, match="does not fit to its secrets"):
            other.kept()
        with pytest.raises(StorageFailed):
            other.rows(DIGEST, 1)


def test_where_a_secret_is_gone_there_is_nothing_left_but_the_collection(place: Place) -> None:
    vault = MemoryVault(KEYRING.server(0))
    with closing(place.opened(vault=vault)) as made:
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
EVERY_BLOB = (
    "SELECT rows FROM uploads",
    "SELECT positions FROM uploads",
    "SELECT accepted FROM jobs",
    "SELECT description FROM collections",
    "SELECT sums FROM collections",
    "SELECT joint FROM collections",
)


def at_rest(place: Place) -> bytes:
    """All bytes that a storage leaves on the disk, or in the database, of one report and its sum."""
    with closing(place.opened()) as made:
        made.open(COLLECTION)
        rows = np.frombuffer(SHARE, np.uint8).reshape(1, -1)
        made.upload(DIGEST, [Upload(1, positions(0), Rows(rows[:, :0], rows))])
        made.commit(DIGEST, Job(0, positions(0), np.array([True])), [SUM], [])
        made.keep_joint(DIGEST, JOINT)
        if place.address:
            return b"".join(made._file.execute(one).fetchone()[0] for one in EVERY_BLOB)
        return b"".join(path.read_bytes() for path in place.path.parent.glob("state*"))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_reports_and_sums_rest_under_the_secret_of_their_collection(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = SHARE, SUM.to_bytes(16, "little"), JOINT
    sealed, clear = tmp_path / "sealed", tmp_path / "clear"
    for directory in (sealed, clear):
        directory.mkdir()
    left = at_rest(Place(kind, sealed))
    assert not any(one in left for one in wanted)
    # Broken twin: what is stored is what came.
    monkeypatch.setattr(Rest, "sealed", lambda self, data, name: data)
    left = at_rest(Place(kind, clear))
    assert all(one in left for one in wanted)


def test_what_is_at_rest_cannot_be_put_in_the_place_of_something_else(place: Place) -> None:
    with closing(place.opened()) as made:
        made.open(COLLECTION)
        made.upload(DIGEST, [some(1, 0), some(2, 1)])
        made._file.execute("UPDATE uploads SET rows = (SELECT rows FROM uploads WHERE number = 1)")
    with closing(place.opened()) as made:  # which has nothing in memory
        assert len(made.rows(DIGEST, 1)) == 1
        with pytest.raises(StorageFailed):
            made.rows(DIGEST, 2)


def set_version(made: TableStorage, version: int) -> None:
    note = "UPDATE version SET number =" if isinstance(made, PostgresStorage) else "PRAGMA user_version ="
    made._file.execute(f"{note} {version}")


ADDED = {
    2: ["collections.joint", "released.attempt", "collections.opened"],
    3: ["collections.opened"],
    4: [],
}


@pytest.mark.parametrize("version", ADDED)
def test_a_state_of_an_older_version_goes_on(place: Place, version: int) -> None:
    holding = Holding(1, b"set", 1, True)
    with closing(place.opened()) as made:
        made.open(COLLECTION, "analyst")
        made.open(collection_of())
        made.release(collection_of().digest, Release("analyst", holding, bytes(8), 8))
        for added in ADDED[version]:
            table, _, column = added.partition(".")
            made._file.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        set_version(made, version)
    for _ in range(2):  # once it is brought up to date, it stays so
        with closing(place.opened()) as made:
            assert [(one.owner, one.joint) for one in made.kept()] == [("analyst", b"")]
            assert made.released(collection_of().digest) == Release("analyst", holding, bytes(8), 8)


def test_what_version_4_left_in_progress_goes_on_and_is_bound_from_then_on(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before, closing(place.opened()) as made:
        before.setattr(share_storage, "_name", lambda upload, at: b"upload %d" % upload)
        before.setattr(share_storage, "_decided_then", lambda *decision: b"")
        made.open(COLLECTION)
        made.upload(DIGEST, [some(1, 0, 1)])
        made.commit(DIGEST, Job(0, positions(0), np.array([True])), [5, 0, 0], [])
        set_version(made, 4)
    with closing(place.opened()) as made:
        (kept,) = made.kept()
        assert (kept.sums, len(made.rows(DIGEST, 1))) == ((5, 0, 0), 2)
        made.commit(DIGEST, Job(1, positions(1), np.array([True])), [5, 7, 0], [1])
    with closing(place.opened()) as made:
        assert [one.sums for one in made.kept()] == [(5, 7, 0)]
        made._file.execute("DELETE FROM jobs WHERE number = 1")
        with pytest.raises(StorageFailed, match="was changed"):
            made.kept()


@pytest.mark.parametrize("version", [1, 99])
def test_a_state_that_cannot_be_brought_up_to_date_is_refused_and_stays(place: Place, version: int) -> None:
    with closing(place.opened()) as made:
        made.open(COLLECTION)
        set_version(made, version)
    for _ in range(2):
        with pytest.raises(StorageFailed, match="another version of localdp"):
            place.opened()


def test_a_file_that_is_no_state_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_bytes(b"this is not a database, but long enough to look like one" * 20)
    with pytest.raises(StorageFailed):
        SqliteStorage(path, "server-0", VAULT)


def test_a_collection_that_was_tampered_with_at_rest_is_noticed(place: Place) -> None:
    with closing(place.opened()) as made:
        made.open(COLLECTION)
        made.open(collection_of())
        made._file.execute(
            "UPDATE collections SET description = (SELECT max(description) FROM collections)"
            if not place.address
            else "UPDATE collections SET description = other.description FROM collections AS other"
            " WHERE other.digest <> collections.digest"
        )
    with closing(place.opened()) as again, pytest.raises(StorageFailed, match="not its own"):
        again.kept()


def test_bits_are_for_counts(storage: Again) -> None:
    collection = collection_of()
    servers = servers_for(collection, [storage(), MemoryStorage()])
    upload(servers, blocks_of(collection, bits(*[1] * 20)))
    assert agree(servers[0], servers[1:], collection).reports == 20
