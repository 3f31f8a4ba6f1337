"""Whoever runs the database of an honest share server, together with the server that leads: what they change is noticed.

They can make the helper lose its connection, hence read again what they wrote.  Three things would give people away: the
same reports verified under two keys (each answer follows from that), reports that count twice (one person's answer outgrows
the noise), and reports that count in other people's places (the same).  Each has a broken twin, in which it works.

Checked here on a file and on PostgreSQL: both have the same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from localdp.errors import ShareMismatch, StorageFailed
from localdp.sharing import task
from localdp.sharing.blocks import pack_positions
from localdp.sharing.encoding import Encoding
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Job
from localdp.sharing.vault import MemoryVault
from parties.shares import storage as share_storage
from parties.shares.storage import TableStorage, storage_of
from tests.support.postgres import new_database
from tests.support.shares import (
    KEYRING,
    bits,
    blocks_of,
    collection_of,
    servers_for,
    upload,
)

COLLECTION = collection_of(tier="prio3", encoding=Encoding.count())
NAME, HELPER = COLLECTION.digest, COLLECTION.servers[1]
PEOPLE, EVIL = 20, bytes(31) + b"\x01"
REPORTS = np.arange(PEOPLE, dtype=np.uint32)
Edit = Callable[[TableStorage], object]


class Pair:
    """A dishonest leader, and an honest helper on a database that obeys it."""

    def __init__(self, state: str | Path) -> None:
        self._state, self._vault = state, MemoryVault(KEYRING.server(1))
        with self.helped() as helper:
            servers = servers_for(COLLECTION)
            self.leader = servers[0]
            helper.open(COLLECTION)
            upload([self.leader, helper], blocks_of(COLLECTION, bits(*[1, 0] * (PEOPLE // 2))))
        self.key = self.leader.verify_key(NAME)

    @contextmanager
    def helped(self, edit: Edit = lambda storage: None) -> Iterator[ShareServer]:
        """The helper's next life, after the database was changed."""
        with closing(storage_of(self._state, HELPER, self._vault)) as storage:
            edit(storage)
        with closing(storage_of(self._state, HELPER, self._vault)) as storage:
            yield ShareServer(HELPER, self._vault, storage)

    def counted(self, helper: ShareServer, number: int = 0) -> None:
        """All reports that the helper has undecided, decided by the leader, who counts what it likes."""
        positions = helper.stored(NAME)
        said = [self.leader.check(NAME, self.key, REPORTS)[1], helper.check(NAME, self.key, positions)[1]]
        helper.commit(NAME, Job(number, positions, helper.vote(NAME, positions, said)))


@pytest.fixture(params=["file", "database"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    return new_database() if request.param == "database" else tmp_path / "state"


@pytest.fixture
def pair(state: str | Path) -> Pair:
    return Pair(state)


def name_another_key(storage: TableStorage) -> None:
    storage._file.execute("UPDATE collections SET verify_key = ?", (EVIL,))


def both_keys(pair: Pair) -> set[bytes]:
    """What the helper says of the same reports under the leader's key, and under another that the database names."""
    with pair.helped() as helper:
        said = {helper.check(NAME, pair.key, REPORTS)[1].tobytes()}
    with pair.helped(name_another_key) as helper:
        return said | {helper.check(NAME, EVIL, REPORTS)[1].tobytes()}


def test_no_report_is_verified_under_a_key_that_the_database_names(pair: Pair) -> None:
    with pytest.raises(ShareMismatch, match="another verification key than it committed to"):
        both_keys(pair)
    with pair.helped() as helper:
        pair.counted(helper)  # and the key that was committed to is the key as before


def test_the_twin_that_believes_its_record_says_everything_twice(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "_committed", lambda kept: kept.verify_key)
    assert len(both_keys(pair)) == 2


def counted_twice(pair: Pair) -> list[int]:
    """The decision is taken off the record, and the reports are put back; the exact sums of both servers after that."""
    taken = list[tuple[object, ...]]()

    def copy(storage: TableStorage) -> None:
        taken.extend(storage._file.execute("SELECT * FROM uploads").fetchall())

    def put_back(storage: TableStorage) -> None:
        storage._file.execute("DELETE FROM jobs")
        storage._file.executemany("INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?)", taken)  # type: ignore[arg-type]

    with pair.helped(copy) as helper:
        pair.counted(helper)
        before = helper._task(NAME).sums
    with pair.helped(put_back) as helper:
        pair.counted(helper)
        return [before[0], helper._task(NAME).sums[0]]


def test_a_decision_that_is_taken_off_the_record_is_missed(pair: Pair) -> None:
    with pytest.raises(StorageFailed, match="was changed"):
        counted_twice(pair)


def test_the_twin_whose_sums_are_about_any_decisions_counts_twice(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_storage, "_decided_then", lambda *decision: b"")
    once, twice = counted_twice(pair)
    assert twice == 2 * once % COLLECTION.field.modulus


def in_other_places(pair: Pair) -> int:
    """Reports that were counted come again, as those of people who sent none; how many the helper counts."""
    beyond = REPORTS + PEOPLE
    kept = list[tuple[object, ...]]()

    def copy(storage: TableStorage) -> None:
        kept.extend(storage._file.execute("SELECT * FROM uploads").fetchall())

    def move(storage: TableStorage) -> None:
        for collection, number, reports, _, public, rows in kept:
            row = collection, number, reports, pack_positions(beyond), public, rows
            storage._file.execute("INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?)", row)  # type: ignore[arg-type]

    with pair.helped(copy) as helper:
        pair.counted(helper)
    with pair.helped(move) as helper:
        pair.counted(helper, 1)
        return helper.holding(NAME).reports


def test_reports_do_not_count_in_other_peoples_places(pair: Pair) -> None:
    with pytest.raises(StorageFailed, match="was changed"):
        in_other_places(pair)


def test_the_twin_whose_reports_are_anybodys_counts_them_again(
    state: str | Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_storage, "_name", lambda upload, positions: b"upload %d" % upload)
    assert in_other_places(Pair(state)) == 2 * PEOPLE


def test_a_final_set_is_as_large_as_the_decisions_say(pair: Pair) -> None:
    """A minimum batch holds also where the database says that there were more."""

    def pretend(storage: TableStorage) -> None:
        storage._file.execute(
            "UPDATE collections SET reports = 10000, accepted = ?, jobs = 1", (bytes(32),)
        )

    with pair.helped() as helper:
        pair.counted(helper)
    with pytest.raises(StorageFailed, match="decisions"), pair.helped(pretend):
        pass
