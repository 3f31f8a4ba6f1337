"""How every server of the system listens and is reached: loopback or TLS, health, reflection, bounded messages.

Dead peers are noticed: servers, and clients that hold streams open, ping after `KEEPALIVE_SECONDS` of silence, and give a
peer up that does not answer within `ANSWER_SECONDS`.  Callers are admitted before their requests are decoded
(parties/admission.py), and no answer quotes an exception, neither of a service nor of health and reflection.

Checked in tests/integration/test_serving.py, test_tls.py and test_relay.py.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence

import grpc

from localdp.errors import InvalidParameter
from parties.admission import Handler, Registry, admitting
from parties.identity import Identity, role_host
from parties.introspection import Health, Reflection
from parties.listening import LOOPBACK, cannot_listen, is_loopback, refusal

LARGEST_MESSAGE_BYTES = 4 << 20  # gRPC's own default, on both sides: larger things are streamed in parts
CHUNK_BYTES = 1 << 20
GRACE_SECONDS = 1.0
KEEPALIVE_SECONDS = 20
ANSWER_SECONDS = 10
_FREQUENT_PING_SECONDS = 10  # more frequent ones are an abuse, and end the connection
_LARGEST_PORT = 65_535

CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE_BYTES),
    ("grpc.max_send_message_length", LARGEST_MESSAGE_BYTES),
    # A peer that is back is found again at once, not after two minutes; and a call that is sent again really dials.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
)
# gRPC asks a proxy that the environment names for loopback, too, and would hand it what is not encrypted.
_NO_PROXY = (("grpc.enable_http_proxy", 0),)
KEEPALIVE_OPTIONS = (
    ("grpc.keepalive_time_ms", KEEPALIVE_SECONDS * 1000),
    ("grpc.keepalive_timeout_ms", ANSWER_SECONDS * 1000),
    ("grpc.http2.ping_timeout_ms", ANSWER_SECONDS * 1000),  # else a minute, whatever the line above says
    ("grpc.http2.max_pings_without_data", 0),  # no limit: a stream that waits for calls is silent for hours
)
_SERVER_OPTIONS = (
    *CHANNEL_OPTIONS,
    *KEEPALIVE_OPTIONS,
    ("grpc.http2.min_ping_interval_without_data_ms", _FREQUENT_PING_SECONDS * 1000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.so_reuseport", 0),  # otherwise two servers would share one port without a word
    ("grpc.max_concurrent_streams", 1024),
)

Register = Callable[[Registry], None]
Options = Sequence[tuple[str, int | str]]


def host_and_port(address: str, who: str, example: int) -> tuple[str, int]:
    """Where somebody listens, from a text such as 127.0.0.1:7000."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise InvalidParameter(f"{who} listens at an address such as 127.0.0.1:{example}")
    return host, int(port)


def told_to_stop() -> asyncio.Event:
    """Set as soon as somebody asks this process to end, by SIGINT or SIGTERM."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


class _Entered:
    """A server as services see it while they register: callers are admitted, and then requests are decoded."""

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """The half of gRPC's registration that does not name its methods; the other one does it for both."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Handler]) -> None:
        """Register the handlers of a service, behind its door."""
        entered = admitting(handlers)
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, entered),))
        self._server.add_registered_method_handlers(service, entered)


def open_channel(
    address: str, identity: Identity | None = None, role: str | None = None, options: Options = ()
) -> grpc.Channel:
    """A channel to a server: with TLS if there is an identity, and never without it off loopback.

    With TLS the caller may insist on the role that it talks to.  Without it no proxy of the environment is asked.
    """
    given = _with(CHANNEL_OPTIONS, options)
    if identity is not None:
        return grpc.secure_channel(
            address, identity.channel_credentials(), options=[*given, *_insisting(role)]
        )
    _require_loopback(address)
    return grpc.insecure_channel(address, options=_with(given, _NO_PROXY))


def open_aio_channel(
    address: str, identity: Identity | None = None, role: str | None = None, options: Options = ()
) -> grpc.aio.Channel:
    """The same for a caller that lives on an event loop."""
    given = _with(CHANNEL_OPTIONS, options)
    if identity is None:
        _require_loopback(address)
        return grpc.aio.insecure_channel(address, options=_with(given, _NO_PROXY))
    return grpc.aio.secure_channel(
        address, identity.channel_credentials(), options=[*given, *_insisting(role)]
    )


def _insisting(role: str | None) -> Options:
    return [] if role is None else [("grpc.ssl_target_name_override", role_host(role))]


def _with(usual: Options, special: Options) -> list[tuple[str, int | str]]:
    """The usual options, some of them replaced; of an option that is given twice, gRPC takes the first."""
    return list({**dict(usual), **dict(special)}.items())


def _require_loopback(address: str) -> None:
    if not is_loopback(address):
        raise InvalidParameter(
            f"{address} is not on this machine: off loopback an identity is needed (localdp keys)"
        )


async def start_server(
    host: str,
    port: int,
    services: Sequence[tuple[str, Register]],
    identity: Identity | None = None,
    options: Options = (),
) -> tuple[grpc.aio.Server, int]:
    """Start the named services, with health and reflection, and return the server and its port."""
    if identity is None and host not in LOOPBACK:
        raise InvalidParameter("without TLS a server listens on loopback only")
    if not 0 <= port <= _LARGEST_PORT:
        raise InvalidParameter(f"a port is a number from 0 to {_LARGEST_PORT}, and 0 is any that is free")
    server = grpc.aio.server(options=_with(_SERVER_OPTIONS, options))
    names = [name for name, _ in services]
    health = Health()
    for register in (*(register for _, register in services), health.register, Reflection(names).register):
        register(_Entered(server))
    bound = _bind(server, f"{host}:{port}", identity)
    await server.start()
    await health.serving(names)
    return server, bound


def _bind(server: grpc.aio.Server, address: str, identity: Identity | None) -> int:
    try:
        if identity is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, identity.server_credentials())
    except RuntimeError as error:
        raise cannot_listen(address, refusal(address)) from error
