"""A coordinator's relay: it listens for agents that dial in, and offers them to the analyst like agents that are dialled.

    with RelayServer("127.0.0.1", 7000) as relay:
        relay.wait_for(["north", "south"], timeout_seconds=60)
        oracle = LocalOracle(relay.parties(["north", "south"]), epsilon, source)

The server runs on a thread of its own, because agents stay attached between questions.

Checked in tests/integration/test_relay.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import grpc

from localdp.errors import DeadlineMissed
from parties.coordinator import CALL_SECONDS, RemoteParties
from parties.identity import Identity
from parties.relay.attachment import RelayDesk, RelayedCall, unattached
from parties.relay.channel import RelayChannel
from parties.relay.service import NOBODY, SERVICE_NAME, RelayService
from parties.serving import GRACE_SECONDS, Options, start_server

_Result = TypeVar("_Result")
_START_SECONDS = 30.0
_NAMED = 5
# Over one connection: a process that speaks for many parties has one, and a stream for each of them.
_STREAMS = (("grpc.max_concurrent_streams", 1 << 14),)


@dataclass(frozen=True, slots=True)
class AttachedPeer:
    """A party that dialled in."""

    name: str
    desk: RelayDesk

    def open(self, identity: Identity | None) -> grpc.Channel:
        """A channel over the party's stream; who calls was settled when the stream was opened."""
        return RelayChannel(self.desk, self.name)


class RelayServer:
    """Listens until it is closed.  Its methods may be called from any thread."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        identity: Identity | None = None,
        options: Options = (),
        enrolled: Mapping[str, str] = NOBODY,
    ) -> None:
        """Off loopback an identity is needed; its name is the one that agents charge calls to.

        `enrolled`: the certificates, by fingerprint, of those who were enrolled so (`RelayService`).
        """
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)
        self._news = threading.Condition()
        self._names: frozenset[str] = frozenset()
        self._service = RelayService(self._changed, enrolled)
        self._thread.start()
        try:
            services = [(SERVICE_NAME, self._service.register)]
            given = (*_STREAMS, *options)
            self._server, bound = self._run(start_server(host, port, services, identity, given))
        except BaseException:
            self._stop_loop()
            raise
        self.address = f"{host}:{bound}"

    def __enter__(self) -> RelayServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def attached(self) -> frozenset[str]:
        """Names of the parties that are there now."""
        return self._names

    def wait_for(self, names: Iterable[str], timeout_seconds: float) -> None:
        """Return when all of these parties are there."""
        wanted = frozenset(names)
        with self._news:
            if not self._news.wait_for(lambda: wanted <= self._names, timeout_seconds):
                missing = sorted(wanted - self._names)
                listed = ", ".join(missing[:_NAMED])
                raise DeadlineMissed(f"{len(missing)} of {len(wanted)} parties did not attach: {listed}")

    def peers(self, names: Collection[str] | None = None) -> list[AttachedPeer]:
        """These parties, in this order; by default those that are there now, by name."""
        return [AttachedPeer(name, self) for name in (sorted(self.attached) if names is None else names)]

    def parties(
        self, names: Collection[str] | None = None, timeout_seconds: float = CALL_SECONDS
    ) -> RemoteParties:
        """An LR oracle over these parties, and the contributors of collections."""
        return RemoteParties(self.peers(names), timeout_seconds)

    def begin(self, call: RelayedCall) -> None:
        """Send a call to its party."""
        if not self._post(self._service.begin, call):
            call.put(unattached())

    def give_up(self, call: RelayedCall) -> None:
        """Nobody waits for the call any more."""
        self._post(self._service.give_up, call)

    def used(self, call: RelayedCall) -> None:
        """One part of the call's answer was used."""
        self._post(self._service.used, call)

    def close(self) -> None:
        """End every stream, and the server."""
        if not self._loop.is_closed():
            self._run(self._stop_server())
            self._stop_loop()

    async def _stop_server(self) -> None:
        self._service.close()
        await self._server.stop(GRACE_SECONDS)

    def _changed(self, names: frozenset[str]) -> None:
        with self._news:
            self._names = names
            self._news.notify_all()

    def _post(self, work: Callable[[RelayedCall], None], call: RelayedCall) -> bool:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(work, call)
            return True
        return False

    def _run(self, work: Coroutine[object, object, _Result]) -> _Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_START_SECONDS)

    def _stop_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_START_SECONDS)
        self._loop.close()
