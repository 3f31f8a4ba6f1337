"""Messages that take a while: a relay in front of each server, which holds every octet back as long as the road would."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

CHUNK = 1 << 16


class _Road:
    """Relays that run in one loop; what passes keeps its order, and however much it is, it waits once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._servers: list[asyncio.Server] = []
        self._writers: list[asyncio.StreamWriter] = []

    async def leading_to(self, address: str) -> str:
        """Where the relay in front of a server listens."""
        host, _, port = address.rpartition(":")

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            inner, outer = await asyncio.open_connection(host, int(port))
            self._writers += [writer, outer]
            await asyncio.gather(self._carried(reader, outer), self._carried(inner, writer))

        server = await asyncio.start_server(accepted, "127.0.0.1", 0)
        self._servers.append(server)
        return f"127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _carried(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()

        def arrives(octets: bytes) -> None:
            if octets and not writer.is_closing():
                writer.write(octets)
            elif not octets:
                writer.close()

        with suppress(ConnectionError):
            while octets := await reader.read(CHUNK):
                loop.call_later(self._seconds, arrives, octets)
        loop.call_later(self._seconds, arrives, b"")

    async def closed(self) -> None:
        """Nobody is let in any more, and whoever is under way is let go; what they carry ends with that."""
        for server in self._servers:
            server.close()
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)
        carrying = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(carrying, timeout=5) if carrying else None


@contextmanager
def delayed(addresses: Sequence[str], seconds: float) -> Iterator[list[str]]:
    """Addresses behind which the same servers are, so many seconds further away in each direction."""
    loop, road = asyncio.new_event_loop(), _Road(seconds)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def all_of_them() -> list[str]:
        return [await road.leading_to(address) for address in addresses]

    try:
        yield asyncio.run_coroutine_threadsafe(all_of_them(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(road.closed(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
