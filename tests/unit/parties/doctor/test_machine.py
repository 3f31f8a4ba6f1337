"""What the doctor says about a machine's disk, clock and limits."""

from __future__ import annotations

import resource
from datetime import UTC, datetime
from pathlib import Path

import pytest

from parties.doctor import machine


def test_a_directory_that_can_be_written_is_ok_and_stays_as_it_was(tmp_path: Path) -> None:
    assert machine.state_directory(tmp_path).verdict == "ok"
    assert machine.sqlite(tmp_path).verdict == "ok"
    assert not list(tmp_path.iterdir())


def test_a_directory_that_is_not_there_fails_with_something_to_do(tmp_path: Path) -> None:
    for found in (machine.state_directory(tmp_path / "none"), machine.sqlite(tmp_path / "none")):
        assert found.verdict == "fails"
        assert found.fix


def test_a_full_disk_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "LEAST_FREE_BYTES", 1 << 60)
    assert machine.state_directory(tmp_path).verdict == "note"


def test_a_temporary_directory_must_be_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError

    assert machine.temporary_directory().verdict == "ok"
    monkeypatch.setattr("tempfile.gettempdir", none)
    assert machine.temporary_directory().verdict == "fails"


def test_sqlite_must_have_strict_tables_and_a_write_ahead_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert machine.sqlite(tmp_path, (3, 36, 0)).verdict == "fails"
    monkeypatch.setattr(machine, "_journal_mode", lambda directory: "delete")
    found = machine.sqlite(tmp_path)
    assert (found.verdict, "write-ahead" in found.told) == ("fails", True)


@pytest.mark.parametrize(("year", "verdict"), [(1970, "fails"), (2026, "ok"), (2107, "fails")])
def test_a_clock_shows_a_time_of_this_century(year: int, verdict: str) -> None:
    assert machine.clock(datetime(year, 6, 1, tzinfo=UTC)).verdict == verdict


def test_a_clock_that_jumps_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1000.0, 1100.0])
    monkeypatch.setattr("time.time", lambda: next(times))
    assert "jumped" in machine.clock(datetime(2026, 6, 1, tzinfo=UTC)).told


def test_few_open_files_are_noted_with_how_many_parties_they_hold() -> None:
    assert machine.open_files((1 << 20, 1 << 20)).verdict == "ok"
    assert machine.open_files((resource.RLIM_INFINITY, resource.RLIM_INFINITY)).verdict == "ok"
    few = machine.open_files((1024, 1 << 20))
    assert (few.verdict, few.told) == ("note", "1024 are enough for 384 parties")
    assert few.fix == "ulimit -n 4256"
    assert "over 2048" in machine.open_files((1024, 2048)).fix
