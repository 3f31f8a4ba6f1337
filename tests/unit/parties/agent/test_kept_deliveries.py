"""Which shares a share server acknowledged: kept for each server, over restarts, and from files of before."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localdp.cohorts import Cohort, Split
from localdp.errors import RequestExpired
from parties.agent.answers import KeptAnswers

NAME, OTHER = b"n" * 32, b"o" * 32
SOME = Cohort(5, 20)
HALF = Cohort(5, 20, Split(bytes(16), 2, 1))


@pytest.mark.parametrize("cohort", [SOME, HALF], ids=["all", "a split"])
def test_each_server_has_what_it_acknowledged_and_no_other(tmp_path: Path, cohort: Cohort) -> None:
    with closing(KeptAnswers(tmp_path / "answers")) as kept:
        assert not kept.is_delivered(NAME, cohort, "server-0")
        kept.deliver(NAME, cohort, ["server-0", "server-2"])
    with closing(KeptAnswers(tmp_path / "answers")) as kept:
        told = [kept.is_delivered(NAME, cohort, f"server-{number}") for number in range(3)]
        assert told == [True, False, True]
        assert not kept.is_delivered(OTHER, cohort, "server-0")


def test_other_parts_are_refused_where_a_server_has_some_of_them(tmp_path: Path) -> None:
    with closing(KeptAnswers(tmp_path / "answers")) as kept:
        kept.deliver(NAME, SOME, ["server-0"])
        assert kept.is_delivered(NAME, Cohort(6, 19), "server-0")
        assert not kept.is_delivered(NAME, Cohort(20, 30), "server-0")
        assert not kept.is_delivered(NAME, Cohort(5, 21), "server-1")
        with pytest.raises(RequestExpired):
            kept.is_delivered(NAME, Cohort(5, 21), "server-0")


def test_what_an_older_version_delivered_was_acknowledged_by_all(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    with closing(KeptAnswers(path)):
        pass
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("ALTER TABLE delivered DROP COLUMN server")
        file.execute("INSERT INTO delivered VALUES (?, 5, 20, NULL, NULL, NULL)", (NAME,))
    with closing(KeptAnswers(path)) as kept:
        assert all(kept.is_delivered(NAME, SOME, f"server-{number}") for number in range(3))
