"""What the doctor finds of simulations that were killed."""

from __future__ import annotations

import os
from pathlib import Path

from parties.doctor import leftovers
from parties.doctor.leftovers import NURSERY, Process

INIT = Process(0, ("/sbin/init",))
LAUNCHER = Process(1, ("/usr/bin/python3.11", "/usr/bin/localdp", "parties", "up"))
SIMULATED = ("/usr/bin/python3.11", "-m", NURSERY)


def test_parties_with_a_launcher_are_not_left_over() -> None:
    table = {1: INIT, 10: LAUNCHER, 11: Process(10, SIMULATED), 12: Process(11, SIMULATED)}
    assert leftovers.orphans(table) == []
    assert leftovers.processes(table).told == "2 simulated parties run"


def test_parties_without_one_are_told_with_their_numbers() -> None:
    table = {1: INIT, 11: Process(1, SIMULATED), 12: Process(11, SIMULATED), 20: Process(19, SIMULATED)}
    assert leftovers.orphans(table) == [11, 20]
    found = leftovers.processes(table)
    assert (found.verdict, found.fix) == ("note", "kill 11 20")


def test_other_processes_are_nobodys_business() -> None:
    assert (
        leftovers.processes({1: INIT, 2: Process(1, ("/usr/bin/python3", "-m", "http.server"))}).verdict
        == "ok"
    )


def test_this_process_is_seen_with_its_parent() -> None:
    seen = leftovers.running()
    assert seen is not None
    assert seen[os.getpid()].parent == os.getppid()
    assert seen[os.getpid()].launches


def test_a_system_without_a_list_of_processes_is_no_failure(tmp_path: Path) -> None:
    assert leftovers.running(tmp_path) is None


def test_only_directories_of_simulations_are_told(tmp_path: Path) -> None:
    (tmp_path / "localdp-notes").mkdir()
    (tmp_path / "localdp-notes" / "thesis.txt").touch()
    assert leftovers.directories(tmp_path, {1: INIT}).verdict == "ok"
    (tmp_path / "localdp-x1").mkdir()
    (tmp_path / "localdp-x1" / "party-0.npz").touch()
    found = leftovers.directories(tmp_path, {1: INIT})
    assert (found.verdict, found.fix) == ("note", f"rm -r {tmp_path / 'localdp-x1'}")
    assert leftovers.directories(tmp_path, {1: LAUNCHER, 2: Process(1, SIMULATED)}).verdict == "ok"
