"""A shuffler of flooded rounds that dies after so many steps: sound, or broken in a way that a test must notice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.promise_ledger import MemoryPromiseLedger, Outlay, PromiseLedger
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.flooded_batch import opened_codes
from localdp.sharing.flooded_round import FloodedRound
from parties.coordinator import Peer, RemoteParties
from parties.repeating import Patience
from parties.shuffler.ledger import SqlitePromiseLedger
from parties.shuffler.service import SERVICE_NAME, ShufflerService
from parties.simulation.roles import ShufflerRole
from tests.fault.fuse import BurningFile, Fuse, stepping
from tests.support.flooding import SECRET


class _Parties(RemoteParties):
    fuse: Fuse

    def granted_flooded(self, asked: FloodedRound) -> Any:
        self.fuse.step()
        told = super().granted_flooded(asked)
        self.fuse.step()
        return told

    def flooded(self, asked: FloodedRound, parts: Any) -> Iterator[Any]:
        for one in super().flooded(asked, parts):
            self.fuse.step()
            yield one
        self.fuse.step()


class _Reading(_Parties):
    """Broken: it has the analyst's key, and keeps what it read."""

    def flooded(self, asked: FloodedRound, parts: Any) -> Iterator[Any]:
        self.read = []
        for number, batch in super().flooded(asked, parts):
            self.read.append(opened_codes(SECRET, asked.digest, batch))
            yield number, batch


class _Late:
    """Broken: what was released is booked when the next request comes in."""

    def __init__(self, ledger: PromiseLedger) -> None:
        self._ledger, self._owed = ledger, list[Outlay]()

    def require(self, outlay: Outlay) -> None:
        while self._owed:
            self._ledger.charge(self._owed.pop())
        self._ledger.require(outlay)

    def charge(self, outlay: Outlay) -> None:
        self._owed.append(outlay)


class _Service(ShufflerService):
    fuse: Fuse

    async def ShuffleFlooded(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        async for part in stepping(self.fuse, super().ShuffleFlooded(request, context)):
            yield part


def shuffler(role: ShufflerRole, job: dict[str, Any], fuse: Fuse) -> tuple[str, ShufflerService]:
    """The service, whose secret is new in every life, and its ledger is not."""
    peers = [Peer(name, address) for name, address in role.agents.items()]
    parties = (_Reading if job["variant"] == "reading" else _Parties)(
        peers, timeout_seconds=20, patience=Patience(attempts=1)
    )
    promised = Epsilon(role.epsilon_nanonats), Fraction(role.delta)
    promise = Promise(*promised, role.colluding, role.requests, role.minimum_cohort)
    ledger = _ledger(Path(job["ledger"]), promise, job["variant"], fuse)
    service = _Service(role.name, Shuffler(parties, KeystreamSource.from_system(), promise, ledger))
    service.fuse = parties.fuse = fuse
    return SERVICE_NAME, service


def _ledger(path: Path, promise: Promise, variant: str, fuse: Fuse) -> PromiseLedger:
    totals = promise.epsilon_total, promise.delta_total
    if variant == "forgetful":
        return MemoryPromiseLedger(*totals)
    ledger = SqlitePromiseLedger(path, *totals, new=not path.exists())
    ledger._file = BurningFile(ledger._file, fuse)
    return _Late(ledger) if variant == "late" else ledger
