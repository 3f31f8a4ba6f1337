"""However a command ends - Ctrl-C, SIGTERM, kill -9 - no process and no temporary directory stays behind.

Every process of a test carries a mark in its environment, so orphans are found; temporary files go to a directory of the
test's own.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.processes import COMMAND, Stage, stage, wait_until

CLEANUP_SECONDS = 15.0

Ending = Callable[[subprocess.Popen[bytes]], None]
ENDINGS: dict[str, Ending] = {
    "Ctrl-C in the terminal": lambda process: os.killpg(process.pid, signal.SIGINT),
    "SIGINT to the process alone": lambda process: process.send_signal(signal.SIGINT),
    "SIGTERM": lambda process: process.send_signal(signal.SIGTERM),
    "kill -9": lambda process: process.send_signal(signal.SIGKILL),
}
LONG = ("--people", "1000", "--trials", "1e5", "--parties", "2")
COMMANDS: dict[str, tuple[tuple[str, ...], int]] = {
    # The command, the nursery, two share servers and two agents; or the command, two workers and their tracker.
    "parties up": (("parties", "up", "--people", "100", "--parties", "2", "--state", "parties.json"), 6),
    "compare over gRPC": (("compare", "--transport", "grpc", *LONG), 6),
    "compare on workers": (("compare", "--transport", "process", "--jobs", "2", *LONG), 4),
}


def is_running(made: Stage, command: str, processes: int) -> Callable[[], bool]:
    """Whether the command is in the middle of its work."""
    announced = made.directory / "parties.json"
    return lambda: len(made.process_ids()) >= processes and (command != "parties up" or announced.exists())


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_left_behind(tmp_path: Path, command: str, ending: str) -> None:
    arguments, processes = COMMANDS[command]
    with stage(tmp_path) as made:
        process = made.popen([str(COMMAND), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with ended(process):
            wait_until(is_running(made, command, processes), f"{command} is in the middle of its work")
            ENDINGS[ending](process)
            _, told = process.communicate(timeout=CLEANUP_SECONDS)
        wait_until(lambda: not made.process_ids(), "no process is left", CLEANUP_SECONDS)
        wait_until(lambda: not made.leftovers(), "no temporary file is left", CLEANUP_SECONDS)
        assert (made.directory / "parties.json").exists() == (
            command == "parties up" and ending == "kill -9"
        )
        assert process.returncode == expected_code(command, ending)
        if ending != "kill -9":
            assert b"Traceback" not in told, told.decode()


def expected_code(command: str, ending: str) -> int:
    """0 for parties that were told to go, 130 for work that was interrupted."""
    if ending == "kill -9":
        return -signal.SIGKILL
    return 0 if command == "parties up" else 130


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """The process is gone afterwards, also when the test failed because it did not want to go."""
    with process:
        try:
            yield
        finally:
            process.kill()


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_left_behind_when_it_ends_while_it_starts(tmp_path: Path, ending: str) -> None:
    with stage(tmp_path) as made:
        arguments = ("parties", "up", "--people", "100", "--parties", "20", "--state", "parties.json")
        process = made.popen(
            [str(COMMAND), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with ended(process):
            wait_until(lambda: bool(made.leftovers()), "the directory has been made", step=0.001)
            ENDINGS[ending](process)
            process.wait(CLEANUP_SECONDS)
        wait_until(lambda: not made.process_ids(), "no process is left", CLEANUP_SECONDS)
        wait_until(lambda: not made.leftovers(), "no temporary file is left", CLEANUP_SECONDS)
