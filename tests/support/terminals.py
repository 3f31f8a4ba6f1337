"""Commands on a pseudo-terminal, and tables as a terminal would show them."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rich.console import Console, RenderableType

from tests.support.processes import COMMAND, PATIENCE_SECONDS, Stage

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """What a process has written to its terminal so far."""

    def __init__(self, file: int, process: subprocess.Popen[bytes]) -> None:
        self._file = file
        self.process = process
        self.raw = b""

    @property
    def text(self) -> str:
        """Without control sequences; every picture that was drawn is in it, one after the other."""
        return _CONTROL.sub("", self.raw.decode(errors="replace"))

    def wait_for(self, pattern: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Read until the pattern is there."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            over = self.process.poll() is not None or time.monotonic() > deadline
            self.read(0.2)
            assert not over or re.search(pattern, self.text), f"no {pattern!r}: {self.text[-3000:]}"

    def read(self, seconds: float) -> None:
        """Whatever comes within some time."""
        ready, _, _ = select.select([self._file], [], [], seconds)
        if ready:
            with suppress(OSError):  # the other end is closed
                self.raw += os.read(self._file, 1 << 16)

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Read until the process has ended; returns its code."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it did not end: {self.text[-3000:]}"
            self.read(0.1)
        self.read(0.1)
        return self.process.returncode


@contextmanager
def on_terminal(made: Stage, *arguments: str, columns: int = 80, lines: int = 30) -> Iterator[Terminal]:
    """Run `localdp` on a terminal of that size, and end it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    unset = [word for name in ("NO_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE") for word in ("-u", name)]
    command = ["/usr/bin/env", *unset, "TERM=xterm-256color", str(COMMAND), *arguments]
    process = made.popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def rendered(drawn: RenderableType, columns: int, lines: int = 30) -> list[str]:
    """The lines of a table on a terminal of that size."""
    file = io.StringIO()
    console = Console(
        file=file, width=columns, height=lines, force_terminal=True, color_system=None, legacy_windows=False
    )
    console.print(drawn)
    return [line.rstrip() for line in _CONTROL.sub("", file.getvalue()).rstrip("\n").split("\n")]


def plain_console() -> tuple[Console, io.StringIO]:
    """A console that is no terminal, and what was written to it."""
    file = io.StringIO()
    return Console(file=file, force_terminal=False, width=80), file
