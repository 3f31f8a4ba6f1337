"""Where the metrics are read: a little HTTP server, on loopback alone, for GET /metrics and nothing else.

A request line and headers of at most `_LARGEST_HEAD` bytes, within `_SECONDS`; the connection is closed after the answer.
Metrics hold no private value, but they do tell what is asked how often: whoever shall read them from elsewhere comes
through a proxy of the operator's choice.

Checked in tests/integration/test_observability.py.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from localdp.errors import InvalidParameter
from parties.listening import cannot_listen, is_loopback
from parties.observability.metrics import CONTENT_TYPE

_LARGEST_HEAD = 1 << 13
_SECONDS = 5.0


@contextlib.asynccontextmanager
async def metrics_served(address: str, exposition: Callable[[], str]) -> AsyncIterator[str]:
    """Serve the text at an address; yields the address with the port that was bound."""
    if not is_loopback(address):
        raise InvalidParameter(f"{address} is not loopback: metrics are served on this machine alone")
    host, _, port = address.rpartition(":")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.TimeoutError, asyncio.IncompleteReadError, OSError):
            async with asyncio.timeout(_SECONDS):
                writer.write(await _response(reader, exposition))
                await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(answer, host.strip("[]"), int(port), limit=_LARGEST_HEAD)
    except OSError as error:
        raise cannot_listen(address, error) from error
    async with server:
        yield f"{host}:{server.sockets[0].getsockname()[1]}"


async def _response(reader: asyncio.StreamReader, exposition: Callable[[], str]) -> bytes:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        return _http("431 Request Header Fields Too Large", "")
    method, _, rest = head.partition(b" ")
    if method != b"GET":
        return _http("405 Method Not Allowed", "")
    if rest.split(b" ", 1)[0].split(b"?", 1)[0] != b"/metrics":
        return _http("404 Not Found", "")
    return _http("200 OK", exposition())


def _http(status: str, body: str) -> bytes:
    data = body.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    return head.encode() + data
