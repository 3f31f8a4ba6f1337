"""A witness's record: newest heads alone, synced, refusing what is older, forked, or of another key."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from localdp.errors import InvalidParameter, PolicyRefused, RolledBack, StorageFailed
from parties.witness import record as record_module
from parties.witness.heads import CountersignedHead, Head, public_key_of, sign_step
from parties.witness.record import FILE_NAME, WitnessRecord

NORTH = Ed25519PrivateKey.from_private_bytes(b"n" * 32)
EAST = Ed25519PrivateKey.from_private_bytes(b"e" * 32)
SOUTH = Ed25519PrivateKey.from_private_bytes(b"s" * 32)


def head(entries: int, party: str = "north", fork: int = 0) -> Head:
    return Head(party, entries, bytes([fork, entries]) * 16)


def made(directory: Path) -> WitnessRecord:
    return WitnessRecord(directory / "state", new=True)


def gone_on(record: WitnessRecord, head: Head, signer: Ed25519PrivateKey) -> CountersignedHead:
    """What an agent does that knows what is on record."""
    known = record.latest(head.party)
    return record.countersign(sign_step(head, None if known is None else known.signed.head, signer))


def test_the_newest_head_is_kept_and_survives_a_restart(tmp_path: Path) -> None:
    with closing(made(tmp_path)) as record:
        key = public_key_of(record.signer)
        assert record.latest("north") is None
        for entries in (1, 2, 5):
            assert gone_on(record, head(entries), NORTH).signed.head == head(entries)
    with closing(WitnessRecord(tmp_path / "state")) as record:
        latest = record.latest("north")
        assert latest is not None and latest.signed.head == head(5)
        assert latest.witness_key == public_key_of(record.signer) == key
        assert [kept.countersigned for kept in record.everybody()] == [latest]


@pytest.mark.parametrize("wrong", [head(4), head(5, fork=1), head(0)])
def test_an_older_head_and_a_fork_are_refused_and_change_nothing(tmp_path: Path, wrong: Head) -> None:
    with closing(made(tmp_path)) as record:
        kept = gone_on(record, head(5), NORTH)
        with pytest.raises(RolledBack):
            gone_on(record, wrong, NORTH)
        assert record.latest("north") == kept


def test_the_same_head_again_has_the_same_answer(tmp_path: Path) -> None:
    times = iter(range(10))
    with closing(WitnessRecord(tmp_path, new=True, clock=lambda: next(times))) as record:
        first = gone_on(record, head(5), NORTH)
        assert gone_on(record, head(5), NORTH) == first
        assert [kept.countersigned_at for kept in record.everybody()] == [0]


def test_a_party_is_known_by_the_key_that_it_was_first_seen_with(tmp_path: Path) -> None:
    with closing(made(tmp_path)) as record:
        gone_on(record, head(5), NORTH)
        with pytest.raises(PolicyRefused, match="another key"):
            gone_on(record, head(6), SOUTH)
        gone_on(record, head(6, "south"), SOUTH)
        assert len(record.everybody()) == 2


def test_the_number_of_parties_is_bounded_and_those_on_record_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_module, "MOST_PARTIES", 2)
    with closing(made(tmp_path)) as record:
        for name, signer in (("a", NORTH), ("b", SOUTH)):
            gone_on(record, head(1, name), signer)
        with pytest.raises(PolicyRefused, match="takes no more"):
            gone_on(record, head(1, "c"), EAST)
        gone_on(record, head(2, "a"), NORTH)
        assert record.forget("a") == head(2, "a")
        gone_on(record, head(1, "c"), NORTH)
        with pytest.raises(InvalidParameter, match="on record"):
            record.forget("a")


def test_a_record_is_begun_only_if_told_and_never_anew(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="--new"):
        WitnessRecord(tmp_path / "state")
    assert not (tmp_path / "state").exists()
    made(tmp_path).close()
    assert (tmp_path / "state" / FILE_NAME).stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidParameter, match="exists already"):
        made(tmp_path)


def test_a_changed_row_and_a_file_that_is_no_record_are_noticed(tmp_path: Path) -> None:
    with closing(made(tmp_path)) as record:
        gone_on(record, head(5), NORTH)
    with closing(sqlite3.connect(tmp_path / "state" / FILE_NAME)) as file, file:
        file.execute("UPDATE heads SET entries = 3")
    with closing(WitnessRecord(tmp_path / "state")) as record:
        with pytest.raises(StorageFailed, match="signed"):
            record.latest("north")
        with pytest.raises(StorageFailed, match="signed"):
            record.everybody()
    for content in (b"", b"nothing of the kind" * 100):
        (tmp_path / FILE_NAME).write_bytes(content)
        with pytest.raises(StorageFailed):
            WitnessRecord(tmp_path)


@pytest.mark.parametrize("accident", ["deleted", "replaced"])
def test_a_record_that_is_deleted_or_replaced_is_not_gone_on_with(tmp_path: Path, accident: str) -> None:
    path = tmp_path / "state" / FILE_NAME
    with closing(made(tmp_path)) as record:
        gone_on(record, head(5), NORTH)
        if accident == "deleted":
            path.unlink()
        else:
            (tmp_path / "copy").write_bytes(path.read_bytes())
            os.replace(tmp_path / "copy", path)
        with pytest.raises(StorageFailed):
            record.latest("north")
        with pytest.raises(StorageFailed):
            record.countersign(sign_step(head(6), head(5), NORTH))


def test_two_processes_on_one_record_do_not_countersign_a_fork(tmp_path: Path) -> None:
    with closing(made(tmp_path)) as one, closing(WitnessRecord(tmp_path / "state")) as other:
        one.countersign(sign_step(head(5), None, NORTH))
        for fork in (head(5, fork=1), head(6, fork=1)):
            for after in (None, head(4), head(5, fork=1)):
                with pytest.raises(RolledBack):
                    other.countersign(sign_step(fork, after, NORTH))
        other.countersign(sign_step(head(6), head(5), NORTH))


def test_a_key_is_known_under_one_name_until_that_is_forgotten(tmp_path: Path) -> None:
    with closing(made(tmp_path)) as record:
        gone_on(record, head(5), NORTH)
        with pytest.raises(PolicyRefused, match=r"'elsewhere' as that of 'north'"):
            gone_on(record, head(1, "elsewhere"), NORTH)
        record.forget("north")
        gone_on(record, head(1, "elsewhere"), NORTH)
