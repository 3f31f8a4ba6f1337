"""Processes that tests start: awaited on conditions with a deadline, found again by a mark, ended by their ids."""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

COMMAND = Path(sys.executable).with_name("localdp")
ROOT = Path(__file__).resolve().parents[2]
MARK = "LOCALDP_TEST_MARK"
PATIENCE_SECONDS = 30.0
NOBODY = 65534

# A shell that runs tests in the background hands on an ignored SIGINT, which Python would then leave ignored.
_HEARING_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def wait_until(
    condition: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS, step: float = 0.02
) -> None:
    """Return when the condition holds; fail with `what` was awaited when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain until {what}"
        time.sleep(step)


@dataclass(frozen=True)
class Stage:
    """A place for one test's processes: all of them, and their descendants, carry its mark."""

    directory: Path
    mark: str

    @property
    def environment(self) -> dict[str, str]:
        """With a directory for temporary files that nobody else uses."""
        (self.directory / "tmp").mkdir(exist_ok=True)
        return {
            **os.environ,
            MARK: self.mark,
            "TMPDIR": str(self.directory / "tmp"),
            "PYTHONPATH": str(ROOT),
        }

    def process_ids(self) -> list[int]:
        """The marked processes that run now, children and orphans alike."""
        entry = f"{MARK}={self.mark}".encode()
        return [pid for pid in _all_process_ids() if entry in _environment_of(pid)]

    def leftovers(self) -> list[str]:
        """What is in the directory for temporary files."""
        return sorted(os.listdir(self.directory / "tmp"))

    def popen(self, arguments: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a marked process, in a session of its own, that hears Ctrl-C."""
        return subprocess.Popen(
            [sys.executable, "-c", _HEARING_CTRL_C, *arguments],
            env=self.environment,
            cwd=self.directory,
            start_new_session=True,
            **options,
        )


@contextmanager
def stage(directory: Path) -> Iterator[Stage]:
    """A stage that is empty again afterwards, whatever the test did."""
    made = Stage(directory, uuid.uuid4().hex)
    try:
        yield made
    finally:
        for pid in made.process_ids():
            end(pid)


def end(pid: int) -> None:
    """Kill one process, if it is still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def localdp(directory: Path, *arguments: str, seconds: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end, in a process that has everything loaded."""
    with stage(directory) as made:
        return nursery().run(made, arguments, seconds)


def localdp_afresh(
    directory: Path, *arguments: str, seconds: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """The same from the very start, as a shell does it."""
    with stage(directory) as made:
        return subprocess.run(
            [str(COMMAND), *arguments],
            env=made.environment,
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )


class Nursery:
    """The process that forks itself for commands (`tests/support/command_nursery.py`)."""

    def __init__(self) -> None:
        self._jobs, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.command_nursery", str(theirs.fileno())],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        atexit.register(self.close)

    def close(self) -> None:
        """It ends when nobody can ask it any more."""
        self._jobs.close()
        self._process.wait(PATIENCE_SECONDS)

    def run(
        self, made: Stage, arguments: Sequence[str], seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        job = {
            "arguments": arguments,
            "environment": made.environment,
            "directory": str(made.directory),
            "user": os.geteuid(),
        }
        reading, writing = os.pipe()
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            os.fdopen(reading, "rb", 0) as told,
        ):
            with os.fdopen(writing, "wb") as telling:
                handles = [out.fileno(), err.fileno(), telling.fileno()]
                socket.send_fds(self._jobs, [json.dumps(job).encode()], handles)
            code = _exit_code(told, seconds)
            return subprocess.CompletedProcess([*arguments], code, _text(out), _text(err))


@functools.cache
def nursery() -> Nursery:
    """One for all tests of this process."""
    return Nursery()


def _exit_code(told: IO[bytes], seconds: float) -> int:
    """Of a command that says its process id, and then how it ended."""
    pid = int(told.readline())
    ready, _, _ = select.select([told], [], [], seconds)
    if not ready:
        end(pid)
    code = int(told.readline())
    if not ready:
        raise subprocess.TimeoutExpired("localdp", seconds)
    return code


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def envelope(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The one JSON document on standard output, which agrees with the exit code."""
    lines = result.stdout.splitlines()
    assert len(lines) == 1, result
    data: dict[str, Any] = json.loads(lines[0])
    assert data["exit_code"] == result.returncode, result
    return data


def read_line(process: subprocess.Popen[bytes], seconds: float = PATIENCE_SECONDS) -> str:
    """The next line of a process's unbuffered standard output."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    assert ready, f"the process said nothing for {seconds} s"
    return process.stdout.readline().decode()


@contextmanager
def module(made: Stage, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module of the tests as a process, with pipes to it, and end it."""
    process = made.popen(
        [sys.executable, "-u", "-m", name, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


@contextmanager
def somebody_without_rights() -> Iterator[None]:
    """Permissions do not hold for the superuser: be somebody else for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def _all_process_ids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _environment_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it ended in between, is a zombie, or belongs to somebody else
        return []
