"""A share server as a process that kills itself at its n-th write: NAME STATE PORT WRITES before|after.

STATE is a file, or the address of a database; its secrets are in NAME.secrets, in the directory where it runs.
"""

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
from parties.shares.storage import TableStorage, storage_of
from parties.shares.vault import FileVault, vault_path

WRITES = {
    "open",
    "keep_key",
    "upload",
    "vote",
    "commit",
    "seal",
    "keep_joint",
    "release",
    "drop",
    "make",
    "destroy",
    "begin_anew",
}


class Deadly:
    """A state or a vault at whose n-th write the process dies, by the operating system's hand; they count together."""

    def __init__(self, inner: TableStorage | FileVault, left: list[int], after: bool) -> None:
        self._inner, self._left, self._after = inner, left, after

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        return self._deadly(method) if name in WRITES else method

    def _deadly(self, method: Callable[..., None]) -> Callable[..., None]:
        def write(*arguments: Any, **named: Any) -> None:
            self._left[0] -= 1
            last = self._left[0] == -1
            if last and not self._after:
                os.kill(os.getpid(), signal.SIGKILL)
            method(*arguments, **named)
            if last:
                os.kill(os.getpid(), signal.SIGKILL)

        return write


async def serve(name: str, state: str, port: int, writes: int, after: bool) -> None:
    vault = FileVault(vault_path(Path(name)), server=name)
    storage = storage_of(state, name, vault)
    left = [writes if writes >= 0 else 1 << 30]
    deadly: list[Any] = [Deadly(one, left, after) for one in (vault, storage)]
    service = ShareService(ShareServer(name, *deadly))
    _, bound = await start_server("127.0.0.1", port, [(SERVICE_NAME, service.register)])
    print(bound, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    name, state, port, writes, when = sys.argv[1:]
    asyncio.run(serve(name, state, int(port), int(writes), when == "after"))
