"""Blocks that other cores check: the same rows and votes as of one thread, whoever is lost in between."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pytest

from localdp.errors import CollectionClosed
from localdp.sharing import prio3_tier
from localdp.sharing.agreement import agree, proposals
from localdp.sharing.checks import Checked
from localdp.sharing.encoding import Encoding
from localdp.sharing.share_server import ShareServer
from parties.shares.verifying import Verifying
from tests.support.shares import bits, blocks_of, collection_of, exact_sums, servers_for, upload

_Result = TypeVar("_Result")
COLLECTION = collection_of(tier="prio3", encoding=Encoding.count())
NAME = COLLECTION.digest
PEOPLE = 50


def filled() -> list[ShareServer]:
    servers = servers_for(COLLECTION)
    upload(servers, blocks_of(COLLECTION, bits(*[1, 0] * (PEOPLE // 2))))
    return servers


class Owner:
    """The thread that owns the state."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="owner")

    def work(self, job: Callable[[], _Result]) -> Awaitable[_Result]:
        return asyncio.get_running_loop().run_in_executor(self.pool, job)


def checked_by(workers: int, servers: list[ShareServer]) -> list[tuple[list[bool], bytes]]:
    """What every server says about every block, when so many cores check."""

    async def run() -> list[tuple[list[bool], bytes]]:
        told, key = [], servers[0].verify_key(NAME)
        for server in servers:
            verifying = Verifying(server, Owner().work, workers)
            blocks = list(proposals(servers[0], COLLECTION))
            answers = await asyncio.gather(*(verifying.check(NAME, key, block) for block in blocks))
            told += [(held.tolist(), rows.tobytes()) for held, rows in answers]
            verifying.close()
        return told

    return asyncio.run(run())


def test_several_cores_say_what_one_says_and_the_sums_are_right() -> None:
    servers = filled()
    assert checked_by(3, servers) == checked_by(1, filled())
    assert agree(servers[0], servers[1:], COLLECTION).reports == PEOPLE
    assert exact_sums(servers, COLLECTION) == [PEOPLE // 2]


def test_the_owner_reads_and_notes_and_a_verifier_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    servers, seen = filled(), dict[str, str]()

    def watched(name: str, method: Callable[..., _Result]) -> Callable[..., _Result]:
        def called(*arguments: object) -> _Result:
            seen[name] = threading.current_thread().name.rpartition("_")[0]
            return method(*arguments)

        return called

    monkeypatch.setattr(prio3_tier._Checker, "init", watched("compute", prio3_tier._Checker.init))
    for name in ("checking", "note_check", "check"):
        monkeypatch.setattr(servers[0], name, watched(name, getattr(servers[0], name)))
    checked_by(2, servers[:1])
    assert seen == {"checking": "owner", "compute": "verifier", "note_check": "owner", "check": "owner"}


def test_what_a_lost_verifier_did_not_note_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = filled()
    for server in servers:
        monkeypatch.setattr(server, "note_check", lambda name, checked: None)
    assert checked_by(2, servers) == checked_by(1, filled())


def test_a_note_for_other_reports_of_the_same_number_is_not_taken() -> None:
    """A broken twin: what was computed about some reports passed off as being about others."""
    server, *_ = filled()
    key = server.verify_key(NAME)
    first, second = np.arange(10, dtype=np.uint32), np.arange(10, 20, dtype=np.uint32)
    computing = server.checking(NAME, key, first)
    assert computing is not None
    computed = computing()
    server.note_check(NAME, Checked(second, computed.state, computed.verifiers))
    assert server.check(NAME, key, first)[1].tobytes() == computed.verifiers.tobytes()
    assert server.checking(NAME, key, first) is None and server.checking(NAME, key, second) is None


def test_nothing_is_computed_of_what_is_not_here_or_final() -> None:
    servers = filled()
    key = servers[0].verify_key(NAME)
    beyond = np.arange(PEOPLE, PEOPLE + 5, dtype=np.uint32)
    assert servers[0].checking(NAME, key, beyond) is None
    agree(servers[0], servers[1:], COLLECTION)
    with pytest.raises(CollectionClosed):
        servers[0].checking(NAME, key, np.arange(3, dtype=np.uint32))
    servers[0].note_check(bytes(32), Checked(beyond, None, np.zeros((5, 1), np.uint8)))
