"""A share server as a process, without what binds it.

It believes any verification key, draws noise when it is asked, and stores reports as they are.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.share_server import ShareServer
from localdp.sharing.task import CollectionTask
from parties.shares import run, storage
from parties.shares.rest import Rest


class Bare(Rest):
    """What is stored is what there is."""

    def sealed(self, data: bytes, name: bytes) -> bytes:
        return data

    def opened(self, stored: bytes, *names: bytes) -> bytes:
        return stored


class Unbound(ShareServer):
    """A broken twin."""

    def _agree_on_key(self, task: CollectionTask, verify_key: bytes) -> None:
        task.verify_key, task._checker = verify_key, None

    def _noise(self, task: CollectionTask) -> list[int]:
        collection = task.collection
        drawn = collection.noise.draw(KeystreamSource(os.urandom(32)), collection.encoding.length)
        return [int(entry) for entry in drawn]


def main(*arguments: str) -> None:
    given = dict(zip(arguments[::2], arguments[1::2], strict=False))

    def started(name: str, address: str, key: str) -> None:
        print(json.dumps({"data": {"name": name, "address": address, "key": key}}), flush=True)

    run.ShareServer = Unbound  # type: ignore[attr-defined]
    storage.Rest = Bare  # type: ignore[attr-defined]
    asyncio.run(
        run.serve_share_server(
            given["--name"], given["--listen"], None, started, state=Path(given["--state"])
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:-1])
