"""Addresses that a server listens on: which stay on this machine, and why one cannot be had."""

from __future__ import annotations

import errno
import socket

from localdp.errors import CannotListen

LOOPBACK = ("127.0.0.1", "[::1]", "localhost")


def is_loopback(address: str) -> bool:
    """Whether an address of the form host:port stays on this machine."""
    return address.rpartition(":")[0] in LOOPBACK


def cannot_listen(address: str, refused: OSError | None) -> CannotListen:
    """What to say when an address cannot be had, by what the system said."""
    why = "the port is not to be had"
    match refused:
        case socket.gaierror():
            why = "the host is not known here; 127.0.0.1 is this machine"
        case OSError(errno=errno.EADDRINUSE):
            why = "the port is in use by another process"
        case OSError(errno=errno.EADDRNOTAVAIL):
            why = "the host is not an address of this machine; 127.0.0.1 is"
        case OSError(errno=errno.EACCES):
            why = "ports below 1024 are for the superuser"
    return CannotListen(f"cannot listen on {address}: {why}")


def refusal(address: str) -> OSError | None:
    """What the system says about an address: gRPC does not hand it on."""
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
        for family, kind, protocol, _, place in found:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gRPC does
                probe.bind(place)
    except OSError as error:
        return error
    return None
