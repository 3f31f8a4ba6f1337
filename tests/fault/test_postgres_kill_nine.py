"""Share servers whose database is killed with SIGKILL, again and again, while a batch goes through them.

The servers are the command itself.  Whenever the database dies, each of them begins another life with what is on record;
the batch is released in the end, and every report is in it once.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from localdp.errors import DeadlineMissed, StorageFailed, Unreachable
from parties.coordinator import Peer
from parties.repeating import Patience
from parties.shares.collector import RemoteShareServers
from tests.fault.test_share_kill_nine import VALUES, WITHOUT, check_secrets_are_gone, collected
from tests.support.postgres import Postgres, postgres
from tests.support.processes import COMMAND, Stage, read_line, stage
from tests.support.shares import collection_of

NAMES = ("server-0", "server-1")

_Result = TypeVar("_Result")


class Commands:
    """Two servers on one database, which dies at some of the steps."""

    def __init__(self, place: Stage, database: Postgres, deadly: set[int], *more: str) -> None:
        self._place, self._database, self._deadly, self._more = place, database, deadly, more
        self._steps, self.deaths = 0, 0
        self.states = {name: database.new() for name in NAMES}
        self.running = {name: self._start(name) for name in NAMES}
        self.peers = [
            Peer(name, str(json.loads(read_line(one))["data"]["address"]))
            for name, one in self.running.items()
        ]

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        where = ["--name", name, "--state", self.states[name], "--secrets", f"{name}.secrets"]
        arguments = [str(COMMAND), "share-server", "run", *where, "--json", *self._more]
        return self._place.popen(arguments, stdout=subprocess.PIPE, bufsize=0)

    def insist(self, job: Callable[[], _Result]) -> _Result:
        """Until it works out; at a deadly step the database dies while it is done."""
        self._steps += 1
        dying = threading.Thread(target=self._die)
        if self._steps in self._deadly:
            dying.start()
        try:
            return self._insisted(job)
        finally:
            if self._steps in self._deadly:
                dying.join()

    def _insisted(self, job: Callable[[], _Result]) -> _Result:
        deadline = time.monotonic() + 120
        while True:
            try:
                return job()
            except (Unreachable, DeadlineMissed, StorageFailed):
                assert time.monotonic() < deadline, "it never worked out"
                time.sleep(0.1)

    def _die(self) -> None:
        time.sleep(0.003 * (self._steps % 4))
        self._database.kill()
        self.deaths += 1
        self._database.start()

    def close(self) -> None:
        for process in self.running.values():
            process.terminate()
            process.wait(60)
            assert process.stdout is not None
            process.stdout.close()


@contextmanager
def commands_of(
    directory: Path, database: Postgres, deadly: set[int], *more: str
) -> Iterator[tuple[Commands, Stage]]:
    with stage(directory) as place, closing(Commands(place, database, deadly, *more)) as made:
        yield made, place


def check(directory: Path, deadly: set[int], tier: str, *more: str) -> None:
    nobody: Any = None  # there are no parties here to be asked
    with postgres() as database:
        with (
            commands_of(directory, database, deadly, *more) as (made, place),
            closing(RemoteShareServers(nobody, made.peers, 20, patience=Patience(attempts=1))) as shared,
        ):
            binding = made.insist(lambda: shared.bind(bytes(16)))
            collection = collection_of(tier=tier, binding=binding, servers=NAMES, **WITHOUT)
            assert collected(made, shared, collection) == VALUES.sum(axis=0).tolist()
            assert made.deaths == len(deadly)
        for name in NAMES:
            check_secrets_are_gone(made.states[name], place.directory / f"{name}.secrets", name)


@pytest.fixture(autouse=True)
def without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALDP_NO_NUMBA", "1")


def test_a_database_that_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    check(tmp_path, {4, 7}, "additive")


@pytest.mark.nightly
@pytest.mark.parametrize("tier", ["additive", "prio3"])
@pytest.mark.parametrize("first", range(1, 9))
def test_at_every_step_and_at_two_in_a_row(tmp_path: Path, first: int, tier: str) -> None:
    check(tmp_path, {first, first + 1} & set(range(1, 9)), tier)
