"""Count after count at two share servers: memory levels off, and a file grows by the digest and the noisy sums alone.

The servers are ended and started again half way.  Nothing waits for the disk: what is looked at is how much is written, and
not when.  A storage that leaves something of each collection is the broken twin.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from localdp.oracles.shared import binding_of
from localdp.sharing.agreement import agree
from localdp.sharing.collection import Contributor
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Job
from parties.shares import storage as share_storage
from parties.shares.storage import SqliteStorage
from parties.shares.vault import FileVault, vault_path
from tests.support.shares import bits, blocks_of, collection_of, published, upload

NAMES = ("server-0", "server-1")
MOST_BYTES = 200  # of a count, for good
PAGE_BYTES = 512  # by day, so that few counts show


@pytest.fixture(autouse=True)
def nothing_waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fdatasync", lambda file: None)


@contextmanager
def serving(directory: Path, kind: type[SqliteStorage]) -> Iterator[list[ShareServer]]:
    """Two servers on their files, which are put in order at the end."""
    with ExitStack() as stack:
        yield [stack.enter_context(_server(directory, name, kind)) for name in NAMES]


@contextmanager
def _server(directory: Path, name: str, kind: type[SqliteStorage]) -> Iterator[ShareServer]:
    with (
        closing(FileVault(vault_path(directory / name))) as vault,
        closing(kind(directory / name, name, vault, synced=False)) as storage,
    ):
        yield ShareServer(name, vault, storage)


def count(servers: list[ShareServer], number: int) -> None:
    """One count of two people, from its opening to its release."""
    name = number.to_bytes(16, "big")
    collection = collection_of(
        collection_id=name,
        minimum_batch=2,
        parties=(Contributor("party-0", 2),),
        binding=binding_of(servers, name),
    )
    for server in servers:
        server.open(collection)
    upload(servers, blocks_of(collection, bits(1, 0)))
    agree(servers[0], servers[1:], collection)
    published(servers, collection)


def counted(directory: Path, numbers: range, kind: type[SqliteStorage]) -> tuple[int, int]:
    """Serve so many counts; the megabytes in use before the servers end, and the bytes of the larger file after that."""
    with serving(directory, kind) as servers:
        for number in numbers:
            count(servers, number)
        memory = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
    files = [sum(one.stat().st_size for one in directory.glob(f"{name}*")) for name in NAMES]
    return memory, max(files)


def grown(directory: Path, counts: int, kind: type[SqliteStorage] = SqliteStorage) -> tuple[int, int]:
    """Megabytes and bytes of a file that the second half of so many counts adds to the first."""
    middle, end = (
        counted(directory, half, kind) for half in (range(counts // 2), range(counts // 2, counts))
    )
    return end[0] - middle[0], end[1] - middle[1]


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_storage, "_PAGE_BYTES", PAGE_BYTES)


@pytest.mark.usefixtures("small_pages")
def test_a_file_grows_by_the_digest_and_the_noisy_sums_of_a_count(tmp_path: Path) -> None:
    _, bytes_more = grown(tmp_path, 160)
    assert bytes_more <= 80 * MOST_BYTES


@pytest.mark.usefixtures("small_pages")
def test_a_storage_that_keeps_its_uploads_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Keeps(SqliteStorage):
        def commit(self, collection: bytes, job: Job, sums: Sequence[int], finished: Sequence[int]) -> None:
            super().commit(collection, job, sums, ())

    monkeypatch.setattr(share_storage, "_PARTS", ("votes",))
    _, bytes_more = grown(tmp_path, 160, Keeps)
    assert bytes_more > 80 * MOST_BYTES


@pytest.mark.nightly
def test_two_hundred_thousand_counts_in_a_row(tmp_path: Path) -> None:
    megabytes, bytes_more = grown(tmp_path, 200_000)
    assert megabytes <= 8
    assert bytes_more <= 100_000 * MOST_BYTES
