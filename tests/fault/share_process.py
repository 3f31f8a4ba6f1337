"""A share server as a process that kills itself at its n-th write: NAME STATE PORT WRITES before|after."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from localdp.sharing.share_server import ShareServer
from parties.serving import start_server
from parties.shares.service import SERVICE_NAME, ShareService
from parties.shares.storage import SqliteStorage
from tests.fault.share_world import WRITES


class Deadly:
    """A storage at whose n-th write the process dies, by the operating system's hand."""

    def __init__(self, inner: SqliteStorage, writes: int, after: bool) -> None:
        self._inner, self._writes, self._after = inner, writes, after

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        return self._deadly(method) if name in WRITES else method

    def _deadly(self, method: Callable[..., None]) -> Callable[..., None]:
        def write(*arguments: Any) -> None:
            self._writes -= 1
            if self._writes == -1 and not self._after:
                os.kill(os.getpid(), signal.SIGKILL)
            method(*arguments)
            if self._writes == -1:
                os.kill(os.getpid(), signal.SIGKILL)

        return write


async def serve(name: str, state: Path, port: int, writes: int, after: bool) -> None:
    storage = SqliteStorage(state, name)
    deadly: Any = Deadly(storage, writes, after) if writes >= 0 else storage
    service = ShareService(ShareServer(name, storage.key, deadly))
    _, bound = await start_server("127.0.0.1", port, [(SERVICE_NAME, service.register)])
    print(bound, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    name, state, port, writes, when = sys.argv[1:]
    asyncio.run(serve(name, Path(state), int(port), int(writes), when == "after"))
