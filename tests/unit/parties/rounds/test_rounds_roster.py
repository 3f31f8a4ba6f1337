"""Who is enrolled: kept in a file, in order, all of one schema."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from localdp.domains import BitDomain, IntegerDomain, Schema
from localdp.errors import InvalidParameter, StorageFailed
from parties.rounds.roster import Enrolled, Roster, SchemaDiffers, schema_digest
from parties.rounds.storage import Storage
from tests.support.postgres import new_database

SCHEMA = Schema({"smoker": BitDomain(), "age": IntegerDomain(0, 120)})
OTHER = Schema({"smoker": BitDomain(), "age": IntegerDomain(0, 100)})


def party(number: int, schema: Schema = SCHEMA, **changes: Any) -> Enrolled:
    """A party of that number."""
    fields: dict[str, Any] = {
        "name": f"party-{number}",
        "address": f"127.0.0.1:{5000 + number}",
        "people": 10 + number,
        "schema_digest": schema_digest(schema),
        "share_servers": ("server-0", "server-1"),
    }
    return Enrolled(**{**fields, **changes})


@pytest.fixture(params=["file", "database"])
def roster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Roster]:
    place = new_database() if request.param == "database" else tmp_path / "journal"
    with closing(Storage(place)) as storage:
        yield Roster(storage)


def test_what_was_enrolled_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    for number in range(2):
        with closing(Storage(tmp_path / "journal")) as storage:
            Roster(storage).enrol(party(number), SCHEMA)
    with closing(Storage(tmp_path / "journal")) as storage:
        assert Roster(storage).enrolled() == [party(0), party(1)]
        assert Roster(storage).schema == SCHEMA
    assert (tmp_path / "journal").stat().st_mode & 0o077 == 0


def test_a_party_of_another_schema_is_not_enrolled(roster: Roster) -> None:
    roster.enrol(party(0), SCHEMA)
    with pytest.raises(SchemaDiffers):
        roster.enrol(party(1, OTHER), OTHER)
    assert roster.enrolled() == [party(0)]


def test_who_was_never_met_is_expected_until_it_is(roster: Roster) -> None:
    roster.expect("party-1", "127.0.0.1:1", None)
    roster.enrol(party(0), SCHEMA)
    unmet = Enrolled("party-1", "127.0.0.1:1", 0, b"")
    assert roster.enrolled() == [unmet, party(0)] and not unmet.met
    roster.expect("party-1", "127.0.0.1:2", 7)
    assert roster.enrolled()[0] == Enrolled("party-1", "127.0.0.1:2", 7, b"")
    roster.enrol(party(1), SCHEMA)
    assert roster.enrolled() == [party(1), party(0)]


def test_who_was_met_keeps_what_it_said_of_itself(roster: Roster) -> None:
    roster.enrol(party(0), SCHEMA)
    roster.withdraw("party-0")
    roster.expect("party-0", "127.0.0.1:1", 7)
    assert roster.enrolled() == [party(0, address="127.0.0.1:1")]


def test_once_nobody_is_left_another_schema_may_begin(roster: Roster) -> None:
    roster.enrol(party(0), SCHEMA)
    roster.withdraw("party-0")
    roster.enrol(party(1, OTHER), OTHER)
    assert roster.schema == OTHER
    with pytest.raises(SchemaDiffers):
        roster.enrol(party(0), SCHEMA)


def test_a_party_that_moved_or_came_back_keeps_its_place(roster: Roster) -> None:
    for number in range(3):
        roster.enrol(party(number), SCHEMA)
    roster.withdraw("party-1")
    assert roster.enrolled() == [party(0), party(2)]
    moved = party(1, address="127.0.0.1:6000", people=99)
    roster.enrol(moved, SCHEMA)
    assert roster.enrolled() == [party(0), moved, party(2)]


def test_withdrawing_a_stranger_and_asking_nobody_are_refused(roster: Roster) -> None:
    with pytest.raises(InvalidParameter, match="no party"):
        roster.withdraw("party-9")
    with pytest.raises(InvalidParameter, match="nobody is enrolled"):
        _ = roster.schema


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"name": "x" * 1000},
        {"name": "a\nb"},
        {"people": 0},
        {"people": 1 << 40},
        {"address": ""},
        {"share_servers": ("s",) * 17},
        {"share_servers": ("s" * 1000,)},
    ],
    ids=str,
)
def test_what_a_party_says_of_itself_has_bounds(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        party(0, **changes)


def test_a_digest_that_is_not_of_the_schema_is_refused(roster: Roster) -> None:
    with pytest.raises(InvalidParameter, match="digest"):
        roster.enrol(party(0, OTHER), SCHEMA)


def test_a_file_that_is_something_else_is_refused_by_name_of_the_error_only(tmp_path: Path) -> None:
    (tmp_path / "journal").write_bytes(b"a diary, and not a database, for sure" * 100)
    with pytest.raises(StorageFailed, match="SQLITE_NOTADB"):
        Storage(tmp_path / "journal")
