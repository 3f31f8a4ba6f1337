"""`localdp doctor` on this machine, on a broken one, and beside simulated parties whose launcher is gone."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from parties.doctor import network, packages
from parties.doctor.leftovers import orphans, running
from tests.support.processes import COMMAND, envelope, localdp, somebody_without_rights, stage, wait_until

CHECKS = [
    "python",
    "packages",
    "constraints",
    *(f"extra {name}" for name in packages.EXTRAS),
    "compiled code",
    "loopback",
    "state directory",
    "temporary directory",
    "sqlite",
    "clock",
    "open files",
    "processes",
    "directories",
]


def test_this_machine_is_ready_and_every_check_is_told(tmp_path: Path) -> None:
    told = envelope(localdp(tmp_path, "doctor", "--json"))
    assert (told["status"], told["exit_code"]) == ("ok", 0)
    found = told["data"]["checks"]
    assert [one["check"] for one in found] == CHECKS
    assert all(bool(one["fix"]) == (one["verdict"] != "ok") for one in found)


def test_people_read_one_line_for_each_check(tmp_path: Path) -> None:
    result = localdp(tmp_path, "doctor")
    assert result.returncode == 0
    assert [line[6:].split("  ")[0] for line in result.stdout.splitlines()] == CHECKS
    assert not result.stderr


def test_a_machine_that_is_not_ready_is_exit_code_1_with_what_to_do(tmp_path: Path) -> None:
    missing = str(tmp_path / "none")
    told = envelope(localdp(tmp_path, "doctor", "--state", missing, "--json"))
    assert (told["exit_code"], told["error_code"]) == (1, "not_ready")
    assert "state directory" in told["message"]
    failed = [one for one in told["data"]["checks"] if one["verdict"] == "fails"]
    assert {one["check"] for one in failed} == {"state directory", "sqlite"}
    shown = localdp(tmp_path, "doctor", "--state", missing)
    assert shown.returncode == 1
    assert "fails" in shown.stdout and "to do:" in shown.stdout


def test_a_directory_of_somebody_else_is_told(tmp_path: Path) -> None:
    from parties.doctor.machine import state_directory

    tmp_path.chmod(0o555)
    with somebody_without_rights():
        found = state_directory(tmp_path)
    assert (found.verdict, "ermission" in found.told) == ("fails", True)


def test_a_server_that_does_not_answer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody() -> float:
        raise TimeoutError

    monkeypatch.setattr(network, "_round_trip", nobody)
    found = network.loopback()
    assert (found.verdict, found.fix) == ("fails", "allow connections on loopback")


def test_a_proxy_in_the_environment_does_not_stand_before_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert network.loopback().verdict == "ok"


def stopped(pid: int) -> Callable[[], bool]:
    """Whether a process is stopped."""
    return lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_a_nursery_that_outlived_its_launcher_is_found_and_not_touched(tmp_path: Path) -> None:
    with stage(tmp_path) as made:
        arguments = ("parties", "up", "--people", "100", "--parties", "2", "--state", "parties.json")
        process = made.popen(
            [str(COMMAND), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with process:
            wait_until((tmp_path / "parties.json").exists, "the parties are up")
            seen = running()
            assert seen is not None and not set(orphans(seen)) & set(made.process_ids())
            nursery = next(pid for pid, one in seen.items() if one.simulated and one.parent == process.pid)
            os.kill(nursery, signal.SIGSTOP)  # or it would clean up at once
            wait_until(stopped(nursery), "the nursery is stopped")
            process.kill()
        left = running()
        assert left is not None and nursery in orphans(left)
        told = envelope(localdp(tmp_path, "doctor", "--json"))
        processes = next(one for one in told["data"]["checks"] if one["check"] == "processes")
        assert (processes["verdict"], str(nursery) in processes["fix"].split()) == ("note", True)
        os.kill(nursery, signal.SIGCONT)
        wait_until(lambda: not made.process_ids(), "the nursery has cleaned up")
