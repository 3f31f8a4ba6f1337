"""What a process that kills itself counts its steps with."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from typing import Any


class Fuse:
    """Burns down by one at every step."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def step(self) -> None:
        """Nothing, or the end."""
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


class BurningFile:
    """A database whose every statement is two steps."""

    def __init__(self, file: Any, fuse: Fuse) -> None:
        self._file, self._fuse = file, fuse

    def execute(self, *statement: Any) -> Any:
        """Before it, and after it."""
        self._fuse.step()
        done = self._file.execute(*statement)
        self._fuse.step()
        return done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


async def stepping(fuse: Fuse, parts: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The parts of a reply, each before and after it is sent."""
    async for part in parts:
        fuse.step()
        yield part
        fuse.step()
